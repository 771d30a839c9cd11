// SPDX-License-Identifier: GPL-2.0-only
#include "record.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

enum {
    OPT_XEN = 256,
    OPT_IDLE,
    OPT_DURATION,
    OPT_KERNEL,
    OPT_PROGRAM,
    OPT_XEN_SYMS,
    OPT_SOCKET,
};

static const struct option long_options[] = {
    {"event", required_argument, NULL, 'e'},
    {"freq", required_argument, NULL, 'F'},
    {"period", required_argument, NULL, 'c'},
    {"domain", required_argument, NULL, 'd'},
    {"all", no_argument, NULL, 'a'},
    {"call-graph", no_argument, NULL, 'g'},
    {"xen", no_argument, NULL, OPT_XEN},
    {"idle", no_argument, NULL, OPT_IDLE},
    {"ring-pages", required_argument, NULL, 'm'},
    {"output", required_argument, NULL, 'o'},
    {"duration", required_argument, NULL, OPT_DURATION},
    {"kernel", required_argument, NULL, OPT_KERNEL},
    {"program", required_argument, NULL, OPT_PROGRAM},
    {"xen-syms", required_argument, NULL, OPT_XEN_SYMS},
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int usage_of(const struct pvperf_err *err)
{
    return ui_usage("record: %s", err->text);
}

static int add_event(struct record_options *o, const char *spec)
{
    struct pvperf_err err;

    if (o->nr_events == PVPERF_MAX_EVENTS)
        return ui_usage("record: more than %d events; leave some out", PVPERF_MAX_EVENTS);
    if (parse_event(spec, &o->events[o->nr_events], &err))
        return usage_of(&err);
    o->nr_events++;
    return 0;
}

/* Cut the list in place: the words stay where the arguments are. */
static int add_domains(struct record_options *o, char *list)
{
    char *word, *save = NULL;
    unsigned int before = o->nr_domains;

    for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        if (o->nr_domains == RECORD_DOMAINS)
            return ui_usage("record: more than %d domains; use -a", RECORD_DOMAINS);
        o->domains[o->nr_domains++] = word;
    }
    if (o->nr_domains == before)
        return ui_usage("record: -d needs a domain; 'pvperf list domains' shows them");
    return 0;
}

static int add_file(struct parse_file *files, unsigned int *nr, int with_base)
{
    struct pvperf_err err;

    if (*nr == RECORD_FILES)
        return ui_usage("record: more than %d files; leave some out", RECORD_FILES);
    if (parse_file(optarg, with_base, &files[*nr], &err))
        return usage_of(&err);
    (*nr)++;
    return 0;
}

static int take_value(struct record_options *o, int opt)
{
    struct pvperf_err err;
    int rc = 0;

    switch (opt) {
    case 'F':
        rc = parse_number(optarg, "frequency", 1, UINT32_MAX, &o->freq, &err);
        break;
    case 'c':
        rc = parse_number(optarg, "period", 1, UINT64_MAX / 2, &o->period, &err);
        break;
    case 'm':
        rc = parse_ring_pages(optarg, &o->ring_order, &err);
        break;
    case OPT_DURATION:
        rc = parse_duration(optarg, &o->duration_ns, &err);
        break;
    }
    return rc ? usage_of(&err) : 0;
}

static int take_flag(struct record_options *o, int opt)
{
    switch (opt) {
    case 'a':
        o->all = true;
        return 0;
    case 'g':
        o->callchain = true;
        return 0;
    case OPT_XEN:
        o->xen = true;
        return 0;
    case OPT_IDLE:
        o->idle = true;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    }
    return 1;
}

static int take_option(struct record_options *o, int opt, char **argv)
{
    switch (opt) {
    case 'e':
        return add_event(o, optarg);
    case 'd':
        return add_domains(o, optarg);
    case OPT_KERNEL:
        return add_file(o->kernels, &o->nr_kernels, 0);
    case OPT_PROGRAM:
        return add_file(o->programs, &o->nr_programs, 1);
    case 'o':
        o->output = optarg;
        return 0;
    case OPT_XEN_SYMS:
        o->xen_syms = optarg;
        return 0;
    case OPT_SOCKET:
        o->socket = optarg;
        return 0;
    case 'F':
    case 'c':
    case 'm':
    case OPT_DURATION:
        return take_value(o, opt);
    }
    return take_flag(o, opt) ? ui_bad_option(opt, argv) : 0;
}

static int check_together(struct record_options *o)
{
    if (o->freq && o->period)
        return ui_usage("record: -F and -c exclude each other; give one of them");
    if (o->all && o->nr_domains)
        return ui_usage("record: -a and -d exclude each other; give one of them");
    if (!o->output[0] || !strcmp(o->output, "-"))
        return ui_usage("record: a capture needs a file; give its name with -o");
    if (!o->nr_domains)
        o->all = true;
    return 0;
}

static void join_line(struct record_options *o, int argc, char **argv)
{
    size_t used;
    int i;

    text_copy(o->line, "pvperf", sizeof(o->line));
    for (i = 0; i < argc; i++) {
        used = strlen(o->line);
        snprintf(o->line + used, sizeof(o->line) - used, " %s", argv[i]);
    }
    text_clean(o->line);
}

int record_options_parse(struct record_options *o, int argc, char **argv)
{
    int opt, rc;

    memset(o, 0, sizeof(*o));
    o->output = CLI_DEFAULT_FILE;
    o->ring_order = RECORD_RING_ORDER;
    join_line(o, argc, argv);
    /* '+': the options of COMMAND are not ours. */
    while ((opt = getopt_long(argc, argv, "+:e:F:c:d:agm:o:qh", long_options, NULL)) !=
           -1) {
        if (opt == 'h') {
            ui_help(argv[0]);
            return -1;
        }
        rc = take_option(o, opt, argv);
        if (rc)
            return rc;
    }
    if (optind < argc)
        o->command = argv + optind;
    return check_together(o);
}
