/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile_report.c: the text report. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile_private.h"

#define DEFAULT_TOP 30

struct report {
    const struct pvperf_profile *profile;
    const struct pvperf_report_options *options;
    FILE *out;
};

static void heading(const struct report *r, const char *text)
{
    fprintf(r->out, "\n%s%s%s\n", r->options->color ? "\033[1m" : "", text,
            r->options->color ? "\033[0m" : "");
}

/* Texts of the capture come from a file: only printable ASCII goes out. */
static void print_text(const struct report *r, const char *text)
{
    for (; *text; text++)
        fputc(*text >= 0x20 && *text < 0x7f ? *text : '?', r->out);
}

static void print_label(const struct report *r, const char *label)
{
    fprintf(r->out, "%-10s", label);
}

static void print_field(const struct report *r, const char *label, const char *text)
{
    if (!text[0])
        return;
    print_label(r, label);
    print_text(r, text);
    fputc('\n', r->out);
}

static void print_event(const struct report *r, const struct pvperf_capture_info *info,
                        unsigned int i)
{
    const struct pvperf_event *e = &info->events[i];

    print_text(r, info->event_names[i]);
    if (e->flags & PVPERF_EVENT_FLAG_FREQ)
        fprintf(r->out, " (%" PRIu64 " samples a second and CPU)", e->rate);
    else if (e->type == PVPERF_EVENT_TIMER)
        fprintf(r->out, " (every %" PRIu64 " ns)", e->rate);
    else
        fprintf(r->out, " (every %" PRIu64 " events)", e->rate);
}

static void print_events(const struct report *r, const struct pvperf_capture_info *info)
{
    int only = r->profile->options.event;
    unsigned int i;

    for (i = 0; i < info->nr_events; i++) {
        if (only >= 0 && (unsigned int)only != i)
            continue;
        print_label(r, "event");
        print_event(r, info, i);
        fputc('\n', r->out);
    }
}

static void print_duration(const struct report *r,
                           const struct pvperf_profile_totals *totals)
{
    const struct pvperf_capture_info *info = r->options->info;
    const struct pvperf_capture_summary *summary = r->options->summary;
    uint64_t from = totals->first_time, to = totals->last_time;

    if (info && info->start_time && info->start_time <= from)
        from = info->start_time;
    if (summary && summary->end_time >= to)
        to = summary->end_time;
    if (to <= from)
        return;
    print_label(r, "duration");
    fprintf(r->out, "%.3f s\n", (double)(to - from) / 1e9);
}

/*
 * Losses as Xen counted them, if the capture has that: LOST records of the
 * very end may be missing.
 */
static uint64_t losses(const struct report *r, const struct pvperf_profile_totals *totals)
{
    const struct pvperf_capture_summary *s = r->options->summary;
    const struct pvperf_capture_info *info = r->options->info;
    int only = r->profile->options.event;
    uint64_t lost = 0;
    unsigned int i;

    if (!s || !s->has_counts || !info)
        return totals->lost;
    for (i = 0; i < info->nr_events && i < PVPERF_MAX_EVENTS; i++)
        if (only < 0 || (unsigned int)only == i)
            lost += s->counts[i].lost;
    return lost > totals->lost ? lost : totals->lost;
}

/* What the numbers of an event stand for, where that is not obvious. */
static void print_event_notes(const struct report *r)
{
    const struct pvperf_capture_summary *s = r->options->summary;
    const struct pvperf_capture_info *info = r->options->info;
    int only = r->profile->options.event;
    unsigned int i;

    if (!s || !s->has_counts || !info)
        return;
    for (i = 0; i < info->nr_events && i < PVPERF_MAX_EVENTS; i++) {
        const struct pvperf_counts *c = &s->counts[i];

        if (only >= 0 && (unsigned int)only != i)
            continue;
        if (c->throttled)
            fprintf(r->out,
                    "%-10s%s: its period was too short for this host; %" PRIu64
                    " samples were saved, others stand for them\n",
                    "throttled", info->event_names[i], c->throttled);
        if (c->time_running / 1000 * 1001 < c->time_enabled)
            fprintf(r->out,
                    "%-10s%s had a counter %.1f%% of the time: more events than "
                    "counters\n",
                    "turns", info->event_names[i],
                    100.0 * (double)c->time_running / (double)c->time_enabled);
    }
}

static void print_samples(const struct report *r, uint64_t shown)
{
    struct pvperf_profile_totals totals;
    uint64_t lost, all;

    pvperf_profile_get_totals(r->profile, &totals);
    lost = losses(r, &totals);
    all = totals.samples + lost;
    print_duration(r, &totals);
    print_label(r, "samples");
    fprintf(r->out, "%" PRIu64, totals.samples);
    if (shown != totals.samples)
        fprintf(r->out, ", of which %" PRIu64 " pass the filter", shown);
    fputc('\n', r->out);
    if (lost)
        fprintf(r->out,
                "%s%-10s%" PRIu64 " samples (%.2f%% of %" PRIu64
                ") found their ring full; use larger rings or a lower rate%s\n",
                r->options->color ? "\033[31m" : "", "LOST", lost,
                100.0 * (double)lost / (double)all, all,
                r->options->color ? "\033[0m" : "");
    print_event_notes(r);
    if (totals.overflowed)
        fprintf(r->out,
                "%-10s%" PRIu64 " samples are in \"[other]\": more functions "
                "than the profile has room for\n",
                "other", totals.overflowed);
}

static void print_header(const struct report *r, uint64_t shown)
{
    const struct pvperf_capture_info *info = r->options->info;
    const struct pvperf_capture_summary *summary = r->options->summary;

    if (r->options->capture)
        print_field(r, "capture", r->options->capture);
    if (info) {
        print_field(r, "host", info->hostname);
        print_field(r, "Xen", info->xen_version);
        print_field(r, "command", info->command);
        print_events(r, info);
    }
    print_samples(r, shown);
    if (summary && (summary->truncated || summary->damaged))
        print_field(r, "note",
                    summary->damaged ? "the capture is damaged; this is what "
                                       "comes before the damage"
                                     : "the capture is cut off; this is what "
                                       "it still holds");
    else if (summary && !summary->finished)
        print_field(r, "note", "the capture was not finished; this is what was written");
}

/* ---- tables ---- */

struct widths {
    int domain;
    int object;
    int symbol;
};

static int wider(int width, const char *text, int max)
{
    int len = text ? (int)strnlen(text, (size_t)max) : 0;

    return len > width ? len : width;
}

static struct widths measure(const struct pvperf_profile_row *rows, size_t nr)
{
    struct widths w = {.domain = 6, .object = 6, .symbol = 8};
    size_t i;

    for (i = 0; i < nr; i++) {
        w.domain = wider(w.domain, rows[i].domain, 24);
        w.object = wider(w.object, rows[i].object, 32);
        w.symbol = wider(w.symbol, rows[i].symbol, 48);
    }
    return w;
}

static const char *share_color(const struct report *r, double share)
{
    if (!r->options->color)
        return "";
    return share >= 0.05 ? "\033[31m" : share >= 0.005 ? "\033[32m" : "";
}

static void print_share(const struct report *r, const struct pvperf_profile_row *row)
{
    const char *color = share_color(r, row->share);

    fprintf(r->out, "%s%7.2f%%%s ±%5.2f %9" PRIu64 "  ", color, 100 * row->share,
            color[0] ? "\033[0m" : "", 100 * row->error, row->samples);
}

static void print_columns(const struct report *r, enum pvperf_profile_by by,
                          const struct widths *w)
{
    fprintf(r->out, "%8s %6s %9s  ", "share", "error", "samples");
    if (by == PVPERF_BY_DOMAIN)
        fprintf(r->out, "domain\n");
    else
        fprintf(r->out, "%-*s  ", w->domain, "domain");
    if (by == PVPERF_BY_MODE)
        fprintf(r->out, "mode\n");
    else if (by > PVPERF_BY_MODE)
        fprintf(r->out, "%-10s  ", "mode");
    if (by == PVPERF_BY_OBJECT)
        fprintf(r->out, "object\n");
    else if (by > PVPERF_BY_OBJECT)
        fprintf(r->out, "%-*s  function\n", w->object, "object");
}

static void print_row(const struct report *r, enum pvperf_profile_by by,
                      const struct pvperf_profile_row *row, const struct widths *w)
{
    print_share(r, row);
    switch (by) {
    case PVPERF_BY_DOMAIN:
        fprintf(r->out, "%s", row->domain);
        if (row->domid != PVPERF_DOMID_IDLE)
            fprintf(r->out, " (%u)", row->domid);
        fputc('\n', r->out);
        break;
    case PVPERF_BY_MODE:
        fprintf(r->out, "%-*s  %s\n", w->domain, row->domain,
                pvperf_mode_name(row->mode));
        break;
    case PVPERF_BY_OBJECT:
        fprintf(r->out, "%-*s  %-10s  %s\n", w->domain, row->domain,
                pvperf_mode_name(row->mode), row->object);
        break;
    case PVPERF_BY_FUNCTION:
        fprintf(r->out, "%-*s  %-10s  %-*s  %s\n", w->domain, row->domain,
                pvperf_mode_name(row->mode), w->object, row->object, row->symbol);
        break;
    }
}

static void print_rows(const struct report *r, enum pvperf_profile_by by,
                       const struct pvperf_profile_row *rows, size_t nr, size_t top)
{
    size_t i, shown = nr > top ? top : nr;
    struct widths w = measure(rows, shown);
    uint64_t samples = 0;
    double share = 0;

    print_columns(r, by, &w);
    for (i = 0; i < shown; i++)
        print_row(r, by, &rows[i], &w);
    for (; i < nr; i++) {
        share += rows[i].share;
        samples += rows[i].samples;
    }
    if (nr > shown)
        fprintf(r->out, "%7.2f%% %6s %9" PRIu64 "  in %zu more\n", 100 * share, "",
                samples, nr - shown);
}

static int print_table(const struct report *r, enum pvperf_profile_by by,
                       const char *title)
{
    size_t nr, top = r->options->top ? r->options->top : DEFAULT_TOP;
    struct pvperf_profile_row *rows;
    int rc = pvperf_profile_query(r->profile, by, r->options->sort, &r->options->filter,
                                  &rows, &nr);

    if (rc)
        return rc;
    heading(r, title);
    print_rows(r, by, rows, nr, by < PVPERF_BY_OBJECT ? SIZE_MAX : top);
    free(rows);
    return 0;
}

static int count_shown(const struct report *r, uint64_t *shown)
{
    struct pvperf_profile_row *rows;
    size_t nr, i;
    int rc = pvperf_profile_query(r->profile, PVPERF_BY_DOMAIN, PVPERF_SORT_NAME,
                                  &r->options->filter, &rows, &nr);

    if (rc)
        return rc;
    for (*shown = 0, i = 0; i < nr; i++)
        *shown += rows[i].samples;
    free(rows);
    return 0;
}

int pvperf_profile_report(const struct pvperf_profile *p, FILE *out,
                          const struct pvperf_report_options *options)
{
    struct report r = {.profile = p, .options = options, .out = out};
    uint64_t shown;
    int rc = count_shown(&r, &shown);

    if (rc)
        return rc;
    print_header(&r, shown);
    if (shown) {
        rc = print_table(&r, PVPERF_BY_DOMAIN, "By domain");
        if (!rc)
            rc = print_table(&r, PVPERF_BY_MODE, "By mode");
        if (!rc)
            rc = print_table(&r, PVPERF_BY_OBJECT, "By object");
        if (!rc)
            rc = print_table(&r, PVPERF_BY_FUNCTION, "By function");
    } else {
        fprintf(out, "\nNo samples%s.\n", p->totals.samples ? " pass the filter" : "");
    }
    if (!rc && (fflush(out) || ferror(out)))
        rc = errno ? -errno : -EIO;
    return rc;
}
