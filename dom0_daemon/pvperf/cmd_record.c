// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf record: a session from the daemon into a capture.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "events.h"
#include "objects.h"
#include "record.h"
#include "signals.h"
#include "targets.h"
#include "text.h"

#define PROGRESS_MS 500
#define DRAIN_MS 10000 /* for the rest of the samples after the stop */
#define NS_PER_MS 1000000ull

struct record {
    struct record_options o;
    struct record_file file;
    struct child child;
    struct pvperf_client *client;
    struct pvperf_status status;
    struct pvperf_event events[PVPERF_MAX_EVENTS]; /* complete, with rates */
    uint16_t *domids;                              /* targets; NULL with -a */
    size_t nr_domids;
    uint64_t start_ns;   /* monotonic */
    uint64_t elapsed_ns; /* when stopped */
    bool all_gone;       /* no target is left */
    bool ended;          /* the daemon has sent everything */
    char *notes;         /* what to tell once it is certain that recording begins */
    /* Of the last line of progress. */
    uint64_t shown_ns;
    uint64_t shown_samples;
};

/* Keep a line for the beginning: a refusal is one line and no more. */
__attribute__((format(printf, 2, 3))) static void note_later(struct record *r,
                                                             const char *fmt, ...)
{
    char line[1024], *longer;
    va_list args;

    if (r->o.quiet)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (asprintf(&longer, "%s%s\n", r->notes ? r->notes : "", line) < 0)
        return;
    free(r->notes);
    r->notes = longer;
}

static void tell_notes(struct record *r)
{
    char *line, *save = NULL;

    for (line = r->notes ? strtok_r(r->notes, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save))
        ui_note("%s", line);
}

/* ---- events, domains ---- */

static void default_event(struct record *r)
{
    struct parse_event cycles, timer;
    struct pvperf_err err;
    const struct pvperf_query *q = &r->status.query;

    parse_event("cycles", &cycles, NULL);
    parse_event("timer", &timer, NULL);
    r->o.nr_events = 1;
    r->o.events[0] = cycles;
    if (!events_check(q, &cycles.event, "cycles", &err))
        return;
    r->o.events[0] = timer;
    note_later(r, "%s: sampling by the timer",
               q->backend == PVPERF_BACKEND_NONE ? "no PMU on this host" : err.text);
}

static int set_rate(struct record *r, struct pvperf_event *event)
{
    const struct pvperf_query *q = &r->status.query;
    uint64_t freq = r->o.freq;
    struct pvperf_err err;
    int rc;

    if (!freq)
        freq = q->max_rate < EVENTS_DEFAULT_FREQ ? q->max_rate : EVENTS_DEFAULT_FREQ;
    rc = r->o.period ? events_set_period(q, r->o.period, event, &err)
                     : events_set_freq(q, freq, event, &err);
    return rc ? ui_error("%s", err.text) : 0;
}

static int choose_events(struct record *r)
{
    struct pvperf_err err;
    unsigned int i;
    int rc;

    if (!r->o.nr_events)
        default_event(r);
    for (i = 0; i < r->o.nr_events; i++) {
        r->events[i] = r->o.events[i].event;
        if (events_check(&r->status.query, &r->events[i], r->o.events[i].name, &err))
            return ui_error("%s", err.text);
        rc = set_rate(r, &r->events[i]);
        if (rc)
            return rc;
    }
    return 0;
}

/* The domains that -d names, or all that there are. */
static int choose_domains(struct record *r)
{
    struct pvperf_domain *list;
    size_t nr, i;
    int rc;

    rc = targets_resolve(r->client, r->o.domains, r->o.nr_domains, &list, &nr);
    if (rc)
        return rc;
    if (!r->o.all)
        r->domids = calloc(nr + 1, sizeof(*r->domids));
    if (!r->o.all && !r->domids)
        rc = ui_error("out of memory; close other programs");
    for (i = 0; i < nr && !rc; i++) {
        if (record_file_domain(&r->file, &list[i]))
            rc = ui_error("out of memory; close other programs");
        else if (!r->o.all)
            r->domids[r->nr_domids++] = list[i].domid;
    }
    free(list);
    return rc;
}

/* ---- symbols ---- */

/* The domain among those recorded that --kernel or --program names. */
static int target_of(struct record *r, const char *spec, uint16_t *domid)
{
    struct parse_domain *names = calloc(r->file.nr_domains + 1, sizeof(*names));
    struct pvperf_err err;
    size_t i, index;
    int rc;

    if (!names)
        return ui_error("out of memory; close other programs");
    for (i = 0; i < r->file.nr_domains; i++) {
        names[i].domid = r->file.domains[i].domid;
        memcpy(names[i].uuid, r->file.domains[i].uuid, sizeof(names[i].uuid));
        names[i].name = r->file.domains[i].name;
    }
    rc = parse_domain(spec, names, r->file.nr_domains,
                      "or it is none of those recorded; see -d", &index, &err);
    if (!rc)
        *domid = names[index].domid;
    free(names);
    return rc ? ui_error("%s", err.text) : 0;
}

struct found {
    struct pvperf_object *object;
    uint64_t bias;
    uint16_t domid;
};

/* Everything the capture will refer to, loaded before the session starts. */
struct found_list {
    struct found *items;
    size_t nr;
};

static void found_free(struct found_list *list)
{
    while (list->nr)
        pvperf_object_put(list->items[--list->nr].object);
    free(list->items);
    list->items = NULL;
}

static int found_add(struct found_list *list, struct pvperf_object *o, uint16_t domid,
                     uint64_t bias)
{
    struct found *grown = reallocarray(list->items, list->nr + 1, sizeof(*grown));

    if (!grown) {
        pvperf_object_put(o);
        return ui_error("out of memory; close other programs");
    }
    list->items = grown;
    grown[list->nr].object = o;
    grown[list->nr].domid = domid;
    grown[list->nr++].bias = bias;
    return 0;
}

static bool kernel_given(const struct found_list *list, uint16_t domid)
{
    size_t i;

    for (i = 0; i < list->nr; i++) {
        if (list->items[i].domid == domid &&
            pvperf_object_get_info(list->items[i].object)->kind == PVPERF_OBJECT_KERNEL)
            return true;
    }
    return false;
}

/* What the operator names must be right. */
static int find_given(struct record *r, struct found_list *list)
{
    struct pvperf_object *o;
    struct pvperf_err err;
    uint64_t bias;
    uint16_t domid = 0;
    unsigned int i;
    int rc = 0;

    for (i = 0; i < r->o.nr_kernels && !rc; i++) {
        rc = target_of(r, r->o.kernels[i].domain, &domid);
        if (!rc && objects_load_kernel_file(r->o.kernels[i].path, &o, &err))
            rc = ui_error("%s", err.text);
        if (!rc)
            rc = found_add(list, o, domid, 0);
    }
    for (i = 0; i < r->o.nr_programs && !rc; i++) {
        rc = target_of(r, r->o.programs[i].domain, &domid);
        if (!rc && objects_load_program(&r->o.programs[i], &o, &bias, &err))
            rc = ui_error("%s", err.text);
        if (!rc)
            rc = found_add(list, o, domid, bias);
    }
    return rc;
}

/* What is found by itself may be missing; the report then lacks its names. */
static int find_objects(struct record *r, struct found_list *list)
{
    struct pvperf_object *o;
    struct pvperf_err err;
    size_t i;
    int rc;

    if (!objects_load_xen(r->o.xen_syms, &r->status.query, &o, &err)) {
        rc = found_add(list, o, PVPERF_DOMID_IDLE, 0);
        if (rc)
            return rc;
    } else if (r->o.xen_syms) {
        return ui_error("%s", err.text);
    } else {
        note_later(r, "symbols of Xen: %s", err.text);
    }
    rc = find_given(r, list);
    for (i = 0; i < r->file.nr_domains && !rc; i++) {
        const struct record_domain *d = &r->file.domains[i];

        if (kernel_given(list, d->domid))
            continue;
        if (!objects_load_kernel(d->domid, d->uuid, &o, &err))
            rc = found_add(list, o, d->domid, 0);
        else
            note_later(r, "symbols of %s: %s", d->name[0] ? d->name : "a domain",
                       err.text);
    }
    return rc;
}

/* Kernels of domains that came while recording. */
static void find_late_kernels(struct record *r)
{
    struct pvperf_object *o;
    size_t i;

    for (i = 0; i < r->file.nr_domains && !r->file.error; i++) {
        const struct record_domain *d = &r->file.domains[i];

        if (!d->late_kernel || d->gone ||
            objects_load_kernel(d->domid, d->uuid, &o, NULL))
            continue;
        record_file_object(&r->file, d->domid, 0, o);
        pvperf_object_put(o);
    }
}

/* ---- what the session tells ---- */

static void on_sample(void *user, const struct pvperf_client_ring *ring,
                      const struct pvperf_sample *sample)
{
    struct record *r = user;

    (void)ring;
    record_file_sample(&r->file, sample);
}

static void on_lost(void *user, const struct pvperf_client_ring *ring,
                    const struct pvperf_lost *lost)
{
    struct record *r = user;

    (void)ring;
    record_file_lost(&r->file, lost);
}

static void domain_gone(struct record *r, const struct pvperf_domain *d,
                        unsigned int left)
{
    struct record_domain *known = record_file_find(&r->file, d->domid);
    const char *name = d->name[0] ? d->name : known ? known->name : "";

    if (known)
        known->gone = true;
    if (!r->o.all && !left)
        r->all_gone = true;
    ui_note("domain %u%s%s%s is gone; its samples are kept%s", d->domid,
            name[0] ? " (" : "", name, name[0] ? ")" : "",
            r->all_gone ? ", and no other is left to record" : "");
}

static void on_domain(void *user, unsigned int event, const struct pvperf_domain *d,
                      unsigned int left)
{
    struct record *r = user;
    bool known = record_file_find(&r->file, d->domid) != NULL;

    if (event == PVPERF_DOMAIN_EVENT_GONE) {
        domain_gone(r, d, left);
        return;
    }
    record_file_domain(&r->file, d);
    if (!known)
        record_file_find(&r->file, d->domid)->late_kernel = true;
}

static void on_counts(void *user, const struct pvperf_session_counts *counts)
{
    struct record *r = user;

    record_file_counts(&r->file, counts);
}

/* Also while another call waits, so that nobody waits for it once more. */
static void on_end(void *user, const struct pvperf_session_counts *counts)
{
    struct record *r = user;

    record_file_counts(&r->file, counts);
    r->ended = true;
}

static void on_notice(void *user, const char *text)
{
    (void)user;
    ui_note("%s", text);
}

static const struct pvperf_client_ops ops = {
    .sample = on_sample,
    .lost = on_lost,
    .domain = on_domain,
    .counts = on_counts,
    .end = on_end,
    .notice = on_notice,
};

/* ---- begin ---- */

static int connect_daemon(struct record *r)
{
    struct pvperf_err err;

    if (daemon_connect(&r->client, r->o.socket, &err))
        return ui_error("%s", err.text);
    pvperf_client_set_ops(r->client, &ops, r);
    if (pvperf_client_status(r->client, &r->status, &err))
        return ui_error("%s", err.text);
    if (r->status.host_rc)
        return ui_error("%s", r->status.host_error);
    return 0;
}

static int open_session(struct record *r)
{
    struct pvperf_request req = {
        .events = r->events,
        .nr_events = r->o.nr_events,
        .ring_order = r->o.ring_order,
        .domids = r->domids,
        .nr_domids = r->nr_domids,
        .command = r->o.line,
    };
    struct pvperf_err err;

    if (r->o.all)
        req.flags |= PVPERF_SESSION_FLAG_ALL;
    if (r->o.xen)
        req.flags |= PVPERF_SESSION_FLAG_XEN;
    if (r->o.idle)
        req.flags |= PVPERF_SESSION_FLAG_IDLE;
    if (r->o.callchain) {
        req.flags |= PVPERF_SESSION_FLAG_CALLCHAIN;
        req.max_stack = PVPERF_MAX_STACK;
    }
    r->file.info.session_flags = req.flags;
    r->file.info.max_stack = req.max_stack;
    if (pvperf_client_open(r->client, &req, &err))
        return ui_error("%s", err.text);
    return 0;
}

static void fill_info(struct record *r)
{
    struct pvperf_capture_info *info = &r->file.info;
    const struct pvperf_query *q = &r->status.query;
    unsigned int i;

    /* Reading symbols took a while: ask for the time again. */
    pvperf_client_status(r->client, &r->status, NULL);
    info->nr_events = r->o.nr_events;
    for (i = 0; i < r->o.nr_events; i++) {
        info->events[i] = r->events[i];
        text_copy(info->event_names[i], r->o.events[i].name,
                  sizeof(info->event_names[i]));
    }
    info->nr_pcpus = q->nr_pcpus;
    info->abi_major = q->abi_major;
    info->abi_minor = q->abi_minor;
    info->start_time = q->now;
    info->start_realtime = sys_realtime_ns();
    sys_hostname(info->hostname, sizeof(info->hostname));
    sys_xen_version(info->xen_version, sizeof(info->xen_version));
    sys_os_release(info->os_release, sizeof(info->os_release));
    text_copy(info->arch, "x86_64", sizeof(info->arch));
    text_copy(info->tool_version, PVPERF_VERSION, sizeof(info->tool_version));
    text_copy(info->command, r->o.line, sizeof(info->command));
}

static int begin_file(struct record *r, const struct found_list *list)
{
    size_t i;

    fill_info(r);
    r->file.quiet = r->o.quiet;
    if (record_file_begin(&r->file, r->o.output))
        return ui_error("%s", r->file.err.text);
    for (i = 0; i < list->nr; i++)
        record_file_object(&r->file, list->items[i].domid, list->items[i].bias,
                           list->items[i].object);
    return r->file.error ? ui_error("%s", r->file.err.text) : 0;
}

static int begin(struct record *r)
{
    struct found_list list = {NULL, 0};
    int rc;

    if ((rc = connect_daemon(r)) || (rc = choose_events(r)) || (rc = choose_domains(r)))
        return rc;
    if (r->o.command && (rc = child_start(&r->child, r->o.command)))
        return rc;
    rc = find_objects(r, &list);
    if (!rc)
        rc = open_session(r);
    if (!rc)
        rc = begin_file(r, &list);
    found_free(&list);
    if (!rc)
        tell_notes(r);
    return rc;
}

/* ---- while it runs ---- */

static void show_progress(struct record *r)
{
    char duration[32], samples[32], bytes[32], lost[64] = "";
    uint64_t now = sys_monotonic_ns(), since = now - r->shown_ns;
    uint64_t nr_lost = record_file_lost_all(&r->file);

    if (r->o.quiet || since < PROGRESS_MS * NS_PER_MS)
        return;
    text_duration(now - r->start_ns, duration, sizeof(duration));
    text_count(r->file.samples, samples, sizeof(samples));
    text_bytes(record_file_bytes(&r->file), bytes, sizeof(bytes));
    if (nr_lost)
        snprintf(lost, sizeof(lost), ", %" PRIu64 " lost", nr_lost);
    ui_progress("%s: %s samples (%.0f/s)%s, %s", duration, samples,
                (double)(r->file.samples - r->shown_samples) * 1e9 / (double)since, lost,
                bytes);
    r->shown_ns = now;
    r->shown_samples = r->file.samples;
}

/* Wait for news, @ms at most, and take them in. A negative errno: it is over. */
static int pump(struct record *r, int ms, struct pvperf_err *err)
{
    struct pollfd fds[2] = {
        {.fd = pvperf_client_fd(r->client), .events = POLLIN},
        {.fd = signals_fd(), .events = POLLIN},
    };
    int rc;

    poll(fds, 2, ms);
    signals_drain();
    rc = pvperf_client_process(r->client, err);
    if (rc == 1)
        r->ended = true;
    return rc;
}

static int time_left_ms(const struct record *r)
{
    uint64_t gone = sys_monotonic_ns() - r->start_ns, left;

    if (!r->o.duration_ns)
        return PROGRESS_MS;
    if (gone >= r->o.duration_ns)
        return 0;
    left = (r->o.duration_ns - gone + NS_PER_MS - 1) / NS_PER_MS;
    return left < PROGRESS_MS ? (int)left : PROGRESS_MS;
}

/* Until it is to end. The daemon's loss is told here; returns 0 or a status. */
static int record_until_end(struct record *r)
{
    struct pvperf_err err;
    int ms;

    while (!signals_count() && !r->all_gone && !r->file.error && !r->ended) {
        ms = time_left_ms(r);
        if (!ms || child_ended(&r->child))
            break;
        if (pump(r, ms, &err) < 0)
            return ui_error("%s", err.text);
        show_progress(r);
    }
    return 0;
}

/* Stop sampling and take what is still on its way. */
static int drain(struct record *r)
{
    uint64_t deadline = sys_monotonic_ns() + DRAIN_MS * NS_PER_MS;
    int before = signals_count();
    struct pvperf_err err;

    r->elapsed_ns = sys_monotonic_ns() - r->start_ns;
    if (pvperf_client_stop(r->client, &err))
        return ui_error("%s", err.text);
    while (!r->ended && !r->file.error) {
        if (signals_count() > before)
            return ui_error("stopped at once: samples still on their way are not in %s",
                            r->o.output);
        if (sys_monotonic_ns() > deadline)
            return ui_error(
                "pvperfd did not send the rest of the samples in %d s; look at "
                "its log",
                DRAIN_MS / 1000);
        if (pump(r, PROGRESS_MS, &err) < 0)
            return ui_error("%s", err.text);
        show_progress(r);
    }
    return 0;
}

/* Xen's time when the session stopped, by this machine's clock. */
static uint64_t end_time(const struct record *r)
{
    return r->file.info.start_time + r->elapsed_ns;
}

static int sample(struct record *r)
{
    struct pvperf_err err;
    int rc;

    r->start_ns = r->shown_ns = sys_monotonic_ns();
    if (pvperf_client_start(r->client, &err))
        rc = ui_error("%s", err.text);
    else
        rc = r->child.pid ? child_go(&r->child, r->o.command) : 0;
    if (!rc)
        rc = record_until_end(r);
    if (!rc)
        rc = drain(r);
    if (!r->elapsed_ns)
        r->elapsed_ns = sys_monotonic_ns() - r->start_ns;
    ui_progress_end();
    find_late_kernels(r);
    if (record_file_finish(&r->file, end_time(r)))
        rc = ui_error("%s", r->file.err.text);
    return rc;
}

/* ---- the end ---- */

static void list_domains(const struct record *r, char *buf, size_t size)
{
    size_t i, used = 0;
    char count[32];

    buf[0] = '\0';
    for (i = 0; i < r->file.nr_domains && used + 1 < size; i++) {
        const struct record_domain *d = &r->file.domains[i];

        if (!d->samples)
            continue;
        text_count(d->samples, count, sizeof(count));
        used += (size_t)snprintf(buf + used, size - used, "%s%s %s", used ? ", " : "",
                                 d->name[0] ? d->name : "[unnamed]", count);
    }
    text_count(r->file.idle_samples, count, sizeof(count));
    if (r->file.idle_samples && used + 1 < size)
        snprintf(buf + used, size - used, "%s[no domain] %s", used ? ", " : "", count);
}

static void print_losses(const struct record *r)
{
    uint64_t lost, all;
    char count[32];
    unsigned int i;

    for (i = 0; i < r->o.nr_events; i++) {
        lost = record_file_lost_of(&r->file, i);
        if (!lost)
            continue;
        text_count(lost, count, sizeof(count));
        all = r->file.have_counts ? r->file.counts[i].recorded + lost
                                  : r->file.samples + lost;
        ui_note("%s samples of %s lost (%.2f %%): the rings were full; raise -m or lower "
                "-F",
                count, r->o.events[i].name, 100.0 * (double)lost / (double)all);
    }
}

static void print_event_notes(const struct record *r)
{
    char count[32];
    unsigned int i;

    for (i = 0; r->file.have_counts && i < r->o.nr_events; i++) {
        const struct pvperf_counts *c = &r->file.counts[i];

        if (c->throttled) {
            text_count(c->throttled, count, sizeof(count));
            ui_note(
                "%s was throttled: its period was too short for this host; %s samples "
                "were saved, others stand for them",
                r->o.events[i].name, count);
        }
        if (c->time_running / 1000 * 1001 < c->time_enabled)
            ui_note("%s had a counter %.1f %% of the time: more events than counters",
                    r->o.events[i].name,
                    100.0 * (double)c->time_running / (double)c->time_enabled);
    }
}

static void print_summary(const struct record *r)
{
    char samples[32], bytes[32], duration[32], domains[512];

    print_losses(r);
    print_event_notes(r);
    if (r->o.quiet)
        return;
    text_count(r->file.samples, samples, sizeof(samples));
    text_bytes(r->file.bytes, bytes, sizeof(bytes));
    text_duration(r->elapsed_ns, duration, sizeof(duration));
    list_domains(r, domains, sizeof(domains));
    ui_note("%s samples in %s written to %s (%s)%s%s", samples, duration, r->o.output,
            bytes, domains[0] ? ": " : "", domains);
    if (!r->file.samples)
        ui_note(
            "no samples: the domains were idle, or no event wants the modes they ran in");
}

int cmd_record(int argc, char **argv)
{
    struct record *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return ui_error("out of memory; close other programs");
    rc = record_options_parse(&r->o, argc, argv);
    if (!rc)
        rc = signals_catch();
    if (!rc)
        rc = begin(r);
    if (!rc) {
        rc = sample(r);
        print_summary(r);
    }
    child_end(&r->child);
    if (r->client && pvperf_client_session(r->client))
        pvperf_client_detach(r->client, NULL);
    if (r->client)
        pvperf_client_close(r->client);
    free(r->notes);
    free(r->domids);
    record_file_free(&r->file);
    objects_forget();
    free(r);
    return rc < 0 ? EXIT_SUCCESS : rc;
}
