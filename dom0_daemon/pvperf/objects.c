// SPDX-License-Identifier: GPL-2.0-only
#include "objects.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/*
 * Captures are read from other directories as well, so objects are loaded by
 * their full path.
 */
static int load_full(const char *path, enum pvperf_object_kind kind,
                     struct pvperf_object **out, struct pvperf_err *err)
{
    char *full = realpath(path, NULL);
    int rc = pvperf_object_load(full ? full : path, kind, out, err);

    free(full);
    return rc;
}

/* ---- Xen ---- */

static const char *const xen_patterns[] = {
    "/usr/lib/debug/boot/xen-syms*",
    "/usr/lib/debug/xen-syms*",
    "/usr/lib/debug/usr/lib/xen*/boot/xen-syms*",
    "/boot/xen-syms*",
};

static int address_differs(const struct pvperf_object *o, uint64_t text_start)
{
    uint64_t stext, start;
    int has_stext = !pvperf_object_find(o, "_stext", &stext);
    int has_start = !pvperf_object_find(o, "_start", &start);

    if (!has_stext && !has_start)
        return 0; /* stripped of them: nothing to tell by */
    return !(has_stext && stext == text_start) && !(has_start && start == text_start);
}

/* Is this the running Xen? What cannot be told counts as yes. */
static int check_xen(const struct pvperf_object *o, const struct pvperf_query *query,
                     struct pvperf_err *err)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    uint8_t running[PVPERF_BUILD_ID_MAX];
    size_t len = sys_xen_build_id(running, sizeof(running));
    int differs = 0;

    if (len && info->build_id_len)
        differs = info->build_id_len != len || memcmp(info->build_id, running, len);
    else if (query && query->text_start)
        differs = address_differs(o, query->text_start);
    if (differs)
        return pvperf_err_set(err, -ESTALE,
                              "%s belongs to another build of Xen than the one running; "
                              "give the right file with --xen-syms",
                              info->path);
    return 0;
}

static int load_checked_xen(const char *path, const struct pvperf_query *query,
                            struct pvperf_object **out, struct pvperf_err *err)
{
    struct pvperf_object *o;
    int rc = load_full(path, PVPERF_OBJECT_XEN, &o, err);

    if (rc)
        return rc;
    rc = check_xen(o, query, err);
    if (rc)
        pvperf_object_put(o);
    else
        *out = o;
    return rc;
}

int objects_load_xen(const char *given, const struct pvperf_query *query,
                     struct pvperf_object **out, struct pvperf_err *err)
{
    size_t i, j;
    int rc = -ENOENT, last;
    glob_t found;

    if (given)
        return load_checked_xen(given, query, out, err);
    for (i = 0; i < sizeof(xen_patterns) / sizeof(xen_patterns[0]) && rc; i++) {
        if (glob(xen_patterns[i], 0, NULL, &found))
            continue;
        for (j = 0; j < found.gl_pathc && rc; j++) {
            last = load_checked_xen(found.gl_pathv[j], query, out, err);
            rc = !last || rc == -ENOENT ? last : rc;
        }
        globfree(&found);
    }
    if (rc == -ENOENT)
        pvperf_err_set(err, rc,
                       "no xen-syms in %s; install Xen's debug package or give the file "
                       "with --xen-syms",
                       OBJECTS_XEN_PLACES);
    return rc;
}

/* ---- kernels ---- */

#define KEPT_MAX 64

/* Several domains often run one kernel; loading one takes a while. */
static struct {
    char *path;
    struct pvperf_object *object;
} kept[KEPT_MAX];
static unsigned int nr_kept;

static void keep(const char *path, struct pvperf_object *o)
{
    char *copy = nr_kept < KEPT_MAX ? strdup(path) : NULL;

    if (!copy)
        return;
    kept[nr_kept].path = copy;
    kept[nr_kept].object = pvperf_object_get(o);
    nr_kept++;
}

void objects_forget(void)
{
    while (nr_kept) {
        nr_kept--;
        free(kept[nr_kept].path);
        pvperf_object_put(kept[nr_kept].object);
    }
}

int objects_load_kernel_file(const char *path, struct pvperf_object **out,
                             struct pvperf_err *err)
{
    unsigned int i;
    int rc;

    for (i = 0; i < nr_kept; i++) {
        if (!strcmp(kept[i].path, path)) {
            *out = pvperf_object_get(kept[i].object);
            return 0;
        }
    }
    rc = load_full(path, PVPERF_OBJECT_KERNEL, out, err);
    if (!rc)
        keep(path, *out);
    return rc;
}

/* The running kernel. kallsyms knows modules too, but may be hidden. */
static int load_own_kernel(struct pvperf_object **out, struct pvperf_err *err)
{
    static const char *const patterns[] = {
        "/usr/lib/debug/boot/vmlinux-%s",
        "/usr/lib/debug/lib/modules/%s/vmlinux",
        "/lib/modules/%s/build/vmlinux",
        "/boot/vmlinux-%s",
        "/boot/vmlinuz-%s",
        "/boot/System.map-%s",
    };
    char release[64], path[256];
    size_t i;

    if (!objects_load_kernel_file("/proc/kallsyms", out, NULL))
        return 0;
    sys_os_release(release, sizeof(release));
    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        snprintf(path, sizeof(path), patterns[i], release);
        if (!objects_load_kernel_file(path, out, NULL))
            return 0;
    }
    return pvperf_err_set(err, -ENOENT,
                          "no symbols for dom0's kernel: /proc/kallsyms is hidden and no "
                          "image of %s is in /boot; run as root or give --kernel 0=FILE",
                          release);
}

int objects_load_kernel(uint16_t domid, const uint8_t uuid[16],
                        struct pvperf_object **out, struct pvperf_err *err)
{
    char path[PARSE_PATH];

    if (domid == 0)
        return load_own_kernel(out, err);
    if (sys_guest_kernel(domid, uuid, path, sizeof(path)))
        return pvperf_err_set(err, -ENOENT,
                              "the kernel file of domain %u is not known; give it with "
                              "--kernel %u=FILE",
                              domid, domid);
    return objects_load_kernel_file(path, out, err);
}

/* ---- programs ---- */

int objects_load_program(const struct parse_file *file, struct pvperf_object **out,
                         uint64_t *bias, struct pvperf_err *err)
{
    struct pvperf_object *o;
    bool relocatable;
    int rc = load_full(file->path, PVPERF_OBJECT_PROGRAM, &o, err);

    if (rc)
        return rc;
    relocatable = pvperf_object_get_info(o)->relocatable;
    if (relocatable && !file->base)
        rc = pvperf_err_set(err, -EINVAL,
                            "%s is position independent: give its load address, "
                            "--program %s=%s@BASE (see /proc/PID/maps in the domain)",
                            file->path, file->domain, file->path);
    if (!relocatable && file->base)
        rc = pvperf_err_set(err, -EINVAL, "%s has a fixed address: leave @%#llx out",
                            file->path, (unsigned long long)file->base);
    if (rc) {
        pvperf_object_put(o);
        return rc;
    }
    *bias = file->base;
    *out = o;
    return 0;
}
