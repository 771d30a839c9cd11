/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* client.c: the calls of a client of pvperfd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "client_private.h"

#define RECONNECT_MS 10000

const char *pvperf_domain_state_name(unsigned int state)
{
    static const char *const names[] = {
        [PVPERF_DOMAIN_RUNNING] = "running", [PVPERF_DOMAIN_BLOCKED] = "blocked",
        [PVPERF_DOMAIN_PAUSED] = "paused",   [PVPERF_DOMAIN_SHUTDOWN] = "shutdown",
        [PVPERF_DOMAIN_DYING] = "dying",
    };

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static int make_fds(struct pvperf_client *c)
{
    struct epoll_event event = {.events = EPOLLIN};

    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (c->epoll < 0 || c->timer < 0 ||
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &event) < 0)
        return -errno;
    return 0;
}

static struct pvperf_client *client_alloc(void)
{
    struct pvperf_client *c = calloc(1, sizeof(*c));

    if (c) {
        c->sock = c->epoll = c->timer = -1;
        c->reconnect_ms = RECONNECT_MS;
    }
    return c;
}

int pvperf_client_connect(struct pvperf_client **out, const char *path,
                          struct pvperf_err *err)
{
    struct pvperf_client *c;
    int rc;

    if (!path)
        path = getenv(PVPERF_SOCKET_ENV);
    if (!path || !*path)
        path = PVPERF_SOCKET_DEFAULT;
    if (strlen(path) >= sizeof(c->path))
        return pvperf_err_set(err, -ENAMETOOLONG,
                              "the path of pvperfd's socket has %zu bytes: use one of at "
                              "most %zu",
                              strlen(path), sizeof(c->path) - 1);
    c = client_alloc();
    if (!c)
        return pvperf_err_set(err, -ENOMEM, "out of memory: free some and try again");
    snprintf(c->path, sizeof(c->path), "%s", path);
    rc = make_fds(c);
    if (rc < 0)
        pvperf_err_set(err, rc, "cannot make a file descriptor: %s; close some",
                       strerror(-rc));
    else
        rc = pvp_link_open(c, err);
    if (rc < 0) {
        pvperf_client_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void pvperf_client_close(struct pvperf_client *c)
{
    if (!c)
        return;
    pvp_link_close(c);
    if (c->timer >= 0)
        close(c->timer);
    if (c->epoll >= 0)
        close(c->epoll);
    pvp_stream_forget(c);
    free(c);
}

void pvperf_client_set_ops(struct pvperf_client *c, const struct pvperf_client_ops *ops,
                           void *user)
{
    c->ops = *ops;
    c->user = user;
}

void pvperf_client_set_reconnect(struct pvperf_client *c, int timeout_ms)
{
    c->reconnect_ms = timeout_ms;
}

uint32_t pvperf_client_session(const struct pvperf_client *c)
{
    return c->session.session;
}

int pvperf_client_fd(const struct pvperf_client *c)
{
    return c->epoll;
}

static int usable(const struct pvperf_client *c, struct pvperf_err *err)
{
    if (c->busy)
        return pvperf_err_set(err, -EBUSY,
                              "this client is in a callback: call it after the callback");
    if (c->failed)
        return pvperf_err_set(err, -ENOTCONN,
                              "this client has no connection any more: connect anew");
    return 0;
}

static int need_session(const struct pvperf_client *c, struct pvperf_err *err)
{
    if (!c->session.session)
        return pvperf_err_set(err, -EINVAL, "this client has no session: open one first");
    return 0;
}

/* Back on line, or fail. */
static int wait_for_link(struct pvperf_client *c, struct pvperf_err *err)
{
    int rc = 0;

    while (c->sock < 0 && !rc) {
        rc = pvp_link_retry(c, err);
        if (!rc)
            pvp_link_wait(c, 1000);
    }
    return rc < 0 ? rc : 0;
}

/* A request that may be repeated after the link broke and was resumed. */
static int call(struct pvperf_client *c, struct pvp_call *request, unsigned int type,
                const void *body, size_t len, struct pvperf_err *err)
{
    int rc = usable(c, err);

    while (rc >= 0) {
        rc = wait_for_link(c, err);
        if (rc < 0)
            break;
        rc = pvp_link_call(c, request, type, body, len, err);
        if (request->done || rc >= 0 || rc == -ETIMEDOUT)
            break;
        rc = pvp_link_broken(c, rc, err);
    }
    return rc;
}

/* ---- Status and domains ---- */

static int take_status(struct pvperf_client *c, unsigned int type, const void *body,
                       size_t len)
{
    struct pvperf_status *out = c->call->out;
    struct pvperf_status_session *s;
    struct pvperf_msg_host host;

    if (type == PVPERF_MSG_HOST) {
        if (len < sizeof(host))
            return -EPROTO;
        memcpy(&host, body, sizeof(host));
        memset(out, 0, sizeof(*out));
        out->host_rc = host.rc > 0 ? -EPROTO : host.rc;
        out->query = host.query;
        memcpy(out->host_error, host.error, sizeof(out->host_error));
        pvp_clean_text(out->host_error, sizeof(out->host_error));
        return 0;
    }
    if (type != PVPERF_MSG_SESSION || len < sizeof(*s) ||
        out->nr_sessions >= PVPERF_MAX_SESSIONS)
        return -EPROTO;
    s = &out->sessions[out->nr_sessions];
    memcpy(s, body, sizeof(*s));
    if (s->nr_events > PVPERF_MAX_EVENTS)
        return -EPROTO;
    pvp_clean_text(s->command, sizeof(s->command));
    out->nr_sessions++;
    return 0;
}

int pvperf_client_status(struct pvperf_client *c, struct pvperf_status *out,
                         struct pvperf_err *err)
{
    struct pvperf_status status = {.nr_sessions = 0};
    struct pvp_call request = {.answer = take_status, .out = &status};
    int rc = call(c, &request, PVPERF_MSG_STATUS, NULL, 0, err);

    if (rc < 0)
        return rc;
    memcpy(status.daemon_version, c->daemon_version, sizeof(status.daemon_version));
    *out = status;
    return 0;
}

/* Answers of one kind, each with a name in it. */
struct answer_list {
    unsigned int type;
    size_t size;    /* of one */
    size_t name_at; /* PVPERF_NAME_LEN bytes */
    char *items;
    size_t nr, room;
};

static int take_item(struct pvperf_client *c, unsigned int type, const void *body,
                     size_t len)
{
    struct answer_list *out = c->call->out;
    char *more;

    if (type != out->type || len < out->size || out->nr >= ANSWERS_MAX)
        return -EPROTO;
    if (out->nr == out->room) {
        out->room = out->room ? out->room * 2 : 16;
        more = reallocarray(out->items, out->room, out->size);
        if (!more)
            return -ENOMEM;
        out->items = more;
    }
    more = out->items + out->nr++ * out->size;
    memcpy(more, body, out->size);
    pvp_clean_text(more + out->name_at, PVPERF_NAME_LEN);
    return 0;
}

static int call_for_list(struct pvperf_client *c, unsigned int request_type,
                         struct answer_list *list, struct pvperf_err *err)
{
    struct pvp_call request = {.answer = take_item, .out = list};
    int rc = call(c, &request, request_type, NULL, 0, err);

    if (rc < 0)
        free(list->items);
    return rc < 0 ? rc : 0;
}

int pvperf_client_domains(struct pvperf_client *c, struct pvperf_domain **list,
                          size_t *nr, struct pvperf_err *err)
{
    struct answer_list domains = {.type = PVPERF_MSG_DOMAIN,
                                  .size = sizeof(**list),
                                  .name_at = offsetof(struct pvperf_domain, name)};
    int rc = call_for_list(c, PVPERF_MSG_DOMAINS, &domains, err);

    if (rc < 0)
        return rc;
    *list = (void *)domains.items;
    *nr = domains.nr;
    return 0;
}

/* ---- Session ---- */

static int check_request(const struct pvperf_request *req, struct pvperf_err *err)
{
    if (!req->nr_events || req->nr_events > PVPERF_MAX_EVENTS)
        return pvperf_err_set(err, -EINVAL, "a session has 1 to %d events, not %u",
                              PVPERF_MAX_EVENTS, req->nr_events);
    if (req->nr_domids > PVPERF_DOMIDS_MAX)
        return pvperf_err_set(err, -E2BIG,
                              "at most %d domains can be named: profile all domains",
                              PVPERF_DOMIDS_MAX);
    if (!req->nr_domids &&
        !(req->flags &
          (PVPERF_SESSION_FLAG_ALL | PVPERF_SESSION_FLAG_XEN | PVPERF_SESSION_FLAG_IDLE)))
        return pvperf_err_set(err, -EINVAL,
                              "the session would profile nothing: name a domain");
    return 0;
}

static int take_session(struct pvperf_client *c, unsigned int type, const void *body,
                        size_t len)
{
    struct pvperf_msg_opened opened;

    if (type != PVPERF_MSG_OPENED || len < sizeof(opened))
        return -EPROTO;
    memcpy(&opened, body, sizeof(opened));
    if (!opened.session)
        return -EPROTO;
    c->session = opened; /* from now on the stream is ours */
    return 0;
}

static void forget_session(struct pvperf_client *c)
{
    memset(&c->session, 0, sizeof(c->session));
    pvp_stream_forget(c);
}

static int send_open(struct pvperf_client *c, const struct pvperf_request *req,
                     struct pvperf_err *err)
{
    struct pvp_call request = {.answer = take_session};
    size_t domids = req->nr_domids * sizeof(*req->domids);
    size_t len = sizeof(struct pvperf_msg_open) + domids;
    struct pvperf_msg_open *open = calloc(1, len);
    int rc;

    if (!open)
        return pvperf_err_set(err, -ENOMEM, "out of memory: free some and try again");
    open->flags = req->flags;
    open->ring_order = req->ring_order;
    open->max_stack = req->max_stack;
    open->nr_events = (uint8_t)req->nr_events;
    open->nr_domids = (uint32_t)req->nr_domids;
    snprintf(open->command, sizeof(open->command), "%s",
             req->command ? req->command : program_invocation_short_name);
    memcpy(open->events, req->events, req->nr_events * sizeof(*req->events));
    if (domids)
        memcpy(open + 1, req->domids, domids);
    rc = pvp_link_call(c, &request, PVPERF_MSG_OPEN, open, len, err);
    free(open);
    return rc;
}

int pvperf_client_open(struct pvperf_client *c, const struct pvperf_request *req,
                       struct pvperf_err *err)
{
    int rc = usable(c, err);

    if (rc >= 0)
        rc = check_request(req, err);
    if (rc < 0)
        return rc;
    if (c->session.session)
        return pvperf_err_set(err, -EBUSY,
                              "this client has a session already: detach it first");
    memcpy(c->events, req->events, req->nr_events * sizeof(*req->events));
    c->nr_events = req->nr_events;
    c->stopping = c->ended = false;
    rc = send_open(c, req, err);
    if (rc == -EPIPE || rc == -EPROTO) {
        forget_session(c);
        return pvp_link_broken(c, rc, err);
    }
    if (rc >= 0 && !c->session.session)
        rc = pvperf_err_set(err, -EPROTO,
                            "pvperfd opened no session: install client and "
                            "daemon of the same version");
    if (rc < 0)
        forget_session(c);
    return rc;
}

int pvperf_client_start(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvp_call request = {.answer = NULL};
    int rc = need_session(c, err);

    if (rc < 0)
        return rc;
    c->stopping = c->ended = false;
    return call(c, &request, PVPERF_MSG_START, NULL, 0, err);
}

int pvperf_client_stop(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvp_call request = {.answer = NULL};
    int rc = need_session(c, err);

    if (rc < 0)
        return rc;
    c->ended = false;
    c->stopping = true;
    return call(c, &request, PVPERF_MSG_STOP, NULL, 0, err);
}

int pvperf_client_detach(struct pvperf_client *c, struct pvperf_err *err)
{
    struct pvp_call request = {.answer = NULL};
    int rc = need_session(c, err);

    if (rc >= 0)
        rc = call(c, &request, PVPERF_MSG_DETACH, NULL, 0, err);
    if (rc >= 0)
        forget_session(c);
    return rc;
}

int pvperf_client_finish(struct pvperf_client *c, int timeout_ms, struct pvperf_err *err)
{
    int64_t until = pvp_now_ms() + timeout_ms, left;
    int rc = pvperf_client_stop(c, err);

    if (rc < 0)
        return rc;
    while (!c->ended) {
        left = until - pvp_now_ms();
        if (left <= 0) {
            pvperf_client_detach(c, NULL);
            return pvperf_err_set(err, -ETIMEDOUT,
                                  "the last samples did not arrive in %d ms: allow more "
                                  "time or use a lower rate",
                                  timeout_ms);
        }
        rc = pvperf_client_wait(c, (int)left, err);
        if (rc < 0)
            return rc;
    }
    return pvperf_client_detach(c, err);
}

int pvperf_client_read(struct pvperf_client *c, struct pvperf_client_count **list,
                       size_t *nr, struct pvperf_err *err)
{
    struct answer_list counts = {.type = PVPERF_MSG_COUNT,
                                 .size = sizeof(**list),
                                 .name_at = offsetof(struct pvperf_client_count, name)};
    int rc = need_session(c, err);

    if (rc >= 0)
        rc = call_for_list(c, PVPERF_MSG_READ, &counts, err);
    if (rc < 0)
        return rc;
    *list = (void *)counts.items;
    *nr = counts.nr;
    return 0;
}

/* ---- Event loop ---- */

int pvperf_client_process(struct pvperf_client *c, struct pvperf_err *err)
{
    uint64_t ticks;
    int rc = usable(c, err);

    if (rc < 0)
        return rc;
    if (c->sock < 0) {
        if (read(c->timer, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
            return pvperf_err_set(err, -errno, "cannot read a timer: connect anew");
        rc = pvp_link_retry(c, err);
        if (rc <= 0)
            return rc;
    }
    rc = pvp_link_pump(c, err);
    if (rc < 0)
        rc = pvp_link_broken(c, rc, err);
    return rc < 0 ? rc : c->ended;
}

int pvperf_client_wait(struct pvperf_client *c, int timeout_ms, struct pvperf_err *err)
{
    int rc = usable(c, err);

    if (rc < 0)
        return rc;
    rc = pvp_link_wait(c, timeout_ms);
    if (rc < 0)
        return pvperf_err_set(err, rc, "cannot wait for pvperfd: %s; connect anew",
                              strerror(-rc));
    return pvperf_client_process(c, err);
}
