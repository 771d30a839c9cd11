/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* client_stream.c: the frames of a session's stream. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_private.h"

#define MAX_RINGS 65536

void pvp_clean_text(char *text, size_t size)
{
    size_t i;

    text[size - 1] = '\0';
    for (i = 0; text[i]; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
}

void pvp_stream_notice(struct pvperf_client *c, const char *fmt, ...)
{
    bool was_busy = c->busy;
    char text[PVPERF_TEXT_MAX];
    va_list args;

    if (!c->ops.notice)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    pvp_clean_text(text, sizeof(text));
    c->busy = true;
    c->ops.notice(c->user, text);
    c->busy = was_busy;
}

static void ring_free(struct pvp_stream_ring *r)
{
    pvperf_decoder_free(r->decoder);
    free(r);
}

void pvp_stream_forget(struct pvperf_client *c)
{
    size_t i;

    for (i = 0; i < c->nr_rings; i++)
        ring_free(c->rings[i]);
    free(c->rings);
    c->rings = NULL;
    c->nr_rings = c->room_rings = c->last_ring = 0;
}

void pvp_stream_resync(struct pvperf_client *c)
{
    size_t i;

    for (i = 0; i < c->nr_rings; i++)
        c->rings[i]->announced = false;
}

static struct pvp_stream_ring *ring_find(struct pvperf_client *c, uint64_t serial)
{
    size_t i, at;

    for (i = 0; i < c->nr_rings; i++) {
        at = (c->last_ring + i) % c->nr_rings;
        if (c->rings[at]->ring.serial == serial) {
            c->last_ring = at;
            return c->rings[at];
        }
    }
    return NULL;
}

static int broken_frame(const struct pvperf_frame *f, struct pvperf_err *err)
{
    return pvperf_err_set(err, -EPROTO,
                          "pvperfd sent a frame that makes no sense (type %u, %u bytes): "
                          "install client and daemon of the same version",
                          f->type, f->size);
}

/* The decoder's callbacks. */
static void on_sample(void *user, const struct pvperf_sample *sample)
{
    struct pvp_stream_ring *r = user;

    r->client->ops.sample(r->client->user, &r->ring, sample);
}

static void on_lost(void *user, const struct pvperf_lost *lost)
{
    struct pvp_stream_ring *r = user;

    r->client->ops.lost(r->client->user, &r->ring, lost);
}

static int ring_room(struct pvperf_client *c)
{
    struct pvp_stream_ring **more;
    size_t room = c->room_rings ? c->room_rings * 2 : 16;

    if (c->nr_rings < c->room_rings)
        return 0;
    if (room > MAX_RINGS)
        return -ENOSPC;
    more = reallocarray(c->rings, room, sizeof(*more));
    if (!more)
        return -ENOMEM;
    c->rings = more;
    c->room_rings = room;
    return 0;
}

static int ring_new(struct pvperf_client *c, const struct pvperf_client_ring *ring,
                    struct pvperf_err *err)
{
    struct pvperf_decoder_ops ops = {c->ops.sample ? on_sample : NULL,
                                     c->ops.lost ? on_lost : NULL};
    struct pvp_stream_ring *r;
    int rc = ring_room(c);

    r = rc < 0 ? NULL : calloc(1, sizeof(*r));
    if (!r)
        return pvperf_err_set(err, rc < 0 ? rc : -ENOMEM,
                              "no room for another ring: profile fewer domains");
    r->ring = *ring;
    pvp_clean_text(r->ring.name, sizeof(r->ring.name));
    r->client = c;
    r->announced = true;
    if (ops.sample || ops.lost) {
        rc = pvperf_decoder_new(&r->decoder, c->events, c->nr_events, ring->domid,
                                ring->vcpu, &ops, r);
        if (rc < 0) {
            free(r);
            return pvperf_err_set(err, rc, "cannot make a decoder: %s; try again",
                                  strerror(-rc));
        }
    }
    c->rings[c->nr_rings++] = r;
    if (c->ops.ring_new)
        c->ops.ring_new(c->user, &r->ring);
    return 0;
}

static int on_ring_new(struct pvperf_client *c, const void *body, struct pvperf_err *err)
{
    struct pvp_stream_ring *r;
    struct pvperf_client_ring ring;

    memcpy(&ring, body, sizeof(ring));
    r = ring_find(c, ring.serial);
    if (!r)
        return ring_new(c, &ring, err);
    r->announced = true;
    return 0;
}

static void decode(struct pvperf_client *c, struct pvp_stream_ring *r, uint64_t position,
                   const void *bytes, size_t len)
{
    uint64_t bad = 0;

    if (r->decoder && pvperf_decoder_feed(r->decoder, position, bytes, len, &bad) < 0) {
        pvp_stream_notice(c,
                          "ring %" PRIu64 " (domain %u, vCPU %u): no records at byte "
                          "%" PRIu64 ", skipped up to byte %" PRIu64,
                          r->ring.serial, r->ring.domid, r->ring.vcpu, bad,
                          position + len);
    }
}

static int on_data(struct pvperf_client *c, const struct pvperf_frame *f,
                   const uint8_t *body, struct pvperf_err *err)
{
    size_t len = f->size - sizeof(struct pvperf_msg_data), skip = 0;
    struct pvperf_msg_data data;
    struct pvp_stream_ring *r;

    memcpy(&data, body, sizeof(data));
    r = ring_find(c, data.serial);
    if (!r || len % 8 || data.position % 8 || data.position + len < data.position)
        return broken_frame(f, err);
    if (r->begun && data.position < r->next) {
        skip = r->next - data.position < len ? (size_t)(r->next - data.position) : len;
        if (skip == len)
            return 0;
    } else if (r->begun && data.position > r->next) {
        pvp_stream_notice(c,
                          "ring %" PRIu64 " (domain %u, vCPU %u): %" PRIu64
                          " bytes of samples are missing",
                          r->ring.serial, r->ring.domid, r->ring.vcpu,
                          data.position - r->next);
    }
    body += sizeof(data) + skip;
    data.position += skip;
    len -= skip;
    r->begun = true;
    r->next = data.position + len;
    if (c->ops.ring_data)
        c->ops.ring_data(c->user, &r->ring, data.position, body, len);
    decode(c, r, data.position, body, len);
    return 0;
}

static void ring_drop(struct pvperf_client *c, size_t at)
{
    struct pvp_stream_ring *r = c->rings[at];

    c->rings[at] = c->rings[--c->nr_rings];
    c->last_ring = 0;
    if (c->ops.ring_gone)
        c->ops.ring_gone(c->user, &r->ring);
    ring_free(r);
}

static int on_gone(struct pvperf_client *c, const void *body)
{
    struct pvperf_msg_gone gone;

    memcpy(&gone, body, sizeof(gone));
    if (ring_find(c, gone.serial))
        ring_drop(c, c->last_ring);
    return 0;
}

static int on_synced(struct pvperf_client *c)
{
    size_t i = 0;

    while (i < c->nr_rings)
        if (c->rings[i]->announced)
            i++;
        else
            ring_drop(c, i);
    return 0;
}

static int on_domain(struct pvperf_client *c, const void *body)
{
    struct pvperf_msg_domain_event msg;

    memcpy(&msg, body, sizeof(msg));
    pvp_clean_text(msg.domain.name, sizeof(msg.domain.name));
    if (c->ops.domain)
        c->ops.domain(c->user, msg.event, &msg.domain, msg.left);
    return 0;
}

static int on_counts(struct pvperf_client *c, const struct pvperf_frame *f,
                     const void *body, struct pvperf_err *err)
{
    struct pvperf_session_counts counts;

    memcpy(&counts, body, sizeof(counts));
    if (counts.nr_events != c->nr_events)
        return broken_frame(f, err);
    if (f->type == PVPERF_MSG_COUNTS) {
        if (c->ops.counts)
            c->ops.counts(c->user, &counts);
        return 0;
    }
    /* After a resume STOP may have been said twice: one END is enough. */
    if (!c->stopping || c->ended)
        return 0;
    c->final = counts;
    c->ended = true;
    if (c->ops.end)
        c->ops.end(c->user, &counts);
    return 0;
}

static int on_notice(struct pvperf_client *c, const void *body, size_t len)
{
    char text[PVPERF_TEXT_MAX];

    if (len >= sizeof(text))
        len = sizeof(text) - 1;
    memcpy(text, body, len);
    text[len] = '\0';
    pvp_stream_notice(c, "%s", text);
    return 0;
}

/* The least size of each type of frame. */
static size_t least_size(unsigned int type)
{
    switch (type) {
    case PVPERF_MSG_RING_NEW:
        return sizeof(struct pvperf_client_ring);
    case PVPERF_MSG_RING_DATA:
        return sizeof(struct pvperf_msg_data);
    case PVPERF_MSG_RING_GONE:
        return sizeof(struct pvperf_msg_gone);
    case PVPERF_MSG_DOMAIN_EVENT:
        return sizeof(struct pvperf_msg_domain_event);
    case PVPERF_MSG_COUNTS:
    case PVPERF_MSG_END:
        return sizeof(struct pvperf_session_counts);
    default:
        return 0;
    }
}

static int dispatch(struct pvperf_client *c, const struct pvperf_frame *f,
                    const void *body, struct pvperf_err *err)
{
    switch (f->type) {
    case PVPERF_MSG_RING_NEW:
        return on_ring_new(c, body, err);
    case PVPERF_MSG_RING_DATA:
        return on_data(c, f, body, err);
    case PVPERF_MSG_RING_GONE:
        return on_gone(c, body);
    case PVPERF_MSG_SYNCED:
        return on_synced(c);
    case PVPERF_MSG_DOMAIN_EVENT:
        return on_domain(c, body);
    case PVPERF_MSG_COUNTS:
    case PVPERF_MSG_END:
        return on_counts(c, f, body, err);
    case PVPERF_MSG_NOTICE:
        return on_notice(c, body, f->size);
    default:
        return 0; /* of a newer minor version */
    }
}

int pvp_stream_frame(struct pvperf_client *c, const struct pvperf_frame *frame,
                     const void *body, struct pvperf_err *err)
{
    int rc;

    if (frame->size < least_size(frame->type))
        return broken_frame(frame, err);
    c->busy = true;
    rc = dispatch(c, frame, body, err);
    c->busy = false;
    return rc;
}
