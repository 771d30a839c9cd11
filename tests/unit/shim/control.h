/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * control.h: how a test or a fuzzer drives the user-space Xen of shim.h.
 *
 * shim_boot() brings it up, shim_down() takes it down and checks that nothing
 * is left: no memory, no page, no lock, no timer.  Everything runs in one
 * thread; "a CPU" is a number that shim_cpu names.
 */
#ifndef PVPERF_SHIM_CONTROL_H
#define PVPERF_SHIM_CONTROL_H

#include "shim.h"
#include <public/pvperf.h>

struct shim {
    s_time_t now;
    bool verbose;               /* show Xen's console */

    /* failures to inject; negative: never, else after so many successes */
    long fail_xmalloc;
    long fail_heap;
    long fail_copy_from;
    long fail_copy_to;
    /* hypercall_preempt_check(): true every so many calls; 0: never */
    unsigned int preempt_every;
    bool unprivileged;          /* current is refused by XSM */
    const void *bad_start, *bad_end; /* guest memory that faults */
    void (*after_copy_from)(void *guest, unsigned long len);

    /* what happened */
    unsigned int virqs[VIRQ_SHIM_NR];
    unsigned long live_blocks;  /* xmalloc */
    unsigned long live_pages;   /* Xen heap */
    unsigned long syncs;
    unsigned int continuations;
    unsigned long printks;
};
extern struct shim shim;

/* params: what follows pvperf= on the command line; NULL: not given */
void shim_boot(unsigned int cpus, const char *params);
extern int shim_param_rc;   /* what the parameter's parser said */
void shim_down(void);
/* Abort with a line unless nothing is held: locks, interrupts. */
void shim_check_idle(void);

/* Domains, of max vCPUs of which the first exist.  None runs. */
struct domain *shim_domain_create(domid_t id, unsigned int max, unsigned int made);
void shim_domain_add_vcpu(struct domain *d);
/* domain_kill(), then, when nobody holds it, the end of it. */
void shim_domain_kill(struct domain *d);
void shim_domain_free(struct domain *d);
void shim_run_vcpu(unsigned int cpu, struct vcpu *v); /* NULL: idle */

/* CPUs */
int shim_cpu_up(unsigned int cpu);
int shim_cpu_down(unsigned int cpu);

/* Softirqs, tasklets and RCU callbacks until none is left. */
void shim_softirqs(void);
/* Timers and interrupts until then. */
void shim_advance(s_time_t ns);
/* How the LAPIC timer's interrupt relates to the timer softirq. */
extern bool shim_softirq_first; /* the softirq wins: SKID samples */
/* A timer interrupt that nobody asked for. */
void shim_timer_interrupt(unsigned int cpu);
unsigned int shim_active_timers(void);

/* dom0's mappings of frames of DOMID_XEN */
void *shim_map(unsigned long mfn, bool writable);
void shim_unmap(unsigned long mfn, bool writable);

/* What the next interrupt finds (arch side of the shim). */
struct shim_regs {
    uint8_t mode;
    uint64_t ip;
    uint64_t tag;
    struct pvperf_chain chain;
    uint64_t frames[PVPERF_MAX_STACK];
};
extern struct shim_regs shim_regs[NR_CPUS];

/* The PMU of the shim: none unless a test gives one. */
void shim_pmu_set(uint8_t backend, unsigned int counters, uint8_t owner);
/*
 * The CPU counts so many events for the vCPU on it, in the mode of shim_regs;
 * they reach it with the next ones, or when Xen asks.  False: not running.
 */
bool shim_pmu_count(unsigned int cpu, uint32_t id, unsigned int event, uint64_t n);
/* A counter of a running session overflows; false: it does not run there. */
bool shim_pmu_overflow(unsigned int cpu, uint32_t id, unsigned int event,
                       uint64_t period);

/* From CPU 0, continued until done; then softirqs. */
long shim_hypercall(unsigned int op, void *arg);

#endif /* PVPERF_SHIM_CONTROL_H */
