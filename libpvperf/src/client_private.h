/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * client_private.h: client.c has the calls, client_link.c the socket and the
 * way back after it broke, client_stream.c the frames of the stream.
 */
#ifndef PVP_CLIENT_PRIVATE_H
#define PVP_CLIENT_PRIVATE_H

#include <stdbool.h>

#include <pvperf/protocol.h>
#include <pvperf/ring.h>

struct pvp_stream_ring {
    struct pvperf_client_ring ring;
    struct pvperf_client *client;
    struct pvperf_decoder *decoder; /* NULL: nobody wants samples */
    uint64_t next;                  /* position of the first byte not seen */
    bool begun;                     /* next is valid */
    bool announced;                 /* since the last resume */
};

#define ANSWERS_MAX 65536 /* in a list */

/* A request under way. */
struct pvp_call {
    uint16_t tag;
    bool done;
    int rc;
    char text[PVPERF_TEXT_MAX];
    /* Takes the answers before REPLY; a negative errno ends the connection. */
    int (*answer)(struct pvperf_client *c, unsigned int type, const void *body,
                  size_t len);
    void *out;
};

struct pvperf_client {
    char path[108];
    char daemon_version[32];
    int sock;  /* -1: broken */
    int epoll; /* what pvperf_client_fd() returns */
    int timer; /* ticks while the link is broken */
    int reconnect_ms;
    int64_t give_up; /* monotonic ms, while broken */
    bool busy;       /* in a callback */
    bool failed;     /* beyond repair: for close only */
    uint16_t last_tag;
    struct pvp_call *call;

    struct pvperf_msg_opened session; /* session 0: none */
    struct pvperf_event events[PVPERF_MAX_EVENTS];
    unsigned int nr_events;
    bool stopping; /* STOP was asked for */
    bool ended;    /* END has come */
    struct pvperf_session_counts final;

    struct pvperf_client_ops ops;
    void *user;
    struct pvp_stream_ring **rings;
    size_t nr_rings, room_rings;
    size_t last_ring; /* where the last lookup ended */

    size_t in_len;
    uint8_t in[sizeof(struct pvperf_frame) + PVPERF_FRAME_MAX];
};

int64_t pvp_now_ms(void);

/* ---- client_link.c ---- */

/* Connect and say hello.  On failure c->sock is -1. */
int pvp_link_open(struct pvperf_client *c, struct pvperf_err *err);
void pvp_link_close(struct pvperf_client *c);
/* One frame; blocks a few seconds at most.  -EPIPE: the link is broken. */
int pvp_link_send(struct pvperf_client *c, unsigned int type, unsigned int tag,
                  const void *body, size_t len);
/*
 * Read what is there, handle its frames.  0, -EPIPE (closed by the daemon), or
 * another error that resuming will not help.
 */
int pvp_link_pump(struct pvperf_client *c, struct pvperf_err *err);
/* The link broke with @rc: get ready to resume, or fail for good. */
int pvp_link_broken(struct pvperf_client *c, int rc, struct pvperf_err *err);
/* One try to come back: 1 if resumed, 0 if it is worth waiting, or an error. */
int pvp_link_retry(struct pvperf_client *c, struct pvperf_err *err);
/* Wait for the socket or a tick.  1 if something happened. */
int pvp_link_wait(struct pvperf_client *c, int timeout_ms);
/* Send a request and wait for its REPLY; no resuming. */
int pvp_link_call(struct pvperf_client *c, struct pvp_call *call, unsigned int type,
                  const void *body, size_t len, struct pvperf_err *err);

/* ---- client_stream.c ---- */

int pvp_stream_frame(struct pvperf_client *c, const struct pvperf_frame *frame,
                     const void *body, struct pvperf_err *err);
void pvp_stream_forget(struct pvperf_client *c);
/* All rings have to be announced again. */
void pvp_stream_resync(struct pvperf_client *c);
void pvp_stream_notice(struct pvperf_client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Terminate foreign text and make it printable. */
void pvp_clean_text(char *text, size_t size);

#endif
