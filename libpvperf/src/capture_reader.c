/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_reader.c: walking through the records of a capture. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture_reader.h"

const struct pvperf_capture_info *
pvperf_capture_get_info(const struct pvperf_capture_reader *r)
{
    return &r->info;
}

const struct pvperf_capture_summary *
pvperf_capture_get_summary(const struct pvperf_capture_reader *r)
{
    return &r->summary;
}

/* Make room for one more element; NULL without memory. */
static void *grow(void *list, size_t nr, size_t *max, size_t size)
{
    void *bigger;

    if (nr < *max)
        return list;
    bigger = reallocarray(list, *max ? 2 * *max : 16, size);
    if (bigger)
        *max = *max ? 2 * *max : 16;
    return bigger;
}

static int note_domain(struct pvperf_capture_reader *r,
                       const struct pvperf_capture_domain *d)
{
    struct pvperf_capture_domain *list;

    if (!r->domain_at)
        r->domain_at = calloc(PVPERF_DOMID_IDLE + 1, sizeof(*r->domain_at));
    if (!r->domain_at)
        return -ENOMEM;
    if (r->domain_at[d->domid]) {
        r->domains[r->domain_at[d->domid] - 1] = *d;
        return 0;
    }
    list = grow(r->domains, r->nr_domains, &r->max_domains, sizeof(*list));
    if (!list)
        return -ENOMEM;
    r->domains = list;
    list[r->nr_domains++] = *d;
    r->domain_at[d->domid] = (uint16_t)r->nr_domains;
    return 0;
}

static int note_object(struct pvperf_capture_reader *r,
                       const struct pvperf_capture_object *o)
{
    struct pvperf_capture_object *list;

    if (r->nr_objects >= PVP_MAX_OBJECTS)
        return 0;
    list = grow(r->objects, r->nr_objects, &r->max_objects, sizeof(*list));
    if (!list)
        return -ENOMEM;
    r->objects = list;
    list[r->nr_objects++] = *o;
    return 0;
}

static void note_time(struct pvperf_capture_summary *s, uint64_t time)
{
    if (!s->samples++)
        s->first_time = s->last_time = time;
    if (time < s->first_time)
        s->first_time = time;
    if (time > s->last_time)
        s->last_time = time;
}

/* Keep what the tables need, once for each record. */
static int note(struct pvperf_capture_reader *r, const struct pvperf_capture_rec *rec)
{
    switch (rec->type) {
    case PVPERF_CAPTURE_SAMPLE:
        note_time(&r->summary, rec->u.sample.time);
        return 0;
    case PVPERF_CAPTURE_LOST:
        r->summary.lost += rec->u.lost.count;
        return 0;
    case PVPERF_CAPTURE_DOMAIN:
        return note_domain(r, &rec->u.domain);
    case PVPERF_CAPTURE_OBJECT:
        return note_object(r, &rec->u.object);
    default:
        return 0;
    }
}

/* The data ended in some way: the same answer from now on. */
static int at_end(struct pvperf_capture_reader *r, int rc, uint64_t offset,
                  struct pvperf_err *err)
{
    r->end = rc;
    if (rc == -ENODATA) {
        r->summary.truncated = true;
        pvperf_err_set(&r->end_error, rc,
                       "%s is cut off at byte %" PRIu64 "; what was "
                       "before is used",
                       r->name, offset);
    } else if (rc == -EBADMSG) {
        r->summary.damaged = true;
        pvperf_err_set(&r->end_error, rc,
                       "%s is damaged at byte %" PRIu64 "; what was "
                       "before is used",
                       r->name, offset);
    }
    if (err && rc)
        *err = r->end_error;
    return rc;
}

/* Bytes of the record at the position: its size, 0 at the end, or an error. */
static int record_bytes(struct pvperf_capture_reader *r, const uint8_t **p)
{
    struct perf_event_header hdr;
    uint64_t left = r->data_end - r->position;
    int cut = r->short_file ? -ENODATA : -EBADMSG;

    if (!left)
        return r->short_file ? -ENODATA : 0;
    *p = left < sizeof(hdr) ? NULL : pvp_reader_bytes(r, r->position, sizeof(hdr));
    if (!*p)
        return left < sizeof(hdr) ? cut : -ENODATA;
    memcpy(&hdr, *p, sizeof(hdr));
    if (hdr.size < sizeof(hdr) || hdr.size % 8)
        return -EBADMSG;
    if (hdr.size > left)
        return cut;
    *p = pvp_reader_bytes(r, r->position, hdr.size);
    return *p ? hdr.size : -ENODATA;
}

static int next_in_file(struct pvperf_capture_reader *r, struct pvperf_capture_rec *rec,
                        struct pvperf_err *err)
{
    const uint8_t *p;
    int size, rc;

    for (;;) {
        size = record_bytes(r, &p);
        if (size <= 0)
            return at_end(r, size, r->position, err);
        rec->offset = r->position;
        rc = pvp_record_parse(r, p, (size_t)size, rec);
        if (rc < 0)
            return at_end(r, rc, r->position, err);
        r->position += (uint64_t)size;
        if (!rc)
            continue;
        if (r->position > r->seen) {
            r->seen = r->position;
            if (note(r, rec))
                return pvperf_err_set(err, -ENOMEM, "no memory for the tables of %s",
                                      r->name);
        }
        return 1;
    }
}

static int next_sorted(struct pvperf_capture_reader *r, struct pvperf_capture_rec *rec,
                       struct pvperf_err *err)
{
    size_t i = r->next_index;
    const uint8_t *p;
    int size;

    memset(&rec->u, 0, offsetof(struct pvperf_sample, chain));
    rec->offset = 0;
    if (i < r->nr_domains) {
        rec->type = PVPERF_CAPTURE_DOMAIN;
        rec->u.domain = r->domains[i];
    } else if (i - r->nr_domains < r->nr_objects) {
        rec->type = PVPERF_CAPTURE_OBJECT;
        rec->u.object = r->objects[i - r->nr_domains];
    } else {
        i -= r->nr_domains + r->nr_objects;
        if (i >= r->nr_index) {
            if (err && r->end)
                *err = r->end_error;
            return r->end;
        }
        r->position = rec->offset = r->index[i].offset;
        size = record_bytes(r, &p);
        /* It was good when the index was made: the file has changed. */
        if (size <= 0 || pvp_record_parse(r, p, (size_t)size, rec) != 1)
            return at_end(r, -EBADMSG, rec->offset, err);
    }
    r->next_index++;
    return 1;
}

int pvperf_capture_next(struct pvperf_capture_reader *r, struct pvperf_capture_rec *rec,
                        struct pvperf_err *err)
{
    return r->index ? next_sorted(r, rec, err) : next_in_file(r, rec, err);
}

void pvperf_capture_rewind(struct pvperf_capture_reader *r)
{
    r->position = r->data_start;
    r->next_index = 0;
}

int pvperf_capture_scan(struct pvperf_capture_reader *r, struct pvperf_err *err)
{
    struct pvperf_capture_rec rec;
    int rc;

    if (r->index) {
        if (err && r->end)
            *err = r->end_error;
        return r->end;
    }
    pvperf_capture_rewind(r);
    do {
        rc = pvperf_capture_next(r, &rec, err);
    } while (rc == 1);
    pvperf_capture_rewind(r);
    return rc;
}

static int by_time(const void *pa, const void *pb)
{
    const struct pvp_index *a = pa, *b = pb;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static int add_index(struct pvperf_capture_reader *r, struct pvp_index **list, size_t *nr,
                     const struct pvperf_capture_rec *rec)
{
    struct pvp_index *bigger;

    if (rec->type != PVPERF_CAPTURE_SAMPLE && rec->type != PVPERF_CAPTURE_LOST)
        return 0;
    bigger = grow(*list, *nr, &r->max_index, sizeof(**list));
    if (!bigger)
        return -ENOMEM;
    *list = bigger;
    bigger[*nr].time =
        rec->type == PVPERF_CAPTURE_SAMPLE ? rec->u.sample.time : rec->u.lost.time_last;
    bigger[(*nr)++].offset = rec->offset;
    return 0;
}

int pvperf_capture_sort(struct pvperf_capture_reader *r, struct pvperf_err *err)
{
    struct pvperf_capture_rec rec;
    struct pvp_index *list = NULL;
    size_t nr = 0;
    int rc;

    pvperf_capture_rewind(r);
    if (r->index)
        return 0;
    r->max_index = 0;
    while ((rc = next_in_file(r, &rec, err)) == 1) {
        rc = add_index(r, &list, &nr, &rec);
        if (rc)
            break;
    }
    if (!rc || rc == -ENODATA || rc == -EBADMSG)
        rc = list || (list = malloc(sizeof(*list))) ? 0 : -ENOMEM;
    if (rc) {
        free(list);
        return pvperf_err_set(err, rc,
                              "no memory to sort %s; free some, or use what "
                              "needs no order (report, flamegraph)",
                              r->name);
    }
    if (nr)
        qsort(list, nr, sizeof(*list), by_time);
    r->index = list;
    r->nr_index = nr;
    pvperf_capture_rewind(r);
    return 0;
}

size_t pvperf_capture_nr_domains(const struct pvperf_capture_reader *r)
{
    return r->nr_domains;
}

const struct pvperf_capture_domain *
pvperf_capture_get_domain(const struct pvperf_capture_reader *r, size_t i)
{
    return i < r->nr_domains ? &r->domains[i] : NULL;
}

const struct pvperf_capture_domain *
pvperf_capture_find_domain(const struct pvperf_capture_reader *r, uint16_t domid)
{
    if (!r->domain_at || domid > PVPERF_DOMID_IDLE || !r->domain_at[domid])
        return NULL;
    return &r->domains[r->domain_at[domid] - 1];
}

size_t pvperf_capture_nr_objects(const struct pvperf_capture_reader *r)
{
    return r->nr_objects;
}

const struct pvperf_capture_object *
pvperf_capture_get_object(const struct pvperf_capture_reader *r, size_t i)
{
    return i < r->nr_objects ? &r->objects[i] : NULL;
}
