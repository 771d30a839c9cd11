/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server.h: the daemon's one loop.  server.c waits and serves, requests.c
 * answers, listen.c makes the socket.
 */
#ifndef PVPERFD_SERVER_H
#define PVPERFD_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <pvperf/host.h>

#include "conn.h"
#include "domains.h"
#include "session.h"

struct server_config {
    const char *socket; /* path */
    const char *group;  /* of the socket, or NULL */
    int listen_fd;      /* from systemd, or -1 */
    int grace_ms;       /* for a client to come back */
    bool stop_sessions; /* at the end */
    int (*host_open)(struct pvperf_host **host, struct pvperf_err *err);
    struct domain_source domains;
};

struct server {
    const struct server_config *config;
    struct pvperf_host *host; /* NULL: no pvperf here, @host_err says why */
    int host_rc;
    struct pvperf_err host_err;
    struct pvperf_query query;
    int virq;   /* fd or -1 */
    int listen; /* fd */
    int signal; /* fd */

    struct conn *conns;
    unsigned int nr_conns;
    struct session *sessions[PVPERF_MAX_SESSIONS];

    struct pvperf_domain *domains; /* by id */
    size_t nr_domains;
    int64_t next_tick, next_domains;
    bool quit;
};

/* Runs until SIGTERM or SIGINT; returns the exit status. */
int server_run(const struct server_config *config);

/*
 * Is Xen's pvperf there?  Tries to open it if not, so that a daemon that
 * started too early comes right by itself.  0 or a negative errno with the
 * reason in sv->host_err.
 */
int server_host(struct server *sv);

/* Ask who is there, tell the sessions.  0 or a negative errno. */
int server_domains(struct server *sv);

int server_add_session(struct server *sv, struct session *s);
struct session *server_find_session(struct server *sv, uint32_t id);
/* Out of the table; what becomes of it is the caller's. */
void server_remove_session(struct server *sv, struct session *s);

/* ---- requests.c ---- */

conn_handler requests_handle;

/* ---- listen.c ---- */

/*
 * A listening socket at @path, mode 0660, owned by @group if not NULL.  The
 * lock beside it makes sure that no other pvperfd has it; a stale socket is
 * replaced.  Returns the fd, or a negative errno after one line in the log.
 */
int listen_open(const char *path, const char *group);

#endif
