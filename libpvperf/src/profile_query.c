/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile_query.c: rows and stacks of a profile, in a certain order. */
#include <errno.h>
#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

#include "profile_private.h"

bool pvp_filter_passes(const struct pvperf_profile_filter *f, uint16_t domid,
                       unsigned int mode)
{
    size_t i;

    if (!f)
        return true;
    if (f->modes && !(f->modes >> mode & 1))
        return false;
    if (!f->domains || !f->nr_domains)
        return true;
    for (i = 0; i < f->nr_domains; i++)
        if (f->domains[i] == domid)
            return true;
    return false;
}

static int by_text(const char *a, const char *b)
{
    if (!a || !b)
        return !!a - !!b;
    return strcmp(a, b);
}

static int by_name(const void *pa, const void *pb)
{
    const struct pvperf_profile_row *a = pa, *b = pb;
    int d;

    if (a->domid != b->domid)
        return a->domid < b->domid ? -1 : 1;
    if (a->mode != b->mode)
        return a->mode < b->mode ? -1 : 1;
    d = by_text(a->object, b->object);
    return d ? d : by_text(a->symbol, b->symbol);
}

static int by_weight(const void *pa, const void *pb)
{
    const struct pvperf_profile_row *a = pa, *b = pb;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return by_name(pa, pb);
}

/* One row a function, with no more said of it than @by asks. */
static size_t fill_rows(const struct pvperf_profile *p, enum pvperf_profile_by by,
                        const struct pvperf_profile_filter *filter,
                        struct pvperf_profile_row *rows)
{
    size_t i, n = 0;

    for (i = 0; i < p->functions.nr; i++) {
        const struct pvp_function *f = pvp_table_at(&p->functions, i);
        const struct pvp_frame *frame = pvp_frame(p, f->frame);
        struct pvperf_profile_row *r = &rows[n];

        if (!pvp_filter_passes(filter, f->domid, f->mode))
            continue;
        memset(r, 0, sizeof(*r));
        r->domid = f->domid;
        r->mode = by >= PVPERF_BY_MODE ? (uint8_t)f->mode : 0;
        r->object = by >= PVPERF_BY_OBJECT ? pvp_string(p, frame->object) : NULL;
        r->symbol = by >= PVPERF_BY_FUNCTION ? pvp_string(p, frame->symbol) : NULL;
        r->samples = f->samples;
        r->weight = f->weight;
        n++;
    }
    return n;
}

static size_t merge_rows(struct pvperf_profile_row *rows, size_t nr)
{
    size_t i, n = 0;

    for (i = 1; i < nr; i++) {
        if (by_name(&rows[n], &rows[i])) {
            rows[++n] = rows[i];
            continue;
        }
        rows[n].samples += rows[i].samples;
        rows[n].weight += rows[i].weight;
    }
    return nr ? n + 1 : 0;
}

/* In one instruction, and without libm. */
static double root(double v)
{
    __m128d x = _mm_set_sd(v > 0 ? v : 0);

    return _mm_cvtsd_f64(_mm_sqrt_sd(x, x));
}

static void fill_shares(struct pvperf_profile_row *rows, size_t nr)
{
    uint64_t samples = 0, weight = 0;
    size_t i;

    for (i = 0; i < nr; i++) {
        samples += rows[i].samples;
        weight += rows[i].weight;
    }
    for (i = 0; i < nr; i++) {
        /* Without weights (period 0 throughout) each sample counts as one. */
        double s = weight ? (double)rows[i].weight / (double)weight
                          : (double)rows[i].samples / (double)samples;

        rows[i].share = s;
        rows[i].error = root(s * (1 - s) / (double)samples);
    }
}

/* Names of unnamed domains are made up once, and live with the profile. */
static int name_rows(const struct pvperf_profile *p, struct pvperf_profile_row *rows,
                     size_t nr)
{
    struct pvperf_profile *names = (struct pvperf_profile *)(uintptr_t)p;
    char buf[16];
    size_t i;

    for (i = 0; i < nr; i++) {
        uint16_t domid = rows[i].domid;

        if (!p->domains[domid] &&
            pvperf_profile_name_domain(names, domid, pvp_domain_name(p, domid, buf)))
            return -ENOMEM;
        rows[i].domain = p->domains[domid];
    }
    return 0;
}

int pvperf_profile_query(const struct pvperf_profile *p, enum pvperf_profile_by by,
                         enum pvperf_profile_sort sort,
                         const struct pvperf_profile_filter *filter,
                         struct pvperf_profile_row **rows, size_t *nr_rows)
{
    struct pvperf_profile_row *list = calloc(p->functions.nr + 1, sizeof(*list));
    size_t nr;

    if (!list)
        return -ENOMEM;
    nr = fill_rows(p, by, filter, list);
    qsort(list, nr, sizeof(*list), by_name);
    nr = merge_rows(list, nr);
    fill_shares(list, nr);
    if (name_rows(p, list, nr)) {
        free(list);
        return -ENOMEM;
    }
    if (sort == PVPERF_SORT_WEIGHT)
        qsort(list, nr, sizeof(*list), by_weight);
    *rows = list;
    *nr_rows = nr;
    return 0;
}

/* ---- stacks ---- */

static int by_frame(const struct pvperf_profile *p, uint32_t a, uint32_t b)
{
    const struct pvp_frame *fa = pvp_frame(p, a), *fb = pvp_frame(p, b);
    int d;

    if (a == b)
        return 0;
    if (fa->mode != fb->mode)
        return fa->mode < fb->mode ? -1 : 1;
    d = strcmp(pvp_string(p, fa->symbol), pvp_string(p, fb->symbol));
    return d ? d : strcmp(pvp_string(p, fa->object), pvp_string(p, fb->object));
}

static int by_stack(const void *pa, const void *pb, void *arg)
{
    const struct pvp_stack *a = *(const struct pvp_stack *const *)pa;
    const struct pvp_stack *b = *(const struct pvp_stack *const *)pb;
    const struct pvperf_profile *p = arg;
    unsigned int i;
    int d;

    if (a->domid != b->domid)
        return a->domid < b->domid ? -1 : 1;
    if (a->mode != b->mode)
        return a->mode < b->mode ? -1 : 1;
    for (i = 0; i < a->nr && i < b->nr; i++) {
        d = by_frame(p, p->chains[a->first + i], p->chains[b->first + i]);
        if (d)
            return d;
    }
    return (a->nr > b->nr) - (a->nr < b->nr);
}

static void fill_frame(const struct pvperf_profile *p, uint32_t i,
                       struct pvperf_profile_frame *f)
{
    const struct pvp_frame *frame = pvp_frame(p, i);

    f->mode = (uint8_t)frame->mode;
    f->object = pvp_string(p, frame->object);
    f->symbol = pvp_string(p, frame->symbol);
}

/* Without call chains, each function is a stack of one frame. */
static int walk_functions(const struct pvperf_profile *p,
                          const struct pvperf_profile_filter *filter,
                          pvperf_profile_stack_fn *fn, void *arg)
{
    struct pvperf_profile_row *rows;
    size_t nr, i;
    int rc =
        pvperf_profile_query(p, PVPERF_BY_FUNCTION, PVPERF_SORT_NAME, filter, &rows, &nr);

    if (rc)
        return rc;
    for (i = 0; !rc && i < nr; i++) {
        struct pvperf_profile_frame f = {
            .mode = rows[i].mode,
            .object = rows[i].object,
            .symbol = rows[i].symbol,
        };

        rc = fn(arg, rows[i].domain, rows[i].domid, rows[i].mode, &f, 1, rows[i].samples,
                rows[i].weight);
    }
    free(rows);
    return rc;
}

static int call_stack_fn(const struct pvperf_profile *p, const struct pvp_stack *s,
                         pvperf_profile_stack_fn *fn, void *arg)
{
    struct pvperf_profile_frame frames[PVP_MAX_FRAMES];
    char buf[16];
    unsigned int i;

    for (i = 0; i < s->nr; i++) {
        fill_frame(p, p->chains[s->first + i], &frames[i]);
        if (p->chains[s->first + i] == PVP_OTHER)
            frames[i].mode = s->mode;
    }
    return fn(arg, pvp_domain_name(p, s->domid, buf), s->domid, s->mode, frames, s->nr,
              s->samples, s->weight);
}

int pvperf_profile_stacks(const struct pvperf_profile *p,
                          const struct pvperf_profile_filter *filter,
                          pvperf_profile_stack_fn *fn, void *arg)
{
    const struct pvp_stack **list;
    size_t i, nr = p->stacks.nr;
    int rc = 0;

    if (!p->options.stacks)
        return walk_functions(p, filter, fn, arg);
    list = calloc(nr + 1, sizeof(*list));
    if (!list)
        return -ENOMEM;
    for (i = 0; i < nr; i++)
        list[i] = pvp_table_at(&p->stacks, i);
    qsort_r(list, nr, sizeof(*list), by_stack, (void *)(uintptr_t)p);
    for (i = 0; !rc && i < nr; i++)
        if (pvp_filter_passes(filter, list[i]->domid, list[i]->mode))
            rc = call_stack_fn(p, list[i], fn, arg);
    free(list);
    return rc;
}
