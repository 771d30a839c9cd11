/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_util.h: shared by the tests of the core and its fuzzer: short forms of
 * the hypercalls, and a consumer that distrusts the ring it reads.
 */
#ifndef PVPERF_CORE_UTIL_H
#define PVPERF_CORE_UTIL_H

#include <control.h>

#define REQ(p)                                           \
    do {                                                 \
        if (!(p))                                        \
            shim_bug("broken: " #p, __FILE__, __LINE__); \
    } while (0)
#define MS 1000000ll

/* A create with one timer event of this period (ns), all modes. */
struct pvperf_session_create create_timer(uint8_t flags, uint64_t period);
struct pvperf_session_create create_counters(uint8_t flags, unsigned int events);
uint32_t session_make(struct pvperf_session_create op);
long session_op(unsigned int cmd, uint32_t id);
long domain_op(unsigned int cmd, uint32_t id, domid_t domid);
struct pvperf_session_info session_info(uint32_t id);
long ring_info(uint32_t id, uint32_t index, struct pvperf_ring_info *info);
long ring_release(uint32_t id, uint32_t index);
struct pvperf_query query(void);
struct pvperf_counts session_counts(uint32_t id, unsigned int event);
void require_identity(uint32_t id);
/* -1: none.  The last live ring of that vCPU. */
int ring_index(uint32_t id, domid_t domid, uint16_t vcpu);

struct rec {
    struct pvperf_rec hdr;
    uint64_t pos;
    uint64_t time, ip, period;
    struct pvperf_chain chain;
    uint64_t frames[PVPERF_MAX_STACK];
    struct pvperf_rec_context context; /* CONTEXT; of a SAMPLE: in force */
    struct pvperf_rec_lost lost;
};

struct consumer {
    struct pvperf_ring_info info;
    struct pvperf_ring *ring;
    const uint8_t *data;
    uint64_t pos;
    bool context_known;
    struct pvperf_rec_context context;
    uint64_t samples[PVPERF_MAX_EVENTS], lost[PVPERF_MAX_EVENTS];
    struct rec *recs;
    unsigned int nr_recs, room;
};

/* Maps a ring; false: there is none. */
bool consumer_open(struct consumer *c, uint32_t session, uint32_t index);
bool consumer_open_vcpu(struct consumer *c, uint32_t session, domid_t d, uint16_t vcpu);
/*
 * Reads what is there into recs[], checking every rule of the protocol.
 * consume: also moves tail.  Returns the number of SAMPLE records.
 */
unsigned int consumer_read(struct consumer *c, bool consume);
void consumer_forget(struct consumer *c); /* recs[], not the position */
void consumer_close(struct consumer *c);
/* The next record of this type at or after *i; NULL: none. */
struct rec *next_rec(struct consumer *c, unsigned int *i, uint8_t type);

#endif /* PVPERF_CORE_UTIL_H */
