/* SPDX-License-Identifier: GPL-2.0-only */
/* session_rings.h: between session.c and session_rings.c. */
#ifndef PVPERFD_SESSION_RINGS_H
#define PVPERFD_SESSION_RINGS_H

#include "session.h"

/* Map rings that are new, give up those that are dead and empty. */
void session_rings_scan(struct session *s, const struct pvperf_session_info *info,
                        const struct pvperf_domain *list, size_t nr);
/* Tell the client of all rings there are. */
void session_rings_announce(struct session *s, const struct pvperf_domain *list,
                            size_t nr);
/* True if there was more than its share. */
bool session_rings_drain(struct session *s);
/* Samples that are in the rings.  Empties them. */
uint64_t session_rings_count(struct session *s);
bool session_rings_empty(const struct session *s);
void session_rings_close(struct session *s);

#endif
