// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf flamegraph: a capture as SVG, HTML or folded stacks.
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pvperf/flamegraph.h>

#include "text.h"
#include "view.h"

enum { OPT_TITLE = VIEW_OPT_OTHER };

static const struct option options[] = {
    VIEW_LONG,
    {"output", required_argument, NULL, 'o'},
    {"title", required_argument, NULL, OPT_TITLE},
    {NULL, 0, NULL, 0},
};

typedef int flamegraph_fn(const struct pvperf_profile *p, FILE *out,
                          const struct pvperf_flamegraph_options *options);

static flamegraph_fn *format_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    if (!strcmp(path, "-") || (dot && !strcmp(dot, ".folded")))
        return pvperf_flamegraph_folded;
    if (dot && !strcmp(dot, ".svg"))
        return pvperf_flamegraph_svg;
    if (dot && !strcmp(dot, ".html"))
        return pvperf_flamegraph_html;
    return NULL;
}

static int parse_options(int argc, char **argv, struct view *v, const char **output,
                         struct pvperf_flamegraph_options *graph)
{
    int opt, rc;

    while ((opt = getopt_long(argc, argv, ":o:" VIEW_SHORT, options, NULL)) != -1) {
        rc = 0;
        if (opt == 'h') {
            ui_help(argv[0]);
            return -1;
        } else if (opt == 'o') {
            *output = optarg;
        } else if (opt == OPT_TITLE) {
            graph->title = optarg;
        } else {
            rc = view_option(v, opt, argv);
        }
        if (rc)
            return rc;
    }
    if (!format_of(*output))
        return ui_usage("flamegraph: cannot tell the format of '%s'; end it with .svg, "
                        ".html or .folded",
                        *output);
    return optind < argc ? ui_bad_argument(argv) : 0;
}

/* Into a new file that takes the place of the old one when it is complete. */
static int write_file(const struct pvperf_profile *p, const char *path,
                      const struct pvperf_flamegraph_options *graph)
{
    char *temporary;
    FILE *out;
    int rc;

    if (asprintf(&temporary, "%s.new", path) < 0)
        return ui_error("out of memory; close other programs");
    out = fopen(temporary, "we");
    if (!out) {
        rc = ui_error("cannot write %s: %s", path, strerror(errno));
        free(temporary);
        return rc;
    }
    rc = format_of(path)(p, out, graph);
    if (fclose(out) && !rc)
        rc = -errno;
    if (!rc && rename(temporary, path))
        rc = -errno;
    if (rc) {
        remove(temporary);
        rc = ui_error("cannot write %s: %s", path, strerror(-rc));
    }
    free(temporary);
    return rc;
}

/* Samples that pass the filter. */
static uint64_t count_drawn(const struct pvperf_profile *p, const struct view *v)
{
    struct pvperf_profile_row *rows;
    uint64_t samples = 0;
    size_t nr, i;

    if (pvperf_profile_query(p, PVPERF_BY_DOMAIN, PVPERF_SORT_NAME, &v->filter, &rows,
                             &nr))
        return 0;
    for (i = 0; i < nr; i++)
        samples += rows[i].samples;
    free(rows);
    return samples;
}

static int draw(struct view *v, const char *output,
                struct pvperf_flamegraph_options *graph)
{
    struct pvperf_profile *p;
    uint64_t samples;
    char count[32];
    int rc = 0;

    /* Nanoseconds and cycles do not add up. */
    if (v->only_event < 0 && v->info->nr_events > 1) {
        v->only_event = 0;
        ui_note("only event '%s' is drawn; choose another with --event",
                v->info->event_names[0]);
    }
    p = view_profile(v, v->only_event, true);
    if (!p)
        return EXIT_FAILURE;
    graph->filter = v->filter;
    samples = count_drawn(p, v);
    if (!samples)
        rc = ui_error("no sample of %s passes the filter; nothing to draw", v->input);
    else if (!strcmp(output, "-"))
        rc = pvperf_flamegraph_folded(p, stdout, graph) ? EXIT_FAILURE : 0;
    else
        rc = write_file(p, output, graph);
    if (!rc && strcmp(output, "-")) {
        text_count(samples, count, sizeof(count));
        ui_note("%s samples drawn to %s", count, output);
    }
    pvperf_profile_free(p);
    return rc;
}

int cmd_flamegraph(int argc, char **argv)
{
    struct pvperf_flamegraph_options graph = {.title = NULL};
    const char *output = "pvperf.svg";
    struct view *v = calloc(1, sizeof(*v));
    int rc;

    if (!v)
        return ui_error("out of memory; close other programs");
    rc = parse_options(argc, argv, v, &output, &graph);
    if (!rc)
        rc = view_open(v);
    if (!rc)
        rc = draw(v, output, &graph);
    if (!rc && v->damaged)
        rc = EXIT_FAILURE;
    view_close(v);
    free(v);
    return rc < 0 ? EXIT_SUCCESS : rc;
}
