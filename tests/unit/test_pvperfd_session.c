/* SPDX-License-Identifier: GPL-2.0-only */
/* pvperfd and its client, end to end over a Xen of the test. */
#include "pvperfd_rig.h"

/* What the client was told. */
struct seen {
    uint64_t samples[8][4], next_ip[8][4]; /* by domain id and vCPU; 7: idle */
    unsigned int rings_new, rings_gone, counts, ends, notices;
    unsigned int domains_new, domains_gone, domains_renamed, left;
    bool disorder;
    char last_name[PVPERF_NAME_LEN];
    struct pvperf_session_counts final;
};

static struct seen seen;

static void on_ring_new(void *user, const struct pvperf_client_ring *ring)
{
    (void)ring;
    ((struct seen *)user)->rings_new++;
}

static void on_ring_gone(void *user, const struct pvperf_client_ring *ring)
{
    (void)ring;
    ((struct seen *)user)->rings_gone++;
}

static void on_sample(void *user, const struct pvperf_client_ring *ring,
                      const struct pvperf_sample *s)
{
    struct seen *in = user;
    unsigned int domid = s->domid == PVPERF_DOMID_IDLE ? 7 : s->domid;

    ck_assert_uint_lt(domid, 8);
    ck_assert_uint_lt(s->vcpu, 4);
    if (s->domid != ring->domid || s->vcpu != ring->vcpu ||
        s->ip <= in->next_ip[domid][s->vcpu])
        in->disorder = true;
    in->next_ip[domid][s->vcpu] = s->ip;
    in->samples[domid][s->vcpu]++;
}

static void on_domain(void *user, unsigned int event, const struct pvperf_domain *d,
                      unsigned int left)
{
    struct seen *in = user;

    in->domains_new += event == PVPERF_DOMAIN_EVENT_NEW;
    in->domains_gone += event == PVPERF_DOMAIN_EVENT_GONE;
    in->domains_renamed += event == PVPERF_DOMAIN_EVENT_NAME;
    in->left = left;
    memcpy(in->last_name, d->name, sizeof(in->last_name));
}

static void on_counts(void *user, const struct pvperf_session_counts *counts)
{
    (void)counts;
    ((struct seen *)user)->counts++;
}

static void on_end(void *user, const struct pvperf_session_counts *counts)
{
    ((struct seen *)user)->ends++;
    ((struct seen *)user)->final = *counts;
}

static void on_notice(void *user, const char *text)
{
    (void)text;
    ((struct seen *)user)->notices++;
}

static const struct pvperf_client_ops ops = {
    .ring_new = on_ring_new,
    .ring_gone = on_ring_gone,
    .sample = on_sample,
    .domain = on_domain,
    .counts = on_counts,
    .end = on_end,
    .notice = on_notice,
};

static const struct pvperf_event timer = {.type = PVPERF_EVENT_TIMER,
                                          .flags = PVPERF_EVENT_FLAG_FREQ,
                                          .modes = PVPERF_MODE_MASK_ALL,
                                          .rate = 1000};

static uint64_t all_samples(void)
{
    uint64_t sum = 0;
    unsigned int i, j;

    for (i = 0; i < 8; i++)
        for (j = 0; j < 4; j++)
            sum += seen.samples[i][j];
    return sum;
}

static uint32_t open_session(struct pvperf_client *c, unsigned int flags,
                             const uint16_t *domids, size_t nr)
{
    struct pvperf_request req = {.events = &timer,
                                 .nr_events = 1,
                                 .flags = (uint8_t)flags,
                                 .ring_order = FAKE_ORDER,
                                 .domids = domids,
                                 .nr_domids = nr,
                                 .command = "a\ntest"};
    int rc;

    pvperf_client_set_ops(c, &ops, &seen);
    rc = pvperf_client_open(c, &req, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    return pvperf_client_session(c);
}

static void process_for(struct pvperf_client *c, int ms)
{
    int64_t until = session_now_ms() + ms;
    int rc;

    while (session_now_ms() < until) {
        rc = pvperf_client_wait(c, 20, &err);
        ck_assert_msg(rc >= 0, "%s", err.text);
    }
}

static void process_until(struct pvperf_client *c, const unsigned int *value,
                          unsigned int want)
{
    int64_t until = session_now_ms() + 8000;
    int rc;

    while (*value < want && session_now_ms() < until) {
        rc = pvperf_client_wait(c, 20, &err);
        ck_assert_msg(rc >= 0, "%s", err.text);
    }
    ck_assert_uint_ge(*value, want);
}

static void finish(struct pvperf_client *c)
{
    int rc = pvperf_client_finish(c, 10000, &err);

    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_uint_eq(seen.ends, 1);
    ck_assert_uint_eq(seen.final.event[0].recorded + seen.final.event[0].lost,
                      seen.final.event[0].overflows);
    ck_assert(!seen.disorder);
    ck_assert_uint_eq(xen->query.sessions, 0);
}

static void setup(void)
{
    memset(&seen, 0, sizeof(seen));
    rig_setup();
}

START_TEST(all_samples_arrive)
{
    const uint16_t domids[] = {3, 4};
    struct pvperf_client *c;
    uint32_t id;
    uint64_t i;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 2);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    for (i = 1; i <= 100; i++) {
        ck_assert(fake_sample(xen, id, 3, 0, i));
        ck_assert(fake_sample(xen, id, 3, 1, i));
        ck_assert(fake_sample(xen, id, 4, 0, i));
        ck_assert(fake_sample(xen, id, PVPERF_DOMID_IDLE, 0, i));
    }
    process_for(c, 1300);
    ck_assert_uint_eq(all_samples(), 400);
    ck_assert_uint_eq(seen.samples[3][1], 100);
    ck_assert_uint_eq(seen.samples[7][0], 100);
    ck_assert_uint_eq(seen.rings_new, 4);
    ck_assert_uint_eq(seen.domains_new, 2);
    ck_assert_uint_ge(seen.counts, 1);
    ck_assert(fake_sample(xen, id, 4, 0, i)); /* just before the end */
    finish(c);
    ck_assert_uint_eq(all_samples(), 401);
    ck_assert_uint_eq(seen.final.event[0].recorded, 401);
    /* The same client again. */
    memset(&seen, 0, sizeof(seen));
    id = open_session(c, PVPERF_SESSION_FLAG_ALL, NULL, 0);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    ck_assert(fake_sample(xen, id, 0, 0, 5));
    finish(c);
    ck_assert_uint_eq(seen.samples[0][0], 1);
    pvperf_client_close(c);
}
END_TEST

/* Stop and start again: END each time, samples only in between. */
START_TEST(stop_and_go)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 1);
    ck_assert(!fake_sample(xen, id, 3, 0, 1));
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    ck_assert(fake_sample(xen, id, 3, 0, 2));
    ck_assert_int_eq(pvperf_client_stop(c, &err), 0);
    process_until(c, &seen.ends, 1);
    ck_assert_uint_eq(all_samples(), 1);
    ck_assert(!fake_sample(xen, id, 3, 0, 3));
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    ck_assert(fake_sample(xen, id, 3, 0, 4));
    seen.ends = 0;
    finish(c);
    ck_assert_uint_eq(all_samples(), 2);
    pvperf_client_close(c);
}
END_TEST

/* Nobody reads: Xen loses samples and counts them, no byte is lost twice. */
START_TEST(slow_client)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;
    uint64_t i, recorded = 0, lost = 0;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 1);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    for (i = 1; i <= 60000; i++) {
        if (fake_sample(xen, id, 3, 0, i))
            recorded++;
        else
            lost++;
        if (i % 500 == 0) {
            fake_poke(xen->virq);
            msleep(2);
        }
    }
    ck_assert_uint_gt(lost, 100);
    finish(c);
    ck_assert_uint_eq(all_samples(), recorded);
    ck_assert_uint_eq(seen.final.event[0].recorded, recorded);
    ck_assert_uint_eq(seen.final.event[0].lost, lost);
    pvperf_client_close(c);
}
END_TEST

/* The daemon is killed again and again while samples flow. */
START_TEST(daemon_killed)
{
    const uint16_t domids[] = {3, 4};
    struct pvperf_client *c;
    uint64_t i, recorded = 0;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 2);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    for (i = 1; i <= 4000; i++) {
        recorded += fake_sample(xen, id, 3, 1, i);
        recorded += fake_sample(xen, id, 4, 0, i);
        if (i % 50 == 0) {
            fake_poke(xen->virq);
            ck_assert_int_ge(pvperf_client_wait(c, 5, &err), 0);
        }
        if (i % 800 == 0) {
            daemon_kill();
            daemon_start();
        }
    }
    finish(c);
    ck_assert_uint_eq(all_samples(), recorded);
    ck_assert_uint_eq(seen.final.event[0].recorded, recorded);
    ck_assert_uint_gt(seen.notices, 1);
    ck_assert_uint_eq(seen.rings_new, 4);
    ck_assert_uint_eq(seen.rings_gone, 0);
    pvperf_client_close(c);
}
END_TEST

/* A domain dies while no daemon is there to see it. */
START_TEST(domain_dies_between_daemons)
{
    const uint16_t domids[] = {3, 4};
    struct pvperf_client *c;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 2);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    ck_assert(fake_sample(xen, id, 4, 0, 1));
    process_for(c, 200);
    daemon_kill();
    ck_assert(fake_sample(xen, id, 4, 0, 2));
    fake_kill_domain(xen, 4);
    daemon_start();
    process_until(c, &seen.domains_gone, 1);
    process_until(c, &seen.rings_gone, 1);
    ck_assert_uint_eq(seen.left, 1);
    ck_assert_uint_eq(seen.samples[4][0], 2);
    finish(c);
    pvperf_client_close(c);
}
END_TEST

START_TEST(clean_restart_keeps_sessions)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 1);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    daemon_term();
    ck_assert_uint_eq(xen->query.sessions, 1);
    ck_assert(fake_sample(xen, id, 3, 0, 1));
    daemon_start();
    process_for(c, 800);
    ck_assert_uint_eq(all_samples(), 1);
    finish(c);
    pvperf_client_close(c);
}
END_TEST

START_TEST(stop_sessions_on_exit)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;
    int64_t until;
    int rc = 0;

    rig_config.stop_sessions = true;
    daemon_start();
    c = connect_client();
    open_session(c, 0, domids, 1);
    daemon_term();
    ck_assert_uint_eq(xen->query.sessions, 0);
    daemon_start();
    /* The session is no more: the client says so at once, not in 10 s. */
    until = session_now_ms() + 8000;
    while (rc >= 0 && session_now_ms() < until)
        rc = pvperf_client_wait(c, 20, &err);
    ck_assert_int_eq(rc, -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "open a new one"));
    ck_assert_int_eq(pvperf_client_process(c, &err), -ENOTCONN);
    pvperf_client_close(c);
}
END_TEST

START_TEST(client_vanishes)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;
    uint32_t id;
    int tries;

    rig_config.grace_ms = 400;
    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 1);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    pvperf_client_close(c);
    msleep(100);
    ck_assert(fake_sample(xen, id, 3, 0, 1));
    ck_assert(fake_sample(xen, id, 3, 0, 2));
    ck_assert_uint_eq(xen->query.sessions, 1);
    for (tries = 0; xen->query.sessions && tries < 100; tries++)
        msleep(50);
    ck_assert_uint_eq(xen->query.sessions, 0);
    wait_log("(a?test): destroyed; 2 samples were not delivered");
}
END_TEST

/* The daemon and the client die; a new daemon finds the session and ends it. */
START_TEST(orphan_of_a_dead_daemon)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;
    unsigned int tries;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 1);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    daemon_kill();
    pvperf_client_close(c);
    ck_assert(fake_sample(xen, id, 3, 1, 1));
    rig_config.grace_ms = 200;
    daemon_start();
    wait_log("found in Xen");
    wait_log("1 samples were not delivered"); /* and then it is destroyed */
    for (tries = 0; xen->query.sessions && tries < 100; tries++)
        msleep(50);
    ck_assert_uint_eq(xen->query.sessions, 0);
}
END_TEST

START_TEST(foreign_session_is_left_alone)
{
    struct pvperf_session_create req = {
        .abi_major = PVPERF_ABI_MAJOR, .nr_events = 1, .cookie = 0x1234};
    struct pvperf_status status;
    struct pvperf_client *c;

    ck_assert_int_eq(fake_create(xen, &req), 0);
    rig_config.grace_ms = 0;
    daemon_start();
    c = connect_client();
    msleep(300);
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), 0);
    ck_assert_uint_eq(status.nr_sessions, 1);
    ck_assert_uint_eq(status.sessions[0].foreign, 1);
    pvperf_client_close(c);
}
END_TEST

START_TEST(domain_dies)
{
    const uint16_t domids[] = {3, 4};
    struct pvperf_client *c;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, 0, domids, 2);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    ck_assert(fake_sample(xen, id, 3, 0, 1));
    ck_assert(fake_sample(xen, id, 3, 1, 1));
    fake_kill_domain(xen, 3);
    process_until(c, &seen.domains_gone, 1);
    process_until(c, &seen.rings_gone, 2);
    ck_assert_str_eq(seen.last_name, "web");
    ck_assert_uint_eq(seen.left, 1);
    ck_assert_uint_eq(seen.samples[3][0] + seen.samples[3][1], 2);
    fake_kill_domain(xen, 4);
    process_until(c, &seen.domains_gone, 2);
    ck_assert_uint_eq(seen.left, 0);
    finish(c);
    pvperf_client_close(c);
}
END_TEST

START_TEST(new_domain_joins_all)
{
    struct pvperf_client *c;
    uint32_t id;

    daemon_start();
    c = connect_client();
    id = open_session(c, PVPERF_SESSION_FLAG_ALL, NULL, 0);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    process_for(c, 100);
    ck_assert_uint_eq(seen.domains_new, 3);
    fake_add_domain(xen, 5, 1, "late");
    process_until(c, &seen.domains_new, 4);
    ck_assert_str_eq(seen.last_name, "late");
    ck_assert(fake_sample(xen, id, 5, 0, 1));
    strcpy(xen->domains[xen->nr_domains - 1].name, "later");
    fake_poke(xen->store);
    process_until(c, &seen.domains_renamed, 1);
    ck_assert_str_eq(seen.last_name, "later");
    finish(c);
    ck_assert_uint_eq(seen.samples[5][0], 1);
    pvperf_client_close(c);
}
END_TEST

/* In a session for named domains, a new one is nobody's business. */
START_TEST(new_domain_stays_out)
{
    const uint16_t domids[] = {3};
    struct pvperf_client *c;

    daemon_start();
    c = connect_client();
    open_session(c, 0, domids, 1);
    fake_add_domain(xen, 5, 1, "late");
    process_for(c, 400);
    ck_assert_uint_eq(seen.domains_new, 1);
    finish(c);
    pvperf_client_close(c);
}
END_TEST

START_TEST(two_clients)
{
    const uint16_t web[] = {3}, db[] = {4};
    struct pvperf_status status;
    struct pvperf_client *a, *b;
    uint32_t first, second;

    daemon_start();
    a = connect_client();
    b = connect_client();
    first = open_session(a, 0, web, 1);
    second = open_session(b, 0, db, 1);
    ck_assert_uint_ne(first, second);
    ck_assert_int_eq(pvperf_client_start(a, &err), 0);
    ck_assert_int_eq(pvperf_client_status(b, &status, &err), 0);
    ck_assert_uint_eq(status.nr_sessions, 2);
    ck_assert_int_eq(status.host_rc, 0);
    ck_assert_uint_eq(status.query.max_rate, 10000);
    ck_assert_int_eq(status.sessions[0].pid, getpid());
    ck_assert_uint_eq(status.sessions[0].uid, getuid());
    ck_assert_uint_eq(status.sessions[0].connected, 1);
    ck_assert_uint_eq(status.sessions[0].state, PVPERF_SESSION_RUNNING);
    ck_assert_uint_eq(status.sessions[1].state, PVPERF_SESSION_STOPPED);
    ck_assert_str_eq(status.sessions[0].command, "a?test");
    ck_assert_int_ge(status.sessions[0].since, time(NULL) - 60);
    ck_assert_str_eq(status.daemon_version, PVPERF_VERSION);
    ck_assert(fake_sample(xen, first, 3, 0, 1));
    ck_assert_int_eq(pvperf_client_detach(b, &err), 0);
    pvperf_client_close(b);
    finish(a);
    ck_assert_uint_eq(all_samples(), 1);
    pvperf_client_close(a);
}
END_TEST

START_TEST(domain_list)
{
    struct pvperf_domain *list = NULL;
    struct pvperf_client *c;
    size_t nr = 0;

    strcpy(xen->domains[2].name, "d\x01"
                                 "b");
    xen->domains[2].state = PVPERF_DOMAIN_PAUSED;
    daemon_start();
    c = connect_client();
    ck_assert_int_eq(pvperf_client_domains(c, &list, &nr, &err), 0);
    ck_assert_uint_eq(nr, 3);
    ck_assert_uint_eq(list[1].domid, 3);
    ck_assert_str_eq(list[1].name, "web");
    ck_assert_uint_eq(list[1].nr_vcpus, 2);
    ck_assert_str_eq(list[2].name, "d?b"); /* cleaned once more by the client */
    ck_assert_str_eq(pvperf_domain_state_name(list[2].state), "paused");
    free(list);
    xen->list_rc = -EPERM;
    ck_assert_int_eq(pvperf_client_domains(c, &list, &nr, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "as root"));
    pvperf_client_close(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pvperfd_session");
    TCase *tc = tcase_create("session");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, rig_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, all_samples_arrive);
    tcase_add_test(tc, stop_and_go);
    tcase_add_test(tc, slow_client);
    tcase_add_test(tc, daemon_killed);
    tcase_add_test(tc, domain_dies_between_daemons);
    tcase_add_test(tc, clean_restart_keeps_sessions);
    tcase_add_test(tc, stop_sessions_on_exit);
    tcase_add_test(tc, client_vanishes);
    tcase_add_test(tc, orphan_of_a_dead_daemon);
    tcase_add_test(tc, foreign_session_is_left_alone);
    tcase_add_test(tc, domain_dies);
    tcase_add_test(tc, new_domain_joins_all);
    tcase_add_test(tc, new_domain_stays_out);
    tcase_add_test(tc, two_clients);
    tcase_add_test(tc, domain_list);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
