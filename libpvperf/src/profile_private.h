/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile_private.h: what the parts of the profile share. */
#ifndef PVP_PROFILE_PRIVATE_H
#define PVP_PROFILE_PRIVATE_H

#include <pvperf/profile.h>
#include "table.h"

#define PVP_MAX_FRAMES (PVPERF_MAX_STACK + 1)
#define PVP_CACHE_SIZE 16384
#define PVP_OTHER 0 /* string and frame "[other]" */

/* Code by name: mode, object, symbol. */
struct pvp_frame {
    uint32_t object; /* index in strings */
    uint32_t symbol;
    uint32_t mode;
};

/* One function of a domain in one mode. */
struct pvp_function {
    uint16_t domid;
    uint16_t mode;
    uint32_t frame;
    uint64_t samples;
    uint64_t weight;
};

struct pvp_stack {
    uint16_t domid;
    uint8_t mode;
    uint8_t nr;
    uint32_t first; /* index in chains; outermost first */
    uint64_t samples;
    uint64_t weight;
};

/* Addresses that have names, by what the name depends on. */
struct pvp_cached {
    uint64_t address;
    uint64_t pt_base;
    uint32_t frame;
    uint16_t domid;
    uint8_t mode;
    bool used;
};

struct pvperf_profile {
    struct pvperf_symbols *symbols;
    struct pvperf_profile_options options;
    struct pvperf_profile_totals totals;
    char *domains[PVPERF_DOMID_IDLE + 1];
    struct pvp_table strings; /* char *, printable */
    struct pvp_table frames;
    struct pvp_table functions;
    struct pvp_table stacks;
    uint32_t *chains; /* frames of all stacks */
    size_t nr_chains, max_chains;
    struct pvp_cached cache[PVP_CACHE_SIZE];
};

static inline const char *pvp_string(const struct pvperf_profile *p, uint32_t i)
{
    return *(char **)pvp_table_at(&p->strings, i);
}

static inline const struct pvp_frame *pvp_frame(const struct pvperf_profile *p,
                                                uint32_t i)
{
    return pvp_table_at(&p->frames, i);
}

const char *pvp_domain_name(const struct pvperf_profile *p, uint16_t domid,
                            char buf[static 16]);
bool pvp_filter_passes(const struct pvperf_profile_filter *f, uint16_t domid,
                       unsigned int mode);

#endif
