// SPDX-License-Identifier: GPL-2.0-only
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "objects.h"
#include "text.h"

/* Keep the first error: those that follow come from it. */
static void note_error(struct record_file *f, int rc, const struct pvperf_err *err)
{
    if (rc >= 0 || f->error)
        return;
    f->error = rc;
    f->err = *err;
}

static int keep_old(struct record_file *f, const char *path)
{
    struct stat st;
    char *old;
    int rc = 0;

    if (stat(path, &st))
        return 0;
    if (!S_ISREG(st.st_mode))
        return pvperf_err_set(&f->err, -EINVAL,
                              "%s is no regular file; give another name with -o", path);
    if (!st.st_size)
        return 0;
    if (asprintf(&old, "%s.old", path) < 0)
        return pvperf_err_set(&f->err, -ENOMEM, "out of memory; close other programs");
    if (rename(path, old))
        rc = pvperf_err_set(&f->err, -errno,
                            "cannot keep the old %s as %s: %s; give another name with -o",
                            path, old, strerror(errno));
    free(old);
    return rc;
}

/* ---- domains ---- */

struct record_domain *record_file_find(struct record_file *f, uint16_t domid)
{
    size_t i;

    if (f->last_domain < f->nr_domains && f->domains[f->last_domain].domid == domid)
        return &f->domains[f->last_domain];
    for (i = 0; i < f->nr_domains; i++) {
        if (f->domains[i].domid == domid) {
            f->last_domain = i;
            return &f->domains[i];
        }
    }
    return NULL;
}

static struct record_domain *new_domain(struct record_file *f, uint16_t domid)
{
    struct record_domain *grown, *d;

    grown = reallocarray(f->domains, f->nr_domains + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    f->domains = grown;
    d = &grown[f->nr_domains++];
    memset(d, 0, sizeof(*d));
    d->domid = domid;
    return d;
}

static void announce(struct record_file *f, const struct record_domain *rd)
{
    struct pvperf_capture_domain cd;
    struct pvperf_err err;

    memset(&cd, 0, sizeof(cd));
    cd.domid = rd->domid;
    cd.nr_vcpus = (uint16_t)(rd->nr_vcpus > UINT16_MAX ? UINT16_MAX : rd->nr_vcpus);
    memcpy(cd.handle, rd->uuid, sizeof(cd.handle));
    if (rd->name[0])
        text_copy(cd.name, rd->name, sizeof(cd.name));
    else
        snprintf(cd.name, sizeof(cd.name), "dom%u", rd->domid);
    note_error(f, pvperf_capture_add_domain(f->writer, &cd, &err), &err);
}

int record_file_begin(struct record_file *f, const char *path)
{
    int rc = keep_old(f, path);
    size_t i;

    f->path = path;
    if (!rc)
        rc = pvperf_capture_create(path, &f->info, &f->writer, &f->err);
    for (i = 0; i < f->nr_domains && !rc; i++) {
        announce(f, &f->domains[i]);
        rc = f->error;
    }
    return rc;
}

int record_file_domain(struct record_file *f, const struct pvperf_domain *d)
{
    struct record_domain *rd = record_file_find(f, d->domid);

    if (!rd)
        rd = new_domain(f, d->domid);
    if (!rd)
        return -ENOMEM;
    rd->gone = false;
    rd->nr_vcpus = d->nr_vcpus;
    memcpy(rd->uuid, d->uuid, sizeof(rd->uuid));
    text_copy(rd->name, d->name, sizeof(rd->name));
    if (f->writer && !f->error)
        announce(f, rd);
    return 0;
}

/* ---- objects ---- */

/* Of an object that has no build-id: a hash of its symbols. */
static uint64_t hash_symbols(const struct pvperf_object *o)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    uint64_t hash = 0xcbf29ce484222325ull, start, len;
    const char *name;
    size_t i;

    for (i = 0; i < info->nr_symbols; i++) {
        if (pvperf_object_symbol(o, i, &name, &start, &len))
            break;
        hash = (hash ^ start) * 0x100000001b3ull;
        for (; *name; name++)
            hash = (hash ^ (uint8_t)*name) * 0x100000001b3ull;
    }
    return hash;
}

static int make_dirs(char *path)
{
    char *slash;

    for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

/*
 * Where symbols are kept whose own file perf cannot read. Named by content:
 * one file for each kernel, however many captures refer to it.
 */
static int kept_path(const struct pvperf_object *o, char *path, size_t size)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char key[2 * PVPERF_BUILD_ID_MAX + 1];
    const char *name;
    unsigned int i;
    int len;

    for (i = 0; i < info->build_id_len; i++)
        snprintf(key + 2 * i, 3, "%02x", info->build_id[i]);
    if (!info->build_id_len)
        snprintf(key, sizeof(key), "%016" PRIx64, hash_symbols(o));
    /* perf shows the last part. */
    name = strcmp(info->name, "kallsyms") ? info->name : "vmlinux";
    if (cache && cache[0] == '/')
        len = snprintf(path, size, "%s/pvperf/symbols/%s/%s", cache, key, name);
    else if (home && home[0] == '/')
        len = snprintf(path, size, "%s/.cache/pvperf/symbols/%s/%s", home, key, name);
    else
        len = snprintf(path, size, "/var/cache/pvperf/symbols/%s/%s", key, name);
    if (len < 0 || (size_t)len >= size)
        return -ENAMETOOLONG;
    return make_dirs(path);
}

/* A new reference to @o itself, or to what stands for it. */
static struct pvperf_object *readable(struct pvperf_object *o, bool quiet)
{
    struct pvperf_object *exported;
    struct pvperf_err err;
    char path[PARSE_PATH];
    int rc;

    if (pvperf_object_get_info(o)->elf)
        return pvperf_object_get(o);
    rc = kept_path(o, path, sizeof(path));
    if (rc)
        pvperf_err_set(&err, rc, "cannot make the directory of %s: %s", path,
                       strerror(-rc));
    else
        rc = pvperf_object_export_elf(o, path, &exported, &err);
    if (!rc)
        return exported;
    if (!quiet)
        ui_note("perf will not find the symbols of %s: %s",
                pvperf_object_get_info(o)->path, err.text);
    return pvperf_object_get(o);
}

int record_file_object(struct record_file *f, uint16_t domid, uint64_t bias,
                       struct pvperf_object *o)
{
    struct pvperf_object *file = readable(o, f->quiet);
    struct pvperf_err err;
    int rc = pvperf_capture_add_file(f->writer, domid, bias, 0, file, &err);

    pvperf_object_put(file);
    note_error(f, rc, &err);
    return rc;
}

/* ---- samples ---- */

void record_file_sample(struct record_file *f, const struct pvperf_sample *s)
{
    struct record_domain *d;
    struct pvperf_err err;

    if (!f->writer || f->error)
        return;
    note_error(f, pvperf_capture_write_sample(f->writer, s, &err), &err);
    if (f->error)
        return;
    f->samples++;
    if (s->domid == PVPERF_DOMID_IDLE) {
        f->idle_samples++;
        return;
    }
    d = record_file_find(f, s->domid);
    if (!d)
        d = new_domain(f, s->domid);
    if (d)
        d->samples++;
}

void record_file_lost(struct record_file *f, const struct pvperf_lost *lost)
{
    struct pvperf_err err;

    if (!f->writer || f->error)
        return;
    note_error(f, pvperf_capture_write_lost(f->writer, lost, &err), &err);
    if (lost->event < PVPERF_MAX_EVENTS)
        f->lost_told[lost->event] += lost->count;
}

/*
 * The daemon sends counts after it has looked at every ring, so they also
 * mark the end of a round for those who sort the capture.
 */
void record_file_counts(struct record_file *f, const struct pvperf_session_counts *c)
{
    struct pvperf_err err;
    unsigned int i;

    if (!f->writer || f->error)
        return;
    for (i = 0; i < f->info.nr_events && i < c->nr_events; i++) {
        f->counts[i] = c->event[i];
        pvperf_capture_set_counts(f->writer, i, &c->event[i]);
    }
    f->have_counts = true;
    note_error(f, pvperf_capture_end_round(f->writer, &err), &err);
}

uint64_t record_file_lost_of(const struct record_file *f, unsigned int event)
{
    uint64_t counted = f->counts[event].lost;

    return counted > f->lost_told[event] ? counted : f->lost_told[event];
}

uint64_t record_file_lost_all(const struct record_file *f)
{
    uint64_t sum = 0;
    unsigned int i;

    for (i = 0; i < f->info.nr_events; i++)
        sum += record_file_lost_of(f, i);
    return sum;
}

uint64_t record_file_bytes(const struct record_file *f)
{
    return f->writer ? pvperf_capture_bytes(f->writer) : f->bytes;
}

int record_file_finish(struct record_file *f, uint64_t end)
{
    struct stat st;
    struct pvperf_err err;
    int rc;

    pvperf_capture_set_end(f->writer, end);
    rc = pvperf_capture_finish(f->writer, &err);
    f->writer = NULL;
    if (!stat(f->path, &st))
        f->bytes = (uint64_t)st.st_size;
    note_error(f, rc, &err);
    return f->error;
}

void record_file_free(struct record_file *f)
{
    free(f->domains);
    f->domains = NULL;
    f->nr_domains = 0;
}
