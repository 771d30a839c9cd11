/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_ring.c: the ring protocol of docs/ring.md, as seen by a consumer: the
 * header, records, contexts, losses, wake-up, and a consumer that lies.
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "core_util.h"

static struct domain *dom5;
static uint32_t id;
static struct consumer c;

/* Domain 5, its vCPU 0 on CPU 1, a running session with raw events. */
static void up(struct pvperf_session_create op)
{
    shim_boot(2, "on");
    shim_pmu_set(PVPERF_BACKEND_INTEL, 8, 0);
    dom5 = shim_domain_create(5, 2, 2);
    shim_run_vcpu(1, dom5->vcpu[0]);
    shim_regs[1].mode = PVPERF_MODE_USER;
    shim_regs[1].ip = 0x401000;
    id = session_make(op);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    ck_assert_int_eq(session_op(PVPERF_OP_session_start, id), 0);
    ck_assert(consumer_open_vcpu(&c, id, 5, 0));
}

static void down(void)
{
    require_identity(id);
    consumer_close(&c);
    shim_down();
}

static void hit(unsigned int event, uint64_t period)
{
    shim.now += 1000;
    ck_assert(shim_pmu_overflow(1, id, event, period));
}

static void hits(unsigned int n)
{
    while (n--)
        hit(0, 0);
}

/* Until something is lost. */
static unsigned int fill_up(void)
{
    uint64_t lost = c.ring->lost[0];
    unsigned int n = 0;

    while (c.ring->lost[0] == lost) {
        hit(0, 0);
        n++;
    }
    return n - 1;
}

START_TEST(header)
{
    struct pvperf_ring zero = {0};

    up(create_counters(0, 1));
    ck_assert_uint_eq(c.ring->magic, PVPERF_RING_MAGIC);
    ck_assert_uint_eq(c.ring->abi_major, PVPERF_ABI_MAJOR);
    ck_assert_uint_eq(c.ring->abi_minor, PVPERF_ABI_MINOR);
    ck_assert_uint_eq(c.ring->session, id);
    ck_assert_uint_eq(c.ring->data_size, 4096);
    ck_assert_uint_eq(c.ring->serial, c.info.serial);
    ck_assert_uint_eq(c.ring->domid, 5);
    ck_assert_uint_eq(c.ring->vcpu, 0);
    ck_assert_uint_eq(c.ring->flags, 0);
    ck_assert_uint_eq(c.ring->head, 0);
    ck_assert_uint_eq(c.ring->tail, 0);
    ck_assert_mem_eq(c.ring->reserved0, zero.reserved0, sizeof(zero.reserved0));
    ck_assert_mem_eq(c.ring->reserved2, zero.reserved2, sizeof(zero.reserved2));
    ck_assert_mem_eq(c.info.handle, dom5->handle, 16);
    down();
}
END_TEST

/* Nothing of what was in the memory before reaches dom0. */
START_TEST(pages_are_clean)
{
    struct pvperf_session_create op = create_counters(0, 1);
    const uint8_t *page;
    unsigned int i;

    op.ring_order = 2;
    up(op);
    for (i = 0; i < 4 * 4096; i++)
        ck_assert_uint_eq(c.data[i], 0);
    page = (const uint8_t *)c.ring;
    for (i = sizeof(struct pvperf_ring); i < 4096; i++)
        ck_assert_uint_eq(page[i], 0);
    down();
}
END_TEST

START_TEST(sizes_of_rings)
{
    unsigned int order;

    for (order = 0; order <= PVPERF_MAX_RING_ORDER; order++) {
        struct pvperf_session_create op = create_counters(0, 1);

        op.ring_order = (uint8_t)order;
        up(op);
        ck_assert_uint_eq(c.info.data_order, order);
        ck_assert_uint_eq(c.ring->data_size, 4096u << order);
        /* two CPUs' and two vCPUs' rings, a header page each */
        ck_assert_uint_eq(query().ring_bytes_used, 4 * 4096ull * (1 + (1ull << order)));
        hits(3);
        ck_assert_uint_eq(consumer_read(&c, true), 3);
        down();
    }
}
END_TEST

START_TEST(a_sample)
{
    struct rec *r;
    unsigned int i = 0;

    up(create_counters(0, 3));
    shim_regs[1].tag = 0xabcd;
    hit(2, 0);
    ck_assert_uint_eq(consumer_read(&c, true), 1);
    ck_assert_uint_eq(c.nr_recs, 2);
    ck_assert_uint_eq(c.recs[0].hdr.type, PVPERF_REC_CONTEXT);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.words, 3);
    ck_assert_uint_eq(r->hdr.event, 2);
    ck_assert_uint_eq(r->hdr.mode, PVPERF_MODE_USER);
    ck_assert_uint_eq(r->hdr.pcpu, 1);
    ck_assert_uint_eq(r->hdr.flags, 0);
    ck_assert_uint_eq(r->time, (uint64_t)shim.now);
    ck_assert_uint_eq(r->ip, 0x401000);
    ck_assert_uint_eq(r->context.domid, 5);
    ck_assert_uint_eq(r->context.vcpu, 0);
    ck_assert_uint_eq(r->context.pt_base, dom5->vcpu[0]->shim_pt_base);
    ck_assert_uint_eq(r->context.tag, 0xabcd);
    ck_assert_uint_eq(r->context.hdr.pcpu, 1);
    ck_assert_uint_eq(c.ring->recorded[2], 1);
    ck_assert_uint_eq(c.ring->recorded[0], 0);
    ck_assert_uint_eq(session_counts(id, 2).recorded, 1);
    ck_assert_uint_eq(session_counts(id, 0).recorded, 0);
    down();
}
END_TEST

START_TEST(periods)
{
    unsigned int i = 0;
    struct rec *r;

    up(create_counters(0, 1));
    hit(0, 123456789012345ull);
    hit(0, 0);
    consumer_read(&c, true);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.flags, PVPERF_SAMPLE_FLAG_PERIOD);
    ck_assert_uint_eq(r->hdr.words, 4);
    ck_assert_uint_eq(r->period, 123456789012345ull);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.flags, 0);
    ck_assert_uint_eq(r->hdr.words, 3);
    down();
}
END_TEST

static void set_chain(unsigned int nx, unsigned int nk, unsigned int nu)
{
    unsigned int i;

    shim_regs[1].chain = (struct pvperf_chain){
        .nr_xen = (uint16_t)nx, .nr_kernel = (uint16_t)nk, .nr_user = (uint16_t)nu};
    for (i = 0; i < PVPERF_MAX_STACK; i++)
        shim_regs[1].frames[i] = 0x1000 + i;
}

START_TEST(chains)
{
    struct pvperf_session_create op = create_counters(PVPERF_SESSION_FLAG_CALLCHAIN, 1);
    unsigned int i = 0, n;
    struct rec *r;

    op.max_stack = 6;
    up(op);
    set_chain(0, 0, 0);
    hit(0, 0);
    set_chain(1, 2, 3);
    hit(0, 777);
    set_chain(4, 10, 20);
    hit(0, 0);
    consumer_read(&c, true);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.flags, PVPERF_SAMPLE_FLAG_CHAIN);
    ck_assert_uint_eq(r->hdr.words, 4);
    ck_assert_uint_eq(r->chain.nr_xen + r->chain.nr_kernel + r->chain.nr_user, 0);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.flags, PVPERF_SAMPLE_FLAG_CHAIN | PVPERF_SAMPLE_FLAG_PERIOD);
    ck_assert_uint_eq(r->hdr.words, 3 + 1 + 1 + 6);
    ck_assert_uint_eq(r->period, 777);
    ck_assert_uint_eq(r->chain.nr_xen, 1);
    ck_assert_uint_eq(r->chain.nr_kernel, 2);
    ck_assert_uint_eq(r->chain.nr_user, 3);
    for (n = 0; n < 6; n++)
        ck_assert_uint_eq(r->frames[n], 0x1000 + n);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->chain.nr_xen + r->chain.nr_kernel + r->chain.nr_user, 6);
    ck_assert_uint_eq(r->chain.flags, PVPERF_CHAIN_FLAG_TRUNCATED);
    down();
}
END_TEST

/* Each session has a depth of its own, also when one interrupt serves all. */
START_TEST(chains_of_three_sessions)
{
    static const uint8_t depth[3] = {4, 64, 0};
    struct consumer cc;
    unsigned int n, i;
    uint32_t s[3];

    shim_boot(1, "on");
    dom5 = shim_domain_create(5, 1, 1);
    shim_run_vcpu(0, dom5->vcpu[0]);
    memset(&shim_regs[1], 0, sizeof(shim_regs[1]));
    set_chain(0, 20, 30);
    shim_regs[0] = shim_regs[1];
    for (n = 0; n < 3; n++) {
        struct pvperf_session_create op =
            create_timer(depth[n] ? PVPERF_SESSION_FLAG_CALLCHAIN : 0, MS);

        op.max_stack = depth[n];
        s[n] = session_make(op);
        domain_op(PVPERF_OP_session_add_domain, s[n], 5);
        session_op(PVPERF_OP_session_start, s[n]);
    }
    shim_advance(2 * MS);
    for (n = 0; n < 3; n++) {
        unsigned int frames;
        struct rec *r;

        i = 0;
        ck_assert(consumer_open_vcpu(&cc, s[n], 5, 0));
        ck_assert_uint_ge(consumer_read(&cc, true), 1);
        r = next_rec(&cc, &i, PVPERF_REC_SAMPLE);
        frames = (unsigned int)r->chain.nr_xen + r->chain.nr_kernel + r->chain.nr_user;
        ck_assert_uint_eq(!!(r->hdr.flags & PVPERF_SAMPLE_FLAG_CHAIN), depth[n] != 0);
        ck_assert_uint_eq(frames, depth[n] < 50 ? depth[n] : 50);
        consumer_close(&cc);
    }
    shim_down();
}
END_TEST

START_TEST(context_when_it_changes)
{
    unsigned int i = 0, n = 0;
    struct rec *r;

    up(create_counters(0, 1));
    hits(5); /* one context */
    dom5->vcpu[0]->shim_pt_base += 0x1000;
    hits(3); /* another process */
    shim_regs[1].tag = 99;
    hits(2); /* another thread */
    shim_regs[1].mode = PVPERF_MODE_KERNEL;
    shim_regs[1].ip++;
    hits(4); /* mode is no context */
    consumer_read(&c, true);
    while ((r = next_rec(&c, &i, PVPERF_REC_CONTEXT)))
        n++;
    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(c.samples[0], 14);
    i = 0;
    for (n = 0; (r = next_rec(&c, &i, PVPERF_REC_SAMPLE)); n++) {
        ck_assert_uint_eq(r->context.tag, n < 8 ? 0 : 99);
        ck_assert_uint_eq(r->context.pt_base,
                          dom5->vcpu[0]->shim_pt_base - (n < 5 ? 0x1000 : 0));
    }
    down();
}
END_TEST

/* Context and sample are written together or not at all. */
START_TEST(context_is_not_lost)
{
    unsigned int room, i, k;
    struct rec *r;

    for (room = 0; room <= 64; room += 8) {
        up(create_counters(0, 1));
        hits(20);
        consumer_read(&c, false);
        fill_up();
        /* Make exactly so much room, and change the context. */
        consumer_forget(&c);
        consumer_read(&c, false);
        for (k = 0; k < 6; k++) {
            c.ring->tail = c.ring->head - c.ring->data_size + room;
            dom5->vcpu[0]->shim_pt_base += 0x1000;
            hit(0, 0);
            hit(0, 0);
        }
        c.ring->tail = c.ring->head;
        c.pos = c.ring->head;
        c.context_known = false; /* whatever comes first must tell */
        dom5->vcpu[0]->shim_pt_base += 0x1000;
        consumer_forget(&c);
        hits(2);
        consumer_read(&c, true);
        i = 0;
        while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE)))
            ck_assert_uint_eq(r->context.pt_base, dom5->vcpu[0]->shim_pt_base);
        down();
    }
}
END_TEST

/* The same when a small amount is consumed at a time: never a wrong context. */
START_TEST(contexts_under_load)
{
    unsigned int i, n, k;
    struct rec *r;

    up(create_counters(0, 1));
    srand(7);
    for (n = 0; n < 20000; n++) {
        dom5->vcpu[0]->shim_pt_base = 0x1000u * (1 + (unsigned int)rand() % 3);
        shim_regs[1].ip = dom5->vcpu[0]->shim_pt_base;
        hit(0, rand() % 2 ? 5 : 0);
        if (rand() % 60)
            continue;
        consumer_forget(&c);
        consumer_read(&c, true);
        i = 0;
        while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE)))
            ck_assert_uint_eq(r->context.pt_base, r->ip);
        for (k = 0; k + 1 < c.nr_recs; k++)
            if (c.recs[k].hdr.type == PVPERF_REC_CONTEXT)
                ck_assert_uint_eq(c.recs[k + 1].hdr.type, PVPERF_REC_SAMPLE);
    }
    ck_assert_uint_eq(session_counts(id, 0).overflows, 20000);
    down();
}
END_TEST

/* Records never wrap: read some hundred times round at odd fillings. */
START_TEST(wrap_and_pad)
{
    struct pvperf_session_create op = create_counters(PVPERF_SESSION_FLAG_CALLCHAIN, 1);
    unsigned int n, pads = 0, i = 0;
    uint64_t samples = 0;

    op.max_stack = 64;
    up(op);
    srand(11);
    for (n = 0; n < 5000; n++) {
        set_chain((unsigned int)rand() % 5, (unsigned int)rand() % 30,
                  (unsigned int)rand() % 30);
        hit(0, rand() % 3 ? 0 : 9);
        if (rand() % 4 == 0) {
            samples += consumer_read(&c, true);
            i = 0;
            while (next_rec(&c, &i, PVPERF_REC_PAD))
                pads++;
            consumer_forget(&c);
        }
    }
    samples += consumer_read(&c, true);
    ck_assert_uint_gt(pads, 100);
    ck_assert_uint_eq(samples, c.ring->recorded[0]);
    ck_assert_uint_eq(session_counts(id, 0).overflows, 5000);
    ck_assert_uint_eq(session_counts(id, 0).recorded, samples);
    ck_assert_uint_gt(c.pos, 100 * 4096ull);
    down();
}
END_TEST

START_TEST(a_full_ring)
{
    unsigned int n, i = 0;
    uint64_t first;
    struct rec *r;

    up(create_counters(0, 1));
    n = fill_up();
    first = (uint64_t)shim.now;
    hits(9); /* 10 are lost */
    ck_assert_uint_eq(c.ring->lost[0], 10);
    ck_assert_uint_eq(c.ring->recorded[0], n);
    /* full is full: less than a sample's size is left, or a pad's */
    ck_assert_uint_gt(c.ring->head + 24, 4096);
    ck_assert_uint_eq(session_counts(id, 0).lost, 10);
    ck_assert_uint_eq(session_counts(id, 0).recorded, n);
    ck_assert_uint_eq(consumer_read(&c, true), n);
    ck_assert_uint_eq(c.lost[0], 0);
    consumer_forget(&c);
    hits(2);
    consumer_read(&c, true);
    r = next_rec(&c, &i, PVPERF_REC_LOST);
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->lost.count, 10);
    ck_assert_uint_eq(r->lost.time_first, first);
    ck_assert_uint_eq(r->lost.time_last, first + 9000);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE); /* before the next sample */
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(c.samples[0], n + 2);
    ck_assert_uint_eq(c.lost[0], 10);
    ck_assert_ptr_null(next_rec(&c, &i, PVPERF_REC_LOST));
    down();
}
END_TEST

START_TEST(losses_of_each_event)
{
    unsigned int e, i = 0, seen = 0;
    struct rec *r;

    up(create_counters(0, 8));
    fill_up();
    for (e = 1; e < 8; e++) {
        unsigned int n;

        for (n = 0; n < e; n++)
            hit(e, 0);
    }
    consumer_read(&c, true);
    consumer_forget(&c);
    hit(3, 0);
    consumer_read(&c, true);
    while ((r = next_rec(&c, &i, PVPERF_REC_LOST))) {
        ck_assert_uint_eq(r->lost.count, r->hdr.event ? r->hdr.event : 1);
        ck_assert(!(seen & (1u << r->hdr.event)));
        seen |= 1u << r->hdr.event;
    }
    ck_assert_uint_eq(seen, 0xff);
    ck_assert_uint_eq(c.recs[c.nr_recs - 1].hdr.type, PVPERF_REC_SAMPLE);
    for (e = 0; e < 8; e++)
        ck_assert_uint_eq(c.lost[e], c.ring->lost[e]);
    down();
}
END_TEST

/* Losses that no sample follows: the header has them, and so has a stop. */
START_TEST(losses_at_the_end)
{
    up(create_counters(0, 1));
    fill_up();
    hits(4);
    session_op(PVPERF_OP_session_stop, id);
    consumer_read(&c, true);
    ck_assert_uint_eq(c.ring->lost[0], 5);
    ck_assert_uint_eq(session_counts(id, 0).lost, 5);
    ck_assert_uint_le(c.lost[0], 5);
    down();
}
END_TEST

/* LOST records announce the whole, whenever room comes and goes. */
START_TEST(counts_under_load)
{
    struct pvperf_session_create op = create_counters(PVPERF_SESSION_FLAG_CALLCHAIN, 8);
    struct pvperf_counts sum;
    unsigned int n, e;

    op.max_stack = 32;
    op.ring_order = 1;
    for (e = 0; e < 8; e++)
        op.events[e].modes = (uint8_t)(e + 1);
    up(op);
    srand(3);
    for (n = 0; n < 60000; n++) {
        shim_regs[1].mode = (uint8_t)(rand() % 3);
        set_chain(0, (unsigned int)rand() % 20, (unsigned int)rand() % 20);
        hit((unsigned int)rand() % 8, 0);
        if (rand() % 50 == 0) {
            consumer_read(&c, rand() % 3 != 0);
            c.pos = c.ring->tail; /* sometimes read twice */
            consumer_forget(&c);
        }
    }
    session_op(PVPERF_OP_session_stop, id);
    require_identity(id);
    c.ring->tail = c.ring->head;
    for (e = 0, n = 0; e < 8; e++) {
        sum = session_counts(id, e);
        ck_assert_uint_eq(sum.recorded, c.ring->recorded[e]);
        ck_assert_uint_eq(sum.lost, c.ring->lost[e]);
        n += (unsigned int)sum.overflows;
    }
    ck_assert_uint_eq(n, 60000);
    down();
}
END_TEST

START_TEST(announced_losses_add_up)
{
    unsigned int n;

    up(create_counters(0, 2));
    srand(5);
    for (n = 0; n < 60000; n++) {
        hit((unsigned int)rand() % 2, 0);
        if (rand() % 250 == 0) {
            consumer_read(&c, true);
            consumer_forget(&c);
        }
    }
    consumer_read(&c, true);
    hit(0, 0); /* room now: everything is announced */
    consumer_read(&c, true);
    ck_assert_uint_gt(c.lost[0], 0);
    ck_assert_uint_eq(c.lost[0], c.ring->lost[0]);
    ck_assert_uint_eq(c.lost[1], c.ring->lost[1]);
    ck_assert_uint_eq(c.samples[0], c.ring->recorded[0]);
    ck_assert_uint_eq(c.samples[1], c.ring->recorded[1]);
    down();
}
END_TEST

/* A tail that cannot be makes the ring full, and does no harm. */
START_TEST(tails_that_lie)
{
    static const int64_t lies[] = {8,         1,     4096,  1ll << 40,   INT64_MAX,
                                   INT64_MIN, -4097, -8192, -(1ll << 40)};
    uint64_t head, recorded, overflows;
    unsigned int i;

    up(create_counters(0, 1));
    hits(300);
    consumer_read(&c, true);
    hits(300);
    consumer_read(&c, true);
    hits(10);
    for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        head = c.ring->head;
        recorded = c.ring->recorded[0];
        overflows = session_counts(id, 0).overflows;
        c.ring->tail = head + (uint64_t)lies[i];
        hits(5);
        ck_assert_uint_eq(c.ring->head, head);
        ck_assert_uint_eq(c.ring->recorded[0], recorded);
        ck_assert_uint_eq(session_counts(id, 0).overflows, overflows + 5);
    }
    /* Truth helps at once. */
    c.ring->tail = c.ring->head;
    c.pos = c.ring->head;
    recorded = c.ring->recorded[0];
    hits(5);
    ck_assert_uint_eq(c.ring->recorded[0], recorded + 5);
    consumer_read(&c, true);
    down();
}
END_TEST

/* What dom0 writes elsewhere in the header does not reach Xen. */
START_TEST(a_header_full_of_noise)
{
    struct pvperf_ring_info info;
    unsigned int n;
    uint64_t recorded;

    up(create_counters(0, 1));
    hits(10);
    recorded = session_counts(id, 0).recorded;
    for (n = 0; n < 200; n++) {
        uint64_t tail = c.pos;

        memset(c.ring, (int)n, 4096);
        c.ring->tail = tail;
        hits(1);
    }
    ck_assert_uint_eq(session_counts(id, 0).overflows, 210);
    ck_assert_uint_ge(session_counts(id, 0).recorded, recorded);
    ck_assert_int_eq(ring_info(id, (uint32_t)ring_index(id, 5, 0), &info), 0);
    ck_assert_uint_eq(info.serial, c.info.serial);
    ck_assert_uint_eq(info.domid, 5);
    ck_assert_uint_eq(info.flags, 0);
    require_identity(id);
    consumer_close(&c);
    shim_down();
}
END_TEST

static int scribbling; /* atomic */

static void *scribbler(void *arg)
{
    volatile uint64_t *tail = &((struct pvperf_ring *)arg)->tail;
    volatile uint64_t *head = &((struct pvperf_ring *)arg)->head;
    uint64_t x = 88172645463325252ull;

    while (__atomic_load_n(&scribbling, __ATOMIC_ACQUIRE)) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        switch (x & 7) {
        case 0:
            *tail = x;
            break;
        case 1:
            *tail = *head + (x >> 50);
            break;
        case 2:
            *head = x;
            break;
        default:
            *tail = *head - (x >> 52);
        }
    }
    return NULL;
}

/* Another CPU of dom0's changes tail and head all the time. */
START_TEST(a_tail_that_changes)
{
    pthread_t t;
    unsigned int n;

    up(create_counters(0, 1));
    __atomic_store_n(&scribbling, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_create(&t, NULL, scribbler, c.ring), 0);
    for (n = 0; n < 200000; n++) {
        shim_regs[1].ip = n;
        hit(0, n & 1);
    }
    __atomic_store_n(&scribbling, 0, __ATOMIC_RELEASE);
    pthread_join(t, NULL);
    ck_assert_uint_eq(session_counts(id, 0).overflows, 200000);
    require_identity(id);
    ck_assert_uint_eq(c.ring->recorded[0], session_counts(id, 0).recorded);
    ck_assert_uint_eq(c.ring->lost[0], session_counts(id, 0).lost);
    consumer_close(&c);
    shim_down();
}
END_TEST

START_TEST(watermark)
{
    unsigned int n, before;

    up(create_counters(0, 1));
    for (n = 0; n < 3; n++) {
        before = shim.virqs[VIRQ_PVPERF];
        while (c.ring->head - c.ring->tail + 64 < 4096 / 4)
            hit(0, 0);
        ck_assert_uint_eq(shim.virqs[VIRQ_PVPERF], before);
        while (c.ring->head - c.ring->tail <= 4096 / 4)
            hit(0, 0);
        ck_assert_uint_eq(shim.virqs[VIRQ_PVPERF], before + 1);
        hits(20); /* one hint is enough */
        ck_assert_uint_eq(shim.virqs[VIRQ_PVPERF], before + 1);
        consumer_read(&c, true);
    }
    ck_assert_uint_eq(shim.virqs[VIRQ_PVPERF] + 0u, before + 1);
    down();
}
END_TEST

START_TEST(rings_that_come_and_die)
{
    unsigned int before;
    uint64_t changes;

    up(create_counters(0, 1));
    shim_domain_create(6, 2, 2);
    before = shim.virqs[VIRQ_PVPERF];
    changes = session_info(id).ring_changes;
    domain_op(PVPERF_OP_session_add_domain, id, 6);
    ck_assert_uint_gt(session_info(id).ring_changes, changes);
    ck_assert_uint_gt(shim.virqs[VIRQ_PVPERF], before);
    before = shim.virqs[VIRQ_PVPERF];
    changes = session_info(id).ring_changes;
    domain_op(PVPERF_OP_session_del_domain, id, 6);
    ck_assert_uint_gt(session_info(id).ring_changes, changes);
    ck_assert_uint_gt(shim.virqs[VIRQ_PVPERF], before);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("core-ring");
    TCase *t = tcase_create("protocol");
    SRunner *r;
    int failed;

    tcase_add_test(t, header);
    tcase_add_test(t, pages_are_clean);
    tcase_add_test(t, sizes_of_rings);
    tcase_add_test(t, a_sample);
    tcase_add_test(t, periods);
    tcase_add_test(t, chains);
    tcase_add_test(t, chains_of_three_sessions);
    tcase_add_test(t, context_when_it_changes);
    tcase_add_test(t, context_is_not_lost);
    tcase_add_test(t, contexts_under_load);
    tcase_add_test(t, wrap_and_pad);
    tcase_add_test(t, a_full_ring);
    tcase_add_test(t, losses_of_each_event);
    tcase_add_test(t, losses_at_the_end);
    tcase_add_test(t, counts_under_load);
    tcase_add_test(t, announced_losses_add_up);
    tcase_add_test(t, tails_that_lie);
    tcase_add_test(t, a_header_full_of_noise);
    tcase_add_test(t, a_tail_that_changes);
    tcase_add_test(t, watermark);
    tcase_add_test(t, rings_that_come_and_die);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
