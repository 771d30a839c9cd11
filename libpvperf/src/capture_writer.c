/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_writer.c: samples, losses and rounds; the file and its errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_private.h"

/* Remember the first error: nothing is written after it but the end. */
int pvp_capture_fail(struct pvperf_capture_writer *w, int rc, struct pvperf_err *err)
{
    const char *advice = "what was written before is a valid capture";

    if (!w->failed) {
        w->failed = rc;
        pvperf_err_set(&w->error, rc, "cannot write capture %s: %s; %s%s", w->path,
                       strerror(-rc),
                       rc == -ENOSPC || rc == -EDQUOT ? "free some space; " : "", advice);
    }
    if (err)
        *err = w->error;
    return w->failed;
}

/* @done: bytes that reached the file, also on failure. */
int pvp_capture_pwrite(struct pvperf_capture_writer *w, const void *data, size_t len,
                       uint64_t offset, size_t *done)
{
    const uint8_t *p = data;
    size_t n = 0;
    int rc = 0;

    while (n < len) {
        ssize_t got = pwrite(w->fd, p + n, len - n, (off_t)(offset + n));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rc = got < 0 ? -errno : -EIO;
            break;
        }
        n += (size_t)got;
    }
    if (done)
        *done = n;
    return rc;
}

/* How many of @len bytes of records are whole within the first @limit. */
static size_t whole_records(const uint8_t *buf, size_t len, size_t limit)
{
    size_t at = 0;

    while (at < len) {
        struct perf_event_header hdr;

        memcpy(&hdr, buf + at, sizeof(hdr));
        if (at + hdr.size > limit)
            break;
        at += hdr.size;
    }
    return at;
}

/*
 * The size of the data in the header follows each write, so that a capture
 * whose writer is killed is whole up to there.
 */
int pvp_capture_flush(struct pvperf_capture_writer *w, struct pvperf_err *err)
{
    size_t done;
    int rc, rc2;

    if (w->failed)
        return pvp_capture_fail(w, w->failed, err);
    if (!w->used)
        return 0;
    rc = pvp_capture_pwrite(w, w->buffer, w->used,
                            w->header.data.offset + w->data_written, &done);
    w->data_written += rc ? whole_records(w->buffer, w->used, done) : w->used;
    w->used = 0;
    w->header.data.size = w->data_written;
    rc2 = pvp_capture_pwrite(w, &w->header, sizeof(w->header), 0, NULL);
    if (rc || rc2)
        return pvp_capture_fail(w, rc ? rc : rc2, err);
    return 0;
}

int pvp_capture_append(struct pvperf_capture_writer *w, const void *record,
                       struct pvperf_err *err)
{
    struct perf_event_header hdr;
    int rc;

    if (w->failed)
        return pvp_capture_fail(w, w->failed, err);
    memcpy(&hdr, record, sizeof(hdr));
    if (w->used + hdr.size > PVP_WRITE_BUFFER) {
        rc = pvp_capture_flush(w, err);
        if (rc)
            return rc;
    }
    memcpy(w->buffer + w->used, record, hdr.size);
    w->used += hdr.size;
    return 0;
}

static int check_info(const struct pvperf_capture_info *info, struct pvperf_err *err)
{
    if (!info->nr_events || info->nr_events > PVPERF_MAX_EVENTS)
        return pvperf_err_set(err, -EINVAL,
                              "a capture has 1 to %d events, not %u; ask for fewer",
                              PVPERF_MAX_EVENTS, info->nr_events);
    if (info->max_stack > PVPERF_MAX_STACK)
        return pvperf_err_set(err, -EINVAL,
                              "call chains have at most %d frames; ask for fewer",
                              PVPERF_MAX_STACK);
    return 0;
}

static int open_file(struct pvperf_capture_writer *w, struct pvperf_err *err)
{
    struct stat st;

    w->fd = open(w->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (w->fd < 0)
        return pvperf_err_set(err, -errno,
                              "cannot create capture %s: %s; choose "
                              "another place for it",
                              w->path, strerror(errno));
    if (fstat(w->fd, &st) || !S_ISREG(st.st_mode))
        return pvperf_err_set(err, -ESPIPE,
                              "cannot write a capture to %s: it is no "
                              "regular file; choose another name",
                              w->path);
    if (ftruncate(w->fd, 0))
        return pvperf_err_set(err, -errno,
                              "cannot empty capture %s: %s; choose "
                              "another place for it",
                              w->path, strerror(errno));
    return 0;
}

int pvperf_capture_create(const char *path, const struct pvperf_capture_info *info,
                          struct pvperf_capture_writer **out, struct pvperf_err *err)
{
    struct pvperf_capture_domain xen = {
        .domid = PVPERF_DOMID_IDLE,
        .nr_vcpus = info->nr_pcpus,
        .name = "xen",
    };
    struct pvperf_capture_writer *w;
    int rc = check_info(info, err);

    if (rc)
        return rc;
    if (strlen(path) >= sizeof(w->path))
        return pvperf_err_set(err, -ENAMETOOLONG,
                              "the path of the capture is too "
                              "long; choose a shorter one");
    w = calloc(1, sizeof(*w));
    if (!w)
        return pvperf_err_set(err, -ENOMEM, "no memory for the capture");
    w->fd = -1;
    w->info = *info;
    memcpy(w->path, path, strlen(path) + 1);
    w->buffer = malloc(PVP_WRITE_BUFFER);
    if (!w->buffer)
        rc = pvperf_err_set(err, -ENOMEM, "no memory for the capture");
    else
        rc = open_file(w, err);
    if (!rc) {
        rc = pvp_capture_write_head(w);
        if (rc)
            rc = pvp_capture_fail(w, rc, err);
    }
    if (!rc)
        rc = pvperf_capture_add_domain(w, &xen, err);
    if (rc) {
        if (w->fd >= 0)
            close(w->fd);
        free(w->buffer);
        free(w);
        return rc;
    }
    *out = w;
    return 0;
}

/* perf wants the interrupted address first, behind a marker. */
static size_t put_chain(uint8_t *p, const struct pvperf_sample *s)
{
    size_t nr = (size_t)s->nr_xen + s->nr_kernel + s->nr_user;
    uint64_t words[3] = {2 + nr, PERF_CONTEXT_USER, s->ip};

    memcpy(p, words, sizeof(words));
    memcpy(p + sizeof(words), s->chain, nr * sizeof(uint64_t));
    return sizeof(words) + nr * sizeof(uint64_t);
}

static void note_sample(struct pvp_tail *tail, uint64_t time)
{
    if (!tail->samples++)
        tail->first_time = tail->last_time = time;
    if (time < tail->first_time)
        tail->first_time = time;
    if (time > tail->last_time)
        tail->last_time = time;
}

int pvperf_capture_write_sample(struct pvperf_capture_writer *w,
                                const struct pvperf_sample *s, struct pvperf_err *err)
{
    uint8_t buf[sizeof(struct pvp_sample) + 24 + PVPERF_MAX_STACK * 8 +
                sizeof(struct pvp_raw)];
    struct pvp_sample rec = {
        .hdr = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER}};
    struct pvp_raw raw = {.size = PVP_RAW_SIZE, .magic = PVP_RAW_MAGIC};
    struct pvp_process *p;
    size_t at = sizeof(rec);
    int rc;

    if (s->event >= w->info.nr_events || s->mode >= PVPERF_MODES ||
        (unsigned int)s->nr_xen + s->nr_kernel + s->nr_user > PVPERF_MAX_STACK)
        return pvperf_err_set(err, -EINVAL,
                              "a sample that cannot be was not written "
                              "to the capture; please report this");
    p = pvp_capture_process(w, s->domid, s->pt_base, s->vcpu, err);
    if (!p)
        return w->failed ? w->failed : -EINVAL;

    rec.id = s->event + 1u;
    rec.ip = s->ip;
    rec.pid = p->pid;
    rec.tid = pvp_process_tid(p, s->vcpu);
    rec.time = s->time;
    rec.cpu = s->pcpu;
    rec.period = s->period;
    raw.domid = s->domid;
    raw.vcpu = s->vcpu;
    raw.event = s->event;
    raw.mode = s->mode;
    raw.flags = s->flags;
    raw.pt_base = s->pt_base;
    raw.tag = s->tag;
    if (w->info.session_flags & PVPERF_SESSION_FLAG_CALLCHAIN) {
        raw.nr_xen = s->nr_xen;
        raw.nr_kernel = s->nr_kernel;
        raw.nr_user = s->nr_user;
        at += put_chain(buf + at, s);
    }
    memcpy(buf + at, &raw, sizeof(raw));
    at += sizeof(raw);
    rec.hdr.size = (uint16_t)at;
    memcpy(buf, &rec, sizeof(rec));
    rc = pvp_capture_append(w, buf, err);
    if (!rc)
        note_sample(&w->tail, s->time);
    return rc;
}

int pvperf_capture_write_lost(struct pvperf_capture_writer *w,
                              const struct pvperf_lost *l, struct pvperf_err *err)
{
    struct pvp_lost rec = {.hdr = {.type = PERF_RECORD_LOST,
                                   .misc = PERF_RECORD_MISC_USER,
                                   .size = sizeof(rec)}};
    struct pvp_process *p;
    int rc;

    if (l->event >= w->info.nr_events)
        return pvperf_err_set(err, -EINVAL,
                              "a loss that cannot be was not written to "
                              "the capture; please report this");
    p = pvp_capture_process(w, l->domid, 0, l->vcpu, err);
    if (!p)
        return w->failed ? w->failed : -EINVAL;
    rec.id = l->event + 1u;
    rec.lost = l->count;
    rec.time_first = l->time_first;
    rec.domid = l->domid;
    rec.vcpu = l->vcpu;
    rec.event = l->event;
    rec.trailer.pid = p->pid;
    rec.trailer.tid = pvp_process_tid(p, l->vcpu);
    rec.trailer.time = l->time_last;
    rec.trailer.cpu = l->pcpu;
    rec.trailer.id = rec.id;
    rc = pvp_capture_append(w, &rec, err);
    if (!rc)
        w->tail.lost += l->count;
    return rc;
}

int pvperf_capture_end_round(struct pvperf_capture_writer *w, struct pvperf_err *err)
{
    struct perf_event_header hdr = {.type = PVP_FINISHED_ROUND, .size = sizeof(hdr)};
    int rc = 0;

    /* A round in which nothing came needs no mark. */
    if (w->used || w->failed)
        rc = pvp_capture_append(w, &hdr, err);
    return rc ? rc : pvp_capture_flush(w, err);
}

int pvperf_capture_set_counts(struct pvperf_capture_writer *w, unsigned int event,
                              const struct pvperf_counts *counts)
{
    if (event >= w->info.nr_events)
        return -EINVAL;
    w->tail.counts[event] = *counts;
    w->tail.counts_valid |= 1u << event;
    return 0;
}

void pvperf_capture_set_end(struct pvperf_capture_writer *w, uint64_t time)
{
    w->tail.end_time = time;
}

uint64_t pvperf_capture_bytes(const struct pvperf_capture_writer *w)
{
    return w->header.data.offset + w->data_written + w->used;
}

int pvperf_capture_finish(struct pvperf_capture_writer *w, struct pvperf_err *err)
{
    size_t i;
    int rc;

    pvp_capture_flush(w, NULL);
    /* Tried after a failure, too: the end is small and may still fit. */
    rc = pvp_capture_write_features(w);
    if (!rc && fsync(w->fd) && errno != EINVAL && errno != EROFS)
        rc = -errno;
    if (close(w->fd) && !rc)
        rc = -errno;
    if (rc || w->failed)
        rc = pvp_capture_fail(w, rc, err);
    for (i = 0; i < w->nr_processes; i++)
        free(w->processes[i]);
    free(w->processes);
    free(w->objects);
    free(w->buffer);
    free(w);
    return rc;
}
