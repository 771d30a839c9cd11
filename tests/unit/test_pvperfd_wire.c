/* SPDX-License-Identifier: GPL-2.0-only */
/* pvperfd against clients that misbehave, and against a Xen that fails. */
#include <pvperf/protocol.h>

#include "pvperfd_rig.h"

static int raw_connect(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    const struct timeval limit = {5, 0};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), tries;

    memcpy(addr.sun_path, sock_path, sizeof(sock_path));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    for (tries = 0; tries < 100; tries++) {
        if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
            return fd;
        msleep(50);
    }
    ck_abort_msg("cannot connect");
    return -1;
}

static void put(int fd, const void *p, size_t len)
{
    ck_assert_int_eq(send(fd, p, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void put_frame(int fd, unsigned int type, unsigned int tag, const void *body,
                      size_t len)
{
    struct pvperf_frame f = {(uint32_t)len, (uint16_t)type, (uint16_t)tag};

    put(fd, &f, sizeof(f));
    if (len)
        put(fd, body, len);
}

static bool get(int fd, void *p, size_t len)
{
    return recv(fd, p, len, MSG_WAITALL) == (ssize_t)len;
}

/* The next REPLY; other frames are skipped.  False at the end of file. */
static bool get_reply(int fd, int32_t *rc, char text[PVPERF_TEXT_MAX])
{
    static uint8_t body[PVPERF_FRAME_MAX];
    struct pvperf_frame f;

    do {
        if (!get(fd, &f, sizeof(f)))
            return false;
        ck_assert_uint_le(f.size, PVPERF_FRAME_MAX);
        if (f.size && !get(fd, body, f.size))
            return false;
    } while (f.type != PVPERF_MSG_REPLY);
    ck_assert_uint_ge(f.size, sizeof(struct pvperf_msg_reply));
    memcpy(rc, body, sizeof(*rc));
    memcpy(text, body + 8, f.size - 8);
    text[f.size - 8] = '\0';
    return true;
}

static struct pvperf_msg_hello hello(unsigned int major)
{
    return (struct pvperf_msg_hello){
        .magic = PVPERF_PROTO_MAGIC, .major = (uint16_t)major, .version = "test"};
}

static int greeted(void)
{
    struct pvperf_msg_hello h = hello(PVPERF_PROTO_MAJOR);
    char text[PVPERF_TEXT_MAX];
    int fd = raw_connect();
    int32_t rc = -1;

    put_frame(fd, PVPERF_MSG_HELLO, 1, &h, sizeof(h));
    ck_assert(get_reply(fd, &rc, text));
    ck_assert_int_eq(rc, 0);
    return fd;
}

/* The daemon hangs up, says so in its log, and serves the next one. */
static void is_dropped(int fd)
{
    static char sink[65536];
    ssize_t n;

    do
        n = recv(fd, sink, sizeof(sink), 0);
    while (n > 0);
    ck_assert(n == 0 || errno == ECONNRESET);
    close(fd);
    wait_log("talks rubbish");
    truncate(log_path, 0);
    close(greeted());
}

START_TEST(rubbish_frames)
{
    uint8_t noise[256];
    struct pvperf_frame huge = {0x7fffffff, PVPERF_MSG_OPEN, 1};
    struct pvperf_msg_hello h = hello(PVPERF_PROTO_MAJOR);
    struct pvperf_msg_open open = {.nr_events = 1};
    size_t i;
    int fd;

    daemon_start();
    fd = raw_connect(); /* noise instead of HELLO */
    for (i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(i * 7 + 200);
    put(fd, noise, sizeof(noise));
    is_dropped(fd);
    fd = raw_connect(); /* no HELLO */
    put_frame(fd, PVPERF_MSG_STATUS, 1, NULL, 0);
    is_dropped(fd);
    fd = raw_connect(); /* wrong magic */
    h.magic++;
    put_frame(fd, PVPERF_MSG_HELLO, 1, &h, sizeof(h));
    is_dropped(fd);
    fd = raw_connect(); /* short HELLO */
    put_frame(fd, PVPERF_MSG_HELLO, 1, &h, 6);
    is_dropped(fd);
    fd = greeted(); /* HELLO twice */
    h.magic--;
    put_frame(fd, PVPERF_MSG_HELLO, 1, &h, sizeof(h));
    is_dropped(fd);
    fd = greeted(); /* a frame beyond the limit */
    put(fd, &huge, sizeof(huge));
    is_dropped(fd);
    fd = greeted(); /* unknown request */
    put_frame(fd, 99, 1, NULL, 0);
    is_dropped(fd);
    fd = greeted(); /* short OPEN */
    put_frame(fd, PVPERF_MSG_OPEN, 1, &open, sizeof(open) - 1);
    is_dropped(fd);
    fd = greeted(); /* more domains than the frame has */
    open.nr_domids = 1;
    put_frame(fd, PVPERF_MSG_OPEN, 1, &open, sizeof(open));
    is_dropped(fd);
    fd = greeted(); /* a number that would overflow */
    open.nr_domids = 0x80000000;
    put_frame(fd, PVPERF_MSG_OPEN, 1, &open, sizeof(open));
    is_dropped(fd);
    fd = greeted(); /* more events than there can be */
    open.nr_domids = 0;
    open.nr_events = 9;
    put_frame(fd, PVPERF_MSG_OPEN, 1, &open, sizeof(open));
    is_dropped(fd);
    fd = greeted(); /* short RESUME */
    put_frame(fd, PVPERF_MSG_RESUME, 1, &open, 8);
    is_dropped(fd);
    ck_assert_uint_eq(xen->query.sessions, 0);
}
END_TEST

START_TEST(other_version)
{
    struct pvperf_msg_hello h = hello(7);
    char text[PVPERF_TEXT_MAX];
    int32_t rc = 0;
    int fd;

    daemon_start();
    fd = raw_connect();
    put_frame(fd, PVPERF_MSG_HELLO, 1, &h, sizeof(h));
    ck_assert(get_reply(fd, &rc, text));
    ck_assert_int_eq(rc, -EPROTO);
    ck_assert_ptr_nonnull(strstr(text, "version 1"));
    ck_assert_ptr_nonnull(strstr(text, "7"));
    ck_assert(!get_reply(fd, &rc, text)); /* and hangs up */
    close(fd);
}
END_TEST

static int32_t ask(int fd, unsigned int type, const void *body, size_t len,
                   char text[PVPERF_TEXT_MAX])
{
    int32_t rc = 1;

    put_frame(fd, type, 5, body, len);
    ck_assert(get_reply(fd, &rc, text));
    return rc;
}

START_TEST(requests_out_of_place)
{
    struct pvperf_msg_opened token = {.session = 1, .token = 1};
    char text[PVPERF_TEXT_MAX];
    int fd;

    daemon_start();
    fd = greeted();
    ck_assert_int_eq(ask(fd, PVPERF_MSG_START, NULL, 0, text), -EINVAL);
    ck_assert_int_eq(ask(fd, PVPERF_MSG_STOP, NULL, 0, text), -EINVAL);
    ck_assert_int_eq(ask(fd, PVPERF_MSG_DETACH, NULL, 0, text), -EINVAL);
    ck_assert_ptr_nonnull(strstr(text, "open one first"));
    ck_assert_int_eq(ask(fd, PVPERF_MSG_RESUME, &token, sizeof(token), text), -ENOENT);
    ck_assert_ptr_nonnull(strstr(text, "open a new one"));
    close(fd);
}
END_TEST

static struct pvperf_msg_open timer_open(void)
{
    struct pvperf_msg_open open = {.nr_events = 1, .ring_order = FAKE_ORDER};

    open.events[0].modes = PVPERF_MODE_MASK_ALL;
    open.events[0].rate = 100000000;
    memset(open.command, 'x', sizeof(open.command)); /* not terminated */
    return open;
}

/* A guess of the token does not get at another's session. */
START_TEST(tokens_are_checked)
{
    struct {
        struct pvperf_msg_open open;
        uint16_t domid;
    } msg = {.open = timer_open(), .domid = 3};
    struct pvperf_msg_opened token = {.session = 1, .token = 0x5076ull << 48};
    struct pvperf_status status;
    struct pvperf_client *c;
    char text[PVPERF_TEXT_MAX];
    int a, b;

    daemon_start();
    a = greeted();
    b = greeted();
    msg.open.nr_domids = 1;
    ck_assert_int_eq(ask(a, PVPERF_MSG_OPEN, &msg, sizeof(msg.open) + 2, text), 0);
    ck_assert_int_eq(ask(a, PVPERF_MSG_OPEN, &msg, sizeof(msg.open) + 2, text), -EBUSY);
    ck_assert_int_eq(ask(b, PVPERF_MSG_RESUME, &token, sizeof(token), text), -ENOENT);
    token.token = xen->sessions[0].info.cookie;
    ck_assert_int_eq(ask(b, PVPERF_MSG_RESUME, &token, sizeof(token), text), 0);
    ck_assert(!get_reply(a, (int32_t[1]){0}, text)); /* its session was taken over */
    c = connect_client();
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), 0);
    ck_assert_uint_eq(strlen(status.sessions[0].command), 63);
    pvperf_client_close(c);
    ck_assert_int_eq(ask(b, PVPERF_MSG_DETACH, NULL, 0, text), 0);
    close(a);
    close(b);
}
END_TEST

/* One that asks and asks and never reads must not fill our memory. */
START_TEST(asks_and_never_reads)
{
    struct pvperf_frame f = {0, PVPERF_MSG_DOMAINS, 1};
    int fd, i, flags;
    bool full = false;

    daemon_start();
    fd = greeted();
    flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    for (i = 0; i < 2000000 && !full; i++)
        if (send(fd, &f, sizeof(f), MSG_NOSIGNAL) < 0) {
            msleep(300);
            full = send(fd, &f, sizeof(f), MSG_NOSIGNAL) < 0;
        }
    ck_assert(full);  /* it stopped reading us */
    close(greeted()); /* and serves others */
    close(fd);
}
END_TEST

/* Noise of the right shape. */
START_TEST(random_requests)
{
    uint8_t body[512];
    unsigned int seed = 7, round, i, n;
    struct pvperf_msg_open open;
    int fd;

    daemon_start();
    for (round = 0; round < 300; round++) {
        fd = greeted();
        for (i = 0; i < 20; i++) {
            n = (unsigned int)rand_r(&seed) % sizeof(body);
            for (unsigned int j = 0; j < n; j++)
                body[j] = (uint8_t)rand_r(&seed);
            if (rand_r(&seed) % 2) {
                open = timer_open();
                open.flags = (uint8_t)rand_r(&seed);
                open.nr_domids = 0;
                open.events[0].rate = (uint64_t)rand_r(&seed);
                memcpy(body, &open, sizeof(open));
                n = sizeof(open);
            }
            struct pvperf_frame f = {n, (uint16_t)(2 + rand_r(&seed) % 8), 3};

            if (send(fd, &f, sizeof(f), MSG_NOSIGNAL) < 0 ||
                send(fd, body, n, MSG_NOSIGNAL) < 0)
                break;
        }
        close(fd);
        if (round % 10 == 0)
            rig_config.grace_ms = 0;
    }
    close(greeted());
}
END_TEST

START_TEST(second_daemon)
{
    pid_t first;
    int status;

    daemon_start();
    close(raw_connect());
    first = daemon_pid;
    daemon_start();
    status = daemon_wait();
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    wait_log("another pvperfd has");
    daemon_pid = first;
    close(greeted()); /* the first one is well */
}
END_TEST

START_TEST(stale_socket)
{
    struct stat st;

    daemon_start();
    close(greeted());
    daemon_kill();
    ck_assert_int_eq(stat(sock_path, &st), 0);
    daemon_start();
    close(greeted());
    ck_assert_int_eq(stat(sock_path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
}
END_TEST

START_TEST(another_consumer)
{
    int status;

    xen->virq_rc = -EEXIST;
    daemon_start();
    status = daemon_wait();
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    wait_log("another consumer has bound");
}
END_TEST

/* Xen without pvperf: the daemon stays and tells its clients why. */
START_TEST(no_pvperf_in_xen)
{
    const struct pvperf_event event = {.modes = 1, .rate = 1000000000};
    const uint16_t domid = 3;
    const struct pvperf_request req = {
        .events = &event, .nr_events = 1, .domids = &domid, .nr_domids = 1};
    struct pvperf_status status;
    struct pvperf_client *c;

    xen->rc[PVPERF_OP_query] = -EOPNOTSUPP;
    daemon_start();
    c = connect_client();
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), 0);
    ck_assert_int_eq(status.host_rc, -EOPNOTSUPP);
    ck_assert_ptr_nonnull(strstr(status.host_error, "pvperf=on"));
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), -EOPNOTSUPP);
    ck_assert_ptr_nonnull(strstr(err.text, "pvperf=on"));
    xen->rc[PVPERF_OP_query] = 0; /* it came right by itself */
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), 0);
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), 0);
    ck_assert_int_eq(status.host_rc, 0);
    ck_assert_int_eq(pvperf_client_detach(c, &err), 0);
    pvperf_client_close(c);
}
END_TEST

START_TEST(unprivileged)
{
    struct pvperf_status status;
    struct pvperf_client *c;

    xen->query.privileged = 0;
    daemon_start();
    c = connect_client();
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), 0);
    ck_assert_int_eq(status.host_rc, -EPERM);
    pvperf_client_close(c);
}
END_TEST

static int open_one(struct pvperf_client *c, uint16_t domid)
{
    const struct pvperf_event event = {.modes = 1, .rate = 1000000000};
    const struct pvperf_request req = {
        .events = &event, .nr_events = 1, .domids = &domid, .nr_domids = 1};

    memset(&err, 0, sizeof(err));
    return pvperf_client_open(c, &req, &err);
}

/* What fails half way leaves nothing behind. */
START_TEST(failures_of_open)
{
    struct pvperf_client *c, *others[PVPERF_MAX_SESSIONS];
    unsigned int i;

    daemon_start();
    c = connect_client();
    ck_assert_int_eq(open_one(c, 77), -ESRCH);
    ck_assert_ptr_nonnull(strstr(err.text, "domain 77 does not exist"));
    xen->rc[PVPERF_OP_session_add_domain] = -ENOSPC;
    ck_assert_int_eq(open_one(c, 3), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.text, "ring memory"));
    xen->rc[PVPERF_OP_session_add_domain] = 0;
    xen->rc[PVPERF_OP_session_create] = -EBUSY;
    xen->query.pmu_owner = PVPERF_OWNER_VPMU;
    ck_assert_int_eq(open_one(c, 3), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "vpmu"));
    xen->rc[PVPERF_OP_session_create] = 0;
    xen->rc[PVPERF_OP_session_info] = -EFAULT;
    ck_assert_int_eq(open_one(c, 3), -EFAULT);
    xen->rc[PVPERF_OP_session_info] = 0;
    xen->list_rc = -EPERM;
    ck_assert_int_eq(open_one(c, 3), -EPERM);
    xen->list_rc = 0;
    ck_assert_uint_eq(xen->query.sessions, 0);
    ck_assert_int_eq(xen->maps, 0);
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++) {
        others[i] = connect_client();
        ck_assert_int_eq(open_one(others[i], 4), 0);
    }
    ck_assert_int_eq(open_one(c, 4), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.text, "all 8 sessions"));
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++) {
        ck_assert_int_eq(pvperf_client_detach(others[i], &err), 0);
        pvperf_client_close(others[i]);
    }
    pvperf_client_close(c);
}
END_TEST

/* Somebody else destroyed the session: the client hears of it, nobody hangs. */
START_TEST(session_taken_away)
{
    struct pvperf_client *c;
    int64_t until = session_now_ms() + 8000;
    int rc = 0;

    daemon_start();
    c = connect_client();
    ck_assert_int_eq(open_one(c, 3), 0);
    fake_lock(xen);
    ck_assert_int_eq(fake_destroy(xen, pvperf_client_session(c)), 0);
    fake_unlock(xen);
    while (rc >= 0 && session_now_ms() < until)
        rc = pvperf_client_wait(c, 50, &err);
    ck_assert_int_eq(rc, -ENOENT);
    wait_log("has gone from Xen");
    pvperf_client_close(c);
}
END_TEST

/* A ring whose header or head is wrong is left out; the rest goes on. */
START_TEST(broken_rings)
{
    struct pvperf_client *c;
    uint32_t id;

    daemon_start();
    c = connect_client();
    ck_assert_int_eq(open_one(c, 3), 0);
    id = pvperf_client_session(c);
    ck_assert_int_eq(pvperf_client_start(c, &err), 0);
    fake_header(xen, 1)->head = 12345;
    ck_assert(fake_sample(xen, id, 3, 1, 1));
    wait_log("head cannot be");
    ck_assert_int_eq(pvperf_client_finish(c, 5000, &err), 0);
    pvperf_client_close(c);
}
END_TEST

START_TEST(clean_names)
{
    char name[PVPERF_NAME_LEN], big[300];

    domains_clean_name(name, "plain", 5);
    ck_assert_str_eq(name, "plain");
    domains_clean_name(name, "a\x1b[31m\n\0b\x7f", 9);
    ck_assert_str_eq(name, "a?[31m??b");
    domains_clean_name(name, "gr\xc3\xbc\xc3\x9f", 6);
    ck_assert_str_eq(name, "gr\xc3\xbc\xc3\x9f");
    domains_clean_name(name, "\xc3", 1);
    ck_assert_str_eq(name, "?");
    domains_clean_name(name, "\xc2\x9b\xe0\x80\x80\xed\xa0\x80", 8);
    ck_assert_ptr_null(strpbrk(name, "\xc2\xe0\xed"));
    memset(big, 0xc3, sizeof(big));
    for (size_t i = 1; i < sizeof(big); i += 2)
        big[i] = (char)0xbc;
    domains_clean_name(name, big, sizeof(big));
    ck_assert_uint_eq(strlen(name), 126); /* whole characters only */
    domains_clean_name(name, "", 0);
    ck_assert_str_eq(name, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pvperfd_wire");
    TCase *tc = tcase_create("wire");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, rig_setup, rig_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, rubbish_frames);
    tcase_add_test(tc, other_version);
    tcase_add_test(tc, requests_out_of_place);
    tcase_add_test(tc, tokens_are_checked);
    tcase_add_test(tc, asks_and_never_reads);
    tcase_add_test(tc, random_requests);
    tcase_add_test(tc, second_daemon);
    tcase_add_test(tc, stale_socket);
    tcase_add_test(tc, another_consumer);
    tcase_add_test(tc, no_pvperf_in_xen);
    tcase_add_test(tc, unprivileged);
    tcase_add_test(tc, failures_of_open);
    tcase_add_test(tc, session_taken_away);
    tcase_add_test(tc, broken_rings);
    tcase_add_test(tc, clean_names);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
