/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_life.c: what is sampled (domains, modes, flags), and the lives of
 * domains, CPUs, rings and their memory.
 */
#include <check.h>
#include <stdlib.h>

#include "core_util.h"

static struct domain *d5, *d6;

static void up(const char *params)
{
    shim_boot(2, params);
    shim_pmu_set(PVPERF_BACKEND_INTEL, 64, 0);
    d5 = shim_domain_create(5, 2, 2);
    d6 = shim_domain_create(6, 2, 2);
}

static void hit_as(uint32_t id, struct vcpu *v, uint8_t mode)
{
    shim_run_vcpu(1, v);
    shim_regs[1].mode = mode;
    shim.now += 1000;
    ck_assert(shim_pmu_overflow(1, id, 0, 0));
}

/*
 * The rule of pvperf.h, written once more: domains added, in the wanted
 * modes; ALL: everything; XEN: hypervisor mode in any context; IDLE: idle.
 */
static bool expected(uint8_t flags, uint8_t modes, bool added, uint8_t mode)
{
    if (!(modes & (1u << mode)))
        return false;
    if (flags & PVPERF_SESSION_FLAG_ALL)
        return true;
    if (mode == PVPERF_MODE_IDLE)
        return flags & PVPERF_SESSION_FLAG_IDLE;
    if (mode == PVPERF_MODE_HYPERVISOR && (flags & PVPERF_SESSION_FLAG_XEN))
        return true;
    return added;
}

START_TEST(filter_matrix)
{
    unsigned int flags, modes, who;
    uint8_t mode;

    up("on");
    for (flags = 0; flags < 8; flags++)
        for (modes = 1; modes < 16; modes++) {
            struct pvperf_session_create op = create_counters((uint8_t)flags, 1);
            uint32_t id;

            op.events[0].modes = (uint8_t)modes;
            id = session_make(op);
            ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
            session_op(PVPERF_OP_session_start, id);
            /* who: the added domain, another one, the idle vCPU */
            for (who = 0; who < 3; who++)
                for (mode = 0; mode < PVPERF_MODES; mode++) {
                    struct pvperf_counts a = session_counts(id, 0), b;
                    bool want = expected((uint8_t)flags, (uint8_t)modes, who == 0, mode);

                    /* a guest does not idle, the idle vCPU is no guest */
                    if ((who == 2) != (mode == PVPERF_MODE_IDLE) &&
                        mode != PVPERF_MODE_HYPERVISOR)
                        continue;
                    hit_as(id,
                           who == 0   ? d5->vcpu[1]
                           : who == 1 ? d6->vcpu[0]
                                      : NULL,
                           mode);
                    b = session_counts(id, 0);
                    ck_assert_uint_eq(b.overflows, a.overflows + 1);
                    ck_assert_msg(
                        b.recorded == a.recorded + want &&
                            b.filtered == a.filtered + !want && b.lost == a.lost,
                        "flags %u modes %u who %u mode %u", flags, modes, who, mode);
                }
            session_op(PVPERF_OP_session_destroy, id);
        }
    shim_down();
}
END_TEST

/* Where a sample goes, and whose it says it is. */
START_TEST(which_ring)
{
    struct consumer mine, cpu;
    unsigned int i = 0;
    struct rec *r;
    uint32_t id;

    up("on");
    id = session_make(create_counters(PVPERF_SESSION_FLAG_ALL, 1));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    session_op(PVPERF_OP_session_start, id);
    ck_assert(consumer_open_vcpu(&mine, id, 5, 1));
    ck_assert(consumer_open_vcpu(&cpu, id, PVPERF_DOMID_IDLE, 1));
    hit_as(id, d5->vcpu[1], PVPERF_MODE_USER);
    hit_as(id, d5->vcpu[1], PVPERF_MODE_HYPERVISOR);
    ck_assert_uint_eq(consumer_read(&mine, true), 2);
    ck_assert_uint_eq(consumer_read(&cpu, true), 0);
    hit_as(id, NULL, PVPERF_MODE_IDLE);
    hit_as(id, NULL, PVPERF_MODE_HYPERVISOR);
    hit_as(id, d6->vcpu[1], PVPERF_MODE_KERNEL); /* no ring of its own */
    ck_assert_uint_eq(consumer_read(&mine, true), 0);
    ck_assert_uint_eq(consumer_read(&cpu, true), 3);
    r = next_rec(&cpu, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.mode, PVPERF_MODE_IDLE);
    ck_assert_uint_eq(r->context.domid, PVPERF_DOMID_IDLE);
    ck_assert_uint_eq(r->context.pt_base, 0);
    r = next_rec(&cpu, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.mode, PVPERF_MODE_HYPERVISOR);
    r = next_rec(&cpu, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->context.domid, 6);
    ck_assert_uint_eq(r->context.vcpu, 1);
    consumer_close(&mine);
    consumer_close(&cpu);
    shim_down();
}
END_TEST

/* In a CPU's ring, all parts of the context count, each by itself. */
START_TEST(contexts_in_a_cpu_ring)
{
    struct consumer c;
    unsigned int i = 0, n;
    struct rec *r;
    uint32_t id;

    up("on");
    id = session_make(create_counters(PVPERF_SESSION_FLAG_ALL, 1));
    session_op(PVPERF_OP_session_start, id);
    ck_assert(consumer_open_vcpu(&c, id, PVPERF_DOMID_IDLE, 1));
    d5->vcpu[0]->shim_pt_base = d5->vcpu[1]->shim_pt_base = 0x7000;
    d6->vcpu[0]->shim_pt_base = d6->vcpu[1]->shim_pt_base = 0x7000;
    for (n = 0; n < 4; n++)
        hit_as(id, (n & 2 ? d6 : d5)->vcpu[n & 1], PVPERF_MODE_USER);
    ck_assert_uint_eq(consumer_read(&c, true), 4);
    for (n = 0; n < 4; n++) {
        r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
        ck_assert_uint_eq(r->context.domid, n & 2 ? 6 : 5);
        ck_assert_uint_eq(r->context.vcpu, n & 1);
    }
    consumer_close(&c);
    shim_down();
}
END_TEST

START_TEST(rings_of_cpus)
{
    struct pvperf_ring_info info;
    static const uint8_t zero[16];
    unsigned int i;
    uint32_t id;

    up("on");
    id = session_make(create_counters(0, 1));
    ck_assert_uint_eq(session_info(id).nr_rings, 2);
    for (i = 0; i < 2; i++) {
        ck_assert_int_ge(ring_index(id, PVPERF_DOMID_IDLE, (uint16_t)i), 0);
        ck_assert_int_eq(ring_info(id, i, &info), 0);
        ck_assert_uint_eq(info.domid, PVPERF_DOMID_IDLE);
        ck_assert_mem_eq(info.handle, zero, 16);
        ck_assert_uint_eq(info.flags, 0);
        ck_assert_int_eq(ring_release(id, i), -EBUSY);
    }
    ck_assert_int_eq(ring_info(id, 2, &info), -ENOENT);
    ck_assert_int_eq(ring_info(id, ~0u, &info), -ENOENT);
    ck_assert_int_eq(ring_release(id, 2), -ENOENT);
    ck_assert_int_eq(ring_release(id, 0x80000000u), -ENOENT);
    shim_down();
}
END_TEST

START_TEST(add_errors)
{
    struct domain *dying;
    uint32_t id;
    unsigned int cmd;

    up("on");
    id = session_make(create_counters(0, 1));
    dying = shim_domain_create(9, 1, 1);
    shim_domain_kill(dying);
    for (cmd = PVPERF_OP_session_add_domain; cmd <= PVPERF_OP_session_del_domain; cmd++) {
        ck_assert_int_eq(domain_op(cmd, id, 77), -ESRCH);
        ck_assert_int_eq(domain_op(cmd, id, DOMID_IDLE), -ESRCH);
        ck_assert_int_eq(domain_op(cmd, id, DOMID_XEN), -ESRCH);
        ck_assert_int_eq(domain_op(cmd, id, DOMID_SELF), -ESRCH);
        ck_assert_int_eq(domain_op(cmd, id, 0xffff), -ESRCH);
    }
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 9), -ESRCH);
    ck_assert_uint_eq(session_info(id).nr_rings, 2);
    shim_down();
}
END_TEST

START_TEST(del_of_a_dying_domain)
{
    struct domain *dying;
    uint32_t id;

    up("on");
    id = session_make(create_counters(0, 1));
    dying = shim_domain_create(9, 1, 1);
    domain_op(PVPERF_OP_session_add_domain, id, 9);
    shim_domain_kill(dying);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_del_domain, id, 9), -ESRCH);
    shim_down();
}
END_TEST

/* Adding again makes rings for vCPUs that came since, and only those. */
START_TEST(add_again)
{
    struct pvperf_ring_info before, after;
    struct domain *d;
    uint64_t changes;
    uint32_t id;

    up("on");
    d = shim_domain_create(8, 4, 1);
    id = session_make(create_counters(0, 1));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 8), 0);
    ck_assert_uint_eq(session_info(id).nr_rings, 3);
    ring_info(id, 2, &before);
    changes = session_info(id).ring_changes;
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 8), 0);
    ck_assert_uint_eq(session_info(id).nr_rings, 3);
    ck_assert_uint_eq(session_info(id).ring_changes, changes);
    shim_domain_add_vcpu(d);
    shim_domain_add_vcpu(d);
    session_op(PVPERF_OP_session_start, id);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 8), 0);
    ck_assert_uint_eq(session_info(id).nr_rings, 5);
    ring_info(id, 2, &after);
    ck_assert_mem_eq(&before, &after, sizeof(after));
    ck_assert_int_ge(ring_index(id, 8, 2), 0);
    ck_assert_int_eq(ring_index(id, 8, 3), -1);
    shim_down();
}
END_TEST

START_TEST(add_goes_on)
{
    struct pvperf_session_domain op = {.domid = 8};
    unsigned int every, i;

    for (every = 1; every < 6; every++) {
        up("on");
        shim_domain_create(8, 100, 100);
        op.session = session_make(create_counters(0, 1));
        op.next_vcpu = 0;
        shim.preempt_every = every;
        ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_add_domain, &op), 0);
        ck_assert_uint_gt(shim.continuations, 10);
        shim.preempt_every = 0;
        ck_assert_uint_eq(session_info(op.session).nr_rings, 102);
        for (i = 0; i < 100; i++)
            ck_assert_int_ge(ring_index(op.session, 8, (uint16_t)i), 0);
        shim_down();
    }
}
END_TEST

/* A continuation that somebody else wrote: no harm. */
START_TEST(add_with_a_strange_next)
{
    static const uint32_t next[] = {1, 2, 3, 0x7fffffff, 0x80000000u, ~0u};
    unsigned int i;

    up("on");
    for (i = 0; i < 6; i++) {
        struct pvperf_session_domain op = {.domid = 5, .next_vcpu = next[i]};
        uint32_t id = session_make(create_counters(0, 1));

        op.session = id;
        shim_hypercall(PVPERF_OP_session_add_domain, &op);
        session_op(PVPERF_OP_session_start, id);
        hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
        require_identity(id);
        session_op(PVPERF_OP_session_destroy, id);
    }
    shim_down();
}
END_TEST

START_TEST(delete_and_release)
{
    struct consumer c;
    struct pvperf_ring_info info;
    uint32_t id;
    int i, again;

    up("on");
    id = session_make(create_counters(0, 1));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    domain_op(PVPERF_OP_session_add_domain, id, 6);
    session_op(PVPERF_OP_session_start, id);
    hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
    hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
    i = ring_index(id, 5, 0);
    ck_assert_int_eq(ring_release(id, (uint32_t)i), -EBUSY);
    ck_assert(consumer_open(&c, id, (uint32_t)i));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_del_domain, id, 5), 0);
    ck_assert_uint_eq(c.ring->flags, PVPERF_RING_FLAG_DEAD);
    ring_info(id, (uint32_t)i, &info);
    ck_assert_uint_eq(info.flags, PVPERF_RING_FLAG_DEAD);
    ck_assert_uint_eq(info.serial, c.info.serial);
    hit_as(id, d5->vcpu[0], PVPERF_MODE_USER); /* filtered now */
    ck_assert_uint_eq(session_counts(id, 0).filtered, 1);
    hit_as(id, d6->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_eq(session_counts(id, 0).recorded, 3);
    ck_assert_uint_eq(consumer_read(&c, true), 2); /* drained afterwards */
    consumer_close(&c);
    ck_assert_int_eq(ring_release(id, (uint32_t)i), 0);
    ck_assert_int_eq(ring_release(id, (uint32_t)i), -ENOENT);
    ck_assert_int_eq(ring_info(id, (uint32_t)i, &info), -ENOENT);
    /* A second life, with new rings. */
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    again = ring_index(id, 5, 0);
    ck_assert_int_ge(again, 0);
    ring_info(id, (uint32_t)again, &info);
    ck_assert_uint_eq(info.flags, 0);
    ck_assert_uint_gt(info.serial, 0);
    hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_eq(session_counts(id, 0).recorded, 4);
    shim_down();
}
END_TEST

/* With FLAG_ALL a deleted domain's samples go to the CPU's ring. */
START_TEST(delete_with_all)
{
    struct consumer c;
    uint32_t id;

    up("on");
    id = session_make(create_counters(PVPERF_SESSION_FLAG_ALL, 1));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    session_op(PVPERF_OP_session_start, id);
    domain_op(PVPERF_OP_session_del_domain, id, 5);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_del_domain, id, 5), 0);
    ck_assert(consumer_open_vcpu(&c, id, PVPERF_DOMID_IDLE, 1));
    hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_eq(consumer_read(&c, true), 1);
    ck_assert_uint_eq(c.context.domid, 5);
    consumer_close(&c);
    shim_down();
}
END_TEST

/* One session's domains are not another's. */
START_TEST(two_sessions)
{
    uint32_t a, b;

    up("on");
    a = session_make(create_counters(0, 1));
    b = session_make(create_counters(0, 1));
    domain_op(PVPERF_OP_session_add_domain, a, 5);
    domain_op(PVPERF_OP_session_add_domain, b, 6);
    session_op(PVPERF_OP_session_start, a);
    session_op(PVPERF_OP_session_start, b);
    hit_as(a, d5->vcpu[0], PVPERF_MODE_USER);
    hit_as(b, d5->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_eq(session_counts(a, 0).recorded, 1);
    ck_assert_uint_eq(session_counts(b, 0).filtered, 1);
    session_op(PVPERF_OP_session_destroy, a);
    hit_as(b, d6->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_eq(session_counts(b, 0).recorded, 1);
    /* A new session in the same slot begins without domains. */
    a = session_make(create_counters(0, 1));
    session_op(PVPERF_OP_session_start, a);
    hit_as(a, d5->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_eq(session_counts(a, 0).filtered, 1);
    shim_down();
}
END_TEST

START_TEST(death_of_a_domain)
{
    struct consumer c;
    unsigned int before;
    uint64_t changes;
    uint32_t id, other;
    int i;

    up("on");
    id = session_make(create_counters(0, 1));
    other = session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    domain_op(PVPERF_OP_session_add_domain, other, 5);
    session_op(PVPERF_OP_session_start, id);
    session_op(PVPERF_OP_session_start, other);
    hit_as(id, d5->vcpu[1], PVPERF_MODE_KERNEL);
    shim_advance(5 * MS);
    i = ring_index(id, 5, 1);
    ck_assert(consumer_open(&c, id, (uint32_t)i));
    before = shim.virqs[VIRQ_PVPERF];
    changes = session_info(id).ring_changes;
    shim_domain_kill(d5);
    shim_domain_free(d5);
    ck_assert_uint_gt(shim.virqs[VIRQ_PVPERF], before);
    ck_assert_uint_gt(session_info(id).ring_changes, changes);
    ck_assert_uint_eq(c.ring->flags, PVPERF_RING_FLAG_DEAD);
    shim_advance(5 * MS);
    ck_assert_uint_eq(consumer_read(&c, true), 1); /* undrained before */
    /* The same number again is another domain. */
    d5 = shim_domain_create(5, 2, 2);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    ck_assert_uint_eq(c.ring->flags, PVPERF_RING_FLAG_DEAD);
    hit_as(id, d5->vcpu[1], PVPERF_MODE_KERNEL);
    ck_assert_uint_eq(consumer_read(&c, true), 0);
    ck_assert_int_ne(ring_index(id, 5, 1), i);
    consumer_close(&c);
    ck_assert_int_eq(ring_release(id, (uint32_t)i), 0);
    ck_assert_int_ge(ring_index(other, 5, 0), 0);
    shim_down();
}
END_TEST

/* Deaths, each with losses still to be told, and with nobody reading. */
START_TEST(death_with_a_full_ring)
{
    unsigned int n;
    uint32_t id;

    up("on");
    id = session_make(create_counters(0, 1));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    session_op(PVPERF_OP_session_start, id);
    for (n = 0; n < 1000; n++)
        hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
    ck_assert_uint_gt(session_counts(id, 0).lost, 0);
    shim_domain_kill(d5);
    shim_domain_free(d5);
    session_op(PVPERF_OP_session_stop, id);
    require_identity(id);
    ck_assert_uint_eq(session_counts(id, 0).overflows, 1000);
    session_op(PVPERF_OP_session_destroy, id);
    ck_assert_uint_eq(query().ring_bytes_used, 0);
    shim_down();
}
END_TEST

START_TEST(serials_differ)
{
    enum { N = 300 };
    uint64_t seen[N];
    unsigned int n = 0, i, k;

    up("on");
    while (n < N) {
        uint32_t id = session_make(create_counters(0, 1));
        struct pvperf_ring_info info;

        domain_op(PVPERF_OP_session_add_domain, id, 5);
        for (i = 0; i < 4 && n < N; i++) {
            ck_assert_int_eq(ring_info(id, i, &info), 0);
            for (k = 0; k < n; k++)
                ck_assert_uint_ne(seen[k], info.serial);
            seen[n++] = info.serial;
        }
        session_op(PVPERF_OP_session_destroy, id);
    }
    shim_down();
}
END_TEST

/* 1 MiB is 256 pages; a ring of order 4 takes 17: 15 fit. */
START_TEST(memory_limit)
{
    struct pvperf_session_create op = create_counters(0, 1);
    struct pvperf_query q;
    uint32_t id;

    up("on,ring-mb=1");
    shim_domain_create(8, 20, 20);
    op.ring_order = 4;
    id = session_make(op);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 8), -ENOSPC);
    q = query();
    ck_assert_uint_eq(q.ring_bytes_max, 1u << 20);
    ck_assert_uint_eq(q.ring_bytes_used, 15 * 17 * 4096);
    ck_assert_uint_eq(session_info(id).nr_rings, 15); /* those stay */
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), -ENOSPC);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -ENOSPC);
    session_op(PVPERF_OP_session_destroy, id);
    ck_assert_uint_eq(query().ring_bytes_used, 0);
    op.ring_order = 8;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -ENOSPC);
    ck_assert_uint_eq(query().ring_bytes_used, 0);
    ck_assert_uint_eq(query().sessions, 0);
    shim_down();
}
END_TEST

/* What is reaped in one operation is off the account in the next. */
static uint64_t bytes_used(void)
{
    query();
    return query().ring_bytes_used;
}

/* Pages that dom0 still maps wait, count, and then go. */
START_TEST(pages_wait_for_dom0)
{
    struct consumer c, d;
    uint32_t id;

    up("on");
    id = session_make(create_counters(0, 1));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    session_op(PVPERF_OP_session_start, id);
    hit_as(id, d5->vcpu[0], PVPERF_MODE_USER);
    ck_assert(consumer_open_vcpu(&c, id, 5, 0));
    ck_assert(consumer_open_vcpu(&d, id, 5, 0));
    session_op(PVPERF_OP_session_destroy, id);
    ck_assert_uint_eq(bytes_used(), 2 * 4096);
    ck_assert_uint_eq(query().sessions, 0);
    ck_assert_uint_eq(c.ring->flags, PVPERF_RING_FLAG_DEAD);
    ck_assert_uint_eq(consumer_read(&c, true), 1);
    /* The frames cannot be mapped again once the last mapping has gone. */
    consumer_close(&c);
    ck_assert_uint_eq(bytes_used(), 2 * 4096);
    ck_assert_uint_eq(consumer_read(&d, true), 1);
    shim_unmap(d.info.data_frame, false);
    ck_assert_uint_eq(bytes_used(), 2 * 4096);
    ck_assert_ptr_null(shim_map(d.info.data_frame, false));
    shim_unmap(d.info.header_frame, true);
    ck_assert_ptr_null(shim_map(d.info.header_frame, true));
    ck_assert_uint_eq(bytes_used(), 0);
    free(d.recs);
    shim_down();
}
END_TEST

/* Released while mapped: the index is free, the pages are not yet. */
START_TEST(released_while_mapped)
{
    struct consumer c;
    uint64_t used;
    uint32_t id;
    int i;

    up("on");
    id = session_make(create_counters(0, 1));
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    i = ring_index(id, 5, 0);
    ck_assert(consumer_open(&c, id, (uint32_t)i));
    domain_op(PVPERF_OP_session_del_domain, id, 5);
    used = bytes_used();
    ck_assert_int_eq(ring_release(id, (uint32_t)i), 0);
    ck_assert_uint_eq(bytes_used(), used);
    consumer_close(&c);
    ck_assert_uint_eq(bytes_used(), used - 2 * 4096);
    shim_down();
}
END_TEST

/* Every allocation fails in turn: an error, nothing left, and life goes on. */
START_TEST(no_memory)
{
    struct pvperf_session_create op = create_counters(0, 2), copy;
    long n, *which;
    unsigned int k, failed;
    uint32_t id;
    long rc;

    for (k = 0; k < 2; k++) {
        which = k ? &shim.fail_heap : &shim.fail_xmalloc;
        for (n = 0, failed = 1; failed; n++) {
            up("on");
            which = k ? &shim.fail_heap : &shim.fail_xmalloc;
            *which = n;
            copy = op;
            rc = shim_hypercall(PVPERF_OP_session_create, &copy);
            failed = rc != 0;
            *which = -1;
            if (rc) {
                ck_assert_int_eq(rc, -ENOMEM);
                ck_assert_uint_eq(query().ring_bytes_used, 0);
                ck_assert_uint_eq(query().sessions, 0);
                ck_assert_uint_eq(query().pmu_owner, 0);
            }
            shim_down();
        }
        ck_assert_int_gt(n, 3);
        for (n = 0, failed = 1; failed; n++) {
            up("on");
            which = k ? &shim.fail_heap : &shim.fail_xmalloc;
            shim_domain_create(8, 40, 40);
            id = session_make(op);
            *which = n;
            rc = domain_op(PVPERF_OP_session_add_domain, id, 8);
            failed = rc != 0;
            *which = -1;
            if (rc) {
                ck_assert_int_eq(rc, -ENOMEM);
                ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 8), 0);
            }
            ck_assert_uint_eq(session_info(id).nr_rings, 42);
            shim_down();
        }
        ck_assert_int_gt(n, 3);
    }
}
END_TEST

START_TEST(cpus_come_and_go)
{
    struct pvperf_counts before, after;
    unsigned int n;
    uint32_t id, idle;

    up("on");
    id = session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS));
    idle = session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS)); /* never runs */
    session_op(PVPERF_OP_session_start, id);
    ck_assert_int_eq(shim_cpu_up(2), 0);
    ck_assert_uint_eq(session_info(id).nr_rings, 3);
    ck_assert_int_ge(ring_index(idle, PVPERF_DOMID_IDLE, 2), 0);
    shim_advance(20 * MS);
    ck_assert_uint_ge(session_counts(id, 0).overflows, 57);
    for (n = 0; n < 5; n++) {
        ck_assert_int_eq(shim_cpu_down(1), 0);
        ck_assert_int_eq(shim_cpu_down(2), 0);
        before = session_counts(id, 0);
        shim_advance(20 * MS);
        after = session_counts(id, 0); /* one CPU samples, nothing is forgotten */
        ck_assert_uint_ge(after.overflows, before.overflows + 19);
        ck_assert_uint_le(after.overflows, before.overflows + 21);
        ck_assert_int_eq(shim_cpu_up(1), 0);
        ck_assert_int_eq(shim_cpu_up(2), 0);
        before = session_counts(id, 0);
        shim_advance(20 * MS);
        after = session_counts(id, 0);
        ck_assert_uint_ge(after.overflows, before.overflows + 55);
        require_identity(id);
        if (n & 1) {
            session_op(PVPERF_OP_session_stop, id);
            ck_assert_uint_eq(shim_active_timers(), 0);
            session_op(PVPERF_OP_session_start, id);
        }
    }
    ck_assert_int_eq(shim_cpu_down(1), 0);
    session_op(PVPERF_OP_session_stop, id);
    ck_assert_uint_eq(shim_active_timers(), 0);
    shim_down();
}
END_TEST

START_TEST(a_cpu_without_memory)
{
    struct pvperf_counts before, after;
    struct pvperf_session_create op = create_timer(0, MS);
    struct pvperf_query q;
    uint32_t id, filler;

    /* 256 pages; two CPUs and two vCPUs of order 5 are 132; 99 more leave 25. */
    up("on,ring-mb=1");
    op.ring_order = 5;
    id = session_make(op);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    filler = session_make(op);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, filler, 5), -ENOSPC);
    q = query();
    ck_assert_uint_gt(q.ring_bytes_used + 33 * 4096, q.ring_bytes_max);
    session_op(PVPERF_OP_session_start, id);
    ck_assert_int_eq(shim_cpu_up(2), 0); /* pvperf does not stop a CPU */
    shim_run_vcpu(2, d5->vcpu[0]);
    shim_regs[2].mode = PVPERF_MODE_USER;
    before = session_counts(id, 0);
    shim_advance(50 * MS);
    after = session_counts(id, 0);
    /* Three CPUs took samples, and those of d5, which has rings, are there. */
    ck_assert_uint_ge(after.overflows, before.overflows + 145);
    ck_assert_uint_ge(after.recorded + after.lost, before.recorded + before.lost + 45);
    require_identity(id);
    shim_down();
}
END_TEST

START_TEST(a_cpu_without_heap)
{
    uint32_t id;

    up("on");
    id = session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS));
    session_op(PVPERF_OP_session_start, id);
    shim.fail_heap = 0;
    ck_assert_int_eq(shim_cpu_up(2), 0);
    shim.fail_heap = -1;
    shim.fail_xmalloc = 0;
    ck_assert_int_eq(shim_cpu_up(3), 0);
    shim.fail_xmalloc = -1;
    shim_advance(10 * MS);
    require_identity(id);
    session_op(PVPERF_OP_session_stop, id);
    session_op(PVPERF_OP_session_start, id);
    shim_advance(10 * MS);
    shim_cpu_down(2);
    shim_cpu_down(3);
    require_identity(id);
    shim_down();
}
END_TEST

START_TEST(destroy_while_running)
{
    unsigned int n;

    up("on");
    for (n = 0; n < 50; n++) {
        uint32_t id = session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS));

        domain_op(PVPERF_OP_session_add_domain, id, 5);
        session_op(PVPERF_OP_session_start, id);
        shim_run_vcpu(1, d5->vcpu[n & 1]);
        shim_advance(3 * MS);
        ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, id), 0);
        ck_assert_uint_eq(shim_active_timers(), 0);
        shim_timer_interrupt(0);
        shim_timer_interrupt(1);
    }
    ck_assert_uint_eq(query().ring_bytes_used, 0);
    shim_down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("core-life");
    TCase *t = tcase_create("life");
    SRunner *r;
    int failed;

    tcase_add_test(t, filter_matrix);
    tcase_add_test(t, which_ring);
    tcase_add_test(t, contexts_in_a_cpu_ring);
    tcase_add_test(t, rings_of_cpus);
    tcase_add_test(t, add_errors);
    tcase_add_test(t, del_of_a_dying_domain);
    tcase_add_test(t, add_again);
    tcase_add_test(t, add_goes_on);
    tcase_add_test(t, add_with_a_strange_next);
    tcase_add_test(t, delete_and_release);
    tcase_add_test(t, delete_with_all);
    tcase_add_test(t, two_sessions);
    tcase_add_test(t, death_of_a_domain);
    tcase_add_test(t, death_with_a_full_ring);
    tcase_add_test(t, serials_differ);
    tcase_add_test(t, memory_limit);
    tcase_add_test(t, pages_wait_for_dom0);
    tcase_add_test(t, released_while_mapped);
    tcase_add_test(t, no_memory);
    tcase_add_test(t, cpus_come_and_go);
    tcase_add_test(t, a_cpu_without_memory);
    tcase_add_test(t, a_cpu_without_heap);
    tcase_add_test(t, destroy_while_running);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
