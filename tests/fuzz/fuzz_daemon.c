/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_daemon.c: what clients say to pvperfd: the daemon's own files, with
 * two clients, over the fake Xen of the unit tests.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include "../../dom0_daemon/pvperfd/conn.h"
#include "../../dom0_daemon/pvperfd/log.h"
#include "../../dom0_daemon/pvperfd/server.h"
#include "../../dom0_daemon/pvperfd/session.h"
#include "../unit/fake_xen.h"
#include "fuzz.h"

static struct fake_xen *xen;

/* Instead of log.c: formatted, so that its arguments are looked at. */
void log_init(bool verbose)
{
    (void)verbose;
}

void log_line(int level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    (void)level;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
}

static int host_open(struct pvperf_host **host, struct pvperf_err *err)
{
    (void)err;
    return pvp_host_new(host, &fake_ops, xen);
}

static int list(void *ctx, struct pvperf_domain **out, size_t *nr)
{
    (void)ctx;
    *out = malloc(sizeof(xen->domains));
    memcpy(*out, xen->domains, sizeof(xen->domains));
    *nr = xen->nr_domains;
    return 0;
}

static const struct server_config config = {
    .listen_fd = -1, .grace_ms = 1000, .host_open = host_open, .domains = {.list = list}};

static void drain(int fd)
{
    static char sink[65536];

    while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
        ;
}

/* As the server's loop does it. */
static void drop(struct server *sv, struct conn *c)
{
    if (c->session) {
        session_detach(c->session, session_now_ms() + 1000);
        c->session = NULL;
    }
    sv->conns = sv->conns == c ? c->next : sv->conns;
    if (sv->conns)
        sv->conns->next = sv->conns->next == c ? NULL : sv->conns->next;
    sv->nr_conns--;
    conn_free(c);
}

static struct conn *join(struct server *sv, int *peer)
{
    int fds[2];
    struct conn *c;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds))
        return NULL;
    *peer = fds[1];
    c = conn_new(fds[0]);
    if (c) {
        c->next = sv->conns;
        sv->conns = c;
        sv->nr_conns++;
    }
    return c;
}

static void turn(struct server *sv)
{
    for (unsigned int i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv->sessions[i]) {
            fake_sample(xen, sv->sessions[i]->id, 3, 0, 0x401000);
            session_tick(sv->sessions[i], sv->domains, sv->nr_domains);
            if (sv->sessions[i]->client)
                session_pump(sv->sessions[i]);
        }
}

/* Greets for the client, so that the fuzzer need not guess the magic. */
static void hello(struct server *sv, struct conn *c)
{
    struct pvperf_frame f = {sizeof(struct pvperf_msg_hello), PVPERF_MSG_HELLO, 1};
    struct pvperf_msg_hello m = {PVPERF_PROTO_MAGIC, PVPERF_PROTO_MAJOR,
                                 PVPERF_PROTO_MINOR, "fuzz"};

    requests_handle(sv, c, &f, &m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server sv = {.config = &config, .virq = -1, .listen = -1, .signal = -1};
    struct conn *conn[2];
    int peer[2] = {-1, -1};
    unsigned int i;

    if (size < 2)
        return 0;
    xen = fake_new();
    fake_add_domain(xen, 0, 1, "Domain-0");
    fake_add_domain(xen, 3, 2, "web");
    xen->rc[data[0] % FAKE_OPS] = data[1] & 1 ? -(int)(data[1] >> 1) : 0;
    server_host(&sv);
    server_domains(&sv);
    for (i = 0; i < 2; i++) {
        conn[i] = join(&sv, &peer[i]);
        if (conn[i] && !(data[1] & 0x80))
            hello(&sv, conn[i]);
    }
    data += 2;
    size -= 2;
    while (size >= 4) {
        struct pvperf_frame f = {0};
        struct conn **c = &conn[data[0] >> 7];
        int *fd = &peer[data[0] >> 7];
        uint8_t *body;

        f.type = (uint16_t)(1 + (data[0] & 0x7f) % PVPERF_MSG_REQUESTS);
        f.tag = data[1];
        f.size = (uint32_t)(data[2] | data[3] << 8);
        data += 4;
        size -= 4;
        if (f.size > size)
            f.size = (uint32_t)size;
        if (!*c) { /* a new client in the place of the old one */
            *c = join(&sv, fd);
            if (!*c)
                break;
            hello(&sv, *c);
        }
        body = malloc(f.size ? f.size : 1);
        memcpy(body, data, f.size);
        if (requests_handle(&sv, *c, &f, body) < 0)
            (*c)->dead = true;
        free(body);
        conn_flush(*c);
        drain(*fd);
        turn(&sv);
        if ((*c)->dead) {
            drop(&sv, *c);
            close(*fd);
            *c = NULL;
        }
        data += f.size;
        size -= f.size;
    }
    for (i = 0; i < 2; i++)
        if (conn[i]) {
            drop(&sv, conn[i]);
            close(peer[i]);
        }
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (sv.sessions[i])
            session_destroy(sv.sessions[i]);
    pvperf_host_close(sv.host);
    free(sv.domains);
    if (xen->maps)
        __builtin_trap();
    fake_free(xen);
    return 0;
}
