/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture_maps.c: domains as processes and objects as their mappings, which
 * is how perf comes to name the domains and the symbols.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_private.h"

#define PID_DOMAIN 100000
#define TID_VCPU 1000000 /* up to 269435455 */
#define PID_PROGRAM 300000000

int32_t pvperf_capture_pid(uint16_t domid)
{
    return PID_DOMAIN + domid;
}

int32_t pvperf_capture_tid(uint16_t domid, uint16_t vcpu)
{
    return vcpu ? TID_VCPU + domid * PVP_MAX_VCPUS + vcpu : PID_DOMAIN + domid;
}

uint32_t pvp_process_tid(const struct pvp_process *p, uint16_t vcpu)
{
    if (p->pt_base)
        return p->pid + vcpu;
    return (uint32_t)pvperf_capture_tid(p->domain.domid, vcpu);
}

static struct pvp_process *find_process(struct pvperf_capture_writer *w, uint16_t domid,
                                        uint64_t pt_base)
{
    size_t i;

    if (w->last && w->last->domain.domid == domid && w->last->pt_base == pt_base)
        return w->last;
    for (i = 0; i < w->nr_processes; i++) {
        struct pvp_process *p = w->processes[i];

        if (p->domain.domid == domid && p->pt_base == pt_base)
            return w->last = p;
    }
    return NULL;
}

/* COMM with the domain's name; the first thread's tells all of the domain. */
static int put_comm(struct pvperf_capture_writer *w, const struct pvp_process *p,
                    uint16_t vcpu, bool with_domain, struct pvperf_err *err)
{
    uint8_t buf[16 + 2 * PVPERF_CAPTURE_NAME_LEN + sizeof(struct pvp_comm_extra) +
                sizeof(struct pvp_trailer)] = {0};
    struct perf_event_header hdr = {.type = PERF_RECORD_COMM};
    struct pvp_trailer trailer = {0};
    uint32_t ids[2] = {p->pid, pvp_process_tid(p, vcpu)};
    size_t i, at = sizeof(hdr) + sizeof(ids), len = strlen(p->domain.name);

    memcpy(buf + sizeof(hdr), ids, sizeof(ids));
    for (i = 0; i < len; i++) {
        unsigned char c = (unsigned char)p->domain.name[i];

        buf[at + i] = isalnum(c) || strchr("._-+@", c) ? c : '_';
    }
    at += PVP_ALIGN8(len + 1);
    if (with_domain) {
        struct pvp_comm_extra extra = {
            .magic = PVP_DOMAIN_MAGIC,
            .domid = p->domain.domid,
            .nr_vcpus = p->domain.nr_vcpus,
        };

        memcpy(extra.handle, p->domain.handle, sizeof(extra.handle));
        memcpy(extra.name, p->domain.name, sizeof(extra.name));
        memcpy(buf + at, &extra, sizeof(extra));
        at += sizeof(extra);
    }
    trailer.pid = ids[0];
    trailer.tid = ids[1];
    memcpy(buf + at, &trailer, sizeof(trailer));
    at += sizeof(trailer);
    hdr.size = (uint16_t)at;
    memcpy(buf, &hdr, sizeof(hdr));
    return pvp_capture_append(w, buf, err);
}

/* @announce: the reader takes it for the object; else it is for perf only. */
static int put_mmap(struct pvperf_capture_writer *w, const struct pvp_process *p,
                    const struct pvperf_capture_object *o, bool announce,
                    struct pvperf_err *err)
{
    uint8_t buf[sizeof(struct pvp_mmap2) + PVPERF_CAPTURE_PATH_LEN + 8 +
                sizeof(struct pvp_mmap_extra) + sizeof(struct pvp_trailer)] = {0};
    struct pvp_mmap2 rec = {
        .hdr = {.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER},
        .pid = p->pid,
        .tid = p->pid,
        .addr = o->start,
        .len = o->len,
        .pgoff = o->file_offset,
        .prot = 5,  /* PROT_READ | PROT_EXEC */
        .flags = 2, /* MAP_PRIVATE */
    };
    struct pvp_trailer trailer = {.pid = p->pid, .tid = p->pid};
    size_t at = sizeof(rec), len = strlen(o->path);

    if (o->build_id_len) {
        rec.hdr.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
        rec.build_id_size = o->build_id_len;
        memcpy(rec.build_id, o->build_id, o->build_id_len);
    }
    memcpy(buf + at, o->path, len);
    at += PVP_ALIGN8(len + 1);
    if (announce) {
        struct pvp_mmap_extra extra = {
            .magic = PVP_OBJECT_MAGIC,
            .kind = o->kind,
            .domid = o->domid,
            .pt_base = o->pt_base,
            .bias = o->bias,
        };

        memcpy(buf + at, &extra, sizeof(extra));
        at += sizeof(extra);
    }
    memcpy(buf + at, &trailer, sizeof(trailer));
    at += sizeof(trailer);
    rec.hdr.size = (uint16_t)at;
    memcpy(buf, &rec, sizeof(rec));
    return pvp_capture_append(w, buf, err);
}

static bool applies(const struct pvperf_capture_object *o, const struct pvp_process *p)
{
    if (o->kind == PVPERF_OBJECT_XEN)
        return true;
    return o->domid == p->domain.domid && (!o->pt_base || o->pt_base == p->pt_base);
}

/* Whose record the reader takes: Xen's own process for Xen, else the first. */
static bool announces(const struct pvperf_capture_object *o, const struct pvp_process *p)
{
    if (o->kind == PVPERF_OBJECT_XEN)
        return p->domain.domid == PVPERF_DOMID_IDLE;
    return o->pt_base == p->pt_base;
}

static struct pvp_process *new_process(struct pvperf_capture_writer *w, uint16_t domid,
                                       uint64_t pt_base, const char *name,
                                       struct pvperf_err *err)
{
    struct pvp_process **list, *p;

    list = realloc(w->processes, (w->nr_processes + 1) * sizeof(*list));
    p = list ? calloc(1, sizeof(*p)) : NULL;
    if (list)
        w->processes = list;
    if (!p) {
        pvperf_err_set(err, -ENOMEM, "no memory for another domain in the capture");
        return NULL;
    }
    p->domain.domid = domid;
    snprintf(p->domain.name, sizeof(p->domain.name), "%s", name);
    p->pt_base = pt_base;
    p->pid = pt_base ? PID_PROGRAM + (uint32_t)w->nr_processes * PVP_MAX_VCPUS
                     : (uint32_t)pvperf_capture_pid(domid);
    list[w->nr_processes++] = p;
    return p;
}

/* The process itself, and all objects so far that are in it. */
static int announce_process(struct pvperf_capture_writer *w, struct pvp_process *p,
                            struct pvperf_err *err)
{
    size_t i;
    int rc;

    if (p->announced)
        return 0;
    rc = put_comm(w, p, 0, !p->pt_base, err);
    p->threads[0] |= 1;
    for (i = 0; !rc && i < w->nr_objects; i++)
        if (applies(&w->objects[i], p))
            rc = put_mmap(w, p, &w->objects[i], false, err);
    if (!rc)
        p->announced = true;
    return rc;
}

/* The process of (domain, pt_base), made and announced if it is new. */
static struct pvp_process *get_process(struct pvperf_capture_writer *w, uint16_t domid,
                                       uint64_t pt_base, struct pvperf_err *err)
{
    struct pvp_process *p = find_process(w, domid, pt_base), *parent;
    char name[32];

    if (p)
        return p;
    if (domid > PVPERF_DOMID_IDLE) {
        pvperf_err_set(err, -EINVAL,
                       "%u is no domain id; this was left out of the "
                       "capture",
                       domid);
        return NULL;
    }
    snprintf(name, sizeof(name), "dom%u", domid);
    if (pt_base) {
        parent = get_process(w, domid, 0, err);
        if (!parent)
            return NULL;
        p = new_process(w, domid, pt_base, parent->domain.name, err);
        if (p)
            parent->has_children = true;
    } else {
        p = new_process(w, domid, 0, name, err);
    }
    if (p && announce_process(w, p, err))
        return NULL;
    return p;
}

struct pvp_process *pvp_capture_process(struct pvperf_capture_writer *w, uint16_t domid,
                                        uint64_t pt_base, uint16_t vcpu,
                                        struct pvperf_err *err)
{
    struct pvp_process *p, *child;

    if (vcpu >= PVP_MAX_VCPUS) {
        pvperf_err_set(err, -EINVAL, "%u is no vCPU; this was left out of the capture",
                       vcpu);
        return NULL;
    }
    if (pt_base && w->last && w->last->domain.domid == domid &&
        w->last->pt_base == pt_base) {
        p = w->last;
    } else {
        p = get_process(w, domid, 0, err);
        if (p && pt_base && p->has_children) {
            child = find_process(w, domid, pt_base);
            p = child ? child : p;
        }
    }
    if (p && !(p->threads[vcpu / 64] & 1ull << vcpu % 64)) {
        if (put_comm(w, p, vcpu, false, err))
            return NULL;
        p->threads[vcpu / 64] |= 1ull << vcpu % 64;
    }
    return p;
}

int pvperf_capture_add_domain(struct pvperf_capture_writer *w,
                              const struct pvperf_capture_domain *domain,
                              struct pvperf_err *err)
{
    struct pvp_process *p = find_process(w, domain->domid, 0);
    struct pvperf_capture_domain d = *domain;
    size_t i;
    int rc = 0;

    if (d.domid > PVPERF_DOMID_IDLE || d.nr_vcpus > PVP_MAX_VCPUS)
        return pvperf_err_set(err, -EINVAL,
                              "domain %u with %u vCPUs cannot be; it was "
                              "left out of the capture",
                              d.domid, d.nr_vcpus);
    memset(d.name, 0, sizeof(d.name));
    memcpy(d.name, domain->name, strnlen(domain->name, sizeof(d.name) - 1));
    if (!d.name[0])
        snprintf(d.name, sizeof(d.name), "dom%u", d.domid);
    if (p && !memcmp(&p->domain, &d, sizeof(d)))
        return 0;
    if (!p) {
        p = new_process(w, d.domid, 0, d.name, err);
        if (!p)
            return -ENOMEM;
    } else {
        /* Its threads take the new name. */
        memset(p->threads, 0, sizeof(p->threads));
    }
    p->domain = d;
    rc = p->announced ? put_comm(w, p, 0, true, err) : announce_process(w, p, err);
    p->threads[0] |= 1;
    for (i = 0; !rc && i < w->nr_processes; i++) {
        struct pvp_process *child = w->processes[i];

        if (!child->pt_base || child->domain.domid != d.domid)
            continue;
        child->domain = d;
        memset(child->threads, 0, sizeof(child->threads));
        rc = put_comm(w, child, 0, false, err);
        child->threads[0] |= 1;
    }
    return rc;
}

static bool same_object(const struct pvperf_capture_object *a,
                        const struct pvperf_capture_object *b)
{
    return a->kind == b->kind && a->domid == b->domid && a->start == b->start &&
           a->len == b->len && a->file_offset == b->file_offset &&
           a->pt_base == b->pt_base && a->bias == b->bias && !strcmp(a->path, b->path);
}

static int check_object(const struct pvperf_capture_object *o, struct pvperf_err *err)
{
    size_t len = strnlen(o->path, sizeof(o->path));

    if (!len || len == sizeof(o->path) || o->build_id_len > PVPERF_BUILD_ID_MAX ||
        o->kind > PVPERF_OBJECT_PROGRAM || !o->len || o->start + o->len - 1 < o->start)
        return pvperf_err_set(err, -EINVAL,
                              "an object that cannot be (%.64s) was left "
                              "out of the capture",
                              len ? o->path : "without a name");
    return 0;
}

static int remember_object(struct pvperf_capture_writer *w,
                           const struct pvperf_capture_object *o)
{
    struct pvperf_capture_object *list;

    if (w->nr_objects == w->max_objects) {
        size_t max = w->max_objects ? 2 * w->max_objects : 16;

        list = realloc(w->objects, max * sizeof(*list));
        if (!list)
            return -ENOMEM;
        w->objects = list;
        w->max_objects = max;
    }
    w->objects[w->nr_objects++] = *o;
    return 0;
}

int pvperf_capture_add_object(struct pvperf_capture_writer *w,
                              const struct pvperf_capture_object *object,
                              struct pvperf_err *err)
{
    struct pvperf_capture_object o = *object;
    size_t i;
    int rc = check_object(&o, err);

    if (rc)
        return rc;
    if (o.kind == PVPERF_OBJECT_XEN)
        o.domid = PVPERF_DOMID_IDLE;
    if (o.kind != PVPERF_OBJECT_PROGRAM)
        o.pt_base = 0;
    for (i = 0; i < w->nr_objects; i++)
        if (same_object(&w->objects[i], &o))
            return 0;
    if (!get_process(w, o.domid, o.pt_base, err))
        return w->failed ? w->failed : -EINVAL;
    if (remember_object(w, &o))
        return pvperf_err_set(err, -ENOMEM,
                              "no memory for another object in the "
                              "capture");
    for (i = 0; !rc && i < w->nr_processes; i++) {
        struct pvp_process *p = w->processes[i];

        if (applies(&o, p))
            rc = put_mmap(w, p, &o, announces(&o, p), err);
    }
    return rc;
}
