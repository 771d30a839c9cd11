/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * view.h: what report, script and flamegraph share: their options, an open
 * capture with its symbols, and the samples wanted from it.
 */
#ifndef PVPERF_CLI_VIEW_H
#define PVPERF_CLI_VIEW_H

#include <getopt.h>

#include <pvperf/capture.h>
#include <pvperf/profile.h>
#include <pvperf/symbols.h>

#include "parse.h"

#define VIEW_FILES 64
#define VIEW_DOMAINS 256

/* Values of the long options that have no letter; others' begin after them. */
enum {
    VIEW_OPT_MODE = 256,
    VIEW_OPT_EVENT,
    VIEW_OPT_KERNEL,
    VIEW_OPT_PROGRAM,
    VIEW_OPT_XEN_SYMS,
    VIEW_OPT_SYMFS,
    VIEW_OPT_OTHER,
};

#define VIEW_SHORT "i:d:h"
#define VIEW_LONG                                                                      \
    {"input", required_argument, NULL, 'i'}, {"domain", required_argument, NULL, 'd'}, \
        {"mode", required_argument, NULL, VIEW_OPT_MODE},                              \
        {"event", required_argument, NULL, VIEW_OPT_EVENT},                            \
        {"kernel", required_argument, NULL, VIEW_OPT_KERNEL},                          \
        {"program", required_argument, NULL, VIEW_OPT_PROGRAM},                        \
        {"xen-syms", required_argument, NULL, VIEW_OPT_XEN_SYMS},                      \
        {"symfs", required_argument, NULL, VIEW_OPT_SYMFS},                            \
    {                                                                                  \
        "help", no_argument, NULL, 'h'                                                 \
    }

struct view {
    /* As given; all zero to begin with. */
    const char *input;
    const char *domains;
    const char *event;
    const char *xen_syms;
    const char *symfs;
    struct parse_file kernels[VIEW_FILES];
    struct parse_file programs[VIEW_FILES];
    unsigned int nr_kernels;
    unsigned int nr_programs;

    /* Made by view_open(). */
    struct pvperf_capture_reader *reader;
    struct pvperf_symbols *symbols;
    const struct pvperf_capture_info *info;
    const struct pvperf_capture_summary *summary;
    int only_event; /* index, -1: all */
    struct pvperf_profile_filter filter;
    uint16_t domids[VIEW_DOMAINS];
    bool damaged; /* told; the exit status must be a failure */
};

/* Take one option. 0, or an exit status after a message. */
int view_option(struct view *v, int opt, char **argv);

/* Open and scan, no more. 0, or an exit status. */
int view_open_file(struct view *v);
/* Open, scan, load symbols, resolve the filter. 0, or an exit status. */
int view_open(struct view *v);
void view_close(struct view *v);

/* Does a sample pass the filter? */
bool view_wants(const struct view *v, const struct pvperf_sample *sample);

/* The profile of one event (-1: all). NULL: told. */
struct pvperf_profile *view_profile(struct view *v, int event, bool stacks);

#endif
