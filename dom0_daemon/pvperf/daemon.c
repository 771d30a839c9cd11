// SPDX-License-Identifier: GPL-2.0-only
#include "daemon.h"

#include <errno.h>
#include <stdlib.h>

#include <pvperf/host.h>

#include "cli.h"

/* -ENOSYS, -EOPNOTSUPP or -EBADMSG if that is why no daemon runs; else 0. */
static int ask_xen(struct pvperf_err *err)
{
    struct pvperf_query query;
    struct pvperf_host *host;
    int rc;

    if (!sys_on_xen())
        return pvperf_err_set(err, -ENOSYS,
                              "this machine does not run on Xen; use dom0 of a host "
                              "whose Xen has pvperf");
    if (pvperf_host_open(&host, NULL))
        return 0;
    rc = pvperf_host_query(host, &query, err);
    pvperf_host_close(host);
    return rc == -ENOSYS || rc == -EOPNOTSUPP || rc == -EBADMSG ? rc : 0;
}

int daemon_connect(struct pvperf_client **out, const char *socket, struct pvperf_err *err)
{
    struct pvperf_err reason;
    int rc = pvperf_client_connect(out, socket, err), why;

    if (!rc || socket || getenv(PVPERF_SOCKET_ENV))
        return rc;
    why = ask_xen(&reason);
    if (!why)
        return rc;
    *err = reason;
    return why;
}
