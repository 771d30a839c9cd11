/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample.h: one decoded sample, the currency between the parts of libpvperf:
 * the decoder makes it from ring bytes, the capture writes and reads it, the
 * profile adds it up.
 */
#ifndef PVPERF_SAMPLE_H
#define PVPERF_SAMPLE_H

#include <stdint.h>
#include <pvperf/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * @chain holds return addresses, innermost first, @ip not repeated: the
 * first @nr_xen of Xen, then @nr_kernel of the guest's kernel, then @nr_user.
 */
struct pvperf_sample {
    uint64_t time; /* Xen system time, ns */
    uint64_t ip;
    uint64_t period;  /* what the sample stands for: events, or ns */
    uint64_t pt_base; /* page-table base, bytes; 0: none */
    uint64_t tag;     /* guest tag; 0: none */
    uint16_t domid;   /* PVPERF_DOMID_IDLE: no domain */
    uint16_t vcpu;
    uint16_t pcpu;
    uint8_t event;  /* index in the session's events */
    uint8_t mode;   /* PVPERF_MODE_* */
    uint16_t flags; /* PVPERF_SAMPLE_FLAG_* */
    uint16_t nr_xen;
    uint16_t nr_kernel;
    uint16_t nr_user;
    uint64_t chain[PVPERF_MAX_STACK];
};

/* Samples that were taken but found no room, of one event and vCPU. */
struct pvperf_lost {
    uint64_t count;
    uint64_t time_first;
    uint64_t time_last;
    uint16_t domid; /* of the ring */
    uint16_t vcpu;  /* of the ring */
    uint16_t pcpu;
    uint8_t event;
};

#ifdef __cplusplus
}
#endif
#endif
