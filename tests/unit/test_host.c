/* SPDX-License-Identifier: GPL-2.0-only */
/* host.h over a Xen of the test: what comes back, and what is said on failure. */
#include <check.h>

#include <pvperf/host.h>

#include "fake_xen.h"

static struct fake_xen *xen;
static struct pvperf_host *host;
static struct pvperf_err err;

static void setup(void)
{
    xen = fake_new();
    fake_add_domain(xen, 0, 1, "Domain-0");
    fake_add_domain(xen, 3, 2, "web");
    ck_assert_int_eq(pvp_host_new(&host, &fake_ops, xen), 0);
    memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
    pvperf_host_close(host);
    fake_free(xen);
}

/* One line that names the thing and the remedy. */
static void says(const char *what, const char *remedy)
{
    ck_assert_ptr_null(strchr(err.text, '\n'));
    ck_assert_msg(strstr(err.text, what) != NULL, "\"%s\" not in \"%s\"", what, err.text);
    ck_assert_msg(strstr(err.text, remedy) != NULL, "\"%s\" not in \"%s\"", remedy,
                  err.text);
    memset(&err, 0, sizeof(err));
}

static struct pvperf_session_create timer_session(uint64_t rate)
{
    return (struct pvperf_session_create){.nr_events = 1,
                                          .ring_order = FAKE_ORDER,
                                          .events = {{.type = PVPERF_EVENT_TIMER,
                                                      .flags = PVPERF_EVENT_FLAG_FREQ,
                                                      .modes = PVPERF_MODE_MASK_ALL,
                                                      .rate = rate}}};
}

static int query_fails(int rc)
{
    struct pvperf_query query;

    xen->rc[PVPERF_OP_query] = rc;
    return pvperf_host_query(host, &query, &err);
}

START_TEST(query_errors)
{
    struct pvperf_query query = {.backend = 77};

    ck_assert_int_eq(query_fails(-ENOSYS), -ENOSYS);
    says("no pvperf", "boot a Xen");
    ck_assert_int_eq(query_fails(-EOPNOTSUPP), -EOPNOTSUPP);
    says("not enabled", "pvperf=on");
    ck_assert_int_eq(query_fails(-EPERM), -EPERM);
    says("refused", "as root");
    ck_assert_int_eq(query_fails(-EFAULT), -EFAULT);
    says("failed", "xl dmesg");
    xen->rc[PVPERF_OP_query] = 0;
    xen->query.abi_major = 9;
    ck_assert_int_eq(pvperf_host_query(host, &query, &err), -EBADMSG);
    says("9.0", "1.0");
    ck_assert_uint_eq(query.backend, 77); /* untouched */
    ck_assert_int_eq(pvperf_host_query(host, &query, NULL), -EBADMSG);
}
END_TEST

static int create_fails(int rc)
{
    struct pvperf_session_create req = timer_session(20000);

    xen->rc[PVPERF_OP_session_create] = rc;
    rc = pvperf_host_session_create(host, &req, &err);
    ck_assert_uint_eq(req.session, 0);
    return rc;
}

START_TEST(create_busy)
{
    xen->query.pmu_owner = PVPERF_OWNER_VPMU;
    ck_assert_int_eq(create_fails(-EBUSY), -EBUSY);
    says("vpmu", "boot Xen without vpmu");
    xen->query.pmu_owner = PVPERF_OWNER_XENOPROF;
    ck_assert_int_eq(create_fails(-EBUSY), -EBUSY);
    says("xenoprof", "stop the user of xenoprof");
    xen->query.pmu_owner = PVPERF_OWNER_PVPERF;
    xen->query.nr_counters = 4;
    ck_assert_int_eq(create_fails(-EBUSY), -EBUSY);
    says("no counter left", "4 general");
    xen->query.pmu_owner = 200;
    ck_assert_int_eq(create_fails(-EBUSY), -EBUSY);
    says("unknown", "timer");
}
END_TEST

START_TEST(create_range)
{
    struct pvperf_session_create req = timer_session(20000);

    ck_assert_int_eq(create_fails(-ERANGE), -ERANGE);
    says("event 0: a frequency of 20000", "1 to 10000");
    req.events[0].flags = 0;
    req.events[0].rate = 50;
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), -ERANGE);
    says("period of 50", "100000 to 1099511627776 ns");
    req.events[0].type = PVPERF_EVENT_RAW;
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), -ERANGE);
    says("period of 50", "1000 to 1099511627776 events");
    req.events[0].rate = 1ull << 41;
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), -ERANGE);
    says("period of 2199023255552", "1000 to");
    req.nr_events = 60000; /* foreign numbers do not lead astray */
    req.events[0].rate = 5000;
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), -ERANGE);
    says("event 1", "100000 to 1099511627776 ns");
}
END_TEST

START_TEST(create_other_errors)
{
    struct pvperf_session_create req = timer_session(100);

    ck_assert_int_eq(create_fails(-ENODEV), -ENODEV);
    says("no PMU", "timer");
    ck_assert_int_eq(create_fails(-EINVAL), -EINVAL);
    says("refused the session's parameters", "1 to 8 events");
    ck_assert_int_eq(create_fails(-ENOMEM), -ENOMEM);
    says("no memory", "smaller rings");
    ck_assert_int_eq(create_fails(-ENOSPC), -ENOSPC);
    says("ring memory", "of 64 MiB");
    xen->query.sessions = PVPERF_MAX_SESSIONS;
    ck_assert_int_eq(create_fails(-ENOSPC), -ENOSPC);
    says("all 8 sessions", "end one");
    xen->query.abi_major = 2;
    ck_assert_int_eq(create_fails(-EBADMSG), -EBADMSG);
    says("2.0", "1.0");
    req.events[0].type = PVPERF_EVENT_GENERIC;
    req.events[0].config = PVPERF_GENERIC_CACHE_MISSES;
    xen->rc[PVPERF_OP_session_create] = -ENOENT;
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), -ENOENT);
    says("event 0", "pvperf list");
}
END_TEST

/* The reason must not depend on a second hypercall that fails. */
START_TEST(errors_without_query)
{
    static const int rcs[] = {-EBUSY, -ERANGE, -ENOENT, -ENOSPC, -EBADMSG};
    size_t i;

    xen->rc[PVPERF_OP_query] = -EFAULT;
    for (i = 0; i < sizeof(rcs) / sizeof(rcs[0]); i++) {
        ck_assert_int_eq(create_fails(rcs[i]), rcs[i]);
        ck_assert_uint_gt(strlen(err.text), 20);
    }
}
END_TEST

START_TEST(session_life)
{
    struct pvperf_session_create req = timer_session(100);
    struct pvperf_session_info info;
    struct pvperf_ring_info ring;
    struct pvperf_ring_map map;

    req.cookie = 42;
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), 0);
    ck_assert_uint_ne(req.session, 0);
    ck_assert_int_eq(pvperf_host_domain_add(host, req.session, 3, &err), 0);
    ck_assert_int_eq(pvperf_host_session_start(host, req.session, &err), 0);
    ck_assert_int_eq(pvperf_host_session_info(host, req.session, &info, &err), 0);
    ck_assert_uint_eq(info.state, PVPERF_SESSION_RUNNING);
    ck_assert_uint_eq(info.nr_rings, 3);
    ck_assert_int_eq(pvperf_host_session_at(host, 0, &info, &err), 0);
    ck_assert_uint_eq(info.cookie, 42);
    ck_assert_int_eq(pvperf_host_ring_info(host, req.session, 2, &ring, &err), 0);
    ck_assert_uint_eq(ring.domid, 3);
    ck_assert_uint_eq(ring.vcpu, 1);
    ck_assert_int_eq(pvperf_host_ring_map(host, &ring, &map, &err), 0);
    ck_assert_uint_eq(map.header->serial, ring.serial);
    ck_assert_uint_eq(map.data_size, FAKE_DATA);
    ck_assert_int_eq(xen->maps, 2);
    pvperf_host_ring_unmap(host, &map);
    pvperf_host_ring_unmap(host, &map); /* zeroes are fine */
    ck_assert_int_eq(xen->maps, 0);
    ck_assert_int_eq(pvperf_host_ring_release(host, req.session, 2, &err), -EBUSY);
    says("still in use", "release it after");
    ck_assert_int_eq(pvperf_host_domain_del(host, req.session, 3, &err), 0);
    ck_assert_int_eq(pvperf_host_ring_release(host, req.session, 2, &err), 0);
    ck_assert_int_eq(pvperf_host_session_stop(host, req.session, &err), 0);
    ck_assert_int_eq(pvperf_host_session_destroy(host, req.session, &err), 0);
    ck_assert_int_eq(pvperf_host_session_destroy(host, req.session, &err), -ENOENT);
    says("no session 1", "open a new one");
}
END_TEST

START_TEST(not_there)
{
    struct pvperf_session_create req = timer_session(100);
    struct pvperf_session_info info;
    struct pvperf_ring_info ring = {.data_order = 20};
    struct pvperf_ring_map map;

    ck_assert_int_eq(pvperf_host_session_at(host, 5, &info, &err), -ENOENT);
    says("slot 5", "choose another");
    ck_assert_int_eq(pvperf_host_session_start(host, 9, &err), -ENOENT);
    says("no session 9", "open");
    ck_assert_int_eq(pvperf_host_ring_map(host, &ring, &map, &err), -EBADMSG);
    says("2^20", "rebuild");
    ck_assert_int_eq(pvperf_host_session_create(host, &req, &err), 0);
    ck_assert_int_eq(pvperf_host_domain_add(host, req.session, 77, &err), -ESRCH);
    says("domain 77", "pvperf list");
    ck_assert_int_eq(pvperf_host_ring_info(host, req.session, 99, &ring, &err), -ENOENT);
    says("no ring 99", "again");
    ck_assert_int_eq(pvperf_host_ring_info(host, req.session, 0, &ring, &err), 0);
    xen->map_rc = -EPERM;
    ck_assert_int_eq(pvperf_host_ring_map(host, &ring, &map, &err), -EPERM);
    says("cannot map ring 0", "dom0");
    ck_assert_int_eq(xen->maps, 0);
}
END_TEST

START_TEST(virq)
{
    int fd = -1;

    xen->virq_rc = -EEXIST;
    ck_assert_int_eq(pvperf_host_virq_open(host, &fd, &err), -EEXIST);
    says("another consumer", "stop the other pvperfd");
    xen->virq_rc = -ENOENT;
    ck_assert_int_eq(pvperf_host_virq_open(host, &fd, &err), -ENOENT);
    says("VIRQ", "xen-evtchn");
    ck_assert_int_eq(fd, -1);
    xen->virq_rc = 0;
    ck_assert_int_eq(pvperf_host_virq_open(host, &fd, &err), 0);
    ck_assert_int_eq(fd, xen->virq);
    fake_poke(xen->virq);
    ck_assert_int_eq(pvperf_host_virq_ack(host, &err), 0);
}
END_TEST

/* On this machine, whatever it is: opening works or says why not. */
START_TEST(real_open)
{
    struct pvperf_host *real = NULL;
    int rc = pvperf_host_open(&real, &err);

    ck_assert(rc == 0 || (rc < 0 && strlen(err.text) > 20));
    if (rc < 0)
        ck_assert_ptr_null(real);
    pvperf_host_close(real);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(pvperf_host_owner_name(PVPERF_OWNER_VPMU), "vpmu");
    ck_assert_str_eq(pvperf_host_owner_name(99), "unknown");
    ck_assert_str_eq(pvperf_host_backend_name(PVPERF_BACKEND_NONE), "timer only");
    ck_assert_str_eq(pvperf_host_backend_name(99), "unknown");
}
END_TEST

START_TEST(error_text_is_one_line)
{
    struct pvperf_err e;
    char big[2000];

    ck_assert_int_eq(pvperf_err_set(&e, -5, "a\nb\tc%s", "\x1b[0m"), -5);
    ck_assert_str_eq(e.text, "a?b?c?[0m");
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    pvperf_err_set(&e, -1, "%s", big);
    ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 1);
    ck_assert_int_eq(pvperf_err_set(NULL, -7, "x"), -7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host");
    TCase *tc = tcase_create("host");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, query_errors);
    tcase_add_test(tc, create_busy);
    tcase_add_test(tc, create_range);
    tcase_add_test(tc, create_other_errors);
    tcase_add_test(tc, errors_without_query);
    tcase_add_test(tc, session_life);
    tcase_add_test(tc, not_there);
    tcase_add_test(tc, virq);
    tcase_add_test(tc, real_open);
    tcase_add_test(tc, names);
    tcase_add_test(tc, error_text_is_one_line);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
