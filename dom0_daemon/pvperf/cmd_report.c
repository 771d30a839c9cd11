// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf report: the profile of a capture as text.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "view.h"

enum {
    OPT_LIMIT = VIEW_OPT_OTHER,
    OPT_SORT,
    OPT_COUNTS,
    OPT_LOST,
    OPT_OBJECTS,
};

static const struct option options[] = {
    VIEW_LONG,
    {"limit", required_argument, NULL, OPT_LIMIT},
    {"sort", required_argument, NULL, OPT_SORT},
    {"counts", no_argument, NULL, OPT_COUNTS},
    {"lost", no_argument, NULL, OPT_LOST},
    {"objects", no_argument, NULL, OPT_OBJECTS},
    {NULL, 0, NULL, 0},
};

static int parse_sort(const char *key, enum pvperf_profile_sort *sort)
{
    static const char *const keys[] = {"weight", "name", NULL};
    const char *near = text_suggest(key, keys);

    if (!strcmp(key, "weight"))
        *sort = PVPERF_SORT_WEIGHT;
    else if (!strcmp(key, "name"))
        *sort = PVPERF_SORT_NAME;
    else
        return ui_usage("report: cannot sort by '%s'; use %s", key,
                        near ? near : "weight or name");
    return 0;
}

/* The options; @table is one of OPT_COUNTS, _LOST, _OBJECTS, or 0. */
static int parse_options(int argc, char **argv, struct view *v,
                         struct pvperf_report_options *report, int *table)
{
    struct pvperf_err err;
    uint64_t number;
    int opt, rc;

    while ((opt = getopt_long(argc, argv, ":" VIEW_SHORT, options, NULL)) != -1) {
        rc = 0;
        if (opt == 'h') {
            ui_help(argv[0]);
            return -1;
        } else if (opt == OPT_LIMIT) {
            rc = parse_number(optarg, "limit", 1, 1000000, &number, &err);
            if (rc)
                return ui_usage("report: %s", err.text);
            report->top = number;
        } else if (opt == OPT_SORT) {
            rc = parse_sort(optarg, &report->sort);
        } else if (opt == OPT_COUNTS || opt == OPT_LOST || opt == OPT_OBJECTS) {
            *table = opt;
        } else {
            rc = view_option(v, opt, argv);
        }
        if (rc)
            return rc;
    }
    return optind < argc ? ui_bad_argument(argv) : 0;
}

static int print_event(struct view *v, int event, struct pvperf_report_options *report)
{
    struct pvperf_profile *p = view_profile(v, event, false);
    int rc;

    if (!p)
        return EXIT_FAILURE;
    rc = pvperf_profile_report(p, stdout, report);
    pvperf_profile_free(p);
    /* Errors of the output are told when all is flushed. */
    return rc ? EXIT_FAILURE : 0;
}

static int print_report(struct view *v, struct pvperf_report_options *report)
{
    unsigned int i;
    int rc = 0;

    report->filter = v->filter;
    report->color = ui_color(stdout);
    report->capture = v->input;
    report->info = v->info;
    report->summary = v->summary;
    if (v->only_event >= 0 || v->info->nr_events == 1)
        return print_event(v, v->only_event, report);
    /* Nanoseconds and cycles do not add up: one report for each event. */
    for (i = 0; i < v->info->nr_events && !rc; i++) {
        printf("%s# Event %u of %u: %s\n", i ? "\n" : "", i + 1, v->info->nr_events,
               v->info->event_names[i]);
        rc = print_event(v, (int)i, report);
    }
    return rc;
}

/* ---- tables for scripts ---- */

static void print_counts(const struct view *v)
{
    const struct pvperf_counts *c;
    unsigned int i;

    puts("event overflows recorded lost filtered throttled enabled_ns running_ns");
    for (i = 0; i < v->info->nr_events && v->summary->has_counts; i++) {
        c = &v->summary->counts[i];
        printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 "\n",
               v->info->event_names[i], c->overflows, c->recorded, c->lost, c->filtered,
               c->throttled, c->time_enabled, c->time_running);
    }
}

static void print_losses(struct view *v)
{
    struct pvperf_capture_rec rec;
    const struct pvperf_lost *lost = &rec.u.lost;
    struct pvperf_err err;

    puts("count event domid vcpu first last");
    pvperf_capture_rewind(v->reader);
    while (pvperf_capture_next(v->reader, &rec, &err) == 1) {
        if (rec.type != PVPERF_CAPTURE_LOST || lost->event >= v->info->nr_events)
            continue;
        printf("%" PRIu64 " %s %u %u %" PRIu64 ".%09" PRIu64 " %" PRIu64 ".%09" PRIu64
               "\n",
               lost->count, v->info->event_names[lost->event], lost->domid, lost->vcpu,
               lost->time_first / 1000000000, lost->time_first % 1000000000,
               lost->time_last / 1000000000, lost->time_last % 1000000000);
    }
}

static void print_objects(const struct view *v)
{
    size_t i, j, nr = pvperf_capture_nr_objects(v->reader);
    const char *path;

    for (i = 0; i < nr; i++) {
        path = pvperf_capture_get_object(v->reader, i)->path;
        for (j = 0; j < i; j++) {
            if (!strcmp(pvperf_capture_get_object(v->reader, j)->path, path))
                break;
        }
        if (j == i)
            puts(path);
    }
}

static int print_table(struct view *v, int table)
{
    int rc = view_open_file(v);

    if (rc)
        return rc;
    if (table == OPT_COUNTS)
        print_counts(v);
    else if (table == OPT_LOST)
        print_losses(v);
    else
        print_objects(v);
    return 0;
}

int cmd_report(int argc, char **argv)
{
    struct pvperf_report_options report = {.sort = PVPERF_SORT_WEIGHT};
    struct view *v = calloc(1, sizeof(*v));
    int rc, table = 0;

    if (!v)
        return ui_error("out of memory; close other programs");
    rc = parse_options(argc, argv, v, &report, &table);
    if (!rc && table) {
        rc = print_table(v, table);
    } else if (!rc) {
        rc = view_open(v);
        if (!rc)
            rc = print_report(v, &report);
    }
    if (!rc && v->damaged)
        rc = EXIT_FAILURE;
    view_close(v);
    free(v);
    return rc < 0 ? EXIT_SUCCESS : rc;
}
