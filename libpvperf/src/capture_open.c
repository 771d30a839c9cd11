/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_open.c: opening captures: the source of bytes, head and tail. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_reader.h"

static bool window_fill(struct pvperf_capture_reader *r, uint64_t offset, size_t want)
{
    size_t n = 0;

    r->window_offset = offset;
    r->window_len = 0;
    while (n < want) {
        ssize_t got = pread(r->fd, r->window + n, want - n, (off_t)(offset + n));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    r->window_len = n;
    return n > 0;
}

/*
 * pread into a window, not mmap: a file that shrinks while it is read must
 * not kill us with SIGBUS, nor bytes change after they were checked.
 */
const uint8_t *pvp_reader_bytes(struct pvperf_capture_reader *r, uint64_t offset,
                                size_t len)
{
    uint64_t left;
    size_t want;

    if (offset > r->size || len > r->size - offset || len > PVP_READ_WINDOW)
        return NULL;
    if (r->memory)
        return r->memory + offset;
    if (offset < r->window_offset || offset - r->window_offset > r->window_len ||
        len > r->window_len - (offset - r->window_offset)) {
        left = r->size - offset;
        want = r->index ? 2048 : PVP_READ_WINDOW; /* sorted: to and fro */
        if (want < len)
            want = len;
        if (want > left)
            want = (size_t)left;
        if (!window_fill(r, offset, want) || r->window_len < len)
            return NULL;
    }
    return r->window + (offset - r->window_offset);
}

static void copy_text(char *to, size_t to_size, const char *from, size_t from_size)
{
    size_t len = strnlen(from, from_size);

    if (len > to_size - 1)
        len = to_size - 1;
    memset(to, 0, to_size);
    memcpy(to, from, len);
    /* It will be printed: no escape sequences. */
    for (; len; len--)
        if ((unsigned char)to[len - 1] < 0x20 || to[len - 1] == 0x7f)
            to[len - 1] = '?';
}

static int parse_head(struct pvperf_capture_reader *r, const struct pvp_head *h,
                      struct pvperf_err *err)
{
    struct pvperf_capture_info *info = &r->info;
    unsigned int i;

    if (h->version != PVP_HEAD_VERSION)
        return pvperf_err_set(err, -EPROTO,
                              "%s is a capture of format %u, this pvperf "
                              "reads format %u; use the pvperf that made it",
                              r->name, h->version, PVP_HEAD_VERSION);
    if (h->size != sizeof(*h) || !h->nr_events || h->nr_events > PVPERF_MAX_EVENTS ||
        h->max_stack > PVPERF_MAX_STACK)
        return pvperf_err_set(err, -EBADMSG,
                              "the head of %s is damaged: nothing can be "
                              "read from it; use another copy",
                              r->name);
    info->nr_events = h->nr_events;
    info->session_flags = h->session_flags;
    info->max_stack = h->max_stack;
    info->nr_pcpus = h->nr_pcpus;
    info->abi_major = h->abi_major;
    info->abi_minor = h->abi_minor;
    info->start_time = h->start_time;
    info->start_realtime = h->start_realtime;
#define COPY(field) \
    copy_text(info->field, sizeof(info->field), h->field, sizeof(h->field))
    COPY(hostname);
    COPY(xen_version);
    COPY(os_release);
    COPY(arch);
    COPY(tool_version);
    COPY(command);
#undef COPY
    for (i = 0; i < info->nr_events; i++) {
        info->events[i] = h->events[i].event;
        copy_text(info->event_names[i], sizeof(info->event_names[i]), h->events[i].name,
                  sizeof(h->events[i].name));
    }
    r->callchain = info->session_flags & PVPERF_SESSION_FLAG_CALLCHAIN;
    return 0;
}

/* Section 250, if the file is whole and finished; it is no error without. */
static void read_tail(struct pvperf_capture_reader *r, const struct pvp_file_header *h)
{
    uint64_t at = h->data.offset + h->data.size;
    struct pvp_section section;
    struct pvp_tail tail;
    const uint8_t *p;
    unsigned int i, below = 0;

    if (r->short_file || !(h->features[PVP_FEAT_PVPERF / 64] >> PVP_FEAT_PVPERF % 64 & 1))
        return;
    for (i = 0; i < PVP_FEAT_PVPERF; i++)
        below += h->features[i / 64] >> i % 64 & 1;
    p = pvp_reader_bytes(r, at + below * sizeof(section), sizeof(section));
    if (!p)
        return;
    memcpy(&section, p, sizeof(section));
    if (section.size != sizeof(tail))
        return;
    p = pvp_reader_bytes(r, section.offset, sizeof(tail));
    if (!p)
        return;
    memcpy(&tail, p, sizeof(tail));
    if (memcmp(tail.magic, PVP_TAIL_MAGIC, sizeof(tail.magic)) ||
        tail.size != sizeof(tail) || tail.nr_events != r->info.nr_events)
        return;
    r->summary.finished = true;
    r->summary.end_time = tail.end_time;
    r->summary.has_counts = tail.counts_valid == (1u << r->info.nr_events) - 1;
    if (r->summary.has_counts)
        memcpy(r->summary.counts, tail.counts, sizeof(r->summary.counts));
}

static int not_ours(struct pvperf_capture_reader *r, struct pvperf_err *err)
{
    return pvperf_err_set(err, -EBADMSG,
                          "%s was made by perf, not by pvperf; use perf "
                          "report",
                          r->name);
}

int pvp_reader_head(struct pvperf_capture_reader *r, struct pvperf_err *err)
{
    struct pvp_file_header h;
    struct pvp_head head;
    const uint8_t *p = pvp_reader_bytes(r, 0, 8);
    int rc;

    if (!p)
        return pvperf_err_set(err, -ENODATA,
                              "%s has only %" PRIu64 " bytes: it is no "
                              "capture, or was cut off; use another copy",
                              r->name, r->size);
    if (memcmp(p, PVP_PERF_MAGIC, 8))
        return pvperf_err_set(err, -EBADMSG,
                              "%s is not a capture made by pvperf; give "
                              "the file that pvperf record wrote",
                              r->name);
    p = pvp_reader_bytes(r, 0, sizeof(h));
    if (!p)
        goto cut;
    memcpy(&h, p, sizeof(h));
    if (h.size != sizeof(h) || h.attr_size != sizeof(struct pvp_file_attr) ||
        h.event_types.size || !h.event_types.offset)
        return not_ours(r, err);
    if (h.event_types.offset >= r->size)
        goto cut;
    p = pvp_reader_bytes(r, h.event_types.offset, 8);
    if (p && memcmp(p, PVP_HEAD_MAGIC, 8))
        return not_ours(r, err);
    p = pvp_reader_bytes(r, h.event_types.offset, sizeof(head));
    if (!p)
        goto cut;
    memcpy(&head, p, sizeof(head));
    rc = parse_head(r, &head, err);
    if (rc)
        return rc;
    if (h.data.offset < h.event_types.offset + sizeof(head) ||
        h.data.offset + h.data.size < h.data.offset)
        return pvperf_err_set(err, -EBADMSG,
                              "the head of %s is damaged: nothing can be "
                              "read from it; use another copy",
                              r->name);
    r->data_start = h.data.offset;
    r->data_end = h.data.offset + h.data.size;
    if (r->data_end > r->size) {
        r->short_file = true;
        r->data_end = r->data_start > r->size ? r->data_start : r->size;
    }
    read_tail(r, &h);
    return 0;

cut:
    return pvperf_err_set(err, -ENODATA,
                          "%s is cut off within its head, at byte %" PRIu64
                          ": nothing can be read from it; use another copy",
                          r->name, r->size);
}

static int open_source(struct pvperf_capture_reader *r, struct pvperf_err *err)
{
    struct stat st;

    r->fd = open(r->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (r->fd < 0 || fstat(r->fd, &st))
        return pvperf_err_set(err, -errno, "cannot open capture %s: %s", r->name,
                              strerror(errno));
    if (!S_ISREG(st.st_mode))
        return pvperf_err_set(err, -EBADMSG,
                              "%s is no regular file; give the file that "
                              "pvperf record wrote",
                              r->name);
    r->size = (uint64_t)st.st_size;
    r->window = malloc(PVP_READ_WINDOW);
    if (!r->window)
        return pvperf_err_set(err, -ENOMEM, "no memory to read %s", r->name);
    return 0;
}

static int open_reader(const char *name, const void *buf, size_t len,
                       struct pvperf_capture_reader **out, struct pvperf_err *err)
{
    struct pvperf_capture_reader *r = calloc(1, sizeof(*r));
    int rc = 0;

    if (!r)
        return pvperf_err_set(err, -ENOMEM, "no memory to read %s", name);
    r->fd = -1;
    r->end = 1;
    snprintf(r->name, sizeof(r->name), "%s", name);
    if (buf) {
        r->memory = buf;
        r->size = len;
    } else {
        rc = open_source(r, err);
    }
    if (!rc)
        rc = pvp_reader_head(r, err);
    if (rc) {
        pvperf_capture_close(r);
        return rc;
    }
    pvperf_capture_rewind(r);
    *out = r;
    return 0;
}

int pvperf_capture_open(const char *path, struct pvperf_capture_reader **out,
                        struct pvperf_err *err)
{
    if (strlen(path) >= PVPERF_CAPTURE_PATH_LEN)
        return pvperf_err_set(err, -ENAMETOOLONG,
                              "the path of the capture is too "
                              "long; use a shorter one");
    return open_reader(path, NULL, 0, out, err);
}

int pvperf_capture_open_buffer(const void *buf, size_t len,
                               struct pvperf_capture_reader **out, struct pvperf_err *err)
{
    return open_reader("the capture", buf ? buf : "", len, out, err);
}

void pvperf_capture_close(struct pvperf_capture_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->window);
    free(r->domains);
    free(r->domain_at);
    free(r->objects);
    free(r->index);
    free(r);
}
