/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * requests.c: what clients ask for.  A handler returns a negative errno only
 * for rubbish, which costs the client its connection; all else is a REPLY.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "server.h"

struct request {
    struct server *sv;
    struct conn *conn;
    unsigned int tag;
    const uint8_t *body;
    size_t len;
};

static void reply(const struct request *rq, int rc, const char *text)
{
    conn_reply(rq->conn, rq->tag, rc, rc < 0 ? text : "");
}

static void answer(const struct request *rq, unsigned int type, const void *body,
                   size_t len)
{
    conn_send(rq->conn, type, rq->tag, body, len, NULL, 0);
}

/* Foreign text: terminated, no control characters. */
static void take_text(char *to, const char *from, size_t size)
{
    size_t i;

    memcpy(to, from, size);
    to[size - 1] = '\0';
    for (i = 0; to[i]; i++)
        if ((unsigned char)to[i] < 0x20 || to[i] == 0x7f)
            to[i] = '?';
}

static int on_hello(const struct request *rq)
{
    struct pvperf_msg_hello hello, welcome = {.magic = PVPERF_PROTO_MAGIC,
                                              .major = PVPERF_PROTO_MAJOR,
                                              .minor = PVPERF_PROTO_MINOR};
    char version[sizeof(hello.version)], text[PVPERF_TEXT_MAX];

    if (rq->len < sizeof(hello) || rq->conn->greeted)
        return -EPROTO;
    memcpy(&hello, rq->body, sizeof(hello));
    if (hello.magic != PVPERF_PROTO_MAGIC)
        return -EPROTO;
    snprintf(welcome.version, sizeof(welcome.version), "%s", PVPERF_VERSION);
    answer(rq, PVPERF_MSG_WELCOME, &welcome, sizeof(welcome));
    if (hello.major != PVPERF_PROTO_MAJOR) {
        take_text(version, hello.version, sizeof(version));
        snprintf(text, sizeof(text),
                 "pvperfd %s speaks version %d of the protocol, the client (%s) %u: "
                 "install both of the same version",
                 PVPERF_VERSION, PVPERF_PROTO_MAJOR, version, hello.major);
        reply(rq, -EPROTO, text);
        rq->conn->closing = true;
        return 0;
    }
    rq->conn->greeted = true;
    reply(rq, 0, "");
    return 0;
}

static void describe(struct server *sv, const struct pvperf_session_info *info,
                     struct pvperf_status_session *out)
{
    const struct session *s = server_find_session(sv, info->session);
    unsigned int i;

    memset(out, 0, sizeof(*out));
    out->session = info->session;
    out->state = info->state;
    out->flags = info->session_flags;
    out->foreign = !session_is_ours(info);
    out->nr_events = info->nr_events;
    memcpy(out->events, info->events, sizeof(out->events));
    for (i = 0; i < info->nr_events; i++) {
        out->total.overflows += info->counts[i].overflows;
        out->total.recorded += info->counts[i].recorded;
        out->total.lost += info->counts[i].lost;
        out->total.filtered += info->counts[i].filtered;
        out->total.throttled += info->counts[i].throttled;
    }
    if (!s)
        return;
    out->connected = s->client != NULL;
    out->pid = s->pid;
    out->uid = s->uid;
    out->since = s->since;
    memcpy(out->command, s->command, sizeof(out->command));
}

static int on_status(const struct request *rq)
{
    struct pvperf_status_session sessions[PVPERF_MAX_SESSIONS];
    struct pvperf_session_info info;
    struct pvperf_msg_host host = {0};
    struct server *sv = rq->sv;
    unsigned int slot, i;

    host.rc = server_host(sv);
    if (host.rc >= 0)
        host.rc = pvperf_host_query(sv->host, &sv->query, &sv->host_err);
    if (host.rc >= 0)
        host.query = sv->query;
    else
        snprintf(host.error, sizeof(host.error), "%.255s", sv->host_err.text);
    for (slot = 0; host.rc >= 0 && slot < PVPERF_MAX_SESSIONS; slot++)
        if (pvperf_host_session_at(sv->host, slot, &info, NULL) >= 0)
            describe(sv, &info, &sessions[host.nr_sessions++]);
    answer(rq, PVPERF_MSG_HOST, &host, sizeof(host));
    for (i = 0; i < host.nr_sessions; i++)
        answer(rq, PVPERF_MSG_SESSION, &sessions[i], sizeof(sessions[i]));
    reply(rq, 0, "");
    return 0;
}

static int on_domains(const struct request *rq)
{
    struct server *sv = rq->sv;
    char text[PVPERF_TEXT_MAX];
    size_t i;
    int rc = server_domains(sv);

    if (rc < 0) {
        snprintf(text, sizeof(text),
                 "pvperfd cannot list the domains: %s; it has to run in dom0 as root",
                 strerror(-rc));
        reply(rq, rc, text);
        return 0;
    }
    for (i = 0; i < sv->nr_domains; i++)
        answer(rq, PVPERF_MSG_DOMAIN, &sv->domains[i], sizeof(sv->domains[i]));
    reply(rq, 0, "");
    return 0;
}

static int add_domains(struct server *sv, struct session *s, const uint16_t *domids,
                       size_t nr, struct pvperf_err *err)
{
    const struct pvperf_domain *d;
    size_t i;
    int rc;

    for (i = 0; i < nr; i++) {
        d = domains_find(sv->domains, sv->nr_domains, domids[i]);
        if (!d || d->state == PVPERF_DOMAIN_DYING)
            return pvperf_err_set(err, -ESRCH,
                                  "domain %u does not exist%s: see `pvperf list`",
                                  domids[i], d ? " any more" : "");
        rc = session_add_domain(s, d, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int create(struct server *sv, const struct pvperf_msg_open *msg,
                  struct session **out, struct pvperf_err *err)
{
    struct pvperf_session_create req = {.nr_events = msg->nr_events,
                                        .flags = msg->flags,
                                        .ring_order = msg->ring_order,
                                        .max_stack = msg->max_stack,
                                        .cookie = session_cookie()};
    struct pvperf_session_info info;
    struct session *s;
    int rc;

    if (!req.cookie)
        return pvperf_err_set(err, -EIO, "pvperfd got no random numbers: try again");
    memcpy(req.events, msg->events, msg->nr_events * sizeof(req.events[0]));
    rc = pvperf_host_session_create(sv->host, &req, err);
    if (rc < 0)
        return rc;
    rc = pvperf_host_session_info(sv->host, req.session, &info, err);
    s = rc < 0 ? NULL : session_new(sv->host, &info);
    if (s && server_add_session(sv, s) < 0) {
        session_forget(s);
        s = NULL;
    }
    if (!s) {
        pvperf_host_session_destroy(sv->host, req.session, NULL);
        return rc < 0 ? rc : pvperf_err_set(err, -ENOMEM, "pvperfd is out of memory");
    }
    take_text(s->command, msg->command, sizeof(s->command));
    *out = s;
    return 0;
}

static void welcome_to(const struct request *rq, struct session *s)
{
    struct pvperf_msg_opened opened = {.session = s->id, .token = s->cookie};

    session_attach(s, rq->conn);
    answer(rq, PVPERF_MSG_OPENED, &opened, sizeof(opened));
    reply(rq, 0, "");
    session_greet(s, rq->sv->domains, rq->sv->nr_domains);
}

static int open_session(const struct request *rq, const struct pvperf_msg_open *msg,
                        const uint16_t *domids, struct pvperf_err *err)
{
    struct server *sv = rq->sv;
    struct session *s = NULL;
    int rc;

    if (rq->conn->session)
        return pvperf_err_set(err, -EBUSY,
                              "this connection has a session: detach it first");
    rc = server_host(sv);
    if (rc < 0) {
        *err = sv->host_err;
        return rc;
    }
    rc = server_domains(sv);
    if (rc < 0)
        return pvperf_err_set(err, rc, "pvperfd cannot list the domains: %s; see its log",
                              strerror(-rc));
    rc = create(sv, msg, &s, err);
    if (rc < 0)
        return rc;
    rc = add_domains(sv, s, domids, msg->nr_domids, err);
    if (rc < 0) {
        server_remove_session(sv, s);
        session_destroy(s);
        return rc;
    }
    welcome_to(rq, s);
    log_info("session %u: opened by process %d (uid %u, %s), %u events, %zu domains",
             s->id, (int)rq->conn->pid, rq->conn->uid, s->command, msg->nr_events,
             s->nr_domains);
    return 0;
}

static int on_open(const struct request *rq)
{
    struct pvperf_msg_open msg;
    struct pvperf_err err;
    uint16_t *domids;
    size_t bytes;
    int rc;

    if (rq->len < sizeof(msg))
        return -EPROTO;
    memcpy(&msg, rq->body, sizeof(msg));
    bytes = rq->len - sizeof(msg);
    if (!msg.nr_events || msg.nr_events > PVPERF_MAX_EVENTS ||
        msg.nr_domids > PVPERF_DOMIDS_MAX || bytes != msg.nr_domids * sizeof(*domids))
        return -EPROTO;
    domids = malloc(bytes + 1);
    if (!domids) {
        reply(rq, -ENOMEM, "pvperfd is out of memory: name fewer domains");
        return 0;
    }
    memcpy(domids, rq->body + sizeof(msg), bytes);
    rc = open_session(rq, &msg, domids, &err);
    free(domids);
    if (rc < 0)
        reply(rq, rc, err.text);
    return 0;
}

static int on_resume(const struct request *rq)
{
    struct server *sv = rq->sv;
    struct pvperf_msg_opened msg;
    struct session *s;
    char text[PVPERF_TEXT_MAX];

    if (rq->len < sizeof(msg))
        return -EPROTO;
    memcpy(&msg, rq->body, sizeof(msg));
    if (rq->conn->session) {
        reply(rq, -EBUSY, "this connection has a session: detach it first");
        return 0;
    }
    if (server_host(sv) < 0) {
        reply(rq, sv->host_rc, sv->host_err.text);
        return 0;
    }
    s = server_find_session(sv, msg.session);
    if (!s || s->cookie != msg.token) {
        snprintf(text, sizeof(text),
                 "there is no session %u for this client (any more): open a new one",
                 msg.session);
        reply(rq, -ENOENT, text);
        return 0;
    }
    if (s->client) { /* what we have of it is the broken end */
        s->client->dead = true;
        session_detach(s, 0);
    }
    server_domains(sv);
    log_info("session %u: resumed by process %d (uid %u)", s->id, (int)rq->conn->pid,
             rq->conn->uid);
    welcome_to(rq, s);
    return 0;
}

static int on_control(const struct request *rq, unsigned int type)
{
    struct session *s = rq->conn->session;
    struct pvperf_err err;
    int rc;

    if (!s) {
        reply(rq, -EINVAL, "this connection has no session: open one first");
        return 0;
    }
    if (type == PVPERF_MSG_DETACH) {
        server_remove_session(rq->sv, s);
        log_info("session %u: ended by its client", s->id);
        session_destroy(s);
        reply(rq, 0, "");
        return 0;
    }
    if (type == PVPERF_MSG_START)
        rc = session_start(s, &err);
    else
        rc = session_stop(s, rq->sv->domains, rq->sv->nr_domains, &err);
    reply(rq, rc, err.text);
    return 0;
}

static void answer_count(const struct request *rq,
                         const struct pvperf_vcpu_counts *counts)
{
    const struct pvperf_domain *d =
        domains_find(rq->sv->domains, rq->sv->nr_domains, counts->domid);
    struct pvperf_client_count out = {.counts = *counts};

    if (d && !memcmp(d->uuid, counts->handle, sizeof(d->uuid)))
        memcpy(out.name, d->name, sizeof(out.name));
    answer(rq, PVPERF_MSG_COUNT, &out, sizeof(out));
}

static int on_read(const struct request *rq)
{
    struct session *s = rq->conn->session;
    struct pvperf_counts_read read = {.total = 1};
    struct pvperf_err err;
    uint32_t i, next;
    int rc;

    if (!s) {
        reply(rq, -EINVAL, "this connection has no session: open one first");
        return 0;
    }
    for (next = 0; next < read.total; next += read.nr) {
        rc = pvperf_host_counts_read(s->host, s->id, next, &read, &err);
        if (rc < 0) {
            reply(rq, rc, err.text);
            return 0;
        }
        for (i = 0; i < read.nr; i++)
            answer_count(rq, &read.entry[i]);
        if (!read.nr)
            break;
    }
    reply(rq, 0, "");
    return 0;
}

int requests_handle(void *ctx, struct conn *c, const struct pvperf_frame *frame,
                    const void *body)
{
    const struct request rq = {ctx, c, frame->tag, body, frame->size};

    if (!c->greeted && frame->type != PVPERF_MSG_HELLO)
        return -EPROTO;
    switch (frame->type) {
    case PVPERF_MSG_HELLO:
        return on_hello(&rq);
    case PVPERF_MSG_STATUS:
        return on_status(&rq);
    case PVPERF_MSG_DOMAINS:
        return on_domains(&rq);
    case PVPERF_MSG_OPEN:
        return on_open(&rq);
    case PVPERF_MSG_RESUME:
        return on_resume(&rq);
    case PVPERF_MSG_START:
    case PVPERF_MSG_STOP:
    case PVPERF_MSG_DETACH:
        return on_control(&rq, frame->type);
    case PVPERF_MSG_READ:
        return on_read(&rq);
    default:
        return -EPROTO;
    }
}
