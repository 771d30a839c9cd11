/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_parse.c: single records of a capture.  Nothing in them is believed. */
#include <errno.h>
#include <string.h>

#include "capture_reader.h"

static int parse_sample(const struct pvperf_capture_reader *r, const uint8_t *p,
                        size_t size, struct pvperf_sample *s)
{
    struct pvp_sample rec;
    struct pvp_raw raw;
    size_t at = sizeof(rec), nr = 0;
    uint64_t words[3];

    if (size < sizeof(rec) + sizeof(raw))
        return -EBADMSG;
    memcpy(&rec, p, sizeof(rec));
    if (r->callchain) {
        if (size < sizeof(rec) + sizeof(words) + sizeof(raw))
            return -EBADMSG;
        memcpy(words, p + at, sizeof(words));
        if (words[0] < 2 || words[0] - 2 > PVPERF_MAX_STACK)
            return -EBADMSG;
        nr = (size_t)words[0] - 2;
        at += sizeof(words) + nr * 8;
    }
    if (size != at + sizeof(raw))
        return -EBADMSG;
    memcpy(&raw, p + at, sizeof(raw));
    if (raw.size != PVP_RAW_SIZE || raw.magic != PVP_RAW_MAGIC ||
        rec.id != raw.event + 1u || raw.event >= r->info.nr_events ||
        raw.mode >= PVPERF_MODES || raw.domid > PVPERF_DOMID_IDLE ||
        (size_t)raw.nr_xen + raw.nr_kernel + raw.nr_user != nr || rec.cpu > UINT16_MAX)
        return -EBADMSG;
    memset(s, 0, offsetof(struct pvperf_sample, chain));
    s->time = rec.time;
    s->ip = rec.ip;
    s->period = rec.period;
    s->pcpu = (uint16_t)rec.cpu;
    s->domid = raw.domid;
    s->vcpu = raw.vcpu;
    s->event = raw.event;
    s->mode = raw.mode;
    s->flags = raw.flags;
    s->nr_xen = raw.nr_xen;
    s->nr_kernel = raw.nr_kernel;
    s->nr_user = raw.nr_user;
    s->pt_base = raw.pt_base;
    s->tag = raw.tag;
    memcpy(s->chain, p + at - nr * 8, nr * 8);
    return 1;
}

static int parse_lost(const struct pvperf_capture_reader *r, const uint8_t *p,
                      size_t size, struct pvperf_lost *l)
{
    struct pvp_lost rec;

    if (size != sizeof(rec))
        return -EBADMSG;
    memcpy(&rec, p, sizeof(rec));
    if (rec.event >= r->info.nr_events || rec.id != rec.event + 1u ||
        rec.trailer.cpu > UINT16_MAX || rec.domid > PVPERF_DOMID_IDLE)
        return -EBADMSG;
    memset(l, 0, sizeof(*l));
    l->count = rec.lost;
    l->time_first = rec.time_first;
    l->time_last = rec.trailer.time;
    l->domid = rec.domid;
    l->vcpu = rec.vcpu;
    l->pcpu = (uint16_t)rec.trailer.cpu;
    l->event = rec.event;
    return 1;
}

/* Length of a string at @at with its NUL, padded to 8; 0: none before @end. */
static size_t string_size(const uint8_t *p, size_t at, size_t end)
{
    size_t len = strnlen((const char *)p + at, end - at);

    return len == end - at ? 0 : PVP_ALIGN8(len + 1);
}

static int parse_comm(const uint8_t *p, size_t size, struct pvperf_capture_domain *d)
{
    const size_t fixed = sizeof(struct perf_event_header) + 8;
    struct pvp_comm_extra extra;
    size_t len, end;

    if (size < fixed + 8 + sizeof(struct pvp_trailer))
        return -EBADMSG;
    end = size - sizeof(struct pvp_trailer);
    len = string_size(p, fixed, end);
    if (!len)
        return -EBADMSG;
    if (fixed + len == end)
        return 0;
    if (fixed + len + sizeof(extra) != end)
        return -EBADMSG;
    memcpy(&extra, p + fixed + len, sizeof(extra));
    if (extra.magic != PVP_DOMAIN_MAGIC || extra.domid > PVPERF_DOMID_IDLE ||
        !memchr(extra.name, 0, sizeof(extra.name)))
        return -EBADMSG;
    memset(d, 0, sizeof(*d));
    d->domid = extra.domid;
    d->nr_vcpus = extra.nr_vcpus;
    memcpy(d->handle, extra.handle, sizeof(d->handle));
    memcpy(d->name, extra.name, strlen(extra.name));
    return 1;
}

static int parse_mmap(const uint8_t *p, size_t size, struct pvperf_capture_object *o)
{
    struct pvp_mmap2 rec;
    struct pvp_mmap_extra extra;
    size_t len, end;

    if (size < sizeof(rec) + 8 + sizeof(struct pvp_trailer))
        return -EBADMSG;
    memcpy(&rec, p, sizeof(rec));
    end = size - sizeof(struct pvp_trailer);
    len = string_size(p, sizeof(rec), end);
    if (!len || len > PVPERF_CAPTURE_PATH_LEN)
        return -EBADMSG;
    if (sizeof(rec) + len == end)
        return 0;
    if (sizeof(rec) + len + sizeof(extra) != end)
        return -EBADMSG;
    memcpy(&extra, p + sizeof(rec) + len, sizeof(extra));
    if (extra.magic != PVP_OBJECT_MAGIC || extra.kind > PVPERF_OBJECT_PROGRAM ||
        extra.domid > PVPERF_DOMID_IDLE || !rec.len || rec.addr + rec.len - 1 < rec.addr)
        return -EBADMSG;
    memset(o, 0, sizeof(*o));
    if (rec.hdr.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        if (rec.build_id_size > PVPERF_BUILD_ID_MAX)
            return -EBADMSG;
        o->build_id_len = rec.build_id_size;
        memcpy(o->build_id, rec.build_id, rec.build_id_size);
    }
    o->kind = extra.kind;
    o->domid = extra.domid;
    o->start = rec.addr;
    o->len = rec.len;
    o->file_offset = rec.pgoff;
    o->pt_base = extra.pt_base;
    o->bias = extra.bias;
    memcpy(o->path, p + sizeof(rec), strlen((const char *)p + sizeof(rec)));
    return 1;
}

int pvp_record_parse(const struct pvperf_capture_reader *r, const uint8_t *p, size_t size,
                     struct pvperf_capture_rec *rec)
{
    struct perf_event_header hdr;

    memcpy(&hdr, p, sizeof(hdr));
    switch (hdr.type) {
    case PERF_RECORD_SAMPLE:
        rec->type = PVPERF_CAPTURE_SAMPLE;
        return parse_sample(r, p, size, &rec->u.sample);
    case PERF_RECORD_LOST:
        rec->type = PVPERF_CAPTURE_LOST;
        return parse_lost(r, p, size, &rec->u.lost);
    case PERF_RECORD_COMM:
        rec->type = PVPERF_CAPTURE_DOMAIN;
        return parse_comm(p, size, &rec->u.domain);
    case PERF_RECORD_MMAP2:
        rec->type = PVPERF_CAPTURE_OBJECT;
        return parse_mmap(p, size, &rec->u.object);
    case PVP_FINISHED_ROUND:
        rec->type = PVPERF_CAPTURE_ROUND;
        return size == sizeof(hdr) ? 1 : -EBADMSG;
    default:
        return -EBADMSG;
    }
}
