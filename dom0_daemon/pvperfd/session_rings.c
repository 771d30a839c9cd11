/* SPDX-License-Identifier: GPL-2.0-only */
/* session_rings.c: finds a session's rings and moves their bytes to the client. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "session_rings.h"

static struct session_ring *find(struct session *s, uint64_t serial)
{
    size_t i;

    for (i = 0; i < s->nr_rings; i++)
        if (s->rings[i].info.serial == serial)
            return &s->rings[i];
    return NULL;
}

static void announce(struct session *s, const struct session_ring *r,
                     const struct pvperf_domain *list, size_t nr)
{
    const struct pvperf_domain *d = domains_find(list, nr, r->info.domid);
    struct pvperf_client_ring msg = {
        .serial = r->info.serial, .domid = r->info.domid, .vcpu = r->info.vcpu};

    if (!s->client)
        return;
    memcpy(msg.uuid, r->info.handle, sizeof(msg.uuid));
    if (d && !memcmp(d->uuid, msg.uuid, sizeof(msg.uuid)))
        memcpy(msg.name, d->name, sizeof(msg.name));
    conn_send(s->client, PVPERF_MSG_RING_NEW, 0, &msg, sizeof(msg), NULL, 0);
}

void session_rings_announce(struct session *s, const struct pvperf_domain *list,
                            size_t nr)
{
    size_t i;

    for (i = 0; i < s->nr_rings; i++)
        announce(s, &s->rings[i], list, nr);
}

static void unmap(struct session *s, struct session_ring *r)
{
    pvperf_consumer_free(r->consumer);
    r->consumer = NULL;
    pvperf_host_ring_unmap(s->host, &r->map);
}

static struct session_ring *map_ring(struct session *s,
                                     const struct pvperf_ring_info *info)
{
    struct session_ring r = {.info = *info}, *more;
    struct pvperf_err err;

    more = reallocarray(s->rings, s->nr_rings + 1, sizeof(*more));
    if (!more) {
        log_error("out of memory: ring %u of session %u is not read", info->index, s->id);
        return NULL;
    }
    s->rings = more;
    if (pvperf_host_ring_map(s->host, info, &r.map, &err) < 0 ||
        pvperf_consumer_new(&r.consumer, r.map.header, r.map.data, info, &err) < 0) {
        log_warning("%s", err.text);
        unmap(s, &r);
        return NULL;
    }
    s->rings[s->nr_rings] = r;
    return &s->rings[s->nr_rings++];
}

/* A ring's end: all its bytes are out, or it is of no use any more. */
static void drop(struct session *s, size_t at, bool release)
{
    struct session_ring *r = &s->rings[at];
    struct pvperf_msg_gone msg = {.serial = r->info.serial};

    if (s->sent_len && s->sent_serial == r->info.serial)
        s->sent_len = 0;
    unmap(s, r);
    if (release) {
        pvperf_host_ring_release(s->host, s->id, r->info.index, NULL);
        s->ring_died = true;
    }
    s->rings[at] = s->rings[--s->nr_rings];
    s->turn = 0;
    if (s->client)
        conn_send(s->client, PVPERF_MSG_RING_GONE, 0, &msg, sizeof(msg), NULL, 0);
}

static bool drained(const struct session *s, const struct session_ring *r)
{
    if (r->broken)
        return true;
    if (s->sent_len && s->sent_serial == r->info.serial)
        return false;
    return !pvperf_consumer_waiting(r->consumer);
}

/* The flag first: no record follows it, so an empty ring then stays empty. */
static void drop_dead(struct session *s)
{
    size_t i = 0;

    while (i < s->nr_rings)
        if (pvperf_consumer_dead(s->rings[i].consumer) && drained(s, &s->rings[i]))
            drop(s, i, true);
        else
            i++;
}

static void drop_unseen(struct session *s)
{
    size_t i = 0;

    while (i < s->nr_rings)
        if (s->rings[i].seen)
            i++;
        else
            drop(s, i, false);
}

void session_rings_scan(struct session *s, const struct pvperf_session_info *info,
                        const struct pvperf_domain *list, size_t nr)
{
    struct pvperf_ring_info ring;
    struct session_ring *r;
    uint32_t i;
    size_t j;
    int rc;

    drop_dead(s);
    if (info->ring_changes == s->info.ring_changes)
        return;
    for (j = 0; j < s->nr_rings; j++)
        s->rings[j].seen = false;
    for (i = 0; i < info->nr_rings; i++) {
        rc = pvperf_host_ring_info(s->host, s->id, i, &ring, NULL);
        if (rc < 0)
            continue;
        r = find(s, ring.serial);
        if (!r) {
            r = map_ring(s, &ring);
            if (r)
                announce(s, r, list, nr);
        }
        if (r)
            r->seen = true;
    }
    drop_unseen(s);
}

/* The last RING_DATA frame is out: its bytes may go. */
static void confirm(struct session *s)
{
    struct session_ring *r;

    if (!s->sent_len)
        return;
    r = find(s, s->sent_serial);
    if (r)
        pvperf_consumer_advance(r->consumer, s->sent_len);
    s->sent_len = 0;
}

/* Put the next bytes of @r into the client's buffer; false: there are none. */
static bool send_some(struct session *s, struct session_ring *r)
{
    struct pvperf_msg_data msg = {.serial = r->info.serial};
    struct pvperf_span span;
    int rc;

    if (r->broken)
        return false;
    rc = pvperf_consumer_peek(r->consumer, SESSION_DATA_MAX, &span);
    if (rc < 0) {
        log_warning(
            "session %u, domain %u, vCPU %u: the ring's head cannot be; it is not "
            "read any more",
            s->id, r->info.domid, r->info.vcpu);
        r->broken = true;
    }
    if (rc <= 0)
        return false;
    msg.position = span.position;
    conn_send(s->client, PVPERF_MSG_RING_DATA, 0, &msg, sizeof(msg), span.bytes,
              span.len);
    s->sent_serial = r->info.serial;
    s->sent_len = span.len;
    return true;
}

/*
 * Each ring in turn gets one frame out, until all are empty or the socket is
 * full.  Not more than a round of full frames at a time: others wait too.
 */
bool session_rings_drain(struct session *s)
{
    size_t empty = 0, frames = 0, limit = s->nr_rings + 32;

    for (;;) {
        if (!conn_flush(s->client))
            return false;
        confirm(s);
        if (!s->nr_rings || empty == s->nr_rings)
            return false;
        if (frames == limit)
            return true;
        s->turn %= s->nr_rings;
        if (send_some(s, &s->rings[s->turn])) {
            frames++;
            empty = 0;
        } else {
            empty++;
        }
        s->turn++;
    }
}

bool session_rings_empty(const struct session *s)
{
    size_t i;

    for (i = 0; i < s->nr_rings; i++)
        if (!drained(s, &s->rings[i]))
            return false;
    return true;
}

void session_rings_close(struct session *s)
{
    size_t i;

    for (i = 0; i < s->nr_rings; i++)
        unmap(s, &s->rings[i]);
    free(s->rings);
    s->rings = NULL;
    s->nr_rings = 0;
    s->sent_len = 0;
}

uint64_t session_rings_count(struct session *s)
{
    const struct pvperf_decoder_ops ops = {NULL, NULL};
    struct pvperf_decoder_stats stats;
    struct pvperf_decoder *d;
    struct pvperf_span span;
    uint64_t samples = 0;
    size_t i;

    for (i = 0; i < s->nr_rings; i++) {
        if (pvperf_decoder_new(&d, s->info.events, s->info.nr_events, 0, 0, &ops, NULL))
            break;
        while (!s->rings[i].broken &&
               pvperf_consumer_peek(s->rings[i].consumer, SESSION_DATA_MAX, &span) > 0) {
            pvperf_decoder_feed(d, span.position, span.bytes, span.len, NULL);
            pvperf_consumer_advance(s->rings[i].consumer, span.len);
        }
        pvperf_decoder_stats(d, &stats);
        samples += stats.samples;
        pvperf_decoder_free(d);
    }
    return samples;
}
