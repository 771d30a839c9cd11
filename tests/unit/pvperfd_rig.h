/* SPDX-License-Identifier: GPL-2.0-only */
/* pvperfd_rig.h: a real pvperfd in a process of its own, over fake_xen.h. */
#ifndef PVPERFD_RIG_H
#define PVPERFD_RIG_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <check.h>

#include "../../dom0_daemon/pvperfd/server.h"
#include "fake_xen.h"

static struct fake_xen *xen;
static char dir[64], sock_path[96], log_path[96];
static pid_t daemon_pid;
static struct server_config rig_config;
static struct pvperf_err err;

static int rig_host_open(struct pvperf_host **host, struct pvperf_err *why)
{
    if (xen->open_rc)
        return pvperf_err_set(why, xen->open_rc, "the fake Xen does not open: test");
    return pvp_host_new(host, &fake_ops, xen);
}

static int rig_list(void *ctx, struct pvperf_domain **out, size_t *nr)
{
    (void)ctx;
    if (xen->list_rc)
        return xen->list_rc;
    *out = malloc(sizeof(xen->domains));
    fake_lock(xen);
    memcpy(*out, xen->domains, sizeof(xen->domains));
    *nr = xen->nr_domains;
    fake_unlock(xen);
    return 0;
}

static int rig_fd(void *ctx)
{
    (void)ctx;
    return xen->store;
}

static void rig_ack(void *ctx)
{
    (void)ctx;
    fake_ack(xen->store);
}

static inline void daemon_start(void)
{
    daemon_pid = fork();
    ck_assert_int_ge(daemon_pid, 0);
    if (!daemon_pid) {
        int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

        dup2(log, 2);
        close(log);
        signal(SIGTERM, SIG_DFL);
        exit(server_run(&rig_config));
    }
}

static inline int daemon_wait(void)
{
    int status;

    ck_assert_int_eq(waitpid(daemon_pid, &status, 0), daemon_pid);
    daemon_pid = 0;
    return status;
}

/* A clean end, also in the eyes of the leak checker. */
static inline void daemon_term(void)
{
    int status;

    kill(daemon_pid, SIGTERM);
    status = daemon_wait();
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static inline void daemon_kill(void)
{
    kill(daemon_pid, SIGKILL);
    daemon_wait();
    xen->maps = 0;
}

static inline void msleep(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

static inline struct pvperf_client *connect_client(void)
{
    struct pvperf_client *c = NULL;
    int tries, rc = -1;

    for (tries = 0; rc < 0 && tries < 100; tries++) {
        if (tries)
            msleep(50);
        rc = pvperf_client_connect(&c, sock_path, &err);
    }
    ck_assert_msg(rc == 0, "%s", err.text);
    return c;
}

static inline bool log_has(const char *text)
{
    static char buf[65536];
    FILE *f = fopen(log_path, "r");
    size_t n = f ? fread(buf, 1, sizeof(buf) - 1, f) : 0;

    if (f)
        fclose(f);
    buf[n] = '\0';
    return strstr(buf, text) != NULL;
}

static inline void wait_log(const char *text)
{
    int tries;

    for (tries = 0; tries < 200 && !log_has(text); tries++)
        msleep(25);
    ck_assert_msg(log_has(text), "the log never said \"%s\"", text);
}

static inline void rig_setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/pvperfd-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(sock_path, sizeof(sock_path), "%s/run/pvperfd.sock", dir);
    snprintf(log_path, sizeof(log_path), "%s/log", dir);
    xen = fake_new();
    fake_add_domain(xen, 0, 1, "Domain-0");
    fake_add_domain(xen, 3, 2, "web");
    fake_add_domain(xen, 4, 1, "db");
    rig_config =
        (struct server_config){.socket = sock_path,
                               .listen_fd = -1,
                               .grace_ms = 30000,
                               .host_open = rig_host_open,
                               .domains = {NULL, rig_list, rig_fd, rig_ack, NULL}};
    daemon_pid = 0;
}

static inline void rig_teardown(void)
{
    char command[160];

    if (daemon_pid > 0)
        daemon_term();
    ck_assert_int_eq(xen->maps, 0);
    fake_free(xen);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

#endif
