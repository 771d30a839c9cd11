// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf script: the samples of a capture, one line each.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "view.h"

enum { OPT_FIELDS = VIEW_OPT_OTHER };

static const struct option options[] = {
    VIEW_LONG,
    {"fields", required_argument, NULL, OPT_FIELDS},
    {NULL, 0, NULL, 0},
};

static const char *const field_names[] = {
    "time",   "domain", "vcpu", "cpu", "event",  "mode", "ip", "symbol",
    "offset", "object", "pt",   "tag", "period", "skid", NULL,
};

enum field {
    FIELD_TIME,
    FIELD_DOMAIN,
    FIELD_VCPU,
    FIELD_CPU,
    FIELD_EVENT,
    FIELD_MODE,
    FIELD_IP,
    FIELD_SYMBOL,
    FIELD_OFFSET,
    FIELD_OBJECT,
    FIELD_PT,
    FIELD_TAG,
    FIELD_PERIOD,
    FIELD_SKID,
};

#define FIELDS_MAX 32

struct fields {
    unsigned int nr; /* 0: the form for people */
    enum field list[FIELDS_MAX];
};

static int add_field(struct fields *f, const char *word)
{
    const char *near;
    unsigned int i;

    for (i = 0; field_names[i]; i++) {
        if (strcmp(field_names[i], word))
            continue;
        f->list[f->nr++] = (enum field)i;
        return 0;
    }
    near = text_suggest(word, field_names);
    if (near)
        return ui_usage("script: there is no field '%s'; did you mean '%s'?", word, near);
    return ui_usage("script: there is no field '%s'; 'pvperf help script' lists them",
                    word);
}

static int parse_fields(const char *list, struct fields *f)
{
    char word[32];
    int rc;

    f->nr = 0;
    while ((rc = parse_word(&list, word, sizeof(word))) > 0) {
        if (f->nr == FIELDS_MAX)
            return ui_usage("script: more than %d fields; leave some out", FIELDS_MAX);
        rc = add_field(f, word);
        if (rc)
            return rc;
    }
    return rc < 0 || !f->nr ? ui_usage("script: --fields needs names separated by commas")
                            : 0;
}

static int parse_options(int argc, char **argv, struct view *v, struct fields *fields)
{
    int opt, rc;

    while ((opt = getopt_long(argc, argv, ":" VIEW_SHORT, options, NULL)) != -1) {
        if (opt == 'h') {
            ui_help(argv[0]);
            return -1;
        }
        rc = opt == OPT_FIELDS ? parse_fields(optarg, fields) : view_option(v, opt, argv);
        if (rc)
            return rc;
    }
    return optind < argc ? ui_bad_argument(argv) : 0;
}

static void print_address(struct view *v, const struct pvperf_sample *s,
                          unsigned int mode, uint64_t address)
{
    struct pvperf_location loc;

    pvperf_symbols_lookup(v->symbols, s->domid, mode, s->pt_base, address, &loc);
    printf("%16" PRIx64 " %s", address, loc.symbol);
    if (loc.known)
        printf("+0x%" PRIx64, loc.offset);
    printf(" (%s)\n", loc.object);
}

static void print_chain(struct view *v, const struct pvperf_sample *s)
{
    unsigned int nr = (unsigned int)s->nr_xen + s->nr_kernel + s->nr_user;
    unsigned int i, mode;

    for (i = 0; i < nr && i < PVPERF_MAX_STACK; i++) {
        mode = i < s->nr_xen                                ? PVPERF_MODE_HYPERVISOR
               : i < (unsigned int)s->nr_xen + s->nr_kernel ? PVPERF_MODE_KERNEL
                                                            : PVPERF_MODE_USER;
        fputs("    ", stdout);
        print_address(v, s, mode, s->chain[i]);
    }
}

static const char *event_name(const struct view *v, unsigned int event)
{
    return event < v->info->nr_events ? v->info->event_names[event] : "[unknown]";
}

static void domain_name(const struct view *v, uint16_t domid, char *buf, size_t size)
{
    const struct pvperf_capture_domain *d = pvperf_capture_find_domain(v->reader, domid);

    if (d && d->name[0])
        snprintf(buf, size, "%s", d->name);
    else
        snprintf(buf, size, "dom%u", domid);
}

static void print_word(const char *value)
{
    char word[512];

    text_word(value, word, sizeof(word));
    fputs(word, stdout);
}

static void print_name_field(struct view *v, const struct pvperf_sample *s,
                             enum field field, const struct pvperf_location *loc)
{
    char domain[PVPERF_CAPTURE_NAME_LEN];

    if (field == FIELD_DOMAIN) {
        domain_name(v, s->domid, domain, sizeof(domain));
        print_word(domain);
    } else if (field == FIELD_EVENT) {
        print_word(event_name(v, s->event));
    } else if (field == FIELD_MODE) {
        print_word(pvperf_mode_name(s->mode));
    } else {
        print_word(field == FIELD_SYMBOL ? loc->symbol : loc->object);
    }
}

static void print_number_field(const struct pvperf_sample *s, enum field field,
                               const struct pvperf_location *loc)
{
    switch (field) {
    case FIELD_TIME:
        printf("%" PRIu64 ".%09" PRIu64, s->time / 1000000000, s->time % 1000000000);
        break;
    case FIELD_VCPU:
        printf("%u", s->vcpu);
        break;
    case FIELD_CPU:
        printf("%u", s->pcpu);
        break;
    case FIELD_IP:
        printf("0x%" PRIx64, s->ip);
        break;
    case FIELD_OFFSET:
        printf("0x%" PRIx64, loc->known ? loc->offset : 0);
        break;
    case FIELD_PT:
        printf("0x%" PRIx64, s->pt_base);
        break;
    case FIELD_TAG:
        printf("0x%" PRIx64, s->tag);
        break;
    case FIELD_PERIOD:
        printf("%" PRIu64, s->period);
        break;
    default:
        printf("%d", !!(s->flags & PVPERF_SAMPLE_FLAG_SKID));
    }
}

/* One word a field, for scripts; no chain. */
static void print_fields(struct view *v, const struct pvperf_sample *s,
                         const struct fields *fields)
{
    struct pvperf_location loc;
    unsigned int i;

    pvperf_symbols_lookup(v->symbols, s->domid, s->mode, s->pt_base, s->ip, &loc);
    for (i = 0; i < fields->nr; i++) {
        if (i)
            putchar(' ');
        switch (fields->list[i]) {
        case FIELD_DOMAIN:
        case FIELD_EVENT:
        case FIELD_MODE:
        case FIELD_SYMBOL:
        case FIELD_OBJECT:
            print_name_field(v, s, fields->list[i], &loc);
            break;
        default:
            print_number_field(s, fields->list[i], &loc);
        }
    }
    putchar('\n');
}

static void print_sample(struct view *v, const struct pvperf_sample *s)
{
    char domain[PVPERF_CAPTURE_NAME_LEN], name[PVPERF_CAPTURE_NAME_LEN + 16];

    domain_name(v, s->domid, domain, sizeof(domain));
    snprintf(name, sizeof(name), "%s/%u", domain, s->vcpu);
    printf("%" PRIu64 ".%09" PRIu64 " %-14s cpu %-3u %s %10s%s ", s->time / 1000000000,
           s->time % 1000000000, name, s->pcpu, event_name(v, s->event),
           pvperf_mode_name(s->mode), s->flags & PVPERF_SAMPLE_FLAG_SKID ? "~" : " ");
    print_address(v, s, s->mode, s->ip);
    print_chain(v, s);
}

static void print_lost(const struct view *v, const struct pvperf_lost *lost)
{
    printf("%" PRIu64 ".%09" PRIu64 " lost %" PRIu64 " samples of %s\n",
           lost->time_last / 1000000000, lost->time_last % 1000000000, lost->count,
           event_name(v, lost->event));
}

static int print_all(struct view *v, const struct fields *fields)
{
    struct pvperf_capture_rec rec;
    struct pvperf_err err;

    if (pvperf_capture_sort(v->reader, &err))
        return ui_error("%s", err.text);
    while (pvperf_capture_next(v->reader, &rec, &err) == 1 && !ferror(stdout)) {
        if (rec.type == PVPERF_CAPTURE_LOST && !v->filter.nr_domains && !fields->nr)
            print_lost(v, &rec.u.lost);
        if (rec.type != PVPERF_CAPTURE_SAMPLE || !view_wants(v, &rec.u.sample))
            continue;
        if (fields->nr)
            print_fields(v, &rec.u.sample, fields);
        else
            print_sample(v, &rec.u.sample);
    }
    return 0;
}

int cmd_script(int argc, char **argv)
{
    struct view *v = calloc(1, sizeof(*v));
    struct fields fields = {.nr = 0};
    int rc;

    if (!v)
        return ui_error("out of memory; close other programs");
    rc = parse_options(argc, argv, v, &fields);
    if (!rc)
        rc = view_open(v);
    if (!rc)
        rc = print_all(v, &fields);
    if (!rc && v->damaged)
        rc = EXIT_FAILURE;
    view_close(v);
    free(v);
    return rc < 0 ? EXIT_SUCCESS : rc;
}
