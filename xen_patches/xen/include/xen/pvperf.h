/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pvperf.h: what pvperf offers to the rest of Xen: the hooks.
 *
 * Each hook is empty without CONFIG_PVPERF, and costs one predictable branch
 * when pvperf is built in but unused.
 */
#ifndef __XEN_PVPERF_H__
#define __XEN_PVPERF_H__

#include <xen/percpu.h>
#include <xen/types.h>
#include <asm/current.h>

struct cpu_user_regs;
struct domain;
struct vcpu;

#ifdef CONFIG_PVPERF

/*
 * Sessions (bit: slot) whose timers run on this CPU.  Set and cleared
 * atomically by start and stop, from any CPU; read with interrupts off.
 */
DECLARE_PER_CPU(unsigned long, pvperf_armed);

/* Hardware counters are reserved.  Written under the lock of pvperf. */
extern bool pvperf_pmu_in_use;

void pvperf_timer_irq(struct cpu_user_regs *regs);
/*
 * Counters follow vCPUs; and some tell user from kernel mode.  Written under
 * the lock of pvperf.
 */
extern bool pvperf_counting, pvperf_splitting;

bool pvperf_pmu_irq(struct cpu_user_regs *regs);
bool pvperf_pmu_nmi(const struct cpu_user_regs *regs);
void pvperf_account_switch(const struct vcpu *prev);
void pvperf_account_toggle(void);
void pvperf_domain_kill(struct domain *d);
void pvperf_domain_free(struct domain *d);

/* From the LAPIC timer's interrupt, interrupts off. */
static inline void pvperf_timer_interrupt(struct cpu_user_regs *regs)
{
    if ( unlikely(this_cpu(pvperf_armed)) )
        pvperf_timer_irq(regs);
}

/* From the PMU's interrupt: true if it was ours. */
static inline bool pvperf_pmu_interrupt(struct cpu_user_regs *regs)
{
    return unlikely(pvperf_pmu_in_use) && pvperf_pmu_irq(regs);
}

/* From the NMI's handler: true if it was ours alone. */
static inline bool pvperf_nmi(const struct cpu_user_regs *regs)
{
    return unlikely(pvperf_pmu_in_use) && pvperf_pmu_nmi(regs);
}

/* The CPU is about to leave prev: interrupts off, prev is still current. */
static inline void pvperf_vcpu_switch(const struct vcpu *prev)
{
    if ( unlikely(pvperf_counting) )
        pvperf_account_switch(prev);
}

/* A 64-bit PV vCPU is about to change between user and kernel mode. */
static inline void pvperf_toggle_mode(void)
{
    if ( unlikely(pvperf_splitting) )
        pvperf_account_toggle();
}

#else /* !CONFIG_PVPERF */

static inline void pvperf_timer_interrupt(struct cpu_user_regs *regs) {}
static inline bool pvperf_pmu_interrupt(struct cpu_user_regs *regs)
{
    return false;
}
static inline bool pvperf_nmi(const struct cpu_user_regs *regs)
{
    return false;
}
static inline void pvperf_vcpu_switch(const struct vcpu *prev) {}
static inline void pvperf_toggle_mode(void) {}
static inline void pvperf_domain_kill(struct domain *d) {}
static inline void pvperf_domain_free(struct domain *d) {}

#endif /* CONFIG_PVPERF */

#endif /* __XEN_PVPERF_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
