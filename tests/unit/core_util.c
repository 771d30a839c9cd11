/* SPDX-License-Identifier: GPL-2.0-only */
/* core_util.c: see core_util.h. */
#include <stdlib.h>

#include "core_util.h"

struct pvperf_session_create create_timer(uint8_t flags, uint64_t period)
{
    struct pvperf_session_create op = {
        .abi_major = PVPERF_ABI_MAJOR,
        .nr_events = 1,
        .flags = flags,
        .max_stack = flags & PVPERF_SESSION_FLAG_CALLCHAIN ? 16 : 0,
        .cookie = 0x1122334455667788ull,
    };

    op.events[0] = (struct pvperf_event){
        .type = PVPERF_EVENT_TIMER, .modes = PVPERF_MODE_MASK_ALL, .rate = period};
    return op;
}

struct pvperf_session_create create_counters(uint8_t flags, unsigned int events)
{
    struct pvperf_session_create op = create_timer(flags, 1000000);
    unsigned int e;

    op.nr_events = (uint16_t)events;
    for (e = 0; e < events; e++)
        op.events[e] = (struct pvperf_event){.type = PVPERF_EVENT_RAW,
                                             .modes = PVPERF_MODE_MASK_ALL,
                                             .config = 0xc0,
                                             .rate = 1000000};
    return op;
}

uint32_t session_make(struct pvperf_session_create op)
{
    REQ(shim_hypercall(PVPERF_OP_session_create, &op) == 0);
    REQ(op.session);
    return op.session;
}

long session_op(unsigned int cmd, uint32_t id)
{
    struct pvperf_session op = {.session = id};

    return shim_hypercall(cmd, &op);
}

long domain_op(unsigned int cmd, uint32_t id, domid_t domid)
{
    struct pvperf_session_domain op = {.session = id, .domid = domid};

    return shim_hypercall(cmd, &op);
}

struct pvperf_session_info session_info(uint32_t id)
{
    struct pvperf_session_info info = {.session = id};

    REQ(shim_hypercall(PVPERF_OP_session_info, &info) == 0);
    REQ(info.session == id);
    return info;
}

long ring_info(uint32_t id, uint32_t index, struct pvperf_ring_info *info)
{
    *info = (struct pvperf_ring_info){.session = id, .index = index};
    return shim_hypercall(PVPERF_OP_ring_info, info);
}

long ring_release(uint32_t id, uint32_t index)
{
    struct pvperf_ring_info op = {.session = id, .index = index};

    return shim_hypercall(PVPERF_OP_ring_release, &op);
}

struct pvperf_query query(void)
{
    struct pvperf_query q = {0};

    REQ(shim_hypercall(PVPERF_OP_query, &q) == 0);
    return q;
}

struct pvperf_counts session_counts(uint32_t id, unsigned int event)
{
    return session_info(id).counts[event];
}

void require_identity(uint32_t id)
{
    struct pvperf_session_info info = session_info(id);
    unsigned int e;

    for (e = 0; e < PVPERF_MAX_EVENTS; e++) {
        const struct pvperf_counts *c = &info.counts[e];

        REQ(c->overflows == c->recorded + c->lost + c->filtered);
        REQ(e < info.nr_events || !c->overflows);
    }
}

int ring_index(uint32_t id, domid_t domid, uint16_t vcpu)
{
    unsigned int i, n = session_info(id).nr_rings;
    struct pvperf_ring_info info;
    int found = -1;

    for (i = 0; i < n; i++)
        if (!ring_info(id, i, &info) && info.domid == domid && info.vcpu == vcpu &&
            (found < 0 || !(info.flags & PVPERF_RING_FLAG_DEAD)))
            found = (int)i;
    return found;
}

bool consumer_open(struct consumer *c, uint32_t session, uint32_t index)
{
    memset(c, 0, sizeof(*c));
    if (ring_info(session, index, &c->info))
        return false;
    REQ(c->info.header_frame && c->info.data_frame);
    REQ(!shim_map(c->info.data_frame, true)); /* the data are Xen's alone */
    c->ring = shim_map(c->info.header_frame, true);
    c->data = shim_map(c->info.data_frame, false);
    REQ(c->ring && c->data);
    REQ(c->ring->magic == PVPERF_RING_MAGIC);
    REQ(c->ring->data_size == 4096u << c->info.data_order);
    c->pos = c->ring->tail;
    return true;
}

bool consumer_open_vcpu(struct consumer *c, uint32_t session, domid_t d, uint16_t vcpu)
{
    int i = ring_index(session, d, vcpu);

    return i >= 0 && consumer_open(c, session, (uint32_t)i);
}

static struct rec *add_rec(struct consumer *c)
{
    if (c->nr_recs == c->room) {
        c->room = c->room ? c->room * 2 : 64;
        c->recs = realloc(c->recs, c->room * sizeof(*c->recs));
        REQ(c->recs);
    }
    memset(&c->recs[c->nr_recs], 0, sizeof(*c->recs));
    return &c->recs[c->nr_recs++];
}

static void read_sample(struct consumer *c, struct rec *r, const uint64_t *w)
{
    unsigned int words = 3, n;
    uint16_t known =
        PVPERF_SAMPLE_FLAG_PERIOD | PVPERF_SAMPLE_FLAG_CHAIN | PVPERF_SAMPLE_FLAG_SKID;

    REQ(r->hdr.event < PVPERF_MAX_EVENTS && r->hdr.mode < PVPERF_MODES);
    REQ(!(r->hdr.flags & ~known));
    REQ(c->context_known);
    r->context = c->context;
    r->time = w[1];
    r->ip = w[2];
    if (r->hdr.flags & PVPERF_SAMPLE_FLAG_PERIOD)
        r->period = w[words++];
    if (r->hdr.flags & PVPERF_SAMPLE_FLAG_CHAIN) {
        memcpy(&r->chain, &w[words++], sizeof(r->chain));
        n = r->chain.nr_xen + r->chain.nr_kernel + r->chain.nr_user;
        REQ(n <= PVPERF_MAX_STACK && words + n <= r->hdr.words);
        REQ(!(r->chain.flags & ~PVPERF_CHAIN_FLAG_TRUNCATED));
        memcpy(r->frames, &w[words], n * 8);
        words += n;
    }
    REQ(words == r->hdr.words);
    c->samples[r->hdr.event]++;
}

static void read_rec(struct consumer *c, const uint64_t *w)
{
    struct rec *r = add_rec(c);

    memcpy(&r->hdr, w, 8);
    r->pos = c->pos;
    switch (r->hdr.type) {
    case PVPERF_REC_PAD:
        break;
    case PVPERF_REC_SAMPLE:
        read_sample(c, r, w);
        break;
    case PVPERF_REC_CONTEXT:
        REQ(r->hdr.words == 4 && !r->hdr.flags);
        memcpy(&c->context, w, sizeof(c->context));
        REQ(!c->context.reserved);
        c->context_known = true;
        r->context = c->context;
        break;
    case PVPERF_REC_LOST:
        REQ(r->hdr.words == 4 && !r->hdr.flags && r->hdr.event < PVPERF_MAX_EVENTS);
        memcpy(&r->lost, w, sizeof(r->lost));
        REQ(r->lost.count && r->lost.time_first <= r->lost.time_last);
        c->lost[r->hdr.event] += r->lost.count;
        break;
    default:
        REQ(!"a record type that this ABI does not have");
    }
}

unsigned int consumer_read(struct consumer *c, bool consume)
{
    uint64_t size = c->ring->data_size, head = c->ring->head;
    unsigned int before = c->nr_recs, i, samples = 0;

    smp_rmb();
    REQ(!(head & 7) && head >= c->pos && head - c->pos <= size);
    while (c->pos < head) {
        uint64_t at = c->pos & (size - 1);
        struct pvperf_rec hdr;

        memcpy(&hdr, c->data + at, 8);
        REQ(hdr.words && hdr.words * 8u <= head - c->pos);
        REQ(at + hdr.words * 8u <= size); /* records do not wrap */
        read_rec(c, (const uint64_t *)(const void *)(c->data + at));
        c->pos += hdr.words * 8u;
    }
    for (i = before; i < c->nr_recs; i++)
        samples += c->recs[i].hdr.type == PVPERF_REC_SAMPLE;
    smp_mb();
    if (consume)
        c->ring->tail = c->pos;
    return samples;
}

void consumer_forget(struct consumer *c)
{
    c->nr_recs = 0;
}

void consumer_close(struct consumer *c)
{
    shim_unmap(c->info.header_frame, true);
    shim_unmap(c->info.data_frame, false);
    free(c->recs);
    memset(c, 0, sizeof(*c));
}

struct rec *next_rec(struct consumer *c, unsigned int *i, uint8_t type)
{
    while (*i < c->nr_recs) {
        struct rec *r = &c->recs[(*i)++];

        if (r->hdr.type == type)
            return r;
    }
    return NULL;
}
