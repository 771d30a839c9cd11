/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * host.h: the privileged side of pvperf: the hypercall, the mapping of rings
 * and the wake-up channel.  Only pvperfd and `pvperf doctor` need it; all
 * others are clients of pvperfd (client.h).
 *
 * Functions return 0 or a negative errno and leave outputs untouched on
 * failure; @err, which may be NULL, then says what is wrong and what to do.
 * A handle is not for use by several threads at once.
 */
#ifndef PVPERF_HOST_H
#define PVPERF_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <pvperf/abi.h>
#include <pvperf/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pvperf_host;

/* Open the hypercall device.  Whether Xen has pvperf, only a query tells. */
int pvperf_host_open(struct pvperf_host **host, struct pvperf_err *err);
void pvperf_host_close(struct pvperf_host *host);

/*
 * What this Xen offers.  -ENOSYS: no pvperf in it; -EOPNOTSUPP: not enabled;
 * -EBADMSG: its ABI is of another major version.
 */
int pvperf_host_query(struct pvperf_host *host, struct pvperf_query *out,
                      struct pvperf_err *err);

/* "watchdog", "vpmu", ...; for PVPERF_OWNER_NONE "nobody". */
const char *pvperf_host_owner_name(unsigned int owner);

/* "timer only", "Intel", "AMD" for PVPERF_BACKEND_*. */
const char *pvperf_host_backend_name(unsigned int backend);

/*
 * Sessions.  @req->abi_major is filled in here; on success @req->session is
 * the new id.
 */
int pvperf_host_session_create(struct pvperf_host *host,
                               struct pvperf_session_create *req, struct pvperf_err *err);
int pvperf_host_session_destroy(struct pvperf_host *host, uint32_t session,
                                struct pvperf_err *err);
int pvperf_host_session_start(struct pvperf_host *host, uint32_t session,
                              struct pvperf_err *err);
int pvperf_host_session_stop(struct pvperf_host *host, uint32_t session,
                             struct pvperf_err *err);
int pvperf_host_session_info(struct pvperf_host *host, uint32_t session,
                             struct pvperf_session_info *out, struct pvperf_err *err);
/* The session in a slot, 0 to PVPERF_MAX_SESSIONS - 1; -ENOENT: none. */
int pvperf_host_session_at(struct pvperf_host *host, unsigned int slot,
                           struct pvperf_session_info *out, struct pvperf_err *err);
int pvperf_host_domain_add(struct pvperf_host *host, uint32_t session, uint16_t domid,
                           struct pvperf_err *err);
int pvperf_host_domain_del(struct pvperf_host *host, uint32_t session, uint16_t domid,
                           struct pvperf_err *err);

/*
 * What a session with FLAG_COUNT has counted: up to PVPERF_READ_MAX entries from
 * @index on.  Index 0 brings the counts up to date.
 */
int pvperf_host_counts_read(struct pvperf_host *host, uint32_t session, uint32_t index,
                            struct pvperf_counts_read *out, struct pvperf_err *err);

/* Rings.  -ENOENT: no ring with that index. */
int pvperf_host_ring_info(struct pvperf_host *host, uint32_t session, uint32_t index,
                          struct pvperf_ring_info *out, struct pvperf_err *err);
int pvperf_host_ring_release(struct pvperf_host *host, uint32_t session, uint32_t index,
                             struct pvperf_err *err);

/* A mapped ring; see pvperf_consumer_new() in ring.h for what to do with it. */
struct pvperf_ring_map {
    struct pvperf_ring *header; /* one page, read-write */
    const void *data;           /* data_size bytes, read-only */
    uint32_t data_size;
};

int pvperf_host_ring_map(struct pvperf_host *host, const struct pvperf_ring_info *info,
                         struct pvperf_ring_map *out, struct pvperf_err *err);
/* Takes a map from pvperf_host_ring_map(), or zeroes. */
void pvperf_host_ring_unmap(struct pvperf_host *host, struct pvperf_ring_map *map);

/*
 * Wake-up: bind VIRQ_PVPERF.  The fd, which belongs to @host, is readable
 * after a ring has passed its watermark; call _ack() then, and look at all
 * rings after it.  -EEXIST: another consumer has bound it.
 */
int pvperf_host_virq_open(struct pvperf_host *host, int *fd, struct pvperf_err *err);
int pvperf_host_virq_ack(struct pvperf_host *host, struct pvperf_err *err);

#ifdef __cplusplus
}
#endif
#endif
