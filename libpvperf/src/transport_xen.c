/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transport_xen.c: hypercalls, mappings and the VIRQ through Xen's libraries. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xencall.h>
#include <xenevtchn.h>
#include <xenforeignmemory.h>
#include <xentoollog.h>

#include "transport.h"

#define BUFFER_BYTES 4096
#define MAX_MAP_PAGES (1u << PVPERF_MAX_RING_ORDER)

struct xen_transport {
    xentoollog_logger *log;
    xencall_handle *call;
    void *buffer; /* the hypercall's argument: never faults */
    xenforeignmemory_handle *memory;
    xenevtchn_handle *evtchn;
    xenevtchn_port_or_error_t port;
};

static int xen_hypercall(void *ctx, unsigned int op, void *arg, size_t size)
{
    struct xen_transport *t = ctx;
    int rc;

    if (size > BUFFER_BYTES)
        return -EINVAL;
    memcpy(t->buffer, arg, size);
    rc = xencall2(t->call, __HYPERVISOR_pvperf_op, op, (uintptr_t)t->buffer);
    if (rc < 0)
        return errno ? -errno : -EIO;
    memcpy(arg, t->buffer, size);
    return 0;
}

static int xen_map(void *ctx, uint64_t frame, size_t pages, bool write, void **out)
{
    struct xen_transport *t = ctx;
    xen_pfn_t frames[MAX_MAP_PAGES];
    int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;
    size_t i;

    if (!pages || pages > MAX_MAP_PAGES || frame > UINT64_MAX - pages)
        return -EINVAL;
    if (!t->memory) {
        t->memory = xenforeignmemory_open(t->log, 0);
        if (!t->memory)
            return errno ? -errno : -EIO;
    }
    for (i = 0; i < pages; i++)
        frames[i] = frame + i;
    /* Without an array for errors, one bad frame fails the whole. */
    *out = xenforeignmemory_map(t->memory, DOMID_XEN, prot, pages, frames, NULL);
    return *out ? 0 : errno ? -errno : -EIO;
}

static void xen_unmap(void *ctx, void *addr, size_t pages)
{
    struct xen_transport *t = ctx;

    xenforeignmemory_unmap(t->memory, addr, pages);
}

static int xen_virq_open(void *ctx)
{
    struct xen_transport *t = ctx;
    int rc;

    if (t->evtchn)
        return xenevtchn_fd(t->evtchn);
    t->evtchn = xenevtchn_open(t->log, 0);
    if (!t->evtchn)
        return errno ? -errno : -EIO;
    t->port = xenevtchn_bind_virq(t->evtchn, VIRQ_PVPERF);
    if (t->port < 0) {
        rc = errno ? -errno : -EIO;
        xenevtchn_close(t->evtchn);
        t->evtchn = NULL;
        return rc;
    }
    return xenevtchn_fd(t->evtchn);
}

static int xen_virq_ack(void *ctx)
{
    struct xen_transport *t = ctx;
    xenevtchn_port_or_error_t port = xenevtchn_pending(t->evtchn);

    if (port < 0 || xenevtchn_unmask(t->evtchn, (evtchn_port_t)port) < 0)
        return errno ? -errno : -EIO;
    return 0;
}

static void xen_close(void *ctx)
{
    struct xen_transport *t = ctx;

    if (t->evtchn)
        xenevtchn_close(t->evtchn);
    if (t->memory)
        xenforeignmemory_close(t->memory);
    if (t->buffer)
        xencall_free_buffer(t->call, t->buffer);
    if (t->call)
        xencall_close(t->call);
    if (t->log)
        xtl_logger_destroy(t->log);
    free(t);
}

static const struct pvp_transport xen_ops = {
    .hypercall = xen_hypercall,
    .map = xen_map,
    .unmap = xen_unmap,
    .virq_open = xen_virq_open,
    .virq_ack = xen_virq_ack,
    .close = xen_close,
};

static int open_failed(int rc, struct pvperf_err *err)
{
    if (rc == -EACCES || rc == -EPERM)
        return pvperf_err_set(err, -EPERM,
                              "no permission to open /dev/xen/privcmd: run this as root");
    if (access("/dev/xen/privcmd", F_OK) && access("/sys/hypervisor/type", F_OK))
        return pvperf_err_set(err, rc,
                              "this machine does not run as a Xen domain (no "
                              "/dev/xen/privcmd): run this in dom0 of a Xen host");
    return pvperf_err_set(err, rc,
                          "cannot open /dev/xen/privcmd: %s; load the module "
                          "xen-privcmd (modprobe xen-privcmd) and run this as root",
                          strerror(-rc));
}

int pvp_transport_xen_open(const struct pvp_transport **ops, void **ctx,
                           struct pvperf_err *err)
{
    struct xen_transport *t = calloc(1, sizeof(*t));
    int rc;

    if (!t)
        return pvperf_err_set(err, -ENOMEM, "out of memory: free some and try again");
    /* Their own messages would make two lines of one error. */
    t->log = (xentoollog_logger *)xtl_createlogger_stdiostream(stderr, XTL_CRITICAL, 0);
    t->call = t->log ? xencall_open(t->log, 0) : NULL;
    if (!t->call) {
        rc = errno ? -errno : -EIO;
        xen_close(t);
        return open_failed(rc, err);
    }
    t->buffer = xencall_alloc_buffer(t->call, BUFFER_BYTES);
    if (!t->buffer) {
        rc = errno ? -errno : -ENOMEM;
        xen_close(t);
        return pvperf_err_set(err, rc,
                              "no memory for hypercalls: %s; raise the limit of locked "
                              "memory (ulimit -l)",
                              strerror(-rc));
    }
    *ops = &xen_ops;
    *ctx = t;
    return 0;
}
