/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pmu.h: between arbiter.c, pmu.c and the back ends (intel.c, amd.c).
 *
 * Counters are numbered: general ones from 0, fixed ones from PMU_FIXED.
 */
#ifndef __X86_PVPERF_PMU_H__
#define __X86_PVPERF_PMU_H__

#include "../../../common/pvperf/private.h"

#define PMU_FIXED    32
#define PMU_COUNTERS 64

/* Event selects: what both vendors have in common. */
#define EVTSEL_USR     (1ULL << 16)
#define EVTSEL_OS      (1ULL << 17)
#define EVTSEL_EDGE    (1ULL << 18)
#define EVTSEL_INT     (1ULL << 20)
#define EVTSEL_EN      (1ULL << 22)
#define EVTSEL_INV     (1ULL << 23)
#define EVTSEL_CMASK   0xff000000ULL

/*
 * Rings to count, as EVTSEL_USR and EVTSEL_OS.  Xen and the kernels of HVM
 * guests run in ring 0; kernels and programs of PV guests in ring 3 (32-bit PV
 * kernels in ring 1).  What is counted beyond the wanted modes is filtered
 * when it is sampled.
 */
static inline uint64_t pmu_rings(uint8_t modes)
{
    return (modes & ((1u << PVPERF_MODE_USER) | (1u << PVPERF_MODE_KERNEL))
            ? EVTSEL_USR : 0) |
           (modes & ~(1u << PVPERF_MODE_USER) ? EVTSEL_OS : 0);
}

/*
 * The same for counting, where a ring-3 kernel and Xen can be told apart only
 * if nothing is counted that was not asked for.
 */
static inline uint64_t pmu_rings_pv(uint8_t modes)
{
    return (modes & ((1u << PVPERF_MODE_USER) | (1u << PVPERF_MODE_KERNEL))
            ? EVTSEL_USR : 0) |
           (modes & ((1u << PVPERF_MODE_HYPERVISOR) | (1u << PVPERF_MODE_IDLE))
            ? EVTSEL_OS : 0);
}

struct pmu_ops {
    /* 0, -EINVAL or -ENOENT */
    int (*check)(const struct pvperf_event *event);
    /* A counter for the event that is not in taken, or -1. */
    int (*assign)(const struct pvperf_event *event, uint64_t taken);

    /* The rest: on the CPU, interrupts off. */

    /* Stop all counters but the others, forget old overflows. */
    void (*reset)(uint64_t others);
    /* Program a counter; it counts once resume() says so.  rings: EVTSEL_*. */
    void (*start)(unsigned int counter, const struct pvperf_event *event,
                  uint64_t rings);
    void (*stop)(unsigned int counter);
    /* The counter is to overflow after so many events. */
    void (*arm)(unsigned int counter, uint64_t events);
    void (*pause)(void);
    /*
     * Counters that have overflowed since the last call, or on AMD since they
     * were armed.
     */
    uint64_t (*overflows)(void);
    void (*resume)(uint64_t counters);
    uint64_t max_events;        /* longest distance for arm() */
    unsigned int fixed_bits;    /* width of a fixed counter */
};

/* arbiter.c */
extern const struct pmu_ops *pmu_ops;   /* const after boot */
extern bool pmu_nmi;            /* pvperf_lock; const while the PMU is in use */
extern uint64_t pmu_others;     /* the same: counters of the watchdog */
/* By counter: set under pvperf_lock before it is started, then const. */
extern struct pvp_session *pmu_holder[PMU_COUNTERS];

/* NULL if this host's PMU is not known to the back end; fill pvp_pmu. */
const struct pmu_ops *pvp_intel_probe(void);
const struct pmu_ops *pvp_amd_probe(void);

#endif /* __X86_PVPERF_PMU_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
