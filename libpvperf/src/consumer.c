/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* consumer.c: takes bytes out of a mapped ring.  docs/ring.md is the rule. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <pvperf/ring.h>

#include "barrier.h"

#define PAGE_BYTES 4096u

struct pvperf_consumer {
    struct pvperf_ring *header; /* shared with Xen */
    const uint8_t *data;        /* shared with Xen, read-only */
    uint64_t size;              /* of the data: from ring_info, not the header */
    uint64_t tail;              /* ours; never read back */
    uint64_t head;              /* the last one that was sane */
    size_t span;                /* length of the last span not given back yet */
    bool broken;
};

/* Each field is read once, and only to compare. */
static const char *header_is_wrong(const struct pvperf_ring *h,
                                   const struct pvperf_ring_info *info)
{
    if (pvp_read_once32(&h->magic) != PVPERF_RING_MAGIC)
        return "its magic number is wrong";
    if (pvp_read_once16(&h->abi_major) != PVPERF_ABI_MAJOR)
        return "it has another major version";
    if (pvp_read_once32(&h->session) != info->session)
        return "it belongs to another session";
    if (pvp_read_once64(&h->serial) != info->serial)
        return "it is another ring";
    if (pvp_read_once32(&h->data_size) != PAGE_BYTES << info->data_order)
        return "its size is not what Xen said";
    if (pvp_read_once16(&h->domid) != info->domid ||
        pvp_read_once16(&h->vcpu) != info->vcpu)
        return "it belongs to another vCPU";
    return NULL;
}

int pvperf_consumer_new(struct pvperf_consumer **out, struct pvperf_ring *header,
                        const void *data, const struct pvperf_ring_info *info,
                        struct pvperf_err *err)
{
    struct pvperf_consumer *c;
    const char *why;

    if (info->data_order > PVPERF_MAX_RING_ORDER)
        why = "its size cannot be";
    else
        why = header_is_wrong(header, info);
    if (why)
        return pvperf_err_set(err, -EBADMSG,
                              "ring %u of session %u cannot be used: %s; look at the "
                              "session's rings again",
                              info->index, info->session, why);
    c = calloc(1, sizeof(*c));
    if (!c)
        return pvperf_err_set(err, -ENOMEM, "out of memory: free some and try again");
    c->header = header;
    c->data = data;
    c->size = (uint64_t)PAGE_BYTES << info->data_order;
    c->tail = pvp_read_once64(&header->tail);
    c->head = pvp_load_head(&header->head);
    /* A tail that cannot be has stopped Xen: begin anew where Xen stands. */
    if (c->tail % 8 || c->tail > c->head || c->head - c->tail > c->size) {
        c->tail = c->head & ~(uint64_t)7;
        pvp_store_tail(&header->tail, c->tail);
    }
    *out = c;
    return 0;
}

void pvperf_consumer_free(struct pvperf_consumer *c)
{
    free(c);
}

/* A new head, if it can be one. */
static int take_head(struct pvperf_consumer *c)
{
    uint64_t head = pvp_load_head(&c->header->head);

    if (c->broken || head % 8 || head < c->head || head - c->tail > c->size) {
        c->broken = true;
        return -EBADMSG;
    }
    c->head = head;
    return 0;
}

/*
 * Of @len bytes at @p, how many are whole records and not more than @max?
 * Where there is no record, the bytes go out as they are: to say what is wrong
 * with them is for the decoder.
 */
static size_t cut_at_record(const uint8_t *p, size_t len, size_t max)
{
    size_t at = 0, size;
    uint64_t word;

    if (len <= max)
        return len;
    for (;;) {
        word = pvp_read_once64((const uint64_t *)(const void *)(p + at));
        size = (size_t)((word >> 8) & 0xff) * 8; /* struct pvperf_rec.words */
        if (!size || size > max - at)
            break;
        at += size;
        if (at == max)
            break;
    }
    return at ? at : max & ~(size_t)7;
}

int pvperf_consumer_peek(struct pvperf_consumer *c, size_t max, struct pvperf_span *span)
{
    uint64_t offset, len;
    int rc;

    if (max < PVPERF_RECORD_MAX)
        return -EINVAL;
    c->span = 0;
    rc = take_head(c);
    if (rc < 0)
        return rc;
    len = c->head - c->tail;
    if (!len)
        return 0;
    offset = c->tail & (c->size - 1);
    if (len > c->size - offset)
        len = c->size - offset;
    c->span = cut_at_record(c->data + offset, len, max);
    *span = (struct pvperf_span){
        .position = c->tail, .bytes = c->data + offset, .len = c->span};
    return 1;
}

int pvperf_consumer_advance(struct pvperf_consumer *c, size_t len)
{
    if (len > c->span || len % 8)
        return -EINVAL;
    c->tail += len;
    c->span -= len;
    pvp_store_tail(&c->header->tail, c->tail);
    return 0;
}

uint64_t pvperf_consumer_position(const struct pvperf_consumer *c)
{
    return c->tail;
}

uint64_t pvperf_consumer_waiting(const struct pvperf_consumer *c)
{
    uint64_t head = pvp_load_head(&c->header->head);

    if (c->broken || head < c->tail || head - c->tail > c->size)
        return 0;
    return head - c->tail;
}

int pvperf_consumer_dead(const struct pvperf_consumer *c)
{
    return !!(pvp_load_flags(&c->header->flags) & PVPERF_RING_FLAG_DEAD);
}

void pvperf_consumer_counts(const struct pvperf_consumer *c,
                            uint64_t recorded[PVPERF_MAX_EVENTS],
                            uint64_t lost[PVPERF_MAX_EVENTS])
{
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_EVENTS; i++) {
        if (recorded)
            recorded[i] = pvp_read_once64(&c->header->recorded[i]);
        if (lost)
            lost[i] = pvp_read_once64(&c->header->lost[i]);
    }
}
