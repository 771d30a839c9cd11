/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* symbols.c: which objects are in which domain, and what is not known. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pvperf/symbols.h>

#define UNKNOWN "[unknown]"
#define BUCKETS 256

struct mapping {
    struct mapping *next;
    struct pvperf_object *object;
    uint64_t bias;
    uint64_t pt_base;
    uint16_t domid;
};

struct missing {
    uint64_t count; /* 0: nothing is missing */
    uint64_t address;
    bool outside; /* there is an object, but not for this address */
};

struct pvperf_symbols {
    struct mapping *xen;
    struct mapping *domains[BUCKETS];               /* kernels and programs, by domid */
    struct mapping *replaced;                       /* names handed out must stay */
    struct missing *missing[PVPERF_DOMID_IDLE + 1]; /* PVPERF_MODES each */
    size_t nr_missing;
};

int pvperf_symbols_new(struct pvperf_symbols **out)
{
    struct pvperf_symbols *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    *out = s;
    return 0;
}

static void free_list(struct mapping *m)
{
    while (m) {
        struct mapping *next = m->next;

        pvperf_object_put(m->object);
        free(m);
        m = next;
    }
}

void pvperf_symbols_free(struct pvperf_symbols *s)
{
    size_t i;

    if (!s)
        return;
    free_list(s->xen);
    free_list(s->replaced);
    for (i = 0; i < BUCKETS; i++)
        free_list(s->domains[i]);
    for (i = 0; i <= PVPERF_DOMID_IDLE; i++)
        free(s->missing[i]);
    free(s);
}

static enum pvperf_object_kind kind_of(const struct mapping *m)
{
    return pvperf_object_get_info(m->object)->kind;
}

/* Take the mappings that @m makes void out of its list. */
static void replace(struct pvperf_symbols *s, struct mapping **list,
                    const struct mapping *m)
{
    struct mapping **at = list, *old;

    while ((old = *at)) {
        bool same = old->domid == m->domid && kind_of(old) == kind_of(m) &&
                    (kind_of(m) != PVPERF_OBJECT_PROGRAM ||
                     (old->pt_base == m->pt_base && old->bias == m->bias &&
                      old->object == m->object));

        if (!same) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        old->next = s->replaced;
        s->replaced = old;
    }
}

int pvperf_symbols_add(struct pvperf_symbols *s, uint16_t domid, uint64_t bias,
                       uint64_t pt_base, struct pvperf_object *o)
{
    enum pvperf_object_kind kind = pvperf_object_get_info(o)->kind;
    struct mapping *m = calloc(1, sizeof(*m)), **list;

    if (!m)
        return -ENOMEM;
    m->object = pvperf_object_get(o);
    m->bias = bias;
    m->pt_base = kind == PVPERF_OBJECT_PROGRAM ? pt_base : 0;
    m->domid = kind == PVPERF_OBJECT_XEN ? PVPERF_DOMID_IDLE : domid;
    list = kind == PVPERF_OBJECT_XEN ? &s->xen : &s->domains[domid % BUCKETS];
    replace(s, list, m);
    m->next = *list;
    *list = m;
    return 0;
}

static bool covers(const struct mapping *m, uint64_t address)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(m->object);
    unsigned int i;

    for (i = 0; i < info->nr_ranges; i++)
        if (address - m->bias - info->ranges[i].start < info->ranges[i].len)
            return true;
    return false;
}

/* The mapping for an address; those of one page-table base come first. */
static const struct mapping *find_mapping(const struct pvperf_symbols *s, uint16_t domid,
                                          unsigned int mode, uint64_t pt_base,
                                          uint64_t address, bool *outside)
{
    enum pvperf_object_kind kind =
        mode == PVPERF_MODE_KERNEL ? PVPERF_OBJECT_KERNEL : PVPERF_OBJECT_PROGRAM;
    const struct mapping *m, *found = NULL;

    *outside = false;
    if (mode == PVPERF_MODE_HYPERVISOR || mode == PVPERF_MODE_IDLE) {
        *outside = s->xen && !covers(s->xen, address);
        return *outside ? NULL : s->xen;
    }
    for (m = s->domains[domid % BUCKETS]; m; m = m->next) {
        if (m->domid != domid || kind_of(m) != kind ||
            (m->pt_base && m->pt_base != pt_base))
            continue;
        if (!covers(m, address))
            *outside = true;
        else if (!found || (m->pt_base && !found->pt_base))
            found = m;
    }
    return found;
}

static void note_missing(struct pvperf_symbols *s, uint16_t domid, unsigned int mode,
                         uint64_t address, bool outside)
{
    struct missing *m;

    if (domid > PVPERF_DOMID_IDLE || mode >= PVPERF_MODES)
        return;
    if (!s->missing[domid])
        s->missing[domid] = calloc(PVPERF_MODES, sizeof(*m));
    if (!s->missing[domid])
        return;
    m = &s->missing[domid][mode];
    if (!m->count++) {
        m->address = address;
        s->nr_missing++;
    }
    m->outside |= outside;
}

void pvperf_symbols_lookup(struct pvperf_symbols *s, uint16_t domid, unsigned int mode,
                           uint64_t pt_base, uint64_t address,
                           struct pvperf_location *loc)
{
    bool outside;
    const struct mapping *m = find_mapping(s, domid, mode, pt_base, address, &outside);
    uint64_t start = 0;

    loc->object = m ? pvperf_object_get_info(m->object)->name : UNKNOWN;
    loc->symbol = m ? pvperf_object_lookup(m->object, address - m->bias, &start) : NULL;
    loc->known = loc->symbol;
    loc->offset = loc->known ? address - m->bias - start : 0;
    if (!loc->known) {
        loc->symbol = UNKNOWN;
        note_missing(s, domid, mode, address, outside || m);
    }
}

size_t pvperf_symbols_nr_missing(const struct pvperf_symbols *s)
{
    return s->nr_missing;
}

int pvperf_symbols_get_missing(const struct pvperf_symbols *s, size_t i,
                               struct pvperf_missing *out)
{
    static const char *const hints[PVPERF_MODES][2] = {
        [PVPERF_MODE_USER] =
            {
                "name the file of the program that runs there",
                "a library, or another program than those named: name its file, too",
            },
        [PVPERF_MODE_KERNEL] =
            {
                "name the vmlinuz, vmlinux or System.map of the kernel that runs there",
                "a kernel module, or another kernel than the one named",
            },
        [PVPERF_MODE_HYPERVISOR] =
            {
                "name the xen-syms of the Xen that runs",
                "another Xen than the one that runs: name its xen-syms",
            },
        [PVPERF_MODE_IDLE] =
            {
                "name the xen-syms of the Xen that runs",
                "another Xen than the one that runs: name its xen-syms",
            },
    };
    const struct missing *m;
    unsigned int domid, mode;

    for (domid = 0; i < s->nr_missing && domid <= PVPERF_DOMID_IDLE; domid++) {
        for (mode = 0; s->missing[domid] && mode < PVPERF_MODES; mode++) {
            m = &s->missing[domid][mode];
            if (!m->count || i--)
                continue;
            memset(out, 0, sizeof(*out));
            out->domid = (uint16_t)domid;
            out->mode = (uint8_t)mode;
            out->count = m->count;
            out->address = m->address;
            snprintf(out->hint, sizeof(out->hint), "%s", hints[mode][m->outside]);
            return 0;
        }
    }
    return -ENOENT;
}

/* ---- captures ---- */

int pvperf_capture_add_file(struct pvperf_capture_writer *w, uint16_t domid,
                            uint64_t bias, uint64_t pt_base,
                            const struct pvperf_object *o, struct pvperf_err *err)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    struct pvperf_capture_object c = {
        .kind = (uint8_t)info->kind,
        .build_id_len = info->build_id_len,
        .domid = domid,
        .bias = bias,
        .pt_base = pt_base,
    };
    char *real = realpath(info->path, NULL);
    const char *path = real ? real : info->path;
    unsigned int i;
    int rc = 0;

    memcpy(c.build_id, info->build_id, sizeof(c.build_id));
    if (strlen(path) >= sizeof(c.path))
        rc = pvperf_err_set(err, -ENAMETOOLONG,
                            "the path of %s is too long; copy the "
                            "file to another place",
                            info->name);
    else
        memcpy(c.path, path, strlen(path));
    for (i = 0; !rc && i < info->nr_ranges; i++) {
        c.start = bias + info->ranges[i].start;
        c.len = info->ranges[i].len;
        c.file_offset = info->ranges[i].file_offset;
        rc = pvperf_capture_add_object(w, &c, err);
    }
    free(real);
    return rc;
}

struct loaded {
    const struct pvperf_capture_object *as;
    struct pvperf_object *object; /* NULL: could not be loaded */
};

static struct pvperf_object *load_as(const struct pvperf_capture_object *c,
                                     struct pvperf_err *err)
{
    const struct pvperf_object_info *info;
    struct pvperf_object *o;

    if (pvperf_object_load(c->path, c->kind, &o, err))
        return NULL;
    info = pvperf_object_get_info(o);
    if (c->build_id_len && (info->build_id_len != c->build_id_len ||
                            memcmp(info->build_id, c->build_id, c->build_id_len))) {
        pvperf_err_set(err, -ESTALE,
                       "%s is not the file that was profiled (its build-id "
                       "differs); put the old one back",
                       c->path);
        pvperf_object_put(o);
        return NULL;
    }
    return o;
}

/* Each file once, however many ranges and domains it is in. */
static struct pvperf_object *load_once(struct loaded *list, size_t *nr,
                                       const struct pvperf_capture_object *c,
                                       bool *failed, struct pvperf_err *err)
{
    size_t i;

    *failed = false;
    for (i = 0; i < *nr; i++)
        if (list[i].as->kind == c->kind && !strcmp(list[i].as->path, c->path))
            return list[i].object;
    list[*nr].as = c;
    list[*nr].object = load_as(c, err);
    *failed = !list[*nr].object;
    return list[(*nr)++].object;
}

int pvperf_symbols_add_capture(struct pvperf_symbols *s,
                               const struct pvperf_capture_reader *r,
                               void (*warn)(void *arg, const char *line), void *arg)
{
    size_t i, nr = pvperf_capture_nr_objects(r), nr_loaded = 0;
    struct loaded *list = calloc(nr ? nr : 1, sizeof(*list));
    int rc = list ? 0 : -ENOMEM, left_out = 0;

    for (i = 0; !rc && i < nr; i++) {
        const struct pvperf_capture_object *c = pvperf_capture_get_object(r, i);
        struct pvperf_err err = {""};
        struct pvperf_object *o;
        bool failed;

        o = load_once(list, &nr_loaded, c, &failed, &err);
        if (o)
            rc = pvperf_symbols_add(s, c->domid, c->bias, c->pt_base, o);
        if (failed) {
            left_out++;
            if (warn)
                warn(arg, err.text);
        }
    }
    for (i = 0; i < nr_loaded; i++)
        pvperf_object_put(list[i].object);
    free(list);
    return rc ? rc : left_out;
}
