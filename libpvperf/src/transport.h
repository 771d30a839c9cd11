/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * transport.h: how host.c reaches Xen.  The real one is in transport_xen.c;
 * tests and fuzzers bring their own.  Functions return 0 (or as said) or a
 * negative errno.
 */
#ifndef PVP_TRANSPORT_H
#define PVP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pvperf/host.h>

struct pvp_transport {
    /* @arg is in and out; copied back on success only. */
    int (*hypercall)(void *ctx, unsigned int op, void *arg, size_t size);
    /* Map frames of DOMID_XEN, one after the other. */
    int (*map)(void *ctx, uint64_t frame, size_t pages, bool write, void **out);
    void (*unmap)(void *ctx, void *addr, size_t pages);
    /* Bind VIRQ_PVPERF: an fd, which stays the transport's. */
    int (*virq_open)(void *ctx);
    int (*virq_ack)(void *ctx);
    void (*close)(void *ctx);
};

/* A host over @ops; pvperf_host_close() calls ops->close(ctx). */
int pvp_host_new(struct pvperf_host **host, const struct pvp_transport *ops, void *ctx);

/* The one that talks to Xen. */
int pvp_transport_xen_open(const struct pvp_transport **ops, void **ctx,
                           struct pvperf_err *err);

#endif
