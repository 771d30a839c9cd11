/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * daemon.h: reaching pvperfd.
 */
#ifndef PVPERF_CLI_DAEMON_H
#define PVPERF_CLI_DAEMON_H

#include <pvperf/client.h>
#include <pvperf/error.h>

/*
 * pvperf_client_connect(); but where it is Xen that lacks pvperf or has it
 * disabled, the reason is that, and not that no daemon runs.
 */
int daemon_connect(struct pvperf_client **out, const char *socket,
                   struct pvperf_err *err);

#endif
