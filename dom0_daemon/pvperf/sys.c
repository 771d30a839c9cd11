// SPDX-License-Identifier: GPL-2.0-only
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

extern char **environ;

int sys_read_line(const char *path, char *buf, size_t size)
{
    FILE *f = fopen(path, "re");
    char *ok;

    if (!f)
        return -errno;
    ok = fgets(buf, (int)size, f);
    fclose(f);
    if (!ok)
        return -ENODATA;
    buf[strcspn(buf, "\n")] = '\0';
    return 0;
}

bool sys_on_xen(void)
{
    char type[32];

    if (!sys_read_line("/sys/hypervisor/type", type, sizeof(type)))
        return !strcmp(type, "xen");
    return !access("/proc/xen", F_OK) && !access("/dev/xen", F_OK);
}

bool sys_is_control_domain(void)
{
    char features[128];

    if (!sys_read_line("/proc/xen/capabilities", features, sizeof(features)))
        return strstr(features, "control_d") != NULL;
    return false;
}

void sys_xen_version(char *buf, size_t size)
{
    char major[16], minor[16], extra[32];

    buf[0] = '\0';
    if (sys_read_line("/sys/hypervisor/version/major", major, sizeof(major)) ||
        sys_read_line("/sys/hypervisor/version/minor", minor, sizeof(minor)))
        return;
    if (sys_read_line("/sys/hypervisor/version/extra", extra, sizeof(extra)))
        extra[0] = '\0';
    snprintf(buf, size, "%s.%s%s", major, minor, extra);
    text_clean(buf);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t sys_xen_build_id(uint8_t *id, size_t size)
{
    char hex[128];
    size_t i;

    if (sys_read_line("/sys/hypervisor/properties/buildid", hex, sizeof(hex)))
        return 0;
    for (i = 0; i < size; i++) {
        int high = hex_value(hex[2 * i]);
        int low = high < 0 ? -1 : hex_value(hex[2 * i + 1]);

        if (low < 0)
            break;
        id[i] = (uint8_t)(high << 4 | low);
    }
    return i;
}

void sys_hostname(char *buf, size_t size)
{
    if (gethostname(buf, size))
        buf[0] = '\0';
    buf[size - 1] = '\0';
}

void sys_os_release(char *buf, size_t size)
{
    struct utsname uts;

    if (uname(&uts))
        buf[0] = '\0';
    else
        text_copy(buf, uts.release, size);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t sys_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t sys_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* ---- the kernel of a domU ---- */

/* Run @argv and take the first line of what it prints. */
static int first_line_of(char *const argv[], char *buf, size_t size)
{
    posix_spawn_file_actions_t actions;
    int fds[2], rc, status = -1;
    pid_t pid;
    FILE *f;

    if (pipe2(fds, O_CLOEXEC))
        return -errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = -posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (rc) {
        close(fds[0]);
        return rc;
    }
    f = fdopen(fds[0], "r");
    buf[0] = '\0';
    if (!f || !fgets(buf, (int)size, f))
        rc = -ENODATA;
    if (f)
        fclose(f);
    else
        close(fds[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    buf[strcspn(buf, "\n")] = '\0';
    return rc ? rc : status ? -ENOENT : 0;
}

static int kernel_from_xenstore(const char *uuid, char *path, size_t size)
{
    char key[96];
    char *argv[] = {"xenstore-read", key, NULL};

    snprintf(key, sizeof(key), "/vm/%s/image/kernel", uuid);
    return first_line_of(argv, path, size);
}

/* The string after "kernel" in the toolstack's own record of the domain. */
static int kernel_in_record(const char *json, char *path, size_t size)
{
    const char *at = strstr(json, "\"kernel\"");
    size_t len;

    if (!at)
        return -ENOENT;
    at += strlen("\"kernel\"");
    at += strspn(at, " \t\r\n:");
    if (*at++ != '"')
        return -ENOENT;
    len = strcspn(at, "\"\\");
    if (at[len] != '"' || len >= size)
        return -ENOENT;
    memcpy(path, at, len);
    path[len] = '\0';
    return 0;
}

static int kernel_from_record(uint16_t domid, const char *uuid, char *path, size_t size)
{
    char file[128], json[16384];
    size_t len;
    FILE *f;

    snprintf(file, sizeof(file), "/var/lib/xen/userdata-d.%u.%s.libxl-json", domid, uuid);
    f = fopen(file, "re");
    if (!f)
        return -errno;
    len = fread(json, 1, sizeof(json) - 1, f);
    fclose(f);
    json[len] = '\0';
    return kernel_in_record(json, path, size);
}

static bool is_file(const char *path)
{
    struct stat st;

    return path[0] == '/' && !stat(path, &st) && S_ISREG(st.st_mode);
}

int sys_guest_kernel(uint16_t domid, const uint8_t id[16], char *path, size_t size)
{
    char uuid[37], found[1024];

    text_uuid(id, uuid);
    if ((kernel_from_xenstore(uuid, found, sizeof(found)) || !is_file(found)) &&
        (kernel_from_record(domid, uuid, found, sizeof(found)) || !is_file(found)))
        return -ENOENT;
    return text_copy(path, found, size) ? -ENAMETOOLONG : 0;
}
