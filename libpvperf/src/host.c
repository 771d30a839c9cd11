/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host.c: the operations of the hypercall; host_error.c says why they failed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host_private.h"

#define PAGE_BYTES 4096u

int pvp_host_new(struct pvperf_host **host, const struct pvp_transport *ops, void *ctx)
{
    struct pvperf_host *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    h->ops = ops;
    h->ctx = ctx;
    *host = h;
    return 0;
}

int pvperf_host_open(struct pvperf_host **host, struct pvperf_err *err)
{
    const struct pvp_transport *ops;
    void *ctx;
    int rc;

    rc = pvp_transport_xen_open(&ops, &ctx, err);
    if (rc < 0)
        return rc;
    rc = pvp_host_new(host, ops, ctx);
    if (rc < 0) {
        ops->close(ctx);
        return pvperf_err_set(err, rc, "out of memory: free some and try again");
    }
    return 0;
}

void pvperf_host_close(struct pvperf_host *host)
{
    if (!host)
        return;
    host->ops->close(host->ctx);
    free(host);
}

int pvp_host_call(struct pvperf_host *host, unsigned int op, void *arg, size_t size)
{
    return host->ops->hypercall(host->ctx, op, arg, size);
}

int pvperf_host_query(struct pvperf_host *host, struct pvperf_query *out,
                      struct pvperf_err *err)
{
    struct pvperf_query query = {0};
    int rc;

    rc = pvp_host_call(host, PVPERF_OP_query, &query, sizeof(query));
    if (rc < 0)
        return pvp_explain(rc, "asking Xen what it offers", err);
    if (query.abi_major != PVPERF_ABI_MAJOR)
        return pvp_explain_version(&query, err);
    *out = query;
    return 0;
}

int pvperf_host_session_create(struct pvperf_host *host,
                               struct pvperf_session_create *req, struct pvperf_err *err)
{
    struct pvperf_session_create arg = *req;
    int rc;

    arg.abi_major = PVPERF_ABI_MAJOR;
    arg.session = 0;
    rc = pvp_host_call(host, PVPERF_OP_session_create, &arg, sizeof(arg));
    if (rc < 0)
        return pvp_explain_create(host, &arg, rc, err);
    *req = arg;
    return 0;
}

static int session_op(struct pvperf_host *host, unsigned int op, uint32_t session,
                      const char *what, struct pvperf_err *err)
{
    struct pvperf_session arg = {.session = session};
    int rc = pvp_host_call(host, op, &arg, sizeof(arg));

    return rc < 0 ? pvp_explain_session(host, session, rc, what, err) : 0;
}

int pvperf_host_session_destroy(struct pvperf_host *host, uint32_t session,
                                struct pvperf_err *err)
{
    return session_op(host, PVPERF_OP_session_destroy, session, "destroying", err);
}

int pvperf_host_session_start(struct pvperf_host *host, uint32_t session,
                              struct pvperf_err *err)
{
    return session_op(host, PVPERF_OP_session_start, session, "starting", err);
}

int pvperf_host_session_stop(struct pvperf_host *host, uint32_t session,
                             struct pvperf_err *err)
{
    return session_op(host, PVPERF_OP_session_stop, session, "stopping", err);
}

static int session_info(struct pvperf_host *host, uint32_t session, uint16_t flags,
                        struct pvperf_session_info *out, struct pvperf_err *err)
{
    struct pvperf_session_info arg = {.session = session, .flags = flags};
    int rc = pvp_host_call(host, PVPERF_OP_session_info, &arg, sizeof(arg));

    if (rc == -ENOENT && (flags & PVPERF_SESSION_INFO_BY_SLOT))
        return pvperf_err_set(err, rc, "no session is in slot %u: choose another",
                              session);
    if (rc < 0)
        return pvp_explain_session(host, session, rc, "looking at", err);
    if (arg.nr_events > PVPERF_MAX_EVENTS || arg.ring_order > PVPERF_MAX_RING_ORDER)
        return pvperf_err_set(err, -EBADMSG,
                              "Xen described session %u in a way that cannot be: its "
                              "pvperf and this one do not match; rebuild both",
                              session);
    *out = arg;
    return 0;
}

int pvperf_host_session_info(struct pvperf_host *host, uint32_t session,
                             struct pvperf_session_info *out, struct pvperf_err *err)
{
    return session_info(host, session, 0, out, err);
}

int pvperf_host_session_at(struct pvperf_host *host, unsigned int slot,
                           struct pvperf_session_info *out, struct pvperf_err *err)
{
    return session_info(host, slot, PVPERF_SESSION_INFO_BY_SLOT, out, err);
}

static int domain_op(struct pvperf_host *host, unsigned int op, uint32_t session,
                     uint16_t domid, struct pvperf_err *err)
{
    struct pvperf_session_domain arg = {.session = session, .domid = domid};
    int rc = pvp_host_call(host, op, &arg, sizeof(arg));

    if (rc == -ESRCH)
        return pvperf_err_set(
            err, rc, "domain %u does not exist or is dying: see `pvperf list`", domid);
    return rc < 0 ? pvp_explain_session(host, session, rc, "changing the domains of", err)
                  : 0;
}

int pvperf_host_domain_add(struct pvperf_host *host, uint32_t session, uint16_t domid,
                           struct pvperf_err *err)
{
    return domain_op(host, PVPERF_OP_session_add_domain, session, domid, err);
}

int pvperf_host_domain_del(struct pvperf_host *host, uint32_t session, uint16_t domid,
                           struct pvperf_err *err)
{
    return domain_op(host, PVPERF_OP_session_del_domain, session, domid, err);
}

int pvperf_host_counts_read(struct pvperf_host *host, uint32_t session, uint32_t index,
                            struct pvperf_counts_read *out, struct pvperf_err *err)
{
    struct pvperf_counts_read arg = {.session = session, .index = index};
    int rc = pvp_host_call(host, PVPERF_OP_counts_read, &arg, sizeof(arg));

    if (rc < 0)
        return pvp_explain_session(host, session, rc, "reading the counts of", err);
    if (arg.nr > PVPERF_READ_MAX)
        return pvperf_err_set(err, -EBADMSG,
                              "Xen returned %u counts, which cannot be: its pvperf and "
                              "this one do not match; rebuild both",
                              arg.nr);
    *out = arg;
    return 0;
}

static int ring_op(struct pvperf_host *host, unsigned int op,
                   struct pvperf_ring_info *arg, struct pvperf_err *err)
{
    int rc = pvp_host_call(host, op, arg, sizeof(*arg));

    if (rc == -ENOENT)
        return pvperf_err_set(err, rc,
                              "session %u has no ring %u now: look at its rings again",
                              arg->session, arg->index);
    if (rc == -EBUSY)
        return pvperf_err_set(err, rc,
                              "ring %u of session %u is still in use by Xen: release it "
                              "after its domain has gone",
                              arg->index, arg->session);
    return rc < 0 ? pvp_explain(rc, "looking at a ring", err) : 0;
}

int pvperf_host_ring_info(struct pvperf_host *host, uint32_t session, uint32_t index,
                          struct pvperf_ring_info *out, struct pvperf_err *err)
{
    struct pvperf_ring_info arg = {.session = session, .index = index};
    int rc = ring_op(host, PVPERF_OP_ring_info, &arg, err);

    if (rc < 0)
        return rc;
    *out = arg;
    return 0;
}

int pvperf_host_ring_release(struct pvperf_host *host, uint32_t session, uint32_t index,
                             struct pvperf_err *err)
{
    struct pvperf_ring_info arg = {.session = session, .index = index};

    return ring_op(host, PVPERF_OP_ring_release, &arg, err);
}

int pvperf_host_ring_map(struct pvperf_host *host, const struct pvperf_ring_info *info,
                         struct pvperf_ring_map *out, struct pvperf_err *err)
{
    void *header, *data;
    size_t pages;
    int rc;

    if (info->data_order > PVPERF_MAX_RING_ORDER)
        return pvperf_err_set(err, -EBADMSG,
                              "Xen reports a ring of 2^%u pages, which cannot be: its "
                              "pvperf and this one do not match; rebuild both",
                              info->data_order);
    pages = (size_t)1 << info->data_order;
    rc = host->ops->map(host->ctx, info->header_frame, 1, true, &header);
    if (rc < 0)
        goto failed;
    rc = host->ops->map(host->ctx, info->data_frame, pages, false, &data);
    if (rc < 0) {
        host->ops->unmap(host->ctx, header, 1);
        goto failed;
    }
    *out = (struct pvperf_ring_map){
        .header = header, .data = data, .data_size = (uint32_t)pages * PAGE_BYTES};
    return 0;

failed:
    return pvperf_err_set(err, rc,
                          "cannot map ring %u of session %u (frame %#" PRIx64
                          "): %s; run this in dom0 as root",
                          info->index, info->session, info->header_frame, strerror(-rc));
}

void pvperf_host_ring_unmap(struct pvperf_host *host, struct pvperf_ring_map *map)
{
    if (map->header)
        host->ops->unmap(host->ctx, map->header, 1);
    if (map->data)
        host->ops->unmap(host->ctx, (void *)(uintptr_t)map->data,
                         map->data_size / PAGE_BYTES);
    memset(map, 0, sizeof(*map));
}

int pvperf_host_virq_open(struct pvperf_host *host, int *fd, struct pvperf_err *err)
{
    int rc = host->ops->virq_open(host->ctx);

    if (rc == -EEXIST || rc == -EBUSY)
        return pvperf_err_set(err, -EEXIST,
                              "another consumer has bound pvperf's VIRQ (%d): stop the "
                              "other pvperfd",
                              VIRQ_PVPERF);
    if (rc < 0)
        return pvperf_err_set(err, rc,
                              "cannot bind pvperf's VIRQ (%d): %s; load the module "
                              "xen-evtchn and run this in dom0 as root",
                              VIRQ_PVPERF, strerror(-rc));
    *fd = rc;
    return 0;
}

int pvperf_host_virq_ack(struct pvperf_host *host, struct pvperf_err *err)
{
    int rc = host->ops->virq_ack(host->ctx);

    return rc < 0 ? pvp_explain(rc, "taking a wake-up", err) : 0;
}
