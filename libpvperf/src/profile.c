/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile.c: adding samples up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_private.h"

#define OTHER "[other]"
#define DEFAULT_ENTRIES 1000000

const char *pvperf_mode_name(unsigned int mode)
{
    static const char *const names[PVPERF_MODES] = {
        [PVPERF_MODE_USER] = "user",
        [PVPERF_MODE_KERNEL] = "kernel",
        [PVPERF_MODE_HYPERVISOR] = "hypervisor",
        [PVPERF_MODE_IDLE] = "idle",
    };

    return mode < PVPERF_MODES ? names[mode] : "unknown";
}

/* ---- the tables' keys ---- */

static bool same_string(const void *item, const void *key)
{
    return !strcmp(*(char *const *)item, key);
}

static bool same_frame(const void *item, const void *key)
{
    return !memcmp(item, key, sizeof(struct pvp_frame));
}

static bool same_function(const void *item, const void *key)
{
    return !memcmp(item, key, offsetof(struct pvp_function, samples));
}

struct stack_key {
    const struct pvperf_profile *profile;
    uint16_t domid;
    uint8_t mode;
    uint8_t nr;
    uint32_t frames[PVP_MAX_FRAMES];
};

static bool same_stack(const void *item, const void *key)
{
    const struct pvp_stack *s = item;
    const struct stack_key *k = key;

    return s->domid == k->domid && s->mode == k->mode && s->nr == k->nr &&
           !memcmp(k->profile->chains + s->first, k->frames, k->nr * sizeof(*k->frames));
}

/*
 * Names come from foreign files and go to terminals: only printable ASCII is
 * let in.  Returns the index, or PVP_OTHER when the table is full.
 */
static int64_t intern(struct pvperf_profile *p, const char *text)
{
    char buf[PVPERF_CAPTURE_PATH_LEN], *copy;
    size_t i, len = strnlen(text, sizeof(buf) - 1);
    uint64_t hash;
    int64_t at;

    for (i = 0; i < len; i++)
        buf[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    buf[len] = '\0';
    hash = pvp_table_hash(&p->strings, buf, len);
    at = pvp_table_find(&p->strings, hash, buf);
    if (at >= 0)
        return at;
    copy = strdup(buf);
    if (!copy)
        return -ENOMEM;
    at = pvp_table_add(&p->strings, hash, &copy);
    if (at < 0)
        free(copy);
    return at == -ENOSPC ? PVP_OTHER : at;
}

static int64_t intern_frame(struct pvperf_profile *p, unsigned int mode,
                            const char *object, const char *symbol)
{
    struct pvp_frame f = {.mode = mode};
    int64_t o = intern(p, object), s = intern(p, symbol), at;
    uint64_t hash;

    if (o < 0 || s < 0)
        return -ENOMEM;
    f.object = (uint32_t)o;
    f.symbol = (uint32_t)s;
    hash = pvp_table_hash(&p->frames, &f, sizeof(f));
    at = pvp_table_find(&p->frames, hash, &f);
    if (at >= 0)
        return at;
    at = pvp_table_add(&p->frames, hash, &f);
    return at == -ENOSPC ? PVP_OTHER : at;
}

int pvperf_profile_new(struct pvperf_symbols *s,
                       const struct pvperf_profile_options *options,
                       struct pvperf_profile **out)
{
    struct pvperf_profile *p = calloc(1, sizeof(*p));
    size_t max;

    if (!p)
        return -ENOMEM;
    p->symbols = s;
    p->options = *options;
    max = options->max_entries ? options->max_entries : DEFAULT_ENTRIES;
    pvp_table_init(&p->strings, sizeof(char *), max + 1, same_string);
    pvp_table_init(&p->frames, sizeof(struct pvp_frame), max + 1, same_frame);
    pvp_table_init(&p->functions, sizeof(struct pvp_function), max, same_function);
    pvp_table_init(&p->stacks, sizeof(struct pvp_stack), max, same_stack);
    if (intern(p, OTHER) != PVP_OTHER ||
        intern_frame(p, PVPERF_MODE_USER, OTHER, OTHER) != PVP_OTHER ||
        pvperf_profile_name_domain(p, PVPERF_DOMID_IDLE, "xen")) {
        pvperf_profile_free(p);
        return -ENOMEM;
    }
    *out = p;
    return 0;
}

void pvperf_profile_free(struct pvperf_profile *p)
{
    size_t i;

    if (!p)
        return;
    for (i = 0; i < p->strings.nr; i++)
        free(*(char **)pvp_table_at(&p->strings, i));
    for (i = 0; i <= PVPERF_DOMID_IDLE; i++)
        free(p->domains[i]);
    pvp_table_free(&p->strings);
    pvp_table_free(&p->frames);
    pvp_table_free(&p->functions);
    pvp_table_free(&p->stacks);
    free(p->chains);
    free(p);
}

int pvperf_profile_name_domain(struct pvperf_profile *p, uint16_t domid, const char *name)
{
    char *copy, *c;

    if (domid > PVPERF_DOMID_IDLE)
        return -EINVAL;
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    for (c = copy; *c; c++)
        if (*c < 0x20 || *c >= 0x7f)
            *c = '?';
    free(p->domains[domid]);
    p->domains[domid] = copy;
    return 0;
}

const char *pvp_domain_name(const struct pvperf_profile *p, uint16_t domid,
                            char buf[static 16])
{
    if (domid <= PVPERF_DOMID_IDLE && p->domains[domid])
        return p->domains[domid];
    snprintf(buf, 16, "dom%u", domid);
    return buf;
}

/* ---- samples ---- */

/*
 * @mode: whose code the address is in.  Addresses that have names are kept:
 * the few hot ones make up most of a profile.  (Those that have none are
 * asked for each time, so that the symbol map can count them.)
 */
static int64_t frame_of(struct pvperf_profile *p, uint16_t domid, unsigned int mode,
                        uint64_t pt_base, uint64_t address)
{
    uint64_t key = (address ^ address >> 14 ^ (uint64_t)domid << 7 ^ pt_base >> 12) *
                   0x9e3779b97f4a7c15ull;
    struct pvp_cached *c = &p->cache[key >> 40 & (PVP_CACHE_SIZE - 1)];
    struct pvperf_location loc;
    int64_t frame;

    if (c->used && c->address == address && c->pt_base == pt_base && c->domid == domid &&
        c->mode == mode)
        return c->frame;
    pvperf_symbols_lookup(p->symbols, domid, mode, pt_base, address, &loc);
    frame = intern_frame(p, mode, loc.object, loc.symbol);
    if (frame >= 0 && loc.known)
        *c = (struct pvp_cached){
            .address = address,
            .pt_base = pt_base,
            .frame = (uint32_t)frame,
            .domid = domid,
            .mode = (uint8_t)mode,
            .used = true,
        };
    return frame;
}

/* The sum for a function, "[other]" of its domain and mode when full. */
static int add_function(struct pvperf_profile *p, const struct pvperf_sample *s,
                        uint32_t frame)
{
    struct pvp_function f = {.domid = s->domid, .mode = s->mode, .frame = frame}, *at;
    uint64_t hash =
        pvp_table_hash(&p->functions, &f, offsetof(struct pvp_function, samples));
    int64_t i = pvp_table_find(&p->functions, hash, &f);

    if (i < 0)
        i = pvp_table_add(&p->functions, hash, &f);
    if (i == -ENOSPC && frame != PVP_OTHER) {
        p->totals.overflowed++;
        return add_function(p, s, PVP_OTHER);
    }
    if (i == -ENOSPC) { /* one a domain and mode, beyond the limit */
        p->functions.limit++;
        i = pvp_table_add(&p->functions, hash, &f);
    }
    if (i < 0)
        return -ENOMEM;
    at = pvp_table_at(&p->functions, (size_t)i);
    at->samples++;
    at->weight += s->period;
    return 0;
}

static int64_t new_stack(struct pvperf_profile *p, uint64_t hash,
                         const struct stack_key *k)
{
    struct pvp_stack s = {.domid = k->domid, .mode = k->mode, .nr = k->nr};
    uint32_t *chains;
    int64_t i;

    if (p->stacks.nr >= p->stacks.limit || p->nr_chains > UINT32_MAX - k->nr)
        return -ENOSPC;
    if (p->max_chains - p->nr_chains < k->nr) {
        size_t max = p->max_chains ? 2 * p->max_chains : 4096;

        chains = reallocarray(p->chains, max, sizeof(*chains));
        if (!chains)
            return -ENOMEM;
        p->chains = chains;
        p->max_chains = max;
    }
    s.first = (uint32_t)p->nr_chains;
    i = pvp_table_add(&p->stacks, hash, &s);
    if (i >= 0) {
        memcpy(p->chains + p->nr_chains, k->frames, k->nr * sizeof(*k->frames));
        p->nr_chains += k->nr;
    }
    return i;
}

static int add_stack_key(struct pvperf_profile *p, struct stack_key *k, uint64_t period)
{
    size_t from = offsetof(struct stack_key, domid);
    size_t size = offsetof(struct stack_key, frames) - from + k->nr * sizeof(*k->frames);
    uint64_t hash = pvp_table_hash(&p->stacks, (uint8_t *)k + from, size);
    int64_t i = pvp_table_find(&p->stacks, hash, k);
    struct pvp_stack *at;

    if (i < 0)
        i = new_stack(p, hash, k);
    if (i == -ENOSPC) {
        if (k->nr == 1 && k->frames[0] == PVP_OTHER) {
            p->stacks.limit++;
            i = new_stack(p, hash, k);
        } else {
            k->nr = 1;
            k->frames[0] = PVP_OTHER;
            return add_stack_key(p, k, period);
        }
    }
    if (i < 0)
        return -ENOMEM;
    at = pvp_table_at(&p->stacks, (size_t)i);
    at->samples++;
    at->weight += period;
    return 0;
}

/*
 * Call chains are of return addresses: the call is before them.  Only the
 * first guest frame under Xen is where the guest itself was.
 */
static int64_t chain_frame(struct pvperf_profile *p, const struct pvperf_sample *s,
                           unsigned int i)
{
    bool in_xen = s->mode == PVPERF_MODE_HYPERVISOR || s->mode == PVPERF_MODE_IDLE;
    unsigned int mode =
        i < s->nr_xen
            ? (s->mode == PVPERF_MODE_IDLE ? PVPERF_MODE_IDLE : PVPERF_MODE_HYPERVISOR)
        : i < (unsigned int)s->nr_xen + s->nr_kernel ? PVPERF_MODE_KERNEL
                                                     : PVPERF_MODE_USER;
    bool exact = in_xen && i == s->nr_xen;

    return frame_of(p, s->domid, mode, s->pt_base, s->chain[i] - (exact ? 0 : 1));
}

static int add_stack(struct pvperf_profile *p, const struct pvperf_sample *s,
                     uint32_t leaf)
{
    unsigned int i, nr = (unsigned int)s->nr_xen + s->nr_kernel + s->nr_user;
    struct stack_key k;

    memset(&k, 0, offsetof(struct stack_key, frames));
    k.profile = p;
    k.domid = s->domid;
    k.mode = s->mode;
    k.nr = (uint8_t)(nr + 1);
    for (i = 0; i < nr; i++) {
        int64_t frame = chain_frame(p, s, i);

        if (frame < 0)
            return (int)frame;
        k.frames[nr - 1 - i] = (uint32_t)frame;
    }
    k.frames[nr] = leaf;
    return add_stack_key(p, &k, s->period);
}

int pvperf_profile_add(struct pvperf_profile *p, const struct pvperf_sample *s)
{
    struct pvperf_profile_totals *t = &p->totals;
    int64_t leaf;
    int rc;

    if (s->domid > PVPERF_DOMID_IDLE || s->mode >= PVPERF_MODES ||
        (unsigned int)s->nr_xen + s->nr_kernel + s->nr_user > PVPERF_MAX_STACK)
        return -EINVAL;
    if (p->options.event >= 0 && s->event != p->options.event)
        return 0;
    leaf = frame_of(p, s->domid, s->mode, s->pt_base, s->ip);
    if (leaf < 0)
        return (int)leaf;
    if (leaf == PVP_OTHER)
        t->overflowed++;
    rc = add_function(p, s, (uint32_t)leaf);
    if (!rc && p->options.stacks)
        rc = add_stack(p, s, (uint32_t)leaf);
    if (rc)
        return rc;
    if (!t->samples++)
        t->first_time = t->last_time = s->time;
    if (s->time < t->first_time)
        t->first_time = s->time;
    if (s->time > t->last_time)
        t->last_time = s->time;
    t->weight += s->period;
    return 0;
}

void pvperf_profile_add_lost(struct pvperf_profile *p, const struct pvperf_lost *l)
{
    if (p->options.event < 0 || l->event == p->options.event)
        p->totals.lost += l->count;
}

int pvperf_profile_add_capture(struct pvperf_profile *p, struct pvperf_capture_reader *r,
                               struct pvperf_err *err)
{
    struct pvperf_capture_rec *rec = malloc(sizeof(*rec));
    int rc, rc2 = 0;

    if (!rec)
        return pvperf_err_set(err, -ENOMEM, "no memory for a profile");
    pvperf_capture_rewind(r);
    while ((rc = pvperf_capture_next(r, rec, err)) == 1 && !rc2) {
        if (rec->type == PVPERF_CAPTURE_SAMPLE)
            rc2 = pvperf_profile_add(p, &rec->u.sample);
        else if (rec->type == PVPERF_CAPTURE_LOST)
            pvperf_profile_add_lost(p, &rec->u.lost);
        else if (rec->type == PVPERF_CAPTURE_DOMAIN)
            rc2 = pvperf_profile_name_domain(p, rec->u.domain.domid, rec->u.domain.name);
    }
    free(rec);
    if (rc2)
        return pvperf_err_set(err, rc2, "cannot add up the capture: %s", strerror(-rc2));
    return rc;
}

void pvperf_profile_get_totals(const struct pvperf_profile *p,
                               struct pvperf_profile_totals *totals)
{
    *totals = p->totals;
}
