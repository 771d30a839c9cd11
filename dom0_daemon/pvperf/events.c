// SPDX-License-Identifier: GPL-2.0-only
#include "events.h"

#include <errno.h>
#include <inttypes.h>

static int check_owner(const struct pvperf_query *query, const char *name,
                       struct pvperf_err *err)
{
    const char *who, *remedy;

    switch (query->pmu_owner) {
    case PVPERF_OWNER_VPMU:
        who = "Xen's vPMU";
        remedy = "boot Xen without vpmu";
        break;
    case PVPERF_OWNER_XENOPROF:
        who = "xenoprof";
        remedy = "stop its user";
        break;
    default:
        return 0;
    }
    return pvperf_err_set(err, -EBUSY,
                          "event '%s' needs the PMU, which %s holds; %s, or use -e timer",
                          name, who, remedy);
}

int events_check(const struct pvperf_query *query, const struct pvperf_event *event,
                 const char *name, struct pvperf_err *err)
{
    if (event->type == PVPERF_EVENT_TIMER)
        return 0;
    if (query->backend == PVPERF_BACKEND_NONE)
        return pvperf_err_set(err, -ENODEV,
                              "event '%s' needs a PMU and this host has none that pvperf "
                              "knows; use -e timer",
                              name);
    if (event->type == PVPERF_EVENT_GENERIC &&
        !(query->generic_events >> event->config & 1))
        return pvperf_err_set(err, -ENOENT,
                              "event '%s' is not one of this processor's; 'pvperf list "
                              "events' lists what it has",
                              name);
    return check_owner(query, name, err);
}

int events_set_freq(const struct pvperf_query *query, uint64_t freq,
                    struct pvperf_event *event, struct pvperf_err *err)
{
    if (freq > query->max_rate)
        return pvperf_err_set(err, -ERANGE,
                              "the frequency %" PRIu64
                              " is too high; this host allows up to "
                              "%" PRIu32 " samples a second and CPU",
                              freq, query->max_rate);
    event->flags |= PVPERF_EVENT_FLAG_FREQ;
    event->rate = freq;
    return 0;
}

int events_set_period(const struct pvperf_query *query, uint64_t period,
                      struct pvperf_event *event, struct pvperf_err *err)
{
    bool timer = event->type == PVPERF_EVENT_TIMER;
    uint64_t min = EVENTS_MIN_PERIOD;

    if (timer && query->max_rate)
        min = (1000000000ull + query->max_rate - 1) / query->max_rate;
    if (period < min)
        return pvperf_err_set(err, -ERANGE,
                              "the period %" PRIu64
                              " is too short; this host allows %" PRIu64 " %s or more",
                              period, min, timer ? "ns" : "events");
    event->flags &= (uint8_t)~PVPERF_EVENT_FLAG_FREQ;
    event->rate = period;
    return 0;
}
