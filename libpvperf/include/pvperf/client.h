/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * client.h: profiling through pvperfd.  Needs no privilege but access to the
 * daemon's socket.
 *
 * One client holds one connection and at most one session.  If the connection
 * breaks while a session is open (the daemon was restarted), the client
 * reconnects and resumes by itself; no sample is seen twice, and what Xen had
 * no room for meanwhile is in the counts.
 *
 * Calls block until the daemon has answered (a few seconds at most); while
 * they wait, the callbacks of the stream run.  Callbacks must not call
 * functions of the same client, except pvperf_client_session().  Not for
 * several threads at once.  Functions return 0 or more, or a negative errno
 * with the reason in @err (which may be NULL); outputs are untouched then.
 */
#ifndef PVPERF_CLIENT_H
#define PVPERF_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <pvperf/abi.h>
#include <pvperf/error.h>
#include <pvperf/sample.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PVPERF_SOCKET_DEFAULT "/run/pvperf/pvperfd.sock"
#define PVPERF_SOCKET_ENV "PVPERFD_SOCKET"

#define PVPERF_NAME_LEN 128 /* with the final zero */

/*
 * A domain.  The name is clean: printable ASCII or UTF-8 bytes, no control
 * characters; "" if xenstore knows none.
 */
#define PVPERF_DOMAIN_RUNNING 0 /* has run lately or waits for a CPU */
#define PVPERF_DOMAIN_BLOCKED 1 /* waits for an event */
#define PVPERF_DOMAIN_PAUSED 2
#define PVPERF_DOMAIN_SHUTDOWN 3
#define PVPERF_DOMAIN_DYING 4

struct pvperf_domain {
    uint16_t domid;
    uint8_t state;     /* PVPERF_DOMAIN_* */
    uint8_t hvm;       /* 1: HVM or PVH, 0: PV */
    uint32_t nr_vcpus; /* online */
    uint64_t cpu_time; /* ns, all vCPUs */
    uint8_t uuid[16];
    char name[PVPERF_NAME_LEN];
};

const char *pvperf_domain_state_name(unsigned int state);

/* Sums over a session, from Xen; exact once it has been stopped. */
struct pvperf_session_counts {
    uint32_t nr_events;
    uint32_t nr_rings;
    struct pvperf_counts event[PVPERF_MAX_EVENTS];
};

/* ---- Connection, status ------------------------------------------------ */

struct pvperf_client;

/* @path NULL: $PVPERFD_SOCKET, or else the default. */
int pvperf_client_connect(struct pvperf_client **out, const char *path,
                          struct pvperf_err *err);

/*
 * Close.  An open session that was not detached stays in Xen for the
 * daemon's grace time and is then destroyed.
 */
void pvperf_client_close(struct pvperf_client *c);

struct pvperf_status_session {
    uint32_t session;
    uint8_t state;     /* PVPERF_SESSION_* */
    uint8_t flags;     /* PVPERF_SESSION_FLAG_* */
    uint8_t connected; /* its client is there */
    uint8_t foreign;   /* made by somebody else than pvperfd */
    int32_t pid;       /* of the owner; 0: not known */
    uint32_t uid;
    int64_t since;    /* seconds of the wall clock; 0: not known */
    char command[64]; /* the owner's, clean; "": not known */
    uint16_t nr_events;
    uint16_t reserved[3];
    struct pvperf_event events[PVPERF_MAX_EVENTS];
    struct pvperf_counts total;
};

struct pvperf_status {
    char daemon_version[32];
    int32_t host_rc;      /* 0: @query is valid; else a negative errno */
    char host_error[256]; /* and the reason */
    struct pvperf_query query;
    uint32_t nr_sessions;
    struct pvperf_status_session sessions[PVPERF_MAX_SESSIONS];
};

int pvperf_client_status(struct pvperf_client *c, struct pvperf_status *out,
                         struct pvperf_err *err);

/* All domains by id; give *@list to free(). */
int pvperf_client_domains(struct pvperf_client *c, struct pvperf_domain **list,
                          size_t *nr, struct pvperf_err *err);

/* ---- Session ----------------------------------------------------------- */

/* Where the bytes of a stream come from: a vCPU or (DOMID_IDLE) a CPU. */
struct pvperf_client_ring {
    uint64_t serial;
    uint16_t domid; /* PVPERF_DOMID_IDLE: a CPU's ring */
    uint16_t vcpu;  /* or the CPU */
    uint32_t reserved;
    uint8_t uuid[16];
    char name[PVPERF_NAME_LEN];
};

#define PVPERF_DOMAIN_EVENT_NEW 1  /* joined the session */
#define PVPERF_DOMAIN_EVENT_GONE 2 /* was destroyed */
#define PVPERF_DOMAIN_EVENT_NAME 3 /* has another name now */

/* Any may be NULL.  Arguments live until the callback returns. */
struct pvperf_client_ops {
    void (*ring_new)(void *user, const struct pvperf_client_ring *ring);
    /* Raw bytes of whole records, for those who decode later. */
    void (*ring_data)(void *user, const struct pvperf_client_ring *ring,
                      uint64_t position, const void *bytes, size_t len);
    void (*ring_gone)(void *user, const struct pvperf_client_ring *ring);
    /* The same bytes, decoded. */
    void (*sample)(void *user, const struct pvperf_client_ring *ring,
                   const struct pvperf_sample *sample);
    void (*lost)(void *user, const struct pvperf_client_ring *ring,
                 const struct pvperf_lost *lost);
    /* @event: PVPERF_DOMAIN_EVENT_*; @left: domains still in the session. */
    void (*domain)(void *user, unsigned int event, const struct pvperf_domain *domain,
                   unsigned int left);
    /* About once a second while the session runs. */
    void (*counts)(void *user, const struct pvperf_session_counts *counts);
    /* After stop: all samples have been delivered, counts are final. */
    void (*end)(void *user, const struct pvperf_session_counts *counts);
    /* One line for the operator: connection lost, resumed, corrupt bytes. */
    void (*notice)(void *user, const char *text);
};

void pvperf_client_set_ops(struct pvperf_client *c, const struct pvperf_client_ops *ops,
                           void *user);

struct pvperf_request {
    const struct pvperf_event *events;
    unsigned int nr_events; /* 1 to PVPERF_MAX_EVENTS */
    uint8_t flags;          /* PVPERF_SESSION_FLAG_* */
    uint8_t ring_order;     /* data pages of a ring, log2 */
    uint8_t max_stack;      /* 0 without FLAG_CALLCHAIN */
    const uint16_t *domids; /* may be NULL with FLAG_ALL or FLAG_XEN */
    size_t nr_domids;
    const char *command; /* shown in status; NULL: the program's name */
};

/* Make a stopped session with these domains. */
int pvperf_client_open(struct pvperf_client *c, const struct pvperf_request *req,
                       struct pvperf_err *err);
/* Its id, 0 if none. */
uint32_t pvperf_client_session(const struct pvperf_client *c);

int pvperf_client_start(struct pvperf_client *c, struct pvperf_err *err);
/* Stop sampling.  The rest of the samples, then end(), come by _process(). */
int pvperf_client_stop(struct pvperf_client *c, struct pvperf_err *err);
/* Destroy the session. */
int pvperf_client_detach(struct pvperf_client *c, struct pvperf_err *err);

/*
 * stop, deliver everything up to and with end(), detach.  -ETIMEDOUT if that
 * takes longer than @timeout_ms; the session is destroyed then as well.
 */
int pvperf_client_finish(struct pvperf_client *c, int timeout_ms, struct pvperf_err *err);

/*
 * What a session with FLAG_COUNT has counted until now, or until it was
 * stopped: an entry for each vCPU, in an order that only grows; give *@list to
 * free().
 */
struct pvperf_client_count {
    struct pvperf_vcpu_counts counts;
    char name[PVPERF_NAME_LEN]; /* clean; "" if the domain has none any more */
};

int pvperf_client_read(struct pvperf_client *c, struct pvperf_client_count **list,
                       size_t *nr, struct pvperf_err *err);

/* ---- Event loop -------------------------------------------------------- */

/*
 * One fd for the life of the client, also across reconnections; when it is
 * readable, call pvperf_client_process().
 */
int pvperf_client_fd(const struct pvperf_client *c);

/*
 * Handle what has arrived, without blocking (resuming a broken session may
 * take a moment).  Returns 1 if end() has been called, else 0.  After an
 * error the client is of no more use but for close.
 */
int pvperf_client_process(struct pvperf_client *c, struct pvperf_err *err);

/* Wait up to @timeout_ms (-1: for ever) for something, then process it. */
int pvperf_client_wait(struct pvperf_client *c, int timeout_ms, struct pvperf_err *err);

/* How long to try to reconnect; default 10000. */
void pvperf_client_set_reconnect(struct pvperf_client *c, int timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
