/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pmu.c: who holds the counters, and what happens when one overflows.
 *
 * pvperf takes the PMU when the first session with a counter is made, and
 * gives it back when the last is destroyed.  Meanwhile vpmu and xenoprof are
 * refused; pvperf is refused while one of them or the watchdog has it.
 */
#include <xen/init.h>
#include <xen/smp.h>
#include <xen/string.h>
#include <asm/apic.h>
#include <asm/bitops.h>
#include <asm/nmi.h>
#include <asm/vpmu.h>
#include <irq_vectors.h>
#include <public/pmu.h>

#include "pmu.h"

/* Rounds of overflows that one interrupt may handle. */
#define MAX_ROUNDS 8
/* Where frequency mode begins; it grows quickly from here. */
#define FIRST_PERIOD 10000

bool __read_mostly pvperf_pmu_in_use;
struct pvp_pmu __read_mostly pvp_pmu;
static const struct pmu_ops *__read_mostly ops;

/* Set under pvperf_lock before the counter is started, then const. */
static struct {
    struct pvp_session *session;
    unsigned int event;
} holder[PMU_COUNTERS];
static uint64_t reserved;               /* pvperf_lock: bit counter */

static DEFINE_PER_CPU(uint64_t, active); /* this CPU: counters that count */
static DEFINE_PER_CPU(unsigned long, spurious); /* this CPU */
static DEFINE_PER_CPU(struct pvp_sample, pmu_sample); /* producer */

uint8_t pvp_pmu_owner(void)
{
    if ( pvperf_pmu_in_use )
        return PVPERF_OWNER_PVPERF;
    if ( vpmu_mode != XENPMU_MODE_OFF )
        return PVPERF_OWNER_VPMU;
    if ( nmi_watchdog == NMI_LOCAL_APIC )
        return PVPERF_OWNER_WATCHDOG;
    if ( lapic_nmi_reserved() )
        return PVPERF_OWNER_XENOPROF;

    return PVPERF_OWNER_NONE;
}

static int take_pmu(void)
{
    if ( pvperf_pmu_in_use )
        return 0;

    /* Reserving the LAPIC's NMI would turn the watchdog off. */
    if ( nmi_watchdog == NMI_LOCAL_APIC || !vpmu_exclude(true) )
        return -EBUSY;

    if ( reserve_lapic_nmi() )
    {
        vpmu_exclude(false);
        return -EBUSY;
    }

    pvperf_pmu_in_use = true;

    return 0;
}

static void give_pmu(void)
{
    if ( !pvperf_pmu_in_use || reserved )
        return;

    pvperf_pmu_in_use = false;
    release_lapic_nmi();
    vpmu_exclude(false);
}

int pvp_pmu_check(const struct pvperf_event *event)
{
    return ops ? ops->check(event) : -ENOENT;
}

static int reserve_counters(struct pvp_session *s)
{
    unsigned int e;

    for ( e = 0; e < s->nr_events; e++ )
    {
        int c;

        if ( !(s->hw_events & (1u << e)) )
            continue;

        c = ops->assign(&s->events[e], reserved);
        if ( c < 0 )
            return -EBUSY;

        reserved |= 1ULL << c;
        holder[c].session = s;
        holder[c].event = e;
        s->counter[e] = c;
    }

    return 0;
}

int pvp_pmu_reserve(struct pvp_session *s)
{
    int rc = take_pmu();

    if ( rc )
        return rc;

    rc = reserve_counters(s);
    if ( rc )
        pvp_pmu_release(s);

    return rc;
}

/* Also what a failed reservation got. */
void pvp_pmu_release(struct pvp_session *s)
{
    unsigned int e;

    for ( e = 0; e < s->nr_events; e++ )
        if ( s->counter[e] >= 0 )
        {
            reserved &= ~(1ULL << s->counter[e]);
            holder[s->counter[e]].session = NULL;
            s->counter[e] = -1;
        }

    give_pmu();
}

/* The way to the next sample may take several overflows of the counter. */
static void arm(unsigned int counter, struct pvp_counter *c)
{
    uint64_t events = min(c->left, ops->max_events);

    c->left -= events;
    ops->arm(counter, events);
}

static bool freq_mode(const struct pvperf_event *event)
{
    return event->flags & PVPERF_EVENT_FLAG_FREQ;
}

static void cf_check start_counters(void *data)
{
    struct pvp_session *s = data;
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    unsigned long flags;
    unsigned int e;

    if ( !pc )
        return;

    local_irq_save(flags);

    if ( this_cpu(active) )
        ops->pause();
    else
    {
        ops->reset();
        apic_write(APIC_LVTPC, PMU_APIC_VECTOR);
    }

    for ( e = 0; e < s->nr_events; e++ )
    {
        const struct pvperf_event *event = &s->events[e];
        struct pvp_counter *c = &pc->counter[e];

        if ( s->counter[e] < 0 )
            continue;

        c->period = freq_mode(event) ? FIRST_PERIOD : event->rate;
        c->left = c->period;
        c->last = NOW();
        ops->start(s->counter[e], event);
        arm(s->counter[e], c);
        this_cpu(active) |= 1ULL << s->counter[e];
    }
    ops->resume(this_cpu(active));

    local_irq_restore(flags);
}

static void cf_check stop_counters(void *data)
{
    const struct pvp_session *s = data;
    unsigned long flags;
    unsigned int e;

    local_irq_save(flags);

    ops->pause();
    for ( e = 0; e < s->nr_events; e++ )
        if ( s->counter[e] >= 0 && (this_cpu(active) >> s->counter[e] & 1) )
        {
            ops->stop(s->counter[e]);
            this_cpu(active) &= ~(1ULL << s->counter[e]);
        }

    if ( this_cpu(active) )
        ops->resume(this_cpu(active));
    else
        apic_write(APIC_LVTPC, PMU_APIC_VECTOR | APIC_LVT_MASKED);

    local_irq_restore(flags);
}

void pvp_pmu_start(struct pvp_session *s, const cpumask_t *cpus)
{
    on_selected_cpus(cpus, start_counters, s, 1);
}

void pvp_pmu_stop(struct pvp_session *s, const cpumask_t *cpus)
{
    on_selected_cpus(cpus, stop_counters, s, 1);
}

static void counter_overflow(unsigned int counter, uint64_t now,
                             struct pvp_sample *sample)
{
    struct pvp_session *s = holder[counter].session;
    unsigned int e = holder[counter].event;
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    struct pvp_counter *c = &pc->counter[e];

    if ( !c->left )
    {
        bool freq = freq_mode(&s->events[e]);

        pvp_record(s, pc, e, freq ? c->period : 0, sample);
        c->left = freq ? pvp_adapt_period(c, s->events[e].rate, now)
                       : c->period;
    }
    arm(counter, c);
}

static void handle_overflows(struct cpu_user_regs *regs, uint64_t counters)
{
    struct pvp_sample *sample = &this_cpu(pmu_sample);
    s_time_t now = NOW();

    sample->v = current;
    sample->regs = regs;
    sample->time = now;
    sample->skid = false;
    sample->chain_max = 0;
    pvp_arch_context(sample, regs);

    for ( ; counters; counters &= counters - 1 )
        counter_overflow(find_first_set_bit(counters), now, sample);
}

/* While pvperf has the PMU its interrupts are all pvperf's. */
bool pvperf_pmu_irq(struct cpu_user_regs *regs)
{
    uint64_t counters;
    unsigned int round;

    if ( !this_cpu(active) )
    {
        this_cpu(spurious)++;
        return true;
    }

    ops->pause();
    for ( round = 0; round < MAX_ROUNDS; round++ )
    {
        counters = ops->overflows() & this_cpu(active);
        if ( !counters )
            break;
        handle_overflows(regs, counters);
    }
    if ( !round )
        this_cpu(spurious)++;

    /* Delivery has masked the vector. */
    apic_write(APIC_LVTPC, PMU_APIC_VECTOR);
    ops->resume(this_cpu(active));

    return true;
}

static int __init cf_check pvp_pmu_init(void)
{
    if ( !opt_pvperf )
        return 0;

    if ( boot_cpu_data.x86_vendor == X86_VENDOR_INTEL )
        ops = pvp_intel_probe();
    else if ( boot_cpu_data.x86_vendor &
              (X86_VENDOR_AMD | X86_VENDOR_HYGON) )
        ops = pvp_amd_probe();

    return 0;
}
presmp_initcall(pvp_pmu_init);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
