/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "server.h"

#define LOCK_TRIES 20 /* of 100 ms: a predecessor may be on its way out */

static int make_parent(const char *path)
{
    char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char *slash;

    snprintf(dir, sizeof(dir), "%s", path);
    slash = strrchr(dir, '/');
    if (!slash || slash == dir)
        return 0;
    *slash = '\0';
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return -errno;
    return 0;
}

/* Held for the life of the process. */
static int take_lock(const char *path)
{
    const struct timespec pause = {0, 100000000};
    char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
    int fd, tries;

    snprintf(name, sizeof(name), "%s.lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    for (tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (errno != EWOULDBLOCK || tries == LOCK_TRIES) {
            close(fd);
            return -EADDRINUSE;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int set_group(const char *path, const char *group)
{
    struct group *g = getgrnam(group);

    if (!g) {
        log_error("there is no group \"%s\": create it or leave out --group", group);
        return -ENOENT;
    }
    if (chown(path, (uid_t)-1, g->gr_gid) < 0) {
        log_error("cannot give %s to group %s: %s; run this as root", path, group,
                  strerror(errno));
        return -EPERM;
    }
    return 0;
}

/* The socket of a pvperfd that was killed may go; nothing else may. */
static int make_way(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode)) {
        log_error("%s is there and is no socket: remove it, or use --socket", path);
        return -EEXIST;
    }
    unlink(path);
    return 0;
}

static int bind_socket(int fd, const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    mode_t mask;
    int rc;

    memcpy(addr.sun_path, path, strlen(path));
    mask = umask(0117);
    rc = bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
    umask(mask);
    if (!rc && listen(fd, 16) < 0)
        rc = -errno;
    return rc;
}

int listen_open(const char *path, const char *group)
{
    int fd = -1, rc;

    if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        log_error("the socket's path is too long: use one of at most %zu bytes",
                  sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
        return -ENAMETOOLONG;
    }
    rc = make_parent(path);
    if (!rc)
        rc = take_lock(path);
    if (rc == -EADDRINUSE) {
        log_error("another pvperfd has %s: stop it, or use --socket", path);
        return rc;
    }
    if (!rc) {
        rc = make_way(path);
        if (rc)
            return rc;
    }
    if (!rc)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!rc && fd < 0)
        rc = -errno;
    if (!rc)
        rc = bind_socket(fd, path);
    if (rc) {
        log_error("cannot listen on %s: %s; run this as root, or use --socket", path,
                  strerror(-rc));
        goto failed;
    }
    rc = group ? set_group(path, group) : 0;
    if (!rc)
        return fd;
failed:
    if (fd >= 0)
        close(fd);
    return rc;
}
