/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* client_link.c: the socket to pvperfd, and the way back after it broke. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client_private.h"

#define RETRY_MS 100
#define CALL_MS 10000
#define SEND_MS 5000
#define PUMP_BYTES (1u << 20) /* at most, before the caller gets a turn */

int64_t pvp_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void pvp_link_close(struct pvperf_client *c)
{
    if (c->sock >= 0) {
        /* A fork of the program may hold the socket: close() is not enough. */
        epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->sock, NULL);
        close(c->sock);
    }
    c->sock = -1;
    c->in_len = 0;
}

static void set_timer(struct pvperf_client *c, int ms)
{
    struct itimerspec when = {{0, ms * 1000000L}, {0, ms * 1000000L}};

    timerfd_settime(c->timer, 0, &when, NULL);
}

static int connect_failed(struct pvperf_client *c, int rc, struct pvperf_err *err)
{
    switch (rc) {
    case -EACCES:
    case -EPERM:
        return pvperf_err_set(err, rc,
                              "no permission to use %s: run this as root or as a member "
                              "of the socket's group",
                              c->path);
    case -ENOENT:
    case -ECONNREFUSED:
        return pvperf_err_set(err, rc,
                              "pvperfd does not run (nobody listens on %s): start it "
                              "(systemctl start pvperfd)",
                              c->path);
    default:
        return pvperf_err_set(err, rc, "cannot connect to pvperfd at %s: %s; try again",
                              c->path, strerror(-rc));
    }
}

static int connect_socket(struct pvperf_client *c, struct pvperf_err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int rc;

    memcpy(addr.sun_path, c->path, sizeof(addr.sun_path));
    c->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->sock < 0)
        return connect_failed(c, -errno, err);
    if (connect(c->sock, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->sock, &event) < 0) {
        rc = -errno;
        pvp_link_close(c);
        return connect_failed(c, rc, err);
    }
    return 0;
}

static int send_all(int fd, const uint8_t *p, size_t len)
{
    int64_t until = pvp_now_ms() + SEND_MS;
    struct pollfd pfd = {.fd = fd, .events = POLLOUT};
    ssize_t n;

    while (len) {
        n = send(fd, p, len, MSG_NOSIGNAL);
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            if (pvp_now_ms() > until)
                return -EPIPE;
            poll(&pfd, 1, RETRY_MS);
        } else if (errno != EINTR) {
            return -EPIPE;
        }
    }
    return 0;
}

int pvp_link_send(struct pvperf_client *c, unsigned int type, unsigned int tag,
                  const void *body, size_t len)
{
    struct pvperf_frame frame = {(uint32_t)len, (uint16_t)type, (uint16_t)tag};
    uint8_t *buf;
    int rc;

    if (c->sock < 0)
        return -EPIPE;
    if (len > PVPERF_FRAME_MAX)
        return -EMSGSIZE;
    buf = malloc(sizeof(frame) + len);
    if (!buf)
        return -ENOMEM;
    memcpy(buf, &frame, sizeof(frame));
    if (len)
        memcpy(buf + sizeof(frame), body, len);
    rc = send_all(c->sock, buf, sizeof(frame) + len);
    free(buf);
    return rc;
}

static int on_reply(struct pvp_call *call, const uint8_t *body, size_t len)
{
    struct pvperf_msg_reply reply;
    size_t text = len - sizeof(reply);

    if (len < sizeof(reply))
        return -EPROTO;
    memcpy(&reply, body, sizeof(reply));
    if (text >= sizeof(call->text))
        text = sizeof(call->text) - 1;
    memcpy(call->text, body + sizeof(reply), text);
    call->text[text] = '\0';
    pvp_clean_text(call->text, sizeof(call->text));
    call->rc = reply.rc > 0 ? -EPROTO : reply.rc;
    call->done = true;
    return 0;
}

static int on_frame(struct pvperf_client *c, const struct pvperf_frame *f,
                    const uint8_t *body, struct pvperf_err *err)
{
    int rc = 0;

    if (f->type >= PVPERF_MSG_RING_NEW)
        return c->session.session ? pvp_stream_frame(c, f, body, err) : 0;
    if (!c->call || c->call->done || f->tag != c->call->tag)
        return 0; /* answers a request that was given up */
    if (f->type == PVPERF_MSG_REPLY)
        rc = on_reply(c->call, body, f->size);
    else if (c->call->answer)
        rc = c->call->answer(c, f->type, body, f->size);
    if (rc < 0)
        return pvperf_err_set(err, rc,
                              "pvperfd's answer makes no sense (type %u, %u bytes): "
                              "install client and daemon of the same version",
                              f->type, f->size);
    return 0;
}

/* Handle the whole frames in the buffer, keep the rest. */
static int handle_frames(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvperf_frame f;
    size_t at = 0;
    int rc = 0;

    while (!rc && c->in_len - at >= sizeof(f)) {
        memcpy(&f, c->in + at, sizeof(f));
        if (f.size > PVPERF_FRAME_MAX)
            return pvperf_err_set(err, -EPROTO,
                                  "what listens on %s does not speak pvperfd's protocol: "
                                  "check PVPERFD_SOCKET",
                                  c->path);
        if (c->in_len - at - sizeof(f) < f.size)
            break;
        rc = on_frame(c, &f, c->in + at + sizeof(f), err);
        at += sizeof(f) + f.size;
    }
    c->in_len -= at;
    memmove(c->in, c->in + at, c->in_len);
    return rc;
}

int pvp_link_pump(struct pvperf_client *c, struct pvperf_err *err)
{
    size_t total = 0;
    ssize_t n;
    int rc;

    while (c->sock >= 0 && total < PUMP_BYTES) {
        n = recv(c->sock, c->in + c->in_len, sizeof(c->in) - c->in_len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return -EPIPE;
        c->in_len += (size_t)n;
        total += (size_t)n;
        rc = handle_frames(c, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int pvp_link_wait(struct pvperf_client *c, int timeout_ms)
{
    struct epoll_event event;
    uint64_t ticks;
    int n;

    n = epoll_wait(c->epoll, &event, 1, timeout_ms);
    if (n < 0 && errno != EINTR)
        return -errno;
    /* The tick is there to wake us up, nothing else. */
    if (n > 0 && read(c->timer, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
        return -errno;
    return n > 0;
}

int pvp_link_call(struct pvperf_client *c, struct pvp_call *call, unsigned int type,
                  const void *body, size_t len, struct pvperf_err *err)
{
    int64_t until = pvp_now_ms() + CALL_MS;
    struct pvp_call *outer = c->call;
    int rc;

    if (!++c->last_tag)
        c->last_tag = 1;
    call->tag = c->last_tag;
    call->done = false;
    c->call = call;
    rc = pvp_link_send(c, type, call->tag, body, len);
    if (rc < 0 && rc != -EPIPE)
        pvperf_err_set(err, rc, "cannot send a request to pvperfd: %s; try again",
                       strerror(-rc));
    while (rc >= 0 && !call->done) {
        if (pvp_now_ms() > until) {
            rc = pvperf_err_set(err, -ETIMEDOUT,
                                "pvperfd did not answer in %d s: see its log (journalctl "
                                "-u pvperfd)",
                                CALL_MS / 1000);
            break;
        }
        rc = pvp_link_wait(c, RETRY_MS);
        if (rc >= 0)
            rc = pvp_link_pump(c, err);
    }
    c->call = outer;
    if (call->done && rc == -EPIPE)
        rc = 0; /* answered, then closed: the next call will see it */
    if (rc >= 0 && call->rc < 0)
        rc = pvperf_err_set(err, call->rc, "%s", call->text);
    return rc < 0 ? rc : 0;
}

static int take_welcome(struct pvperf_client *c, unsigned int type, const void *body,
                        size_t len)
{
    struct pvperf_msg_hello *hello = c->call->out;

    if (type != PVPERF_MSG_WELCOME || len < sizeof(*hello))
        return -EPROTO;
    memcpy(hello, body, sizeof(*hello));
    return 0;
}

static int say_hello(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvperf_msg_hello hello = {.magic = PVPERF_PROTO_MAGIC,
                                     .major = PVPERF_PROTO_MAJOR,
                                     .minor = PVPERF_PROTO_MINOR};
    struct pvperf_msg_hello welcome = {0};
    struct pvp_call call = {.answer = take_welcome, .out = &welcome};
    int rc;

    snprintf(hello.version, sizeof(hello.version), "%s", PVPERF_VERSION);
    rc = pvp_link_call(c, &call, PVPERF_MSG_HELLO, &hello, sizeof(hello), err);
    if (rc == -EPIPE)
        return pvperf_err_set(err, rc,
                              "pvperfd hung up at once: see its log (journalctl "
                              "-u pvperfd)");
    if (rc < 0)
        return rc;
    if (welcome.magic != PVPERF_PROTO_MAGIC || welcome.major != PVPERF_PROTO_MAJOR)
        return pvperf_err_set(
            err, -EPROTO,
            "pvperfd speaks version %u of its protocol, this client %d: "
            "install client and daemon of the same version",
            welcome.major, PVPERF_PROTO_MAJOR);
    memcpy(c->daemon_version, welcome.version, sizeof(c->daemon_version));
    pvp_clean_text(c->daemon_version, sizeof(c->daemon_version));
    return 0;
}

int pvp_link_open(struct pvperf_client *c, struct pvperf_err *err)
{
    int rc = connect_socket(c, err);

    if (rc < 0)
        return rc;
    rc = say_hello(c, err);
    if (rc < 0)
        pvp_link_close(c);
    return rc;
}

int pvp_link_broken(struct pvperf_client *c, int rc, struct pvperf_err *err)
{
    pvp_link_close(c);
    if (rc != -EPIPE || !c->session.session || c->reconnect_ms <= 0) {
        c->failed = true;
        if (rc != -EPIPE)
            return rc; /* the reason stands in @err already */
        return pvperf_err_set(err, rc,
                              "pvperfd closed the connection: see its log (journalctl -u "
                              "pvperfd) and try again");
    }
    c->give_up = pvp_now_ms() + c->reconnect_ms;
    set_timer(c, RETRY_MS);
    pvp_stream_notice(c, "the connection to pvperfd is lost: trying to resume");
    return 0;
}

static int take_opened(struct pvperf_client *c, unsigned int type, const void *body,
                       size_t len)
{
    struct pvperf_msg_opened opened;

    if (type != PVPERF_MSG_OPENED || len < sizeof(opened))
        return -EPROTO;
    memcpy(&opened, body, sizeof(opened));
    return opened.session == c->session.session ? 0 : -EPROTO;
}

static int resume(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvp_call call = {.answer = take_opened};
    int rc;

    pvp_stream_resync(c);
    rc = pvp_link_call(c, &call, PVPERF_MSG_RESUME, &c->session, sizeof(c->session), err);
    if (rc >= 0 && c->stopping && !c->ended)
        rc = pvp_link_send(c, PVPERF_MSG_STOP, 0, NULL, 0);
    if (rc < 0)
        pvp_link_close(c);
    return rc;
}

int pvp_link_retry(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvperf_err why = {{0}};
    bool hopeless;
    int rc;

    rc = pvp_link_open(c, &why);
    hopeless = rc == -EPROTO;
    if (rc >= 0) {
        rc = resume(c, &why);
        /* The daemon is there and refuses: waiting will not help. */
        hopeless = rc < 0 && rc != -EPIPE;
    }
    if (rc >= 0) {
        set_timer(c, 0);
        pvp_stream_notice(c, "the connection to pvperfd is back");
        return 1;
    }
    if (!hopeless && pvp_now_ms() < c->give_up)
        return 0;
    c->failed = true;
    set_timer(c, 0);
    return pvperf_err_set(err, rc, "session %u could not be resumed: %s",
                          c->session.session, why.text);
}
