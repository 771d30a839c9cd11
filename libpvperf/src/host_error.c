/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host_error.c: one line for each way in which the hypercall can fail. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host_private.h"

#define NS_PER_S 1000000000ull
#define MAX_PERIOD (1ull << 40)
#define MIN_PERIOD 1000ull
#define MIB(bytes) ((bytes) >> 20)

const char *pvperf_host_owner_name(unsigned int owner)
{
    static const char *const names[] = {
        [PVPERF_OWNER_NONE] = "nobody",
        [PVPERF_OWNER_PVPERF] = "pvperf",
        [PVPERF_OWNER_VPMU] = "vpmu",
        [PVPERF_OWNER_XENOPROF] = "xenoprof",
    };

    return owner < sizeof(names) / sizeof(names[0]) ? names[owner] : "unknown";
}

const char *pvperf_host_backend_name(unsigned int backend)
{
    static const char *const names[] = {
        [PVPERF_BACKEND_NONE] = "timer only",
        [PVPERF_BACKEND_INTEL] = "Intel",
        [PVPERF_BACKEND_AMD] = "AMD",
    };

    return backend < sizeof(names) / sizeof(names[0]) ? names[backend] : "unknown";
}

int pvp_explain(int rc, const char *what, struct pvperf_err *err)
{
    switch (rc) {
    case -ENOSYS:
        return pvperf_err_set(err, rc,
                              "this Xen has no pvperf: boot a Xen that was built with "
                              "pvperf's patches and CONFIG_PVPERF");
    case -EOPNOTSUPP:
        return pvperf_err_set(err, rc,
                              "pvperf is built into this Xen but not enabled: add "
                              "pvperf=on to Xen's command line and reboot");
    case -EPERM:
    case -EACCES:
        return pvperf_err_set(err, rc,
                              "Xen refused %s: run this in dom0 as root (with FLASK, "
                              "the policy must allow pvperf_control)",
                              what);
    case -EBADMSG:
        return pvperf_err_set(err, rc,
                              "Xen speaks another version of pvperf's ABI than %d.%d of "
                              "this library: install the pvperf built for this Xen",
                              PVPERF_ABI_MAJOR, PVPERF_ABI_MINOR);
    case -ENOMEM:
        return pvperf_err_set(err, rc,
                              "Xen has no memory left (%s): use smaller rings or fewer "
                              "domains, or leave Xen more memory (dom0_mem=)",
                              what);
    default:
        return pvperf_err_set(err, rc, "%s failed: %s; see Xen's console (xl dmesg)",
                              what, strerror(-rc));
    }
}

int pvp_explain_version(const struct pvperf_query *query, struct pvperf_err *err)
{
    return pvperf_err_set(err, -EBADMSG,
                          "Xen speaks version %u.%u of pvperf's ABI, this library %d.%d: "
                          "install the pvperf built for this Xen",
                          query->abi_major, query->abi_minor, PVPERF_ABI_MAJOR,
                          PVPERF_ABI_MINOR);
}

static int ask(struct pvperf_host *host, struct pvperf_query *query)
{
    memset(query, 0, sizeof(*query));
    return pvp_host_call(host, PVPERF_OP_query, query, sizeof(*query));
}

static int explain_busy(struct pvperf_host *host, struct pvperf_err *err)
{
    const char *remedy;
    struct pvperf_query query;

    if (ask(host, &query) < 0)
        query.pmu_owner = PVPERF_OWNER_NONE;
    switch (query.pmu_owner) {
    case PVPERF_OWNER_VPMU:
        remedy = "boot Xen without vpmu";
        break;
    case PVPERF_OWNER_XENOPROF:
        remedy = "stop the user of xenoprof";
        break;
    case PVPERF_OWNER_NONE:
    case PVPERF_OWNER_PVPERF:
        return pvperf_err_set(
            err, -EBUSY,
            "the host has no counter left for this session (%u general, "
            "%u fixed): use fewer events or end other sessions",
            query.nr_counters, query.nr_fixed);
    default:
        remedy = "end its use";
        break;
    }
    return pvperf_err_set(
        err, -EBUSY, "the host's counters are held by %s: %s, or use the timer event",
        pvperf_host_owner_name(query.pmu_owner), remedy);
}

/* Ring memory or session slots: Xen has one errno for both. */
static int explain_nospc(struct pvperf_host *host, struct pvperf_err *err)
{
    struct pvperf_query query;

    if (ask(host, &query) < 0)
        return pvperf_err_set(err, -ENOSPC,
                              "Xen has no room for more sessions or rings: end other "
                              "sessions or use smaller rings");
    if (query.sessions >= PVPERF_MAX_SESSIONS)
        return pvperf_err_set(err, -ENOSPC,
                              "all %d sessions of Xen are in use: end one of them",
                              PVPERF_MAX_SESSIONS);
    return pvperf_err_set(err, -ENOSPC,
                          "ring memory is at its limit (%" PRIu64 " of %" PRIu64
                          " MiB in use): use smaller rings, name fewer domains or end "
                          "other sessions",
                          MIB(query.ring_bytes_used), MIB(query.ring_bytes_max));
}

static int explain_rate(const struct pvperf_event *event, unsigned int index,
                        uint32_t max_rate, struct pvperf_err *err)
{
    uint64_t least = MIN_PERIOD;

    if (event->flags & PVPERF_EVENT_FLAG_FREQ)
        return pvperf_err_set(err, -ERANGE,
                              "event %u: a frequency of %" PRIu64 " is out of range: use "
                              "1 to %u samples a second",
                              index, event->rate, max_rate);
    if (event->type == PVPERF_EVENT_TIMER)
        least = max_rate ? (NS_PER_S + max_rate - 1) / max_rate : 0;
    return pvperf_err_set(err, -ERANGE,
                          "event %u: a period of %" PRIu64
                          " is out of range: use %" PRIu64 " to %llu %s",
                          index, event->rate, least, MAX_PERIOD,
                          event->type == PVPERF_EVENT_TIMER ? "ns" : "events");
}

static int rate_is_bad(const struct pvperf_event *event, uint32_t max_rate)
{
    if (event->flags & PVPERF_EVENT_FLAG_FREQ)
        return event->rate < 1 || event->rate > max_rate;
    if (event->rate > MAX_PERIOD)
        return 1;
    if (event->type == PVPERF_EVENT_TIMER)
        return !event->rate || (max_rate && event->rate < NS_PER_S / max_rate);
    return event->rate < MIN_PERIOD;
}

static int explain_range(struct pvperf_host *host,
                         const struct pvperf_session_create *req, struct pvperf_err *err)
{
    struct pvperf_query query;
    unsigned int i;

    if (ask(host, &query) == 0) {
        for (i = 0; i < req->nr_events && i < PVPERF_MAX_EVENTS; i++)
            if (rate_is_bad(&req->events[i], query.max_rate))
                return explain_rate(&req->events[i], i, query.max_rate, err);
        return pvperf_err_set(err, -ERANGE,
                              "the rate of an event is out of range: use at most %u "
                              "samples a second, or a longer period",
                              query.max_rate);
    }
    return pvperf_err_set(
        err, -ERANGE,
        "the rate of an event is out of range: use a lower frequency or "
        "a longer period");
}

static int explain_noent(struct pvperf_host *host,
                         const struct pvperf_session_create *req, struct pvperf_err *err)
{
    struct pvperf_query query;
    unsigned int i;

    if (ask(host, &query) < 0)
        query.generic_events = 0;
    for (i = 0; i < req->nr_events && i < PVPERF_MAX_EVENTS; i++) {
        const struct pvperf_event *e = &req->events[i];

        if (e->type == PVPERF_EVENT_GENERIC &&
            (e->config >= PVPERF_GENERIC_NR ||
             !(query.generic_events & (1u << e->config))))
            break;
        if (e->type > PVPERF_EVENT_RAW)
            break;
    }
    if (i >= req->nr_events || i >= PVPERF_MAX_EVENTS)
        return pvperf_err_set(err, -ENOENT,
                              "an event of the session does not exist on this host: see "
                              "`pvperf list events`");
    return pvperf_err_set(err, -ENOENT,
                          "event %u (type %u, config %#" PRIx64
                          ") does not exist on this host: see `pvperf list events`",
                          i, req->events[i].type, req->events[i].config);
}

int pvp_explain_session(struct pvperf_host *host, uint32_t session, int rc,
                        const char *what, struct pvperf_err *err)
{
    char doing[64];

    if (rc == -ENOENT)
        return pvperf_err_set(err, rc, "Xen has no session %u (any more): open a new one",
                              session);
    if (rc == -ENOSPC)
        return explain_nospc(host, err);
    if (rc == -EBUSY)
        return explain_busy(host, err);
    snprintf(doing, sizeof(doing), "%s session %u", what, session);
    return pvp_explain(rc, doing, err);
}

int pvp_explain_create(struct pvperf_host *host, const struct pvperf_session_create *req,
                       int rc, struct pvperf_err *err)
{
    struct pvperf_query query;

    switch (rc) {
    case -EBADMSG:
        if (ask(host, &query) == 0)
            return pvp_explain_version(&query, err);
        return pvp_explain(rc, "making a session", err);
    case -ENOSPC:
        return explain_nospc(host, err);
    case -EBUSY:
        return explain_busy(host, err);
    case -ERANGE:
        return explain_range(host, req, err);
    case -ENOENT:
        return explain_noent(host, req, err);
    case -ENODEV:
        return pvperf_err_set(err, rc,
                              "this host has no PMU that pvperf knows: use the timer "
                              "event instead");
    case -EINVAL:
        return pvperf_err_set(err, rc,
                              "Xen refused the session's parameters: 1 to %d events with "
                              "at least one mode each, rings of at most 2^%d pages, call "
                              "chains of 1 to %d frames",
                              PVPERF_MAX_EVENTS, PVPERF_MAX_RING_ORDER, PVPERF_MAX_STACK);
    default:
        return pvp_explain(rc, "making a session", err);
    }
}
