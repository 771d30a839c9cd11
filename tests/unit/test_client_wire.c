/* SPDX-License-Identifier: GPL-2.0-only */
/* The client against daemons that misbehave: each script is a daemon. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include <pvperf/protocol.h>

static char dir[64], path[96];
static int listener;
static pthread_t thread;
static struct pvperf_err err;

static void *(*script)(void *);

static void teardown(void)
{
    shutdown(listener, SHUT_RDWR);
    if (script)
        pthread_join(thread, NULL);
    close(listener);
    unlink(path);
    rmdir(dir);
}

static void play(void *(*what)(void *))
{
    script = what;
    ck_assert_int_eq(pthread_create(&thread, NULL, what, NULL), 0);
}

/* ---- What scripts are made of ---- */

static void put(int fd, const void *p, size_t len)
{
    if (len && send(fd, p, len, MSG_NOSIGNAL) < 0)
        return; /* the client has had enough */
}

static void put_frame(int fd, unsigned int type, unsigned int tag, const void *body,
                      size_t len)
{
    struct pvperf_frame f = {(uint32_t)len, (uint16_t)type, (uint16_t)tag};

    put(fd, &f, sizeof(f));
    put(fd, body, len);
}

/* The next request's tag; its type must be @type. */
static unsigned int take(int fd, unsigned int type)
{
    static uint8_t body[PVPERF_FRAME_MAX];
    struct pvperf_frame f = {0, 0, 0};

    if (recv(fd, &f, sizeof(f), MSG_WAITALL) != sizeof(f) || f.type != type)
        return 0;
    if (f.size && recv(fd, body, f.size, MSG_WAITALL) != (ssize_t)f.size)
        return 0;
    return f.tag;
}

static void reply(int fd, unsigned int tag, int rc, const char *text)
{
    uint8_t body[PVPERF_TEXT_MAX + 8] = {0};

    memcpy(body, &rc, 4);
    memcpy(body + 8, text, strlen(text));
    put_frame(fd, PVPERF_MSG_REPLY, tag, body, 8 + strlen(text));
}

static void welcome(int fd, unsigned int major)
{
    struct pvperf_msg_hello w = {.magic = PVPERF_PROTO_MAGIC, .major = (uint16_t)major};
    unsigned int tag = take(fd, PVPERF_MSG_HELLO);

    memset(w.version, 'v', sizeof(w.version)); /* not terminated */
    put_frame(fd, PVPERF_MSG_WELCOME, tag, &w, sizeof(w));
    reply(fd, tag, 0, "");
}

static int accept_hello(void)
{
    int fd = accept(listener, NULL, NULL);

    if (fd >= 0)
        welcome(fd, PVPERF_PROTO_MAJOR);
    return fd;
}

static const struct pvperf_msg_opened token = {.session = 5, .token = 77};

static void opened(int fd, unsigned int type)
{
    unsigned int tag = take(fd, type);

    put_frame(fd, PVPERF_MSG_OPENED, tag, &token, sizeof(token));
    reply(fd, tag, 0, "");
}

static void ring_new(int fd, uint64_t serial)
{
    struct pvperf_client_ring ring = {.serial = serial, .domid = 3, .vcpu = 1};

    memset(ring.name, 'n', sizeof(ring.name)); /* not terminated */
    put_frame(fd, PVPERF_MSG_RING_NEW, 0, &ring, sizeof(ring));
}

/* @nr samples, the first at @position; ip is the position. */
static void ring_data(int fd, uint64_t serial, uint64_t position, unsigned int nr)
{
    struct {
        struct pvperf_msg_data head;
        struct pvperf_rec_sample rec[64];
    } msg = {.head = {serial, position}};
    unsigned int i;

    for (i = 0; i < nr; i++)
        msg.rec[i] =
            (struct pvperf_rec_sample){.hdr = {.type = PVPERF_REC_SAMPLE, .words = 3},
                                       .ip = position + i * sizeof(msg.rec[0])};
    put_frame(fd, PVPERF_MSG_RING_DATA, 0, &msg,
              sizeof(msg.head) + nr * sizeof(msg.rec[0]));
}

/* ---- Callbacks ---- */

static uint64_t nr_samples, sum_ip, nr_bytes, last_position;
static unsigned int nr_new, nr_gone, nr_notices, nr_ends;
static char last_notice[512];
static bool missing_told;
static struct pvperf_client *inside;
static int inside_rc;

static void on_sample(void *user, const struct pvperf_client_ring *ring,
                      const struct pvperf_sample *s)
{
    (void)user;
    ck_assert_uint_eq(strlen(ring->name), PVPERF_NAME_LEN - 1);
    nr_samples++;
    sum_ip += s->ip;
}

static void on_data(void *user, const struct pvperf_client_ring *ring, uint64_t position,
                    const void *bytes, size_t len)
{
    (void)user;
    (void)ring;
    (void)bytes;
    nr_bytes += len;
    last_position = position;
}

static void on_new(void *user, const struct pvperf_client_ring *ring)
{
    (void)user;
    (void)ring;
    nr_new++;
    if (inside)
        inside_rc = pvperf_client_stop(inside, NULL);
}

static void on_gone(void *user, const struct pvperf_client_ring *ring)
{
    (void)user;
    (void)ring;
    nr_gone++;
}

static void on_notice(void *user, const char *text)
{
    (void)user;
    nr_notices++;
    missing_told |= strstr(text, "120 bytes of samples are missing") != NULL;
    snprintf(last_notice, sizeof(last_notice), "%s", text);
}

static void on_end(void *user, const struct pvperf_session_counts *counts)
{
    (void)user;
    (void)counts;
    nr_ends++;
}

static const struct pvperf_client_ops ops = {.ring_new = on_new,
                                             .ring_data = on_data,
                                             .ring_gone = on_gone,
                                             .sample = on_sample,
                                             .end = on_end,
                                             .notice = on_notice};

static void reset(void)
{
    nr_samples = sum_ip = nr_bytes = last_position = 0;
    nr_new = nr_gone = nr_notices = nr_ends = 0;
    missing_told = false;
    inside = NULL;
    inside_rc = 0;
}

static void setup(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    strcpy(dir, "/tmp/pvperf-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/sock", dir);
    memcpy(addr.sun_path, path, sizeof(path));
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    ck_assert_int_eq(listen(listener, 8), 0);
    memset(&err, 0, sizeof(err));
    script = NULL;
    reset();
}

static const struct pvperf_event event = {.modes = 1, .rate = 1000000};
static const uint16_t domid = 3;

static int try_open(struct pvperf_client **c)
{
    const struct pvperf_request req = {
        .events = &event, .nr_events = 1, .domids = &domid, .nr_domids = 1};
    int rc = pvperf_client_connect(c, path, &err);

    ck_assert_msg(rc == 0, "%s", err.text);
    pvperf_client_set_ops(*c, &ops, NULL);
    return pvperf_client_open(*c, &req, &err);
}

static struct pvperf_client *open_client(void)
{
    struct pvperf_client *c = NULL;
    int rc = try_open(&c);

    ck_assert_msg(rc == 0, "%s", err.text);
    return c;
}

/* Until an error, or for @rounds. */
static int process(struct pvperf_client *c, int rounds)
{
    int rc = 0;

    while (rc >= 0 && rounds-- > 0)
        rc = pvperf_client_wait(c, 50, &err);
    return rc;
}

/* ---- Connecting ---- */

START_TEST(nobody_listens)
{
    struct pvperf_client *c = NULL;
    char big[300];

    ck_assert_int_eq(pvperf_client_connect(&c, "/nonexistent/sock", &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "start it"));
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    ck_assert_int_eq(pvperf_client_connect(&c, big, &err), -ENAMETOOLONG);
    setenv(PVPERF_SOCKET_ENV, "/nonexistent/env", 1);
    ck_assert_int_eq(pvperf_client_connect(&c, NULL, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/env"));
    ck_assert_ptr_null(c);
}
END_TEST

static void *old_daemon(void *arg)
{
    int fd = accept(listener, NULL, NULL);

    welcome(fd, 9);
    close(fd);
    return arg;
}

START_TEST(version_mismatch)
{
    struct pvperf_client *c = NULL;

    play(old_daemon);
    ck_assert_int_eq(pvperf_client_connect(&c, path, &err), -EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "version 9"));
}
END_TEST

static void *noisy_daemon(void *arg)
{
    int fd = accept(listener, NULL, NULL);

    put(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    usleep(200000);
    close(fd);
    return arg;
}

START_TEST(not_pvperfd)
{
    struct pvperf_client *c = NULL;

    play(noisy_daemon);
    ck_assert_int_eq(pvperf_client_connect(&c, path, &err), -EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "does not speak"));
}
END_TEST

static void *silent_daemon(void *arg)
{
    close(accept(listener, NULL, NULL));
    return arg;
}

START_TEST(hangs_up)
{
    struct pvperf_client *c = NULL;

    play(silent_daemon);
    ck_assert_int_eq(pvperf_client_connect(&c, path, &err), -EPIPE);
    ck_assert_ptr_nonnull(strstr(err.text, "hung up"));
}
END_TEST

/* ---- Answers ---- */

static unsigned int answer_type;
static size_t answer_len;

static void *odd_answer(void *arg)
{
    static uint8_t body[PVPERF_FRAME_MAX];
    int fd = accept_hello();
    unsigned int tag = take(fd, PVPERF_MSG_STATUS);

    put_frame(fd, answer_type, tag, body, answer_len);
    reply(fd, tag, 0, "");
    take(fd, 0);
    close(fd);
    return arg;
}

static void *many_sessions(void *arg)
{
    struct pvperf_msg_host host = {.rc = 0};
    struct pvperf_status_session s = {.session = 1};
    int fd = accept_hello(), i;
    unsigned int tag = take(fd, PVPERF_MSG_STATUS);

    put_frame(fd, PVPERF_MSG_HOST, tag, &host, sizeof(host));
    for (i = 0; i < 20; i++)
        put_frame(fd, PVPERF_MSG_SESSION, tag, &s, sizeof(s));
    reply(fd, tag, 0, "");
    take(fd, 0);
    close(fd);
    return arg;
}

static void status_fails(void *(*daemon)(void *), unsigned int type, size_t len)
{
    struct pvperf_status status = {.nr_sessions = 99};
    struct pvperf_client *c = NULL;

    answer_type = type;
    answer_len = len;
    play(daemon);
    ck_assert_int_eq(pvperf_client_connect(&c, path, &err), 0);
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), -EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "makes no sense"));
    ck_assert_uint_eq(status.nr_sessions, 99); /* untouched */
    ck_assert_int_eq(pvperf_client_status(c, &status, &err), -ENOTCONN);
    pvperf_client_close(c);
    pthread_join(thread, NULL);
    script = NULL;
}

START_TEST(odd_answers)
{
    status_fails(odd_answer, PVPERF_MSG_HOST, 10);
    status_fails(odd_answer, PVPERF_MSG_SESSION, 3);
    status_fails(odd_answer, PVPERF_MSG_DOMAIN, sizeof(struct pvperf_domain));
    status_fails(odd_answer, PVPERF_MSG_REPLY, 4);
    status_fails(many_sessions, 0, 0);
}
END_TEST

static void *refusing_daemon(void *arg)
{
    int fd = accept_hello();

    reply(fd, take(fd, PVPERF_MSG_OPEN), -EBUSY, "the counters\x1b are held");
    take(fd, 0);
    close(fd);
    return arg;
}

START_TEST(refusal_comes_through)
{
    const struct pvperf_request req = {
        .events = &event, .nr_events = 1, .domids = &domid, .nr_domids = 1};
    struct pvperf_client *c = NULL;

    play(refusing_daemon);
    ck_assert_int_eq(pvperf_client_connect(&c, path, &err), 0);
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), -EBUSY);
    ck_assert_str_eq(err.text, "the counters? are held");
    ck_assert_uint_eq(pvperf_client_session(c), 0);
    ck_assert_int_eq(pvperf_client_start(c, &err), -EINVAL);
    pvperf_client_close(c);
}
END_TEST

START_TEST(requests_are_checked)
{
    struct pvperf_request req = {.events = &event, .nr_events = 0};
    struct pvperf_client *c = NULL;

    play(refusing_daemon);
    ck_assert_int_eq(pvperf_client_connect(&c, path, &err), 0);
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), -EINVAL);
    req.nr_events = 9;
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), -EINVAL);
    req.nr_events = 1;
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "name a domain"));
    req.nr_domids = PVPERF_DOMIDS_MAX + 1;
    ck_assert_int_eq(pvperf_client_open(c, &req, &err), -E2BIG);
    pvperf_client_close(c);
}
END_TEST

/* ---- The stream ---- */

static void *good_resume(void *arg)
{
    struct pvperf_session_counts counts = {.nr_events = 1};
    int fd = accept_hello();

    opened(fd, PVPERF_MSG_OPEN);
    ring_new(fd, 1);
    ring_new(fd, 2);
    put_frame(fd, PVPERF_MSG_SYNCED, 0, NULL, 0);
    ring_data(fd, 1, 0, 10);
    ring_data(fd, 2, 0, 4);
    put_frame(fd, 999, 0, "of a newer version", 18);
    put(fd, "\x90\x00\x00", 3); /* dies in the middle of a header */
    close(fd);

    fd = accept_hello();
    opened(fd, PVPERF_MSG_RESUME);
    ring_new(fd, 1); /* ring 2 has gone meanwhile */
    put_frame(fd, PVPERF_MSG_SYNCED, 0, NULL, 0);
    ring_data(fd, 1, 0, 10);   /* all of it again */
    ring_data(fd, 1, 120, 10); /* 5 again, 5 new */
    ring_data(fd, 1, 480, 2);  /* 120 bytes are missing */
    reply(fd, take(fd, PVPERF_MSG_STOP), 0, "");
    put_frame(fd, PVPERF_MSG_END, 0, &counts, sizeof(counts));
    put_frame(fd, PVPERF_MSG_END, 0, &counts, sizeof(counts));
    reply(fd, take(fd, PVPERF_MSG_DETACH), 0, "");
    take(fd, 0);
    close(fd);
    return arg;
}

/* The name has no end and a control character; then an answer is cut. */
static void *bad_counts(void *arg)
{
    struct pvperf_client_count count = {.counts = {.domid = 7, .time = 5}};
    int fd = accept_hello();
    unsigned int tag;

    memset(count.name, 'x', sizeof(count.name));
    count.name[1] = '\033';
    opened(fd, PVPERF_MSG_OPEN);
    tag = take(fd, PVPERF_MSG_READ);
    put_frame(fd, PVPERF_MSG_COUNT, tag, &count, sizeof(count));
    put_frame(fd, PVPERF_MSG_COUNT, tag, &count, sizeof(count));
    reply(fd, tag, 0, "");
    tag = take(fd, PVPERF_MSG_READ);
    put_frame(fd, PVPERF_MSG_COUNT, tag, &count, sizeof(count) - 1);
    take(fd, 0);
    close(fd);
    return arg;
}

START_TEST(counts_of_a_liar)
{
    struct pvperf_client_count *list = NULL;
    struct pvperf_client *c;
    size_t nr = 0;

    play(bad_counts);
    c = open_client();
    ck_assert_int_eq(pvperf_client_read(c, &list, &nr, &err), 0);
    ck_assert_uint_eq(nr, 2);
    ck_assert_uint_eq(list[1].counts.domid, 7);
    ck_assert_uint_eq(strlen(list[1].name), PVPERF_NAME_LEN - 1);
    ck_assert_int_eq(list[1].name[1], '?');
    free(list);
    list = NULL;
    ck_assert_int_lt(pvperf_client_read(c, &list, &nr, &err), 0);
    ck_assert_ptr_null(list);
    pvperf_client_close(c);
}
END_TEST

START_TEST(resume_drops_what_it_has)
{
    struct pvperf_client *c;

    play(good_resume);
    c = open_client();
    ck_assert_int_ge(process(c, 20), 0);
    ck_assert_uint_eq(nr_new, 2);
    ck_assert_uint_eq(nr_gone, 1);
    ck_assert_uint_eq(nr_samples, 10 + 4 + 5 + 2);
    ck_assert_uint_eq(nr_bytes, nr_samples * 24);
    ck_assert_uint_eq(last_position, 480);
    ck_assert_uint_eq(nr_notices, 3); /* lost, back, missing bytes */
    ck_assert(missing_told);
    ck_assert_int_eq(pvperf_client_finish(c, 3000, &err), 0);
    ck_assert_uint_eq(nr_ends, 1);
    pvperf_client_close(c);
}
END_TEST

static const void *hostile_body;
static unsigned int hostile_type;
static size_t hostile_len;

static void *hostile_stream(void *arg)
{
    int fd = accept_hello();

    opened(fd, PVPERF_MSG_OPEN);
    ring_new(fd, 1);
    put_frame(fd, hostile_type, 0, hostile_body, hostile_len);
    take(fd, 0);
    close(fd);
    return arg;
}

static void stream_fails(unsigned int type, const void *body, size_t len)
{
    struct pvperf_client *c = NULL;
    int rc;

    hostile_type = type;
    hostile_body = body;
    hostile_len = len;
    play(hostile_stream);
    rc = try_open(&c); /* the frame may come with the answer already */
    if (rc >= 0)
        rc = process(c, 20);
    ck_assert_int_eq(rc, -EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "makes no sense"));
    pvperf_client_close(c);
    pthread_join(thread, NULL);
    script = NULL;
}

START_TEST(hostile_frames)
{
    static const uint8_t zeroes[PVPERF_FRAME_MAX];
    const struct pvperf_msg_data high = {1, UINT64_MAX - 7};
    const struct pvperf_msg_data odd = {1, 4};
    const struct pvperf_session_counts counts = {.nr_events = 1000000};
    uint8_t data[sizeof(high) + 24] = {0};

    stream_fails(PVPERF_MSG_RING_DATA, zeroes, 8);             /* short */
    stream_fails(PVPERF_MSG_RING_DATA, zeroes, 16);            /* no such ring */
    stream_fails(PVPERF_MSG_RING_NEW, zeroes, 20);             /* short */
    stream_fails(PVPERF_MSG_RING_GONE, zeroes, 7);             /* short */
    stream_fails(PVPERF_MSG_DOMAIN_EVENT, zeroes, 100);        /* short */
    stream_fails(PVPERF_MSG_COUNTS, zeroes, 30);               /* short */
    stream_fails(PVPERF_MSG_END, &counts, sizeof(counts));     /* events */
    stream_fails(PVPERF_MSG_COUNTS, zeroes, PVPERF_FRAME_MAX); /* none */
    memcpy(data, &high, sizeof(high));
    stream_fails(PVPERF_MSG_RING_DATA, data, sizeof(data)); /* wraps round */
    memcpy(data, &odd, sizeof(odd));
    stream_fails(PVPERF_MSG_RING_DATA, data, sizeof(data)); /* no multiple of 8 */
    data[8] = 0;
    stream_fails(PVPERF_MSG_RING_DATA, data, sizeof(data) - 3);
}
END_TEST

static void *corrupt_stream(void *arg)
{
    uint8_t data[16 + 64] = {1};
    int fd = accept_hello();

    opened(fd, PVPERF_MSG_OPEN);
    ring_new(fd, 1);
    put_frame(fd, PVPERF_MSG_RING_DATA, 0, data, sizeof(data)); /* no records */
    ring_data(fd, 1, 64, 3);
    take(fd, 0);
    close(fd);
    return arg;
}

/* Bytes that are no records cost their span, and the operator is told. */
START_TEST(corrupt_bytes)
{
    struct pvperf_client *c;

    play(corrupt_stream);
    c = open_client();
    ck_assert_int_ge(process(c, 5), 0);
    ck_assert_uint_eq(nr_samples, 3);
    ck_assert_uint_eq(nr_notices, 1);
    ck_assert_ptr_nonnull(strstr(last_notice, "no records at byte 0"));
    pvperf_client_close(c);
}
END_TEST

START_TEST(calls_from_callbacks)
{
    struct pvperf_client *c;

    play(corrupt_stream);
    c = open_client();
    inside = c;
    inside_rc = 0;
    nr_new = 0;
    process(c, 5);
    inside = NULL;
    if (nr_new) /* else it came with the answer to OPEN */
        ck_assert_int_eq(inside_rc, -EBUSY);
    pvperf_client_close(c);
}
END_TEST

static void *dying_daemon(void *arg)
{
    int fd = accept_hello();

    opened(fd, PVPERF_MSG_OPEN);
    close(fd);
    close(listener);
    unlink(path);
    return arg;
}

START_TEST(gives_up_in_time)
{
    struct pvperf_client *c;
    int rc;

    play(dying_daemon);
    c = open_client();
    pvperf_client_set_reconnect(c, 500);
    rc = process(c, 100);
    ck_assert(rc == -ENOENT || rc == -ECONNREFUSED);
    ck_assert_ptr_nonnull(strstr(err.text, "session 5 could not be resumed"));
    ck_assert_int_eq(pvperf_client_stop(c, &err), -ENOTCONN);
    pvperf_client_close(c);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
}
END_TEST

static void *other_session(void *arg)
{
    struct pvperf_msg_opened wrong = {.session = 6};
    unsigned int tag;
    int fd = accept_hello();

    opened(fd, PVPERF_MSG_OPEN);
    close(fd);
    fd = accept_hello();
    tag = take(fd, PVPERF_MSG_RESUME);
    put_frame(fd, PVPERF_MSG_OPENED, tag, &wrong, sizeof(wrong));
    reply(fd, tag, 0, "");
    take(fd, 0);
    close(fd);
    return arg;
}

START_TEST(resumes_only_its_own)
{
    struct pvperf_client *c;

    play(other_session);
    c = open_client();
    ck_assert_int_eq(process(c, 100), -EPROTO);
    pvperf_client_close(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client_wire");
    TCase *tc = tcase_create("client");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, nobody_listens);
    tcase_add_test(tc, version_mismatch);
    tcase_add_test(tc, not_pvperfd);
    tcase_add_test(tc, hangs_up);
    tcase_add_test(tc, odd_answers);
    tcase_add_test(tc, refusal_comes_through);
    tcase_add_test(tc, requests_are_checked);
    tcase_add_test(tc, counts_of_a_liar);
    tcase_add_test(tc, resume_drops_what_it_has);
    tcase_add_test(tc, hostile_frames);
    tcase_add_test(tc, corrupt_bytes);
    tcase_add_test(tc, calls_from_callbacks);
    tcase_add_test(tc, gives_up_in_time);
    tcase_add_test(tc, resumes_only_its_own);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
