// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf stat: count events, by domain or by virtual CPU, without samples.
 */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "daemon.h"
#include "events.h"
#include "parse.h"
#include "signals.h"
#include "targets.h"
#include "text.h"

#define STAT_DOMAINS 256
#define TICK_MS 500
#define NS_PER_MS 1000000ull

enum {
    OPT_DURATION = 256,
    OPT_PER_VCPU,
    OPT_JSON,
    OPT_SOCKET,
};

static const struct option long_options[] = {
    {"event", required_argument, NULL, 'e'},
    {"domain", required_argument, NULL, 'd'},
    {"all", no_argument, NULL, 'a'},
    {"interval", required_argument, NULL, 'I'},
    {"duration", required_argument, NULL, OPT_DURATION},
    {"per-vcpu", no_argument, NULL, OPT_PER_VCPU},
    {"json", no_argument, NULL, OPT_JSON},
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct stat {
    struct parse_event events[PVPERF_MAX_EVENTS];
    unsigned int nr_events;
    const char *specs[STAT_DOMAINS];
    unsigned int nr_specs;
    bool all, per_vcpu, json;
    uint64_t duration_ns, interval_ns;
    const char *socket;
    char **command;

    struct child child;
    struct pvperf_client *client;
    struct pvperf_domain *targets;
    size_t nr_targets;
    unsigned int left;                /* targets that live */
    struct pvperf_client_count *last; /* as of the last table */
    size_t nr_last;
    uint64_t start_ns, last_ns;
    bool printed;
};

/* ---- command line ---- */

static int add_event(struct stat *s, const char *spec)
{
    struct pvperf_err err;

    if (s->nr_events == PVPERF_MAX_EVENTS)
        return ui_usage("stat: more than %d events; leave some out", PVPERF_MAX_EVENTS);
    if (parse_event(spec, &s->events[s->nr_events], &err))
        return ui_usage("stat: %s", err.text);
    if (s->events[s->nr_events].event.type == PVPERF_EVENT_TIMER)
        return ui_usage("stat: the timer counts nothing; choose another event");
    s->nr_events++;
    return 0;
}

/* "A,B": the words stay where the arguments are. */
static int add_words(struct stat *s, char *list, int (*add)(struct stat *, const char *))
{
    char *word, *save = NULL;
    int rc = 0;

    for (word = strtok_r(list, ",", &save); word && !rc;
         word = strtok_r(NULL, ",", &save))
        rc = add(s, word);
    return rc;
}

static int add_domain(struct stat *s, const char *spec)
{
    if (s->nr_specs == STAT_DOMAINS)
        return ui_usage("stat: more than %d domains; use -a", STAT_DOMAINS);
    s->specs[s->nr_specs++] = spec;
    return 0;
}

static int take_option(struct stat *s, int opt, char **argv)
{
    struct pvperf_err err;

    switch (opt) {
    case 'e':
        return add_words(s, optarg, add_event);
    case 'd':
        return add_words(s, optarg, add_domain);
    case 'a':
        s->all = true;
        return 0;
    case 'I':
        return parse_duration(optarg, &s->interval_ns, &err)
                   ? ui_usage("stat: %s", err.text)
                   : 0;
    case OPT_DURATION:
        return parse_duration(optarg, &s->duration_ns, &err)
                   ? ui_usage("stat: %s", err.text)
                   : 0;
    case OPT_PER_VCPU:
        s->per_vcpu = true;
        return 0;
    case OPT_JSON:
        s->json = true;
        return 0;
    case OPT_SOCKET:
        s->socket = optarg;
        return 0;
    }
    return ui_bad_option(opt, argv);
}

/* 0, an exit status after a message, or -1 after --help. */
static int parse(struct stat *s, int argc, char **argv)
{
    int opt, rc;

    while ((opt = getopt_long(argc, argv, "+:e:d:aI:h", long_options, NULL)) != -1) {
        if (opt == 'h') {
            ui_help(argv[0]);
            return -1;
        }
        rc = take_option(s, opt, argv);
        if (rc)
            return rc;
    }
    if (optind < argc)
        s->command = argv + optind;
    if (s->all && s->nr_specs)
        return ui_usage("stat: -a and -d exclude each other; give one of them");
    if (!s->nr_specs)
        s->all = true;
    return 0;
}

/* ---- begin ---- */

/* What most want to know, as far as this processor has it. */
static void default_events(struct stat *s, const struct pvperf_query *q)
{
    static const char *const names[] = {"cycles", "instructions", "branches",
                                        "branch-misses"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!parse_event(names[i], &s->events[s->nr_events], NULL) &&
            !events_check(q, &s->events[s->nr_events].event, names[i], NULL))
            s->nr_events++;
}

static int choose_events(struct stat *s)
{
    struct pvperf_status status;
    struct pvperf_err err;
    unsigned int i;

    if (pvperf_client_status(s->client, &status, &err))
        return ui_error("%s", err.text);
    if (status.host_rc)
        return ui_error("%s", status.host_error);
    if (!s->nr_events)
        default_events(s, &status.query);
    if (!s->nr_events) /* say why */
        parse_event("cycles", &s->events[s->nr_events++], NULL);
    for (i = 0; i < s->nr_events; i++)
        if (events_check(&status.query, &s->events[i].event, s->events[i].name, &err))
            return ui_error("%s", err.text);
    return 0;
}

static int open_session(struct stat *s)
{
    uint16_t *domids = calloc(s->nr_targets + 1, sizeof(*domids));
    struct pvperf_event events[PVPERF_MAX_EVENTS];
    struct pvperf_request req = {.events = events,
                                 .nr_events = s->nr_events,
                                 .flags = PVPERF_SESSION_FLAG_COUNT,
                                 .domids = domids,
                                 .command = "pvperf stat"};
    struct pvperf_err err;
    size_t i;
    int rc;

    if (!domids)
        return ui_error("out of memory; close other programs");
    for (i = 0; i < s->nr_events; i++)
        events[i] = s->events[i].event;
    if (s->all)
        req.flags |= PVPERF_SESSION_FLAG_ALL;
    for (i = 0; i < s->nr_targets; i++)
        domids[i] = s->targets[i].domid;
    req.nr_domids = s->nr_targets;
    rc = pvperf_client_open(s->client, &req, &err);
    free(domids);
    if (rc == -EINVAL)
        return ui_error(
            "Xen cannot count these events; u or k alone do not go with h or i: "
            "give them as two events");
    return rc < 0 ? ui_error("%s", err.text) : 0;
}

static void on_domain(void *user, unsigned int event, const struct pvperf_domain *d,
                      unsigned int left)
{
    struct stat *s = user;

    s->left = left;
    if (event == PVPERF_DOMAIN_EVENT_GONE)
        ui_note("domain %u%s%s%s is gone; what it counted is kept", d->domid,
                d->name[0] ? " (" : "", d->name, d->name[0] ? ")" : "");
}

static void on_notice(void *user, const char *text)
{
    (void)user;
    ui_note("%s", text);
}

static const struct pvperf_client_ops ops = {.domain = on_domain, .notice = on_notice};

static int begin(struct stat *s)
{
    struct pvperf_err err;
    int rc;

    if (daemon_connect(&s->client, s->socket, &err))
        return ui_error("%s", err.text);
    pvperf_client_set_ops(s->client, &ops, s);
    if ((rc = choose_events(s)) || (rc = targets_resolve(s->client, s->specs, s->nr_specs,
                                                         &s->targets, &s->nr_targets)))
        return rc;
    s->left = (unsigned int)s->nr_targets;
    if (s->command && (rc = child_start(&s->child, s->command)))
        return rc;
    return open_session(s);
}

/* ---- tables ---- */

/* One line of the table: one vCPU, or all of one domain. */
struct row {
    const char *name;
    struct pvperf_vcpu_counts sum;
};

static const char *name_of(const struct stat *s, const struct pvperf_client_count *c)
{
    size_t i;

    if (c->counts.domid == PVPERF_DOMID_IDLE)
        return "[rest]";
    if (c->name[0])
        return c->name;
    for (i = 0; i < s->nr_targets; i++)
        if (s->targets[i].domid == c->counts.domid &&
            !memcmp(s->targets[i].uuid, c->counts.handle, sizeof(c->counts.handle)))
            return s->targets[i].name;
    return "";
}

static bool same_row(const struct stat *s, const struct pvperf_vcpu_counts *a,
                     const struct pvperf_vcpu_counts *b)
{
    return a->domid == b->domid && !memcmp(a->handle, b->handle, sizeof(a->handle)) &&
           (!s->per_vcpu || a->vcpu == b->vcpu);
}

/* Add what @now has more than @before, which may be NULL. */
static void add_counts(struct pvperf_vcpu_counts *sum,
                       const struct pvperf_vcpu_counts *now,
                       const struct pvperf_vcpu_counts *before)
{
    unsigned int e;

    sum->time += now->time - (before ? before->time : 0);
    for (e = 0; e < PVPERF_MAX_EVENTS; e++) {
        sum->count[e] += now->count[e] - (before ? before->count[e] : 0);
        sum->counted[e] += now->counted[e] - (before ? before->counted[e] : 0);
    }
}

/* Rows since the last table; @rows has room for @nr. Returns their number. */
static size_t make_rows(const struct stat *s, const struct pvperf_client_count *list,
                        size_t nr, struct row *rows)
{
    size_t i, r, nr_rows = 0;

    for (i = 0; i < nr; i++) {
        const struct pvperf_vcpu_counts *c = &list[i].counts;

        for (r = 0; r < nr_rows && !same_row(s, &rows[r].sum, c); r++)
            ;
        if (r == nr_rows) {
            rows[r] = (struct row){.name = name_of(s, &list[i])};
            rows[r].sum.domid = c->domid;
            rows[r].sum.vcpu = c->vcpu;
            memcpy(rows[r].sum.handle, c->handle, sizeof(c->handle));
            nr_rows++;
        }
        /* The order only grows: the same index is the same vCPU. */
        add_counts(&rows[r].sum, c, i < s->nr_last ? &s->last[i].counts : NULL);
    }
    return nr_rows;
}

/* Did the event have a counter all the time, but for changes of turn? */
static bool is_whole(const struct pvperf_vcpu_counts *c, unsigned int e)
{
    return c->counted[e] + c->time / 1000 >= c->time;
}

/* What would have been counted, had the event had a counter all the time. */
static double scaled(const struct pvperf_vcpu_counts *c, unsigned int e)
{
    if (!c->counted[e] || is_whole(c, e))
        return (double)c->count[e];
    return (double)c->count[e] * (double)c->time / (double)c->counted[e];
}

static void print_line(const struct stat *s, const struct row *row, unsigned int e,
                       double seconds)
{
    const struct pvperf_vcpu_counts *c = &row->sum;
    char count[32], label[PVPERF_NAME_LEN + 16], share[16] = "";
    bool whole = is_whole(c, e);

    if (s->per_vcpu)
        snprintf(label, sizeof(label), "%s/%u", row->name, c->vcpu);
    else
        snprintf(label, sizeof(label), "%s", row->name);
    text_count((uint64_t)(scaled(c, e) + 0.5), count, sizeof(count));
    if (!whole)
        snprintf(share, sizeof(share), "%.0f %%",
                 100.0 * (double)c->counted[e] / (double)c->time);
    printf("%-20s %-20s %s%20s %18.0f %8s\n", label[0] ? label : "[unnamed]",
           s->events[e].name, whole ? " " : "~", count, scaled(c, e) / seconds, share);
}

static void print_json_line(const struct stat *s, const struct row *row, unsigned int e,
                            double at)
{
    const struct pvperf_vcpu_counts *c = &row->sum;
    char name[2 * PVPERF_NAME_LEN];

    text_json(row->name, name, sizeof(name));
    printf("{\"at\": %.3f, \"domain\": \"%s\", \"domid\": %u, ", at, name, c->domid);
    if (s->per_vcpu)
        printf("\"vcpu\": %u, ", c->vcpu);
    printf("\"event\": \"%s\", \"count\": %" PRIu64 ", \"time_ns\": %" PRIu64
           ", \"counted_ns\": %" PRIu64 "}\n",
           s->events[e].name, c->count[e], c->time, c->counted[e]);
}

static void print_rows(struct stat *s, const struct row *rows, size_t nr, uint64_t now)
{
    double seconds = (double)(now - s->last_ns) / 1e9;
    double at = (double)(now - s->start_ns) / 1e9;
    unsigned int e;
    size_t r;

    if (!s->json && (!s->printed || s->interval_ns))
        printf("%s%-20s %-20s %21s %18s %8s\n", s->printed ? "\n" : "", "DOMAIN", "EVENT",
               "COUNT", "A SECOND", "COUNTED");
    s->printed = true;
    for (r = 0; r < nr; r++)
        for (e = 0; e < s->nr_events; e++) {
            if (s->json)
                print_json_line(s, &rows[r], e, at);
            else
                print_line(s, &rows[r], e, seconds);
        }
    if (!s->json)
        printf("%s%.3f s\n", s->interval_ns ? "at " : "\nin ",
               s->interval_ns ? at : seconds);
    fflush(stdout);
}

/* Read, print what came since the last time, and remember. */
static int tell(struct stat *s)
{
    struct pvperf_client_count *list;
    struct pvperf_err err;
    struct row *rows;
    uint64_t now;
    size_t nr;

    if (pvperf_client_read(s->client, &list, &nr, &err))
        return ui_error("%s", err.text);
    now = sys_monotonic_ns();
    rows = calloc(nr + 1, sizeof(*rows));
    if (!rows) {
        free(list);
        return ui_error("out of memory; close other programs");
    }
    print_rows(s, rows, make_rows(s, list, nr, rows), now);
    free(rows);
    free(s->last);
    s->last = list;
    s->nr_last = nr;
    s->last_ns = now;
    return 0;
}

/* ---- while it runs ---- */

static int wait_ms(const struct stat *s)
{
    uint64_t now = sys_monotonic_ns(), due = now + TICK_MS * NS_PER_MS;

    if (s->duration_ns && s->start_ns + s->duration_ns < due)
        due = s->start_ns + s->duration_ns;
    if (s->interval_ns && s->last_ns + s->interval_ns < due)
        due = s->last_ns + s->interval_ns;
    return due <= now ? 0 : (int)((due - now + NS_PER_MS - 1) / NS_PER_MS);
}

static bool is_over(struct stat *s)
{
    return signals_count() || (!s->all && !s->left) || child_ended(&s->child) ||
           (s->duration_ns && sys_monotonic_ns() >= s->start_ns + s->duration_ns);
}

static int run(struct stat *s)
{
    struct pollfd fds[2] = {{.fd = pvperf_client_fd(s->client), .events = POLLIN},
                            {.fd = signals_fd(), .events = POLLIN}};
    struct pvperf_err err;
    int rc;

    s->start_ns = s->last_ns = sys_monotonic_ns();
    if (pvperf_client_start(s->client, &err))
        return ui_error("%s", err.text);
    rc = s->child.pid ? child_go(&s->child, s->command) : 0;
    while (!rc && !is_over(s)) {
        poll(fds, 2, wait_ms(s));
        signals_drain();
        if (pvperf_client_process(s->client, &err) < 0)
            return ui_error("%s", err.text);
        if (s->interval_ns && sys_monotonic_ns() >= s->last_ns + s->interval_ns)
            rc = tell(s);
    }
    if (!rc && pvperf_client_stop(s->client, &err) < 0)
        rc = ui_error("%s", err.text);
    return rc ? rc : tell(s);
}

int cmd_stat(int argc, char **argv)
{
    struct stat *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return ui_error("out of memory; close other programs");
    rc = parse(s, argc, argv);
    if (!rc)
        rc = signals_catch();
    if (!rc)
        rc = begin(s);
    if (!rc)
        rc = run(s);
    child_end(&s->child);
    if (s->client && pvperf_client_session(s->client))
        pvperf_client_detach(s->client, NULL);
    if (s->client)
        pvperf_client_close(s->client);
    free(s->targets);
    free(s->last);
    free(s);
    return rc < 0 ? EXIT_SUCCESS : rc;
}
