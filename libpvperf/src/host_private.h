/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PVP_HOST_PRIVATE_H
#define PVP_HOST_PRIVATE_H

#include "transport.h"

struct pvperf_host {
    const struct pvp_transport *ops;
    void *ctx;
};

int pvp_host_call(struct pvperf_host *host, unsigned int op, void *arg, size_t size);

/* All return @rc, with the reason in @err. */
int pvp_explain(int rc, const char *what, struct pvperf_err *err);
int pvp_explain_version(const struct pvperf_query *query, struct pvperf_err *err);
int pvp_explain_session(struct pvperf_host *host, uint32_t session, int rc,
                        const char *what, struct pvperf_err *err);
int pvp_explain_create(struct pvperf_host *host, const struct pvperf_session_create *req,
                       int rc, struct pvperf_err *err);

#endif
