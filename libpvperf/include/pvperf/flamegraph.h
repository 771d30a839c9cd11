/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flamegraph.h: profiles as folded stacks and as interactive flame graphs in
 * one file of SVG or HTML without any outside resource.
 */
#ifndef PVPERF_FLAMEGRAPH_H
#define PVPERF_FLAMEGRAPH_H

#include <stdio.h>
#include <pvperf/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pvperf_flamegraph_options {
    struct pvperf_profile_filter filter;
    const char *title;    /* NULL: "pvperf" */
    const char *subtitle; /* NULL: samples and losses */
    unsigned int width;   /* pixels; 0: 1200 */
    double min_share;     /* frames narrower than this share are left out;
                               0: what a third of a pixel would show */
};

/* "domain;mode;frame;frame... samples" lines, outermost first; @options may
   be NULL.  A profile made without stacks has one frame in each line.
   All return 0 or a negative errno. */
int pvperf_flamegraph_folded(const struct pvperf_profile *p, FILE *out,
                             const struct pvperf_flamegraph_options *options);
int pvperf_flamegraph_svg(const struct pvperf_profile *p, FILE *out,
                          const struct pvperf_flamegraph_options *options);
int pvperf_flamegraph_html(const struct pvperf_profile *p, FILE *out,
                           const struct pvperf_flamegraph_options *options);

#ifdef __cplusplus
}
#endif
#endif
