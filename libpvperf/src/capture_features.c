/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_features.c: the head of a capture, and the sections at its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_private.h"

static const uint8_t generic_to_perf[PVPERF_GENERIC_NR] = {
    [PVPERF_GENERIC_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
    [PVPERF_GENERIC_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
    [PVPERF_GENERIC_REF_CYCLES] = PERF_COUNT_HW_REF_CPU_CYCLES,
    [PVPERF_GENERIC_BRANCHES] = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
    [PVPERF_GENERIC_BRANCH_MISSES] = PERF_COUNT_HW_BRANCH_MISSES,
    [PVPERF_GENERIC_CACHE_REFERENCES] = PERF_COUNT_HW_CACHE_REFERENCES,
    [PVPERF_GENERIC_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
};

static void fill_attr(const struct pvperf_capture_info *info, unsigned int event,
                      uint8_t out[PVP_ATTR_SIZE])
{
    const struct pvperf_event *e = &info->events[event];
    struct perf_event_attr attr = {
        .size = PVP_ATTR_SIZE,
        .config = e->config,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_RAW,
        .sample_period = e->rate,
        .freq = !!(e->flags & PVPERF_EVENT_FLAG_FREQ),
        .disabled = 1,
        .sample_id_all = 1,
        .comm = 1,
        .mmap2 = 1,
        .mmap = 1,
        /* All is user code to perf: it need not look for a kernel. */
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    switch (e->type) {
    case PVPERF_EVENT_GENERIC:
        attr.type = PERF_TYPE_HARDWARE;
        if (e->config < PVPERF_GENERIC_NR)
            attr.config = generic_to_perf[e->config];
        break;
    case PVPERF_EVENT_RAW:
        attr.type = PERF_TYPE_RAW;
        break;
    default:
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_CPU_CLOCK;
    }
    if (info->session_flags & PVPERF_SESSION_FLAG_CALLCHAIN)
        attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    memcpy(out, &attr, PVP_ATTR_SIZE);
}

static void fill_head(const struct pvperf_capture_info *info, struct pvp_head *head)
{
    unsigned int i;

    memset(head, 0, sizeof(*head));
    memcpy(head->magic, PVP_HEAD_MAGIC, sizeof(head->magic));
    head->size = sizeof(*head);
    head->version = PVP_HEAD_VERSION;
    head->session_flags = info->session_flags;
    head->max_stack = info->max_stack;
    head->nr_events = (uint16_t)info->nr_events;
    head->nr_pcpus = info->nr_pcpus;
    head->abi_major = info->abi_major;
    head->abi_minor = info->abi_minor;
    head->start_time = info->start_time;
    head->start_realtime = info->start_realtime;
    memcpy(head->hostname, info->hostname, sizeof(head->hostname) - 1);
    memcpy(head->xen_version, info->xen_version, sizeof(head->xen_version) - 1);
    memcpy(head->os_release, info->os_release, sizeof(head->os_release) - 1);
    memcpy(head->arch, info->arch, sizeof(head->arch) - 1);
    memcpy(head->tool_version, info->tool_version, sizeof(head->tool_version) - 1);
    memcpy(head->command, info->command, sizeof(head->command) - 1);
    for (i = 0; i < info->nr_events; i++) {
        head->events[i].event = info->events[i];
        memcpy(head->events[i].name, info->event_names[i],
               sizeof(head->events[i].name) - 1);
    }
}

int pvp_capture_write_head(struct pvperf_capture_writer *w)
{
    unsigned int i, nr = w->info.nr_events;
    struct pvp_file_attr attrs[PVPERF_MAX_EVENTS] = {0};
    uint64_t ids[PVPERF_MAX_EVENTS];
    struct pvp_head head;
    uint64_t at = sizeof(w->header);
    int rc;

    memcpy(w->header.magic, PVP_PERF_MAGIC, sizeof(w->header.magic));
    w->header.size = sizeof(w->header);
    w->header.attr_size = sizeof(struct pvp_file_attr);
    w->header.attrs.offset = at;
    w->header.attrs.size = nr * sizeof(struct pvp_file_attr);
    at += w->header.attrs.size;
    for (i = 0; i < nr; i++) {
        fill_attr(&w->info, i, attrs[i].attr);
        attrs[i].ids.offset = at + i * sizeof(uint64_t);
        attrs[i].ids.size = sizeof(uint64_t);
        ids[i] = i + 1;
    }
    fill_head(&w->info, &head);
    w->header.event_types.offset = at + nr * sizeof(uint64_t);
    w->header.data.offset = w->header.event_types.offset + sizeof(head);

    rc = pvp_capture_pwrite(w, attrs, w->header.attrs.size, w->header.attrs.offset, NULL);
    if (!rc)
        rc = pvp_capture_pwrite(w, ids, nr * sizeof(uint64_t), at, NULL);
    if (!rc)
        rc = pvp_capture_pwrite(w, &head, sizeof(head), w->header.event_types.offset,
                                NULL);
    if (!rc)
        rc = pvp_capture_pwrite(w, &w->header, sizeof(w->header), 0, NULL);
    return rc;
}

/* ---- feature sections ---- */

struct out {
    uint8_t *data;
    size_t len;
    size_t max;
};

static void put(struct out *o, const void *data, size_t len)
{
    if (len > o->max - o->len) { /* cannot be: see FEATURES_MAX */
        abort();
    }
    memcpy(o->data + o->len, data, len);
    o->len += len;
}

static void put_u32(struct out *o, uint32_t v)
{
    put(o, &v, sizeof(v));
}

/* perf's strings: length of the padded text, text, zeros to 64 bytes. */
static void put_string(struct out *o, const char *s, size_t max)
{
    static const char zero[64];
    size_t len = strnlen(s, max), padded = (len + 1 + 63) & ~(size_t)63;

    put_u32(o, (uint32_t)padded);
    put(o, s, len);
    for (; len < padded; len += 1)
        put(o, zero, 1);
}

static void put_event_desc(struct out *o, const struct pvperf_capture_info *info)
{
    unsigned int i;

    put_u32(o, info->nr_events);
    put_u32(o, PVP_ATTR_SIZE);
    for (i = 0; i < info->nr_events; i++) {
        uint8_t attr[PVP_ATTR_SIZE];
        uint64_t id = i + 1;

        fill_attr(info, i, attr);
        put(o, attr, sizeof(attr));
        put_u32(o, 1);
        put_string(o, info->event_names[i], PVPERF_CAPTURE_NAME_LEN - 1);
        put(o, &id, sizeof(id));
    }
}

static void put_tail(struct out *o, const struct pvperf_capture_writer *w)
{
    struct pvp_tail tail = w->tail;

    memcpy(tail.magic, PVP_TAIL_MAGIC, sizeof(tail.magic));
    tail.size = sizeof(tail);
    tail.nr_events = w->info.nr_events;
    put(o, &tail, sizeof(tail));
}

static const uint8_t features[] = {
    PVP_FEAT_HOSTNAME,   PVP_FEAT_OSRELEASE,   PVP_FEAT_VERSION,
    PVP_FEAT_ARCH,       PVP_FEAT_NRCPUS,      PVP_FEAT_CMDLINE,
    PVP_FEAT_EVENT_DESC, PVP_FEAT_SAMPLE_TIME, PVP_FEAT_PVPERF,
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))
#define FEATURES_MAX 16384

static void put_feature(struct out *o, const struct pvperf_capture_writer *w,
                        unsigned int feature)
{
    const struct pvperf_capture_info *info = &w->info;
    uint64_t times[2] = {w->tail.first_time, w->tail.last_time};

    switch (feature) {
    case PVP_FEAT_HOSTNAME:
        put_string(o, info->hostname, sizeof(info->hostname) - 1);
        break;
    case PVP_FEAT_OSRELEASE:
        put_string(o, info->os_release, sizeof(info->os_release) - 1);
        break;
    case PVP_FEAT_VERSION:
        put_string(o, info->tool_version, sizeof(info->tool_version) - 1);
        break;
    case PVP_FEAT_ARCH:
        put_string(o, info->arch, sizeof(info->arch) - 1);
        break;
    case PVP_FEAT_NRCPUS:
        put_u32(o, info->nr_pcpus); /* available, then online */
        put_u32(o, info->nr_pcpus);
        break;
    case PVP_FEAT_CMDLINE:
        put_u32(o, 1);
        put_string(o, info->command, sizeof(info->command) - 1);
        break;
    case PVP_FEAT_EVENT_DESC:
        put_event_desc(o, info);
        break;
    case PVP_FEAT_SAMPLE_TIME:
        put(o, times, sizeof(times));
        break;
    default:
        put_tail(o, w);
    }
}

/*
 * The table of sections and the sections lie after the data; the header names
 * them last, so that a failure on the way leaves a capture without them.
 */
int pvp_capture_write_features(struct pvperf_capture_writer *w)
{
    struct pvp_section table[NR_FEATURES];
    struct out o = {.data = malloc(FEATURES_MAX), .max = FEATURES_MAX};
    uint64_t base = w->header.data.offset + w->data_written;
    size_t i;
    int rc;

    if (!o.data)
        return -ENOMEM;
    o.len = sizeof(table);
    for (i = 0; i < NR_FEATURES; i++) {
        table[i].offset = base + o.len;
        put_feature(&o, w, features[i]);
        table[i].size = base + o.len - table[i].offset;
        w->header.features[features[i] / 64] |= 1ull << features[i] % 64;
    }
    memcpy(o.data, table, sizeof(table));
    rc = pvp_capture_pwrite(w, o.data, o.len, base, NULL);
    if (!rc)
        rc = pvp_capture_pwrite(w, &w->header, sizeof(w->header), 0, NULL);
    /* After an error, part of a record may lie behind: it is cut off. */
    if (!rc && ftruncate(w->fd, (off_t)(base + o.len)))
        rc = -errno;
    free(o.data);
    return rc;
}
