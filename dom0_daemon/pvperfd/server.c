/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "server.h"
#include "systemd.h"

#define MAX_CONNS 64
#define TICK_MS 100
#define DOMAINS_MS 1000
#define VIRQ_TRIES 20 /* of 100 ms: a predecessor may be on its way out */

enum { POLL_SIGNAL, POLL_LISTEN, POLL_VIRQ, POLL_STORE, POLL_CONNS };

/* ---- Sessions ---- */

int server_add_session(struct server *sv, struct session *s)
{
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (!sv->sessions[i]) {
            sv->sessions[i] = s;
            return 0;
        }
    return -ENOSPC;
}

struct session *server_find_session(struct server *sv, uint32_t id)
{
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv->sessions[i] && sv->sessions[i]->id == id)
            return sv->sessions[i];
    return NULL;
}

void server_remove_session(struct server *sv, struct session *s)
{
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv->sessions[i] == s)
            sv->sessions[i] = NULL;
}

static bool any_session(const struct server *sv)
{
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv->sessions[i])
            return true;
    return false;
}

/* The sessions that a daemon before us left in Xen. */
static void adopt(struct server *sv)
{
    struct pvperf_session_info info;
    struct session *s;
    unsigned int slot;

    for (slot = 0; slot < PVPERF_MAX_SESSIONS; slot++) {
        if (pvperf_host_session_at(sv->host, slot, &info, NULL) < 0 ||
            !session_is_ours(&info))
            continue;
        s = session_new(sv->host, &info);
        if (!s || server_add_session(sv, s) < 0) {
            log_error("out of memory: session %u stays in Xen", info.session);
            if (s)
                session_forget(s);
            continue;
        }
        s->adopted = true;
        if (info.start_time && info.start_time <= sv->query.now)
            s->since -= (time_t)((sv->query.now - info.start_time) / 1000000000);
        s->deadline = session_now_ms() + sv->config->grace_ms;
        log_info("session %u: found in Xen, kept %d s for its client to resume", s->id,
                 sv->config->grace_ms / 1000);
    }
}

/* ---- Xen ---- */

static int bind_virq(struct server *sv, struct pvperf_err *err)
{
    const struct timespec pause = {0, TICK_MS * 1000000};
    int tries, rc = -EEXIST;

    for (tries = 0; rc == -EEXIST && tries < VIRQ_TRIES; tries++) {
        if (tries)
            nanosleep(&pause, NULL);
        rc = pvperf_host_virq_open(sv->host, &sv->virq, err);
    }
    return rc;
}

static int open_host(struct server *sv)
{
    struct pvperf_err *err = &sv->host_err;
    int rc;

    rc = sv->config->host_open(&sv->host, err);
    if (rc < 0) {
        sv->host = NULL;
        return rc;
    }
    rc = pvperf_host_query(sv->host, &sv->query, err);
    if (rc >= 0 && !sv->query.privileged)
        rc = pvperf_err_set(err, -EPERM,
                            "Xen lets this domain not control pvperf: run pvperfd in "
                            "dom0 (with FLASK, the policy must allow pvperf_control)");
    if (rc >= 0)
        rc = bind_virq(sv, err);
    if (rc < 0) {
        pvperf_host_close(sv->host);
        sv->host = NULL;
        return rc;
    }
    log_info("Xen has pvperf %u.%u: %s, %u CPUs, up to %u samples a second and CPU",
             sv->query.abi_major, sv->query.abi_minor,
             pvperf_host_backend_name(sv->query.backend), sv->query.nr_pcpus,
             sv->query.max_rate);
    adopt(sv);
    return 0;
}

int server_host(struct server *sv)
{
    if (!sv->host)
        sv->host_rc = open_host(sv);
    return sv->host_rc;
}

int server_domains(struct server *sv)
{
    const struct domain_source *source = &sv->config->domains;
    struct pvperf_domain *list;
    unsigned int i;
    size_t nr;
    int rc;

    sv->next_domains = session_now_ms() + DOMAINS_MS;
    rc = source->list(source->ctx, &list, &nr);
    if (rc < 0)
        return rc;
    free(sv->domains);
    sv->domains = list;
    sv->nr_domains = nr;
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv->sessions[i] && sv->sessions[i]->client)
            session_domains_changed(sv->sessions[i], list, nr);
    return 0;
}

/* ---- Work ---- */

static void session_ended(struct server *sv, struct session *s)
{
    log_warning("session %u has gone from Xen: its client is dropped", s->id);
    server_remove_session(sv, s);
    if (s->client)
        s->client->dead = true;
    session_forget(s);
}

static void tick(struct server *sv)
{
    int64_t now = session_now_ms();
    struct session *s;
    unsigned int i;

    sv->next_tick = now + TICK_MS;
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++) {
        s = sv->sessions[i];
        if (!s)
            continue;
        if (!s->client && now >= s->deadline) {
            server_remove_session(sv, s);
            session_expire(s);
        } else if (!session_tick(s, sv->domains, sv->nr_domains)) {
            session_ended(sv, s);
        } else if (s->ring_died) {
            s->ring_died = false;
            sv->next_domains = now;
        }
    }
    if (any_session(sv) && now >= sv->next_domains)
        server_domains(sv);
}

/* True if a session has more to send at once. */
static bool pump(struct server *sv)
{
    bool more = false;
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv->sessions[i] && session_pump(sv->sessions[i]))
            more = true;
    return more;
}

static void client_left(struct server *sv, struct conn *c)
{
    struct session *s = c->session;

    if (s) {
        session_detach(s, session_now_ms() + sv->config->grace_ms);
        log_info("session %u: its client is gone; kept %d s for it to resume", s->id,
                 sv->config->grace_ms / 1000);
    }
    sv->nr_conns--;
    conn_free(c);
}

static void sweep(struct server *sv)
{
    struct conn **at = &sv->conns, *c;

    while ((c = *at) != NULL) {
        if (!c->dead) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        client_left(sv, c);
    }
}

static void accept_client(struct server *sv)
{
    struct conn *c;
    int fd = accept4(sv->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (sv->nr_conns >= MAX_CONNS) {
        log_warning("%d clients are connected: another one is refused", MAX_CONNS);
        close(fd);
        return;
    }
    c = conn_new(fd);
    if (!c)
        return;
    c->next = sv->conns;
    sv->conns = c;
    sv->nr_conns++;
    log_debug("client %d (uid %u) connected", (int)c->pid, c->uid);
}

static void take_virq(struct server *sv)
{
    struct pvperf_err err;

    if (pvperf_host_virq_ack(sv->host, &err) >= 0)
        return;
    log_warning("%s; looking every %d ms instead", err.text, TICK_MS);
    sv->virq = -1; /* belongs to the host */
}

/* ---- The loop ---- */

static unsigned int fill_poll(struct server *sv, struct pollfd *fds)
{
    const struct domain_source *source = &sv->config->domains;
    unsigned int n = POLL_CONNS;
    struct conn *c;

    fds[POLL_SIGNAL] = (struct pollfd){.fd = sv->signal, .events = POLLIN};
    fds[POLL_LISTEN] = (struct pollfd){.fd = sv->listen, .events = POLLIN};
    fds[POLL_VIRQ] = (struct pollfd){.fd = sv->virq, .events = POLLIN};
    fds[POLL_STORE] = (struct pollfd){.fd = source->fd(source->ctx), .events = POLLIN};
    for (c = sv->conns; c; c = c->next) {
        fds[n] = (struct pollfd){.fd = c->fd};
        if (!c->closing && c->out_len - c->out_at < CONN_QUEUE_LOW)
            fds[n].events |= POLLIN;
        if (!conn_idle(c))
            fds[n].events |= POLLOUT;
        n++;
    }
    return n;
}

static void serve_conns(struct server *sv, const struct pollfd *fds)
{
    unsigned int n = POLL_CONNS;
    struct conn *c;

    for (c = sv->conns; c; c = c->next, n++) {
        if (fds[n].revents & POLLIN)
            conn_read(c, requests_handle, sv);
        else if (fds[n].revents & (POLLHUP | POLLERR | POLLNVAL))
            c->dead = true;
        conn_flush(c);
    }
}

static int poll_timeout(const struct server *sv, bool more)
{
    int64_t left;

    if (more)
        return 0;
    if (!any_session(sv))
        return -1;
    left = sv->next_tick - session_now_ms();
    return left < 0 ? 0 : (int)left;
}

static void loop(struct server *sv)
{
    const struct domain_source *source = &sv->config->domains;
    struct pollfd fds[POLL_CONNS + MAX_CONNS];
    bool more = false;

    while (!sv->quit) {
        if (poll(fds, fill_poll(sv, fds), poll_timeout(sv, more)) < 0) {
            if (errno != EINTR)
                break;
            continue;
        }
        if (fds[POLL_SIGNAL].revents)
            sv->quit = true;
        if (fds[POLL_STORE].revents) {
            source->ack(source->ctx);
            sv->next_domains = 0;
            sv->next_tick = 0;
        }
        if (fds[POLL_VIRQ].revents) {
            take_virq(sv);
            sv->next_tick = 0;
        }
        serve_conns(sv, fds);
        if (fds[POLL_LISTEN].revents)
            accept_client(sv);
        if (any_session(sv) && session_now_ms() >= sv->next_tick)
            tick(sv);
        more = pump(sv);
        sweep(sv);
    }
}

static int open_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void finish(struct server *sv)
{
    unsigned int i, kept = 0;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++) {
        if (!sv->sessions[i])
            continue;
        if (sv->config->stop_sessions) {
            session_destroy(sv->sessions[i]);
        } else {
            session_forget(sv->sessions[i]);
            kept++;
        }
    }
    if (kept)
        log_info("%u session(s) stay in Xen for the next pvperfd", kept);
    while (sv->conns) {
        struct conn *c = sv->conns;

        sv->conns = c->next;
        conn_free(c);
    }
    pvperf_host_close(sv->host);
    free(sv->domains);
    if (sv->listen >= 0)
        close(sv->listen);
    if (sv->signal >= 0)
        close(sv->signal);
}

int server_run(const struct server_config *config)
{
    struct server sv = {.config = config, .virq = -1, .listen = -1};
    int status = 1;

    sv.signal = open_signals();
    sv.listen = config->listen_fd >= 0 ? config->listen_fd
                                       : listen_open(config->socket, config->group);
    if (sv.signal < 0 || sv.listen < 0)
        goto out;
    if (server_host(&sv) == -EEXIST) {
        log_error("%s", sv.host_err.text);
        goto out;
    }
    if (sv.host_rc < 0)
        log_warning("%s; clients will be told so", sv.host_err.text);
    systemd_notify("READY=1");
    log_debug("listening on %s", config->socket);
    loop(&sv);
    systemd_notify("STOPPING=1");
    status = 0;
out:
    finish(&sv);
    return status;
}
