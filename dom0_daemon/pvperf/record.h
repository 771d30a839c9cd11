/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record.h: the parts of pvperf record.
 *   record_options.c  the command line
 *   record_file.c     the capture that is written, and what it has counted
 *   cmd_record.c      the session: from the daemon into the file
 */
#ifndef PVPERF_CLI_RECORD_H
#define PVPERF_CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <pvperf/capture.h>
#include <pvperf/client.h>
#include <pvperf/symbols.h>

#include "child.h"
#include "parse.h"

#define RECORD_FILES 64
#define RECORD_DOMAINS 256
#define RECORD_RING_ORDER 4 /* 16 pages: 64 KiB for each virtual CPU */

/* ---- record_options.c ---- */

struct record_options {
    struct parse_event events[PVPERF_MAX_EVENTS];
    unsigned int nr_events;              /* 0: choose one */
    uint64_t freq;                       /* 0: not given */
    uint64_t period;                     /* 0: not given */
    const char *domains[RECORD_DOMAINS]; /* as typed, one each */
    unsigned int nr_domains;
    bool all;
    bool callchain;
    bool xen;
    bool idle;
    bool quiet;
    uint8_t ring_order;
    uint64_t duration_ns; /* 0: no end */
    const char *output;
    const char *xen_syms;
    const char *socket;
    struct parse_file kernels[RECORD_FILES];
    struct parse_file programs[RECORD_FILES];
    unsigned int nr_kernels;
    unsigned int nr_programs;
    char **command; /* NULL: none */
    char line[512]; /* the whole command line */
};

/* 0, an exit status after a message, or -1 after --help. */
int record_options_parse(struct record_options *o, int argc, char **argv);

/* ---- record_file.c ---- */

struct record_domain {
    uint16_t domid;
    uint8_t uuid[16];
    uint32_t nr_vcpus;
    char name[PVPERF_NAME_LEN];
    uint64_t samples;
    bool gone;
    bool late_kernel; /* its kernel is looked for when all is recorded */
};

struct record_file {
    struct pvperf_capture_writer *writer; /* NULL: not begun */
    const char *path;
    bool quiet;
    int error; /* of the first write that failed */
    struct pvperf_err err;
    struct pvperf_capture_info info;
    struct record_domain *domains;
    size_t nr_domains;
    size_t last_domain; /* of the last sample: mostly the next one's */
    uint64_t samples;
    uint64_t idle_samples;                 /* of those, without a domain */
    uint64_t lost_told[PVPERF_MAX_EVENTS]; /* by LOST records */
    struct pvperf_counts counts[PVPERF_MAX_EVENTS];
    bool have_counts;
    uint64_t bytes; /* when finished */
};

/*
 * Begin the capture with the domains known so far: an old file becomes FILE.old. 0, or a negative errno
 * with a line in @f->err.
 */
int record_file_begin(struct record_file *f, const char *path);

/* A domain that may have samples, new or known; 0 or -ENOMEM. */
int record_file_domain(struct record_file *f, const struct pvperf_domain *d);
struct record_domain *record_file_find(struct record_file *f, uint16_t domid);

/* A file with symbols, in a form that perf can read as well. */
int record_file_object(struct record_file *f, uint16_t domid, uint64_t bias,
                       struct pvperf_object *o);

void record_file_sample(struct record_file *f, const struct pvperf_sample *s);
void record_file_lost(struct record_file *f, const struct pvperf_lost *lost);
void record_file_counts(struct record_file *f, const struct pvperf_session_counts *c);
/* Samples lost so far, of one event and of all. */
uint64_t record_file_lost_of(const struct record_file *f, unsigned int event);
uint64_t record_file_lost_all(const struct record_file *f);
uint64_t record_file_bytes(const struct record_file *f);

/* Complete and close it; @end is Xen's time at the end. As _begin(). */
int record_file_finish(struct record_file *f, uint64_t end);
void record_file_free(struct record_file *f);

#endif
