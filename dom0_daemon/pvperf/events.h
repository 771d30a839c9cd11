/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * events.h: what this host can sample, and how often. Pure functions.
 */
#ifndef PVPERF_CLI_EVENTS_H
#define PVPERF_CLI_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pvperf/abi.h>
#include <pvperf/error.h>

#define EVENTS_DEFAULT_FREQ 999
#define EVENTS_MIN_PERIOD 1000 /* of counters, as the ABI has it */

/*
 * 0: the event can be sampled here. -ENODEV, -EBUSY, -ENOENT: it cannot, and
 * @err says why and what to do.
 */
int events_check(const struct pvperf_query *query, const struct pvperf_event *event,
                 const char *name, struct pvperf_err *err);

/* Put a frequency (samples a second and CPU) or a period into an event. */
int events_set_freq(const struct pvperf_query *query, uint64_t freq,
                    struct pvperf_event *event, struct pvperf_err *err);
int events_set_period(const struct pvperf_query *query, uint64_t period,
                      struct pvperf_event *event, struct pvperf_err *err);

#endif
