/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conn.h: one client's connection: frames in, frames out.
 *
 * What goes out waits in a buffer until the socket takes it.  Control frames
 * may queue up to CONN_QUEUE_MAX; a RING_DATA frame is only put in when the
 * buffer is empty, so that ring bytes never queue behind each other here.
 */
#ifndef PVPERFD_CONN_H
#define PVPERFD_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <pvperf/protocol.h>

#define CONN_QUEUE_MAX (16u << 20)
#define CONN_QUEUE_LOW 65536u /* no new requests are read above this */

struct session;

struct conn {
    struct conn *next;
    int fd;
    pid_t pid;
    uid_t uid;
    bool greeted;            /* HELLO was fine */
    bool closing;            /* close when all is out */
    bool dead;               /* close now */
    struct session *session; /* or NULL */

    uint8_t *out;
    size_t out_len, out_at, out_room;

    size_t in_len;
    uint8_t in[sizeof(struct pvperf_frame) + PVPERF_FRAME_MAX];
};

/* Takes @fd over, in any case. */
struct conn *conn_new(int fd);
void conn_free(struct conn *c);

/* Queue a frame of two parts; a connection for which that fails is dead. */
void conn_send(struct conn *c, unsigned int type, unsigned int tag, const void *head,
               size_t head_len, const void *tail, size_t tail_len);
void conn_reply(struct conn *c, unsigned int tag, int rc, const char *text);

/* Write what the socket takes.  True if all is out. */
bool conn_flush(struct conn *c);
bool conn_idle(const struct conn *c); /* nothing waits */

/*
 * Read what is there and hand each whole frame to @handle, which returns a
 * negative errno for rubbish.  Marks the connection dead on end of file,
 * error or rubbish.
 */
typedef int conn_handler(void *ctx, struct conn *c, const struct pvperf_frame *frame,
                         const void *body);
void conn_read(struct conn *c, conn_handler *handle, void *ctx);

#endif
