/* SPDX-License-Identifier: GPL-2.0-only */
/* domains.h: which domains there are.  The real source asks Xen and xenstore. */
#ifndef PVPERFD_DOMAINS_H
#define PVPERFD_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>

#include <pvperf/client.h>

struct domain_source {
    void *ctx;
    /* All domains by id, into a list to free().  0 or a negative errno. */
    int (*list)(void *ctx, struct pvperf_domain **out, size_t *nr);
    /* Readable when domains may have come or gone; -1: no such fd. */
    int (*fd)(void *ctx);
    void (*ack)(void *ctx);
    void (*close)(void *ctx);
};

/* Never fails: what cannot be opened is tried again at each list. */
void domains_xen_open(struct domain_source *out);

/*
 * A name from xenstore: cut to size, control characters and broken UTF-8
 * become '?'.
 */
void domains_clean_name(char out[PVPERF_NAME_LEN], const char *bytes, size_t len);

const struct pvperf_domain *domains_find(const struct pvperf_domain *list, size_t nr,
                                         uint16_t domid);

#endif
