/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * profile.h: samples added up, and the text report.
 *
 * The weight of a sample is its period (nanoseconds for the timer, events for
 * counters); shares are of the weight of all samples that pass the filter.
 */
#ifndef PVPERF_PROFILE_H
#define PVPERF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pvperf/capture.h>
#include <pvperf/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pvperf_profile;

struct pvperf_profile_options {
    int event;          /* only samples of this event; -1: all */
    bool stacks;        /* keep whole call chains (flame graphs) */
    size_t max_entries; /* distinct functions and stacks; 0: 1000000.
                               Beyond it, weight goes to "[other]". */
};

/* @s must live as long as the profile. */
int pvperf_profile_new(struct pvperf_symbols *s,
                       const struct pvperf_profile_options *options,
                       struct pvperf_profile **out);
void pvperf_profile_free(struct pvperf_profile *p);

/* Names for reports; unnamed domains are "dom<id>", Xen's is "xen". */
int pvperf_profile_name_domain(struct pvperf_profile *p, uint16_t domid,
                               const char *name);
int pvperf_profile_add(struct pvperf_profile *p, const struct pvperf_sample *sample);
void pvperf_profile_add_lost(struct pvperf_profile *p, const struct pvperf_lost *lost);
/* All of a capture (scanned or not), from its start; returns as _next(). */
int pvperf_profile_add_capture(struct pvperf_profile *p, struct pvperf_capture_reader *r,
                               struct pvperf_err *err);

struct pvperf_profile_totals {
    uint64_t samples;
    uint64_t weight;
    uint64_t lost;       /* samples lost, of the event(s) profiled */
    uint64_t overflowed; /* samples in "[other]" */
    uint64_t first_time;
    uint64_t last_time;
};

void pvperf_profile_get_totals(const struct pvperf_profile *p,
                               struct pvperf_profile_totals *totals);

/* ---- queries ---- */

#define PVPERF_ANY_DOMAIN 0xffff

struct pvperf_profile_filter {
    const uint16_t *domains; /* only these domains; NULL: all */
    size_t nr_domains;
    uint8_t modes; /* bits PVPERF_MODE_*; 0: all */
};

enum pvperf_profile_by {
    PVPERF_BY_DOMAIN,
    PVPERF_BY_MODE,     /* domain, mode */
    PVPERF_BY_OBJECT,   /* domain, mode, object */
    PVPERF_BY_FUNCTION, /* domain, mode, object, symbol */
};

enum pvperf_profile_sort {
    PVPERF_SORT_WEIGHT, /* heaviest first, then by name */
    PVPERF_SORT_NAME,   /* domain id, mode, object, symbol */
};

/* Fields finer than the query are NULL or 0. */
struct pvperf_profile_row {
    uint16_t domid;
    uint8_t mode;
    const char *domain;
    const char *object;
    const char *symbol;
    uint64_t samples;
    uint64_t weight;
    double share; /* 0 to 1, of what passes the filter */
    double error; /* standard error of share */
};

/* *rows is an array to free(); its strings live as long as the profile. */
int pvperf_profile_query(const struct pvperf_profile *p, enum pvperf_profile_by by,
                         enum pvperf_profile_sort sort,
                         const struct pvperf_profile_filter *filter,
                         struct pvperf_profile_row **rows, size_t *nr_rows);

/* "user", "kernel", "hypervisor", "idle" */
const char *pvperf_mode_name(unsigned int mode);

/* One frame of a stack. */
struct pvperf_profile_frame {
    uint8_t mode; /* whose code it is */
    const char *object;
    const char *symbol;
};

/*
 * Each distinct stack, outermost frame first (user, then kernel, then Xen),
 * in an order that depends on nothing but the samples.  @mode is that of the
 * sample.  A non-zero result of @fn ends the walk and is returned.
 */
typedef int pvperf_profile_stack_fn(void *arg, const char *domain, uint16_t domid,
                                    unsigned int mode,
                                    const struct pvperf_profile_frame *frames,
                                    size_t nr_frames, uint64_t samples, uint64_t weight);
int pvperf_profile_stacks(const struct pvperf_profile *p,
                          const struct pvperf_profile_filter *filter,
                          pvperf_profile_stack_fn *fn, void *arg);

/* ---- the text report ---- */

struct pvperf_report_options {
    struct pvperf_profile_filter filter;
    enum pvperf_profile_sort sort;
    size_t top; /* functions shown; 0: 30 */
    bool color;
    const char *capture;                          /* its name, for the header, or NULL */
    const struct pvperf_capture_info *info;       /* or NULL */
    const struct pvperf_capture_summary *summary; /* or NULL */
};

/* Returns 0 or a negative errno of the output. */
int pvperf_profile_report(const struct pvperf_profile *p, FILE *out,
                          const struct pvperf_report_options *options);

#ifdef __cplusplus
}
#endif
#endif
