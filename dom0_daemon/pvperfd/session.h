/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h: one session in Xen: its rings, its domains, its client.
 *
 * Nothing here that Xen does not know could not be lost: a new daemon finds
 * the session by its cookie, the domains by its rings.
 */
#ifndef PVPERFD_SESSION_H
#define PVPERFD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <pvperf/host.h>
#include <pvperf/ring.h>

#include "conn.h"
#include "domains.h"

/* The upper 16 bits of our sessions' cookies; the others are random. */
#define SESSION_MARK 0x5076u
#define SESSION_DATA_MAX 32768u /* ring bytes in a frame */
#define SESSION_COUNTS_MS 1000
#define SESSION_FOLLOW_MS 2000

struct session_ring {
    struct pvperf_ring_info info;
    struct pvperf_ring_map map;
    struct pvperf_consumer *consumer;
    bool seen;   /* in the scan under way */
    bool broken; /* its head was impossible: only waits for its end */
};

struct session {
    uint32_t id;
    uint64_t cookie;
    struct pvperf_session_info info; /* the last one */
    struct pvperf_host *host;

    struct conn *client; /* NULL: gone, wait until deadline */
    int64_t deadline;    /* monotonic ms */
    pid_t pid;           /* owner, 0: not known */
    uid_t uid;
    time_t since;
    char command[PVPERF_COMMAND_LEN];

    struct pvperf_domain *domains; /* followed, by id */
    size_t nr_domains;

    struct session_ring *rings;
    size_t nr_rings;
    size_t turn; /* the ring that is next to be drained */
    /* The RING_DATA frame that is in the client's buffer, not yet out. */
    uint64_t sent_serial;
    size_t sent_len;

    bool gone;      /* Xen does not have it any more */
    bool adopted;   /* found in Xen: who is in it has to be looked up */
    bool ring_died; /* so the list of domains is out of date */
    bool stopping;  /* END is due when all is drained */
    int64_t next_counts, next_follow;
};

int64_t session_now_ms(void);
uint64_t session_cookie(void);
bool session_is_ours(const struct pvperf_session_info *info);

/* A session that exists in Xen. */
struct session *session_new(struct pvperf_host *host,
                            const struct pvperf_session_info *info);
/* Unmap and forget; Xen keeps it. */
void session_forget(struct session *s);
/* Destroy it in Xen, and forget it. */
void session_destroy(struct session *s);

/* Nobody came for it in time: log what that costs, and destroy it. */
void session_expire(struct session *s);

/* From now on @c is its client, who has to be told all with _greet(). */
void session_attach(struct session *s, struct conn *c);
void session_greet(struct session *s, const struct pvperf_domain *list, size_t nr);
void session_detach(struct session *s, int64_t deadline);

/* Follow a domain; the error is the caller's to tell. */
int session_add_domain(struct session *s, const struct pvperf_domain *d,
                       struct pvperf_err *err);
/* The list of domains is new: who came, who went, who has another name? */
void session_domains_changed(struct session *s, const struct pvperf_domain *list,
                             size_t nr);

/* Look for new and dead rings, send counts.  False: Xen has it no more. */
bool session_tick(struct session *s, const struct pvperf_domain *list, size_t nr);
/* Send what the socket takes.  True if it would take more right now. */
bool session_pump(struct session *s);

int session_start(struct session *s, struct pvperf_err *err);
int session_stop(struct session *s, const struct pvperf_domain *list, size_t nr,
                 struct pvperf_err *err);

#endif
