/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parse.h: what an operator types, as data. Pure functions: they touch
 * nothing but their arguments.
 *
 * All return 0, or a negative errno with one line in @err; outputs are
 * untouched on failure.
 */
#ifndef PVPERF_CLI_PARSE_H
#define PVPERF_CLI_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include <pvperf/abi.h>
#include <pvperf/error.h>

#define PARSE_EVENT_NAME 64
#define PARSE_PATH 1024

/* An event as given to -e: which, in which modes; the rate is set elsewhere. */
struct parse_event {
    struct pvperf_event event;   /* type, config, modes; the rest zero */
    char name[PARSE_EVENT_NAME]; /* as typed, modes included */
};

/* Names of the events that are not raw, ended by NULL; [0] is the timer. */
extern const char *const parse_event_names[];

/* EVENT[:MODES]: a name or rHEX; MODES of u, k, h, i (default: all). */
int parse_event(const char *spec, struct parse_event *out, struct pvperf_err *err);

/* The name of an event, without its modes, for tables. */
void parse_event_name(const struct pvperf_event *event, char *buf, size_t size);

/* user, kernel, hypervisor, idle, or their first letters, separated by ','. */
int parse_modes(const char *spec, uint8_t *modes, struct pvperf_err *err);

/* A whole number with an optional k, M or G (thousands); @what names it. */
int parse_number(const char *spec, const char *what, uint64_t min, uint64_t max,
                 uint64_t *out, struct pvperf_err *err);

/* Seconds, fractions allowed, or with ms, s, m, h; to nanoseconds, not 0. */
int parse_duration(const char *spec, uint64_t *ns, struct pvperf_err *err);

/* Data pages of a ring, a power of two; to its log2. */
int parse_ring_pages(const char *spec, uint8_t *order, struct pvperf_err *err);

/* DOM=FILE, and DOM=FILE@BASE if @base is not NULL (BASE hexadecimal). */
struct parse_file {
    char domain[PARSE_EVENT_NAME * 2]; /* as typed */
    char path[PARSE_PATH];
    uint64_t base; /* 0: none given */
};

int parse_file(const char *spec, int with_base, struct parse_file *out,
               struct pvperf_err *err);

/* 8-4-4-4-12 hexadecimal digits. 0, or -EINVAL. */
int parse_uuid(const char *spec, uint8_t uuid[16]);

/* ---- domains ---- */

/* What is known of a domain, from the daemon or from a capture. */
struct parse_domain {
    uint16_t domid;
    uint8_t uuid[16];
    const char *name;
};

/*
 * The domain that @spec names: an id, a UUID or a name. @where ends the line
 * for a domain that is not there: "run 'pvperf list domains'". -ESRCH: none;
 * -ENOTUNIQ: several.
 */
int parse_domain(const char *spec, const struct parse_domain *domains, size_t nr,
                 const char *where, size_t *index, struct pvperf_err *err);

/* Split "A,B,C": the next word into @word, or 0 at the end, -EINVAL if empty. */
int parse_word(const char **list, char *word, size_t size);

#endif
