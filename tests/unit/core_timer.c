/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_timer.c: the timer back end: a grid that does not drift, samples in
 * the interrupt, and late ones that say so.
 */
#include <check.h>
#include <stdlib.h>

#include "core_util.h"

static struct domain *d5;
static struct consumer c;

static uint32_t up(struct pvperf_session_create op)
{
    uint32_t id;

    shim_boot(2, "on,max-rate=100000");
    d5 = shim_domain_create(5, 1, 1);
    shim_run_vcpu(1, d5->vcpu[0]);
    shim_regs[1].mode = PVPERF_MODE_USER;
    op.ring_order = 6;
    id = session_make(op);
    domain_op(PVPERF_OP_session_add_domain, id, 5);
    session_op(PVPERF_OP_session_start, id);
    ck_assert(consumer_open_vcpu(&c, id, 5, 0));
    return id;
}

static void down(uint32_t id)
{
    require_identity(id);
    consumer_close(&c);
    shim_down();
}

START_TEST(rate)
{
    struct pvperf_session_create op = create_timer(0, 0);
    static const unsigned int rates[] = {1, 10, 97, 999, 4000, 50000};
    unsigned int i;

    for (i = 0; i < 6; i++) {
        unsigned int n;
        uint32_t id;

        op.events[0].flags = PVPERF_EVENT_FLAG_FREQ;
        op.events[0].rate = rates[i];
        id = up(op);
        shim_advance(1500 * MS);
        n = (unsigned int)session_counts(id, 0).overflows / 2; /* two CPUs */
        ck_assert_uint_ge(n + 1, rates[i] * 3 / 2);
        ck_assert_uint_le(n, rates[i] * 3 / 2 + 1);
        down(id);
    }
}
END_TEST

/* Samples lie at whole periods from the first, however late one comes. */
START_TEST(grid)
{
    uint32_t id = up(create_timer(0, MS));
    unsigned int i = 0, n = 0;
    uint64_t first = 0;
    struct rec *r;

    for (n = 0; n < 200; n++)
        shim_advance(777777);
    consumer_read(&c, true);
    n = 0;
    while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE))) {
        if (!n++)
            first = r->time;
        ck_assert_uint_eq(r->time, first + (n - 1) * (uint64_t)MS);
        ck_assert_uint_eq(r->hdr.flags, 0);
        ck_assert_uint_eq(r->hdr.mode, PVPERF_MODE_USER);
    }
    ck_assert_uint_ge(n, 150);
    ck_assert_uint_eq(session_counts(id, 0).overflows,
                      n + session_counts(id, 0).filtered);
    down(id);
}
END_TEST

/*
 * A CPU that hangs for a while: late samples do not move the grid, and stand
 * for all the time that has passed.
 */
START_TEST(late)
{
    uint32_t id = up(create_timer(0, MS));
    unsigned int i = 0, n, heavy = 0;
    uint64_t first, last, sum = 0, off = 0;
    struct rec *r;

    shim_advance(2 * MS);
    for (n = 0; n < 20; n++) {
        shim.now += 3 * MS + 123456; /* nothing ran meanwhile */
        shim_advance(5 * MS);
    }
    consumer_read(&c, true);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    first = last = r->time;
    n = 1;
    while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE))) {
        off += (r->time - first) % (uint64_t)MS != 0;
        heavy += r->period != 0;
        sum += r->period ? r->period : (uint64_t)MS;
        last = r->time;
        n++;
    }
    ck_assert_uint_ge(heavy, 20);
    ck_assert_uint_eq(sum % (uint64_t)MS, 0);
    ck_assert_uint_eq(sum, (last - first) / (uint64_t)MS * (uint64_t)MS);
    ck_assert_uint_le(off, 20); /* one each time, then the grid again */
    ck_assert_uint_ge(n, 100);
    down(id);
}
END_TEST

/* Xen keeps the CPU between the interrupt and its softirq: that is Xen's time. */
START_TEST(late_softirq)
{
    uint32_t id = up(create_timer(0, MS));
    unsigned int i = 0;
    struct rec *r;

    shim_advance(2 * MS);
    consumer_read(&c, true);
    consumer_forget(&c);
    shim.now += MS;
    shim_timer_interrupt(1);
    shim.now += 7 * MS;
    shim_softirq_first = true;
    shim_advance(MS / 2);
    shim_softirq_first = false;
    consumer_read(&c, true);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.mode, PVPERF_MODE_USER);
    ck_assert_uint_eq(r->hdr.flags, 0);
    r = next_rec(&c, &i, PVPERF_REC_SAMPLE);
    ck_assert_uint_eq(r->hdr.mode, PVPERF_MODE_HYPERVISOR);
    ck_assert_uint_eq(r->hdr.flags, PVPERF_SAMPLE_FLAG_SKID | PVPERF_SAMPLE_FLAG_PERIOD);
    ck_assert_uint_eq(r->period, 7 * (uint64_t)MS);
    down(id);
}
END_TEST

START_TEST(skid)
{
    uint32_t id = up(create_timer(PVPERF_SESSION_FLAG_CALLCHAIN, MS));
    unsigned int i = 0, n = 0;
    struct rec *r;

    shim_softirq_first = true;
    shim_advance(20 * MS);
    shim_softirq_first = false;
    consumer_read(&c, true);
    while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE))) {
        ck_assert_uint_eq(r->hdr.flags & PVPERF_SAMPLE_FLAG_SKID,
                          PVPERF_SAMPLE_FLAG_SKID);
        n++;
    }
    ck_assert_uint_ge(n, 18);
    ck_assert_uint_le(n, 20); /* once, not again in the interrupt */
    consumer_forget(&c);
    shim_advance(20 * MS);
    consumer_read(&c, true);
    i = n = 0;
    while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE))) {
        ck_assert_uint_eq(r->hdr.flags & PVPERF_SAMPLE_FLAG_SKID, 0);
        n++;
    }
    ck_assert_uint_ge(n, 19);
    ck_assert_uint_le(n, 21);
    down(id);
}
END_TEST

/* Interrupts for other timers are no samples. */
START_TEST(other_interrupts)
{
    uint32_t id = up(create_timer(PVPERF_SESSION_FLAG_ALL, 10 * MS));
    uint64_t n;
    unsigned int i;

    shim_advance(100 * MS);
    n = session_counts(id, 0).overflows;
    for (i = 0; i < 100; i++) {
        shim.now += 1000;
        shim_timer_interrupt(0);
        shim_timer_interrupt(1);
    }
    ck_assert_uint_le(session_counts(id, 0).overflows, n + 2);
    down(id);
}
END_TEST

/* Eight events and eight sessions, each with its own pace. */
START_TEST(many_paces)
{
    struct pvperf_session_create op = create_timer(PVPERF_SESSION_FLAG_ALL, 0);
    uint32_t id[8];
    unsigned int s, e;

    shim_boot(2, "on");
    op.nr_events = 8;
    for (s = 0; s < 8; s++) {
        for (e = 0; e < 8; e++) {
            op.events[e] =
                (struct pvperf_event){.type = PVPERF_EVENT_TIMER,
                                      .modes = PVPERF_MODE_MASK_ALL,
                                      .rate = (uint64_t)((s * 8 + e + 1) * MS)};
        }
        id[s] = session_make(op);
        session_op(PVPERF_OP_session_start, id[s]);
    }
    shim_advance(1000 * MS);
    for (s = 0; s < 8; s++) {
        session_op(PVPERF_OP_session_stop, id[s]);
        require_identity(id[s]);
        for (e = 0; e < 8; e++) {
            uint64_t want = 2 * (1000 / (s * 8 + e + 1));
            uint64_t got = session_counts(id[s], e).overflows;

            ck_assert_uint_ge(got + 3, want);
            ck_assert_uint_le(got, want + 3);
        }
    }
    shim_down();
}
END_TEST

/* Between start and stop only, and nothing of it remains in between. */
START_TEST(stops)
{
    uint32_t id = up(create_timer(PVPERF_SESSION_FLAG_ALL, MS));
    unsigned int n;
    uint64_t was;

    for (n = 0; n < 20; n++) {
        shim_advance(1500000);
        session_op(PVPERF_OP_session_stop, id);
        ck_assert_uint_eq(shim_active_timers(), 0);
        was = session_counts(id, 0).overflows;
        require_identity(id);
        shim_advance(5 * MS);
        shim_timer_interrupt(0);
        shim_timer_interrupt(1);
        ck_assert_uint_eq(session_counts(id, 0).overflows, was);
        session_op(PVPERF_OP_session_start, id);
    }
    down(id);
}
END_TEST

/* The rate is per CPU, and each sample names the CPU it was taken on. */
START_TEST(physical_cpus)
{
    uint32_t id = up(create_timer(0, MS));
    unsigned int i = 0, on[2] = {0, 0}, k;
    struct rec *r;

    for (k = 0; k < 10; k++) {
        shim_run_vcpu(k & 1, d5->vcpu[0]); /* it migrates */
        shim_regs[k & 1].mode = PVPERF_MODE_USER;
        shim_advance(10 * MS);
    }
    consumer_read(&c, true);
    while ((r = next_rec(&c, &i, PVPERF_REC_SAMPLE))) {
        ck_assert_uint_lt(r->hdr.pcpu, 2);
        on[r->hdr.pcpu]++;
        ck_assert_uint_eq(r->context.domid, 5);
    }
    ck_assert_uint_ge(on[0], 47);
    ck_assert_uint_ge(on[1], 47);
    down(id);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("core-timer");
    TCase *t = tcase_create("timer");
    SRunner *r;
    int failed;

    tcase_add_test(t, rate);
    tcase_add_test(t, grid);
    tcase_add_test(t, late);
    tcase_add_test(t, late_softirq);
    tcase_add_test(t, skid);
    tcase_add_test(t, other_interrupts);
    tcase_add_test(t, many_paces);
    tcase_add_test(t, stops);
    tcase_add_test(t, physical_cpus);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
