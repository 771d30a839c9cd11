// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf doctor: can this host be profiled, and if not, what to do.
 */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pvperf/client.h>
#include <pvperf/host.h>

#include "events.h"
#include "objects.h"
#include "parse.h"
#include "text.h"

enum { OPT_SOCKET = 256, OPT_XEN_SYMS, OPT_JSON };

static const struct option options[] = {
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"xen-syms", required_argument, NULL, OPT_XEN_SYMS},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct doctor {
    const char *socket;
    const char *xen_syms;
    bool color;
    bool json;
    unsigned int lines;
    unsigned int missing;
    unsigned int problems;
    struct pvperf_client *client; /* NULL: daemon not reachable */
    bool have_status;
    struct pvperf_status status;
    bool have_query;
    struct pvperf_query query;
};

/* ---- one line each ---- */

static void line(struct doctor *d, const char *verdict, const char *color,
                 const char *fmt, va_list args)
{
    char text[768], quoted[1024];

    vsnprintf(text, sizeof(text), fmt, args);
    if (d->json) {
        text_json(text, quoted, sizeof(quoted));
        printf("%s\n  {\"result\": \"%s\", \"text\": \"%s\"}", d->lines ? "," : "",
               verdict, quoted);
    } else {
        printf("%s%-8s%s %s\n", d->color ? color : "", verdict, d->color ? "\033[0m" : "",
               text);
    }
    d->lines++;
}

__attribute__((format(printf, 2, 3))) static void ok(struct doctor *d, const char *fmt,
                                                     ...)
{
    va_list args;

    va_start(args, fmt);
    line(d, "ok", "\033[32m", fmt, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void missing(struct doctor *d,
                                                          const char *fmt, ...)
{
    va_list args;

    d->missing++;
    va_start(args, fmt);
    line(d, "missing", "\033[33m", fmt, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void problem(struct doctor *d,
                                                          const char *fmt, ...)
{
    va_list args;

    d->problems++;
    va_start(args, fmt);
    line(d, "problem", "\033[31m", fmt, args);
    va_end(args);
}

/* ---- the checks ---- */

static bool check_xen(struct doctor *d)
{
    char version[64];

    if (!sys_on_xen()) {
        problem(d,
                "Xen: this machine does not run on Xen; go to dom0 of a host whose Xen "
                "has pvperf (captures can be read here)");
        return false;
    }
    sys_xen_version(version, sizeof(version));
    ok(d, "Xen: running on Xen %s", version[0] ? version : "of unknown version");
    return true;
}

static void check_privilege(struct doctor *d)
{
    if (!sys_is_control_domain())
        problem(d, "privilege: this is no control domain (/proc/xen/capabilities has no "
                   "control_d); run pvperf in dom0, with xenfs mounted on /proc/xen");
    else if (geteuid() == 0)
        ok(d, "privilege: root in the control domain");
    else
        missing(d,
                "privilege: not root; without access to pvperfd's socket, run as root");
}

/* The daemon is the usual way to Xen; an operator may also be allowed directly. */
static void ask_daemon(struct doctor *d, struct pvperf_err *err)
{
    if (pvperf_client_connect(&d->client, d->socket, err)) {
        d->client = NULL;
        return;
    }
    d->have_status = !pvperf_client_status(d->client, &d->status, err);
    if (d->have_status && !d->status.host_rc) {
        d->query = d->status.query;
        d->have_query = true;
    }
}

static void check_hypercall(struct doctor *d)
{
    struct pvperf_host *host;
    struct pvperf_err err;
    int rc = 0;

    if (!d->have_query) {
        rc = pvperf_host_open(&host, &err);
        if (!rc) {
            rc = pvperf_host_query(host, &d->query, &err);
            pvperf_host_close(host);
            d->have_query = !rc;
        }
    }
    if (rc && d->have_status)
        text_copy(err.text, d->status.host_error, sizeof(err.text));
    if (!d->have_query)
        problem(d, "hypercall: %s", err.text);
    else if (d->query.abi_major != PVPERF_ABI_MAJOR)
        problem(d,
                "hypercall: Xen speaks version %u of the ABI, pvperf version %u; "
                "install the pvperf that belongs to this Xen",
                d->query.abi_major, PVPERF_ABI_MAJOR);
    else
        ok(d, "hypercall: present and enabled, ABI %u.%u", d->query.abi_major,
           d->query.abi_minor);
}

static void check_pmu(struct doctor *d)
{
    const struct pvperf_query *q = &d->query;
    struct pvperf_event cycles = {.type = PVPERF_EVENT_GENERIC,
                                  .config = PVPERF_GENERIC_CYCLES};
    struct pvperf_err err;

    if (q->backend == PVPERF_BACKEND_NONE)
        missing(d, "PMU: none that pvperf knows; only the event 'timer' can be used");
    else if (events_check(q, &cycles, "cycles", &err) == -EBUSY)
        missing(d, "PMU: %s", err.text);
    else
        ok(d, "PMU: %s, %u counters of %u bits and %u fixed, held by %s",
           pvperf_host_backend_name(q->backend), q->nr_counters, q->counter_bits,
           q->nr_fixed, pvperf_host_owner_name(q->pmu_owner));
    if (q->backend != PVPERF_BACKEND_NONE)
        ok(d, "PMU interrupts: %s%s",
           q->flags & PVPERF_QUERY_FLAG_NMI
               ? "NMI, so that code of Xen with interrupts off is seen"
               : "by vector; boot Xen with pvperf=nmi to see its code with interrupts "
                 "off",
           q->flags & PVPERF_QUERY_FLAG_WATCHDOG ? "; one counter is the watchdog's"
                                                 : "");
    if (q->max_rate)
        ok(d, "timer: up to %u samples a second on each of %u CPUs", q->max_rate,
           q->nr_pcpus);
    else
        problem(d, "timer: Xen allows no samples at all; look at its boot options");
}

static void check_room(struct doctor *d)
{
    const struct pvperf_query *q = &d->query;
    char used[32], max[32];

    text_bytes(q->ring_bytes_used, used, sizeof(used));
    text_bytes(q->ring_bytes_max, max, sizeof(max));
    if (q->sessions >= PVPERF_MAX_SESSIONS)
        problem(d, "sessions: all %u are in use; end a 'pvperf record'",
                PVPERF_MAX_SESSIONS);
    else
        ok(d, "sessions: %u of %u in use", q->sessions, PVPERF_MAX_SESSIONS);
    if (q->ring_bytes_used >= q->ring_bytes_max)
        problem(d, "rings: all %s of their memory are in use; end a 'pvperf record'",
                max);
    else
        ok(d, "rings: %s of %s in use", used, max);
}

static void check_daemon(struct doctor *d, const struct pvperf_err *err)
{
    if (d->have_status)
        ok(d, "pvperfd: reachable, version %s", d->status.daemon_version);
    else
        problem(d, "pvperfd: %s", err->text);
}

static void report_object(struct doctor *d, const char *what, int rc,
                          struct pvperf_object *o, const struct pvperf_err *err)
{
    char count[32];

    if (rc) {
        missing(d, "symbols of %s: %s", what, err->text);
        return;
    }
    text_count(pvperf_object_get_info(o)->nr_symbols, count, sizeof(count));
    ok(d, "symbols of %s: %s from %s", what, count, pvperf_object_get_info(o)->path);
    pvperf_object_put(o);
}

static void check_guests(struct doctor *d)
{
    struct pvperf_domain *domains;
    struct pvperf_object *o = NULL;
    struct pvperf_err err;
    char what[PVPERF_NAME_LEN + 16];
    size_t nr, i;
    int rc;

    if (!d->client || pvperf_client_domains(d->client, &domains, &nr, &err))
        return;
    for (i = 0; i < nr; i++) {
        if (domains[i].domid == 0)
            continue;
        rc = objects_load_kernel(domains[i].domid, domains[i].uuid, &o, &err);
        snprintf(what, sizeof(what), "domain %s",
                 domains[i].name[0] ? domains[i].name : "without name");
        report_object(d, what, rc, o, &err);
    }
    free(domains);
}

static void check_symbols(struct doctor *d)
{
    static const uint8_t no_uuid[16];
    struct pvperf_object *o = NULL;
    struct pvperf_err err;
    int rc;

    rc = objects_load_xen(d->xen_syms, d->have_query ? &d->query : NULL, &o, &err);
    report_object(d, "Xen", rc, o, &err);
    rc = objects_load_kernel(0, no_uuid, &o, &err);
    report_object(d, "dom0's kernel", rc, o, &err);
    check_guests(d);
}

static void conclude(const struct doctor *d)
{
    const struct pvperf_query *q = &d->query;

    if (d->json) {
        printf("\n],\n\"works\": %s", d->problems ? "false" : "true");
        if (d->have_query)
            printf(",\n\"sessions\": %u,\n\"ring_bytes_used\": %" PRIu64
                   ",\n\"ring_bytes_max\": %" PRIu64
                   ",\n\"max_rate\": %u,\n\"pcpus\": %u",
                   q->sessions, q->ring_bytes_used, q->ring_bytes_max, q->max_rate,
                   q->nr_pcpus);
        puts("\n}");
    } else if (d->problems) {
        printf("\nProfiling will not work here: %u problem%s above.\n", d->problems,
               d->problems == 1 ? "" : "s");
    } else {
        printf("\nProfiling will work%s.\n",
               d->missing ? ", within the limits named as missing above" : "");
    }
}

static int examine(struct doctor *d)
{
    struct pvperf_err err = {""};

    d->color = !d->json && ui_color(stdout);
    if (d->json)
        printf("{\"checks\": [");
    if (check_xen(d)) {
        ask_daemon(d, &err);
        check_privilege(d);
        check_hypercall(d);
        if (d->have_query) {
            check_pmu(d);
            check_room(d);
        }
        check_daemon(d, &err);
        check_symbols(d);
    }
    conclude(d);
    return d->problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor *d = calloc(1, sizeof(*d));
    int opt, rc = 0;

    if (!d)
        return ui_error("out of memory; close other programs");
    while (!rc && (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (opt == 'h') {
            ui_help(argv[0]);
            rc = -1;
        } else if (opt == OPT_SOCKET) {
            d->socket = optarg;
        } else if (opt == OPT_XEN_SYMS) {
            d->xen_syms = optarg;
        } else if (opt == OPT_JSON) {
            d->json = true;
        } else {
            rc = ui_bad_option(opt, argv);
        }
    }
    if (!rc && optind < argc)
        rc = ui_bad_argument(argv);
    if (!rc)
        rc = examine(d);
    if (d->client)
        pvperf_client_close(d->client);
    objects_forget();
    free(d);
    return rc < 0 ? EXIT_SUCCESS : rc;
}
