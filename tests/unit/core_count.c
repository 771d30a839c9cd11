/* SPDX-License-Identifier: GPL-2.0-only */
/* core_count.c: sessions that count, and the throttle of those that sample. */
#include <check.h>
#include <errno.h>

#include "../../xen_patches/xen/common/pvperf/private.h"
#include "core_util.h"

static struct domain *d5, *d6;

static void up(const char *params)
{
    shim_boot(2, params);
    shim_pmu_set(PVPERF_BACKEND_INTEL, 64, 0);
    d5 = shim_domain_create(5, 2, 2);
    d6 = shim_domain_create(6, 12, 10);
}

static struct pvperf_session_create create_counting(uint8_t flags, unsigned int events)
{
    struct pvperf_session_create op =
        create_counters(flags | PVPERF_SESSION_FLAG_COUNT, events);
    unsigned int e;

    for (e = 0; e < events; e++)
        op.events[e].rate = 0;
    return op;
}

static long counts_read(uint32_t id, uint32_t index, struct pvperf_counts_read *out)
{
    *out = (struct pvperf_counts_read){.session = id, .index = index};
    return shim_hypercall(PVPERF_OP_counts_read, out);
}

/* The entry of a vCPU that still counts; its counts[] are zero if none. */
static struct pvperf_vcpu_counts entry_of(uint32_t id, domid_t domid, uint16_t vcpu)
{
    struct pvperf_vcpu_counts none = {0};
    struct pvperf_counts_read op;
    uint32_t next, i;

    for (next = 0;; next += op.nr) {
        REQ(!counts_read(id, next, &op));
        REQ(op.nr <= PVPERF_READ_MAX && next + op.nr <= op.total);
        for (i = 0; i < op.nr; i++)
            if (op.entry[i].domid == domid && op.entry[i].vcpu == vcpu)
                return op.entry[i];
        if (!op.nr)
            return none;
    }
}

static void count_as(uint32_t id, struct vcpu *v, uint8_t mode, unsigned int event,
                     uint64_t n)
{
    shim_run_vcpu(1, v);
    shim_regs[1].mode = mode;
    ck_assert(shim_pmu_count(1, id, event, n));
    /* What was counted is accounted before the CPU goes on. */
    shim_hypercall(PVPERF_OP_counts_read, &(struct pvperf_counts_read){.session = id});
}

START_TEST(what_it_takes)
{
    struct pvperf_session_create op;

    up("on");
    op = create_counting(0, 2);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), 0);
    op = create_counting(0, 1);
    op.events[0].rate = 1000000;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    op = create_counting(0, 1);
    op.events[0].flags = PVPERF_EVENT_FLAG_FREQ;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    op = create_counting(0, 1);
    op.events[0].type = PVPERF_EVENT_TIMER;
    op.events[0].config = 0;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    op = create_counting(0, 1);
    op.ring_order = 1;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    op = create_counting(PVPERF_SESSION_FLAG_CALLCHAIN, 1);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    /* user or kernel alone: not with what Xen does */
    op = create_counting(0, 1);
    op.events[0].modes = 1u << PVPERF_MODE_USER | 1u << PVPERF_MODE_HYPERVISOR;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    op.events[0].modes = 1u << PVPERF_MODE_KERNEL | 1u << PVPERF_MODE_IDLE;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EINVAL);
    op.events[0].modes = 1u << PVPERF_MODE_KERNEL;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), 0);
    shim_down();
}
END_TEST

START_TEST(no_rings)
{
    struct pvperf_counts_read read;
    uint32_t id, sampling;

    up("on");
    id = session_make(create_counting(PVPERF_SESSION_FLAG_ALL, 1));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    ck_assert_uint_eq(session_info(id).nr_rings, 0);
    ck_assert_uint_eq(query().ring_bytes_used, 0);
    sampling = session_make(create_counters(0, 1));
    ck_assert_int_eq(counts_read(sampling, 0, &read), -ENOENT);
    ck_assert_int_eq(counts_read(12345, 0, &read), -ENOENT);
    shim_down();
}
END_TEST

/* Each vCPU has its own; user and kernel mode are told apart where asked. */
START_TEST(by_vcpu_and_mode)
{
    struct pvperf_session_create op;
    struct pvperf_vcpu_counts a, b;
    uint32_t id;

    up("on");
    op = create_counting(0, 3);
    op.events[0].modes = 1u << PVPERF_MODE_USER;
    op.events[1].modes = 1u << PVPERF_MODE_KERNEL;
    id = session_make(op);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    session_op(PVPERF_OP_session_start, id);
    count_as(id, d5->vcpu[0], PVPERF_MODE_USER, 0, 100);
    count_as(id, d5->vcpu[0], PVPERF_MODE_KERNEL, 0, 1000);
    count_as(id, d5->vcpu[1], PVPERF_MODE_KERNEL, 1, 7);
    count_as(id, d5->vcpu[1], PVPERF_MODE_USER, 1, 70);
    count_as(id, d5->vcpu[1], PVPERF_MODE_USER, 2, 5);
    count_as(id, d5->vcpu[1], PVPERF_MODE_HYPERVISOR, 2, 6);
    count_as(id, d6->vcpu[1], PVPERF_MODE_USER, 2, 60000); /* not wanted */
    a = entry_of(id, 5, 0);
    b = entry_of(id, 5, 1);
    ck_assert_uint_eq(a.count[0], 100);
    ck_assert_uint_eq(a.count[1] + a.count[2], 0);
    ck_assert_uint_eq(a.time, 1100);
    ck_assert_uint_eq(b.count[0], 0);
    ck_assert_uint_eq(b.count[1], 7);
    ck_assert_uint_eq(b.count[2], 11);
    ck_assert_mem_eq(a.handle, d5->handle, 16);
    shim_down();
}
END_TEST

/* With ALL each CPU has an entry for what is nobody else's. */
START_TEST(the_rest)
{
    struct pvperf_counts_read read;
    uint32_t id;

    up("on");
    id = session_make(create_counting(PVPERF_SESSION_FLAG_ALL, 1));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    session_op(PVPERF_OP_session_start, id);
    count_as(id, NULL, PVPERF_MODE_HYPERVISOR, 0, 3);
    count_as(id, d6->vcpu[0], PVPERF_MODE_USER, 0, 40);
    count_as(id, d5->vcpu[0], PVPERF_MODE_USER, 0, 500);
    ck_assert_uint_eq(entry_of(id, PVPERF_DOMID_IDLE, 1).count[0], 43);
    ck_assert_uint_eq(entry_of(id, PVPERF_DOMID_IDLE, 0).count[0], 0);
    ck_assert_uint_eq(entry_of(id, 5, 0).count[0], 500);
    ck_assert_int_eq(counts_read(id, 0, &read), 0);
    ck_assert_uint_eq(read.total, 2 + 2);
    shim_down();
}
END_TEST

/* What a domain has counted outlives it, and is not its successor's. */
START_TEST(domain_dies)
{
    struct pvperf_counts_read read;
    uint32_t id;

    up("on");
    id = session_make(create_counting(0, 1));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    session_op(PVPERF_OP_session_start, id);
    count_as(id, d5->vcpu[0], PVPERF_MODE_USER, 0, 123);
    shim_run_vcpu(1, NULL);
    shim_domain_kill(d5);
    shim_domain_free(d5);
    ck_assert_uint_eq(entry_of(id, 5, 0).count[0], 123);
    ck_assert_uint_eq(entry_of(id, 5, 0).flags, PVPERF_COUNT_FLAG_DEAD);
    d5 = shim_domain_create(5, 2, 2);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    count_as(id, d5->vcpu[0], PVPERF_MODE_USER, 0, 9);
    ck_assert_int_eq(counts_read(id, 0, &read), 0);
    ck_assert_uint_eq(read.total, 4);
    ck_assert_uint_eq(read.entry[0].count[0], 123);
    ck_assert_uint_eq(read.entry[2].count[0], 9);
    ck_assert_uint_eq(read.entry[2].flags, 0);
    shim_down();
}
END_TEST

START_TEST(many_vcpus)
{
    struct pvperf_counts_read read;
    uint32_t id, v;

    up("on");
    id = session_make(create_counting(0, 1));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 6), 0);
    shim_domain_add_vcpu(d6);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 6), 0);
    session_op(PVPERF_OP_session_start, id);
    for (v = 0; v < 11; v++)
        count_as(id, d6->vcpu[v], PVPERF_MODE_USER, 0, 1000 + v);
    for (v = 0; v < 11; v++)
        ck_assert_uint_eq(entry_of(id, 6, (uint16_t)v).count[0], 1000 + v);
    ck_assert_int_eq(counts_read(id, 8, &read), 0);
    ck_assert_uint_eq(read.nr, 5);
    ck_assert_uint_eq(read.total, 13);
    ck_assert_int_eq(counts_read(id, 13, &read), 0);
    ck_assert_uint_eq(read.nr, 0);
    ck_assert_int_eq(counts_read(id, 0xffffffffu, &read), 0);
    ck_assert_uint_eq(read.nr, 0);
    shim_down();
}
END_TEST

/* Without memory the domain is refused; what there was still counts. */
START_TEST(no_memory)
{
    uint32_t id;

    up("on");
    id = session_make(create_counting(0, 1));
    shim.fail_xmalloc = 1;
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), -ENOMEM);
    shim.fail_xmalloc = -1;
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 5), 0);
    session_op(PVPERF_OP_session_start, id);
    count_as(id, d5->vcpu[1], PVPERF_MODE_USER, 0, 1);
    ck_assert_uint_eq(entry_of(id, 5, 1).count[0], 1);
    session_op(PVPERF_OP_session_stop, id);
    ck_assert_uint_eq(entry_of(id, 5, 1).count[0], 1);
    session_op(PVPERF_OP_session_destroy, id);
    shim_down();
}
END_TEST

/*
 * A CPU that counts @per_second events takes samples for @seconds; returns how
 * many it took in the last of them, and what all of them stood for.
 */
static unsigned int run_throttled(struct pvp_counter *c, const struct pvperf_event *event,
                                  uint64_t per_second, unsigned int seconds,
                                  uint64_t *events)
{
    uint64_t now = 1000000000ull, end = now + seconds * 1000000000ull;
    unsigned int last = 0;

    while (now < end) {
        *events += c->period;
        now += c->period * 1000000000ull / per_second;
        last += now >= end - 1000000000ull;
        pvp_throttle(c, event, now);
    }
    return last;
}

START_TEST(throttle)
{
    const struct pvperf_event event = {.type = PVPERF_EVENT_RAW, .rate = 1000};
    struct pvp_counter c;
    uint64_t events = 0;
    unsigned int rate;

    up("on,max-rate=1000");
    pvp_throttle_init(&c, &event, 1000000000ull);
    /* 3 million a second are asked for, 1000 allowed */
    rate = run_throttled(&c, &event, 3000000000ull, 5, &events);
    ck_assert_msg(rate <= 1100 && rate >= 250, "%u samples a second", rate);
    ck_assert_uint_ge(events, 5 * 3000000000ull);
    ck_assert_uint_gt(c.shift, 0);
    /* and back when the storm is over */
    c.window = 1000000000ull;
    rate = run_throttled(&c, &event, 200000, 200, &events);
    ck_assert_uint_eq(c.shift, 0);
    ck_assert_uint_eq(c.period, 1000);
    ck_assert_uint_ge(rate, 199);
    shim_down();
}
END_TEST

/* Who stays below the limit never notices. */
START_TEST(no_throttle)
{
    const struct pvperf_event event = {.type = PVPERF_EVENT_RAW, .rate = 100000};
    struct pvp_counter c;
    uint64_t events = 0;

    up("on,max-rate=1000");
    pvp_throttle_init(&c, &event, 1000000000ull);
    run_throttled(&c, &event, 90000000, 10, &events);
    ck_assert_uint_eq(c.shift, 0);
    ck_assert_uint_eq(c.period, 100000);
    shim_down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("core-count");
    TCase *tc = tcase_create("all");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, what_it_takes);
    tcase_add_test(tc, no_rings);
    tcase_add_test(tc, by_vcpu_and_mode);
    tcase_add_test(tc, the_rest);
    tcase_add_test(tc, domain_dies);
    tcase_add_test(tc, many_vcpus);
    tcase_add_test(tc, no_memory);
    tcase_add_test(tc, throttle);
    tcase_add_test(tc, no_throttle);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
