/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * systemd.c: libsystemd is loaded when systemd started us, and only then: a
 * small dom0 without it runs the same program.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "log.h"
#include "systemd.h"

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

static void *find(const char *name)
{
    static void *library;

    if (!library)
        library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

int systemd_socket(void)
{
    int (*listen_fds)(int unset);
    int (*is_socket)(int fd, int type, int listening, const char *path, size_t len);

    if (!getenv("LISTEN_FDS"))
        return -1;
    *(void **)&listen_fds = find("sd_listen_fds");
    *(void **)&is_socket = find("sd_is_socket_unix");
    if (!listen_fds || !is_socket) {
        log_warning("systemd passes a socket, but libsystemd.so.0 is missing: install "
                    "libsystemd0");
        return -1;
    }
    if (listen_fds(1) < 1)
        return -1;
    if (is_socket(FIRST_FD, SOCK_STREAM, 1, NULL, 0) <= 0) {
        log_warning("what systemd passes is no listening UNIX socket: correct "
                    "pvperfd.socket");
        return -1;
    }
    return FIRST_FD;
}

void systemd_notify(const char *state)
{
    int (*notify)(int unset, const char *state);

    if (!getenv("NOTIFY_SOCKET"))
        return;
    *(void **)&notify = find("sd_notify");
    if (notify)
        notify(0, state);
}
