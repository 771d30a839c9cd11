/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "log.h"

struct conn *conn_new(int fd)
{
    struct ucred cred = {0};
    socklen_t len = sizeof(cred);
    struct conn *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return NULL;
    }
    c->fd = fd;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0) {
        c->pid = cred.pid;
        c->uid = cred.uid;
    }
    return c;
}

void conn_free(struct conn *c)
{
    close(c->fd);
    free(c->out);
    free(c);
}

static int make_room(struct conn *c, size_t more)
{
    size_t room = c->out_room ? c->out_room : 4096;
    uint8_t *out;

    if (c->out_at) {
        memmove(c->out, c->out + c->out_at, c->out_len - c->out_at);
        c->out_len -= c->out_at;
        c->out_at = 0;
    }
    if (c->out_len + more > CONN_QUEUE_MAX)
        return -ENOBUFS;
    while (room < c->out_len + more)
        room *= 2;
    if (room == c->out_room)
        return 0;
    out = realloc(c->out, room);
    if (!out)
        return -ENOMEM;
    c->out = out;
    c->out_room = room;
    return 0;
}

static void append(struct conn *c, const void *bytes, size_t len)
{
    if (len)
        memcpy(c->out + c->out_len, bytes, len);
    c->out_len += len;
}

void conn_send(struct conn *c, unsigned int type, unsigned int tag, const void *head,
               size_t head_len, const void *tail, size_t tail_len)
{
    struct pvperf_frame frame = {(uint32_t)(head_len + tail_len), (uint16_t)type,
                                 (uint16_t)tag};

    if (c->dead)
        return;
    if (make_room(c, sizeof(frame) + frame.size) < 0) {
        log_warning("client %d (uid %u) does not read its answers: dropped", (int)c->pid,
                    c->uid);
        c->dead = true;
        return;
    }
    append(c, &frame, sizeof(frame));
    append(c, head, head_len);
    append(c, tail, tail_len);
}

void conn_reply(struct conn *c, unsigned int tag, int rc, const char *text)
{
    struct pvperf_msg_reply reply = {.rc = rc};
    size_t len = strlen(text);

    if (len >= PVPERF_TEXT_MAX)
        len = PVPERF_TEXT_MAX - 1;
    conn_send(c, PVPERF_MSG_REPLY, tag, &reply, sizeof(reply), text, len);
}

bool conn_idle(const struct conn *c)
{
    return c->out_at == c->out_len;
}

bool conn_flush(struct conn *c)
{
    ssize_t n;

    while (!c->dead && !conn_idle(c)) {
        n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            c->out_at += (size_t)n;
        else if (errno == EAGAIN)
            return false;
        else if (errno != EINTR)
            c->dead = true;
    }
    if (c->dead)
        return false;
    c->out_at = c->out_len = 0;
    if (c->closing)
        c->dead = true;
    return true;
}

/* The frames that are whole; false if the peer talks rubbish. */
static bool handle_frames(struct conn *c, conn_handler *handle, void *ctx)
{
    struct pvperf_frame f;
    size_t at = 0;

    while (!c->dead && !c->closing && c->in_len - at >= sizeof(f)) {
        memcpy(&f, c->in + at, sizeof(f));
        if (f.size > PVPERF_FRAME_MAX)
            return false;
        if (c->in_len - at - sizeof(f) < f.size)
            break;
        if (handle(ctx, c, &f, c->in + at + sizeof(f)) < 0)
            return false;
        at += sizeof(f) + f.size;
    }
    c->in_len -= at;
    memmove(c->in, c->in + at, c->in_len);
    return true;
}

void conn_read(struct conn *c, conn_handler *handle, void *ctx)
{
    ssize_t n;

    n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        c->dead = true;
        return;
    }
    c->in_len += (size_t)n;
    if (!handle_frames(c, handle, ctx)) {
        log_warning("client %d (uid %u) talks rubbish: dropped", (int)c->pid, c->uid);
        c->dead = true;
    }
}
