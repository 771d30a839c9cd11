/* SPDX-License-Identifier: GPL-2.0-only */
/* domains_xen.c: domains from Xen, their names and comings from xenstore. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xenctrl.h>
#include <xenstore.h>

#include "domains.h"
#include "log.h"

#define BATCH 64u
#define MAX_DOMAINS 32768u

struct source {
    xentoollog_logger *log;
    xc_interface *xen;
    struct xs_handle *store;
};

static bool open_xen(struct source *s)
{
    if (!s->log) /* ours say it in one line */
        s->log =
            (xentoollog_logger *)xtl_createlogger_stdiostream(stderr, XTL_CRITICAL, 0);
    if (!s->xen)
        s->xen = xc_interface_open(s->log, s->log, XC_OPENFLAG_NON_REENTRANT);
    return s->xen != NULL;
}

static void open_store(struct source *s)
{
    int fd;

    if (s->store)
        return;
    s->store = xs_open(0);
    if (!s->store)
        return;
    if (!xs_watch(s->store, "@introduceDomain", "in") ||
        !xs_watch(s->store, "@releaseDomain", "out"))
        log_warning("cannot watch domains come and go: %s; looking every second",
                    strerror(errno));
    fd = xs_fileno(s->store);
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static uint8_t state_of(uint32_t flags)
{
    if (flags & XEN_DOMINF_dying)
        return PVPERF_DOMAIN_DYING;
    if (flags & XEN_DOMINF_shutdown)
        return PVPERF_DOMAIN_SHUTDOWN;
    if (flags & XEN_DOMINF_paused)
        return PVPERF_DOMAIN_PAUSED;
    if (flags & XEN_DOMINF_blocked)
        return PVPERF_DOMAIN_BLOCKED;
    return PVPERF_DOMAIN_RUNNING;
}

static void read_name(struct source *s, struct pvperf_domain *d)
{
    unsigned int len = 0;
    char path[64], *name;

    if (!s->store)
        return;
    snprintf(path, sizeof(path), "/local/domain/%u/name", d->domid);
    name = xs_read(s->store, XBT_NULL, path, &len);
    if (name)
        domains_clean_name(d->name, name, len);
    else if (errno != ENOENT && errno != EACCES) {
        /* xenstored has gone; a new one needs a new connection. */
        xs_close(s->store);
        s->store = NULL;
    }
    free(name);
}

static void fill(struct source *s, const xc_domaininfo_t *info, struct pvperf_domain *d)
{
    memset(d, 0, sizeof(*d));
    d->domid = info->domain;
    d->state = state_of(info->flags);
    d->hvm = !!(info->flags & XEN_DOMINF_hvm_guest);
    d->nr_vcpus = info->nr_online_vcpus;
    d->cpu_time = info->cpu_time;
    memcpy(d->uuid, info->handle, sizeof(d->uuid));
    read_name(s, d);
}

static int xen_list(void *ctx, struct pvperf_domain **out, size_t *nr)
{
    struct pvperf_domain *list = NULL, *more;
    xc_domaininfo_t info[BATCH];
    struct source *s = ctx;
    uint32_t first = 0;
    size_t count = 0;
    int i, n, rc;

    if (!open_xen(s))
        return errno ? -errno : -EIO;
    open_store(s);
    do {
        n = xc_domain_getinfolist(s->xen, first, BATCH, info);
        more = n < 0 ? NULL : reallocarray(list, count + BATCH, sizeof(*list));
        if (!more) {
            rc = n < 0 && errno ? -errno : -ENOMEM;
            free(list);
            return rc;
        }
        list = more;
        for (i = 0; i < n; i++)
            fill(s, &info[i], &list[count++]);
        if (n > 0)
            first = info[n - 1].domain + 1u;
    } while (n == (int)BATCH && count < MAX_DOMAINS);
    *out = list;
    *nr = count;
    return 0;
}

static int xen_fd(void *ctx)
{
    struct source *s = ctx;

    return s->store ? xs_fileno(s->store) : -1;
}

static void xen_ack(void *ctx)
{
    struct source *s = ctx;
    char **event;

    if (!s->store)
        return;
    while ((event = xs_check_watch(s->store)) != NULL)
        free(event);
    if (errno != EAGAIN) {
        xs_close(s->store); /* xenstored has gone */
        s->store = NULL;
    }
}

static void xen_close(void *ctx)
{
    struct source *s = ctx;

    if (s->store)
        xs_close(s->store);
    if (s->xen)
        xc_interface_close(s->xen);
    if (s->log)
        xtl_logger_destroy(s->log);
    free(s);
}

void domains_xen_open(struct domain_source *out)
{
    struct source *s = calloc(1, sizeof(*s));

    if (!s) {
        log_error("out of memory: free some and start again");
        exit(1);
    }
    open_store(s);
    *out = (struct domain_source){s, xen_list, xen_fd, xen_ack, xen_close};
}
