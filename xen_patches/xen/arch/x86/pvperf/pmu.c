/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pmu.c: counters at work, and what happens when one overflows.
 *
 * Counters interrupt by the PMU's own vector, which waits until Xen enables
 * interrupts; or by NMI, if the boot parameter says so or the watchdog needs
 * it.  What then is not safe (a guest's memory may fault, and the end of a
 * fault would let the next NMI in) is left to the vector, which the NMI asks
 * for.  Code that changes counters is "quiet": an NMI in the middle of it has
 * nothing to do.
 */
#include <xen/event.h>
#include <xen/smp.h>
#include <xen/softirq.h>
#include <xen/string.h>
#include <asm/apic.h>
#include <asm/bitops.h>
#include <asm/nmi.h>
#include <asm/time.h>
#include <irq_vectors.h>

#include "pmu.h"

/* Where frequency mode begins; it grows quickly from here. */
#define FIRST_PERIOD 10000
/* Events that have no counter get their turn after so long. */
#define ROTATE_NS    MILLISECS(5)
/* How soon an NMI comes whose overflow another one has found. */
#define LATE_NMI_NS  MILLISECS(10)

bool __read_mostly pvperf_counting;
bool __read_mostly pvperf_splitting;

/* A CPU; its own, interrupts off. */
struct pmu_cpu {
    uint64_t active;            /* counters that count */
    uint64_t counting;          /* of them, those of FLAG_COUNT */
    uint64_t deferred;          /* overflows left to the vector */
    bool deferred_kernel;       /* the guest's mode then */
    bool quiet;                 /* counters stopped for a change */
    bool accounting;            /* a later read will do, NMI */
    bool late_nmi;              /* one more may come, for an overflow that
                                   was found together with another */
    s_time_t last_time;         /* of an interrupt or change */
    unsigned long spurious;
    uint8_t event_on[PMU_COUNTERS]; /* which of the holder's */
    struct pvp_sample sample;   /* producer */
};
static DEFINE_PER_CPU(struct pmu_cpu, pmu_cpu);

/* Counts up to zero: negative until it overflows. */
static int64_t read_counter(unsigned int counter)
{
    unsigned int shift = 64 - pvp_pmu.counter_bits;
    unsigned int select = counter;
    uint32_t low, high;

    if ( counter >= PMU_FIXED )
    {
        shift = 64 - pmu_ops->fixed_bits;
        select = (1u << 30) | (counter - PMU_FIXED);
    }
    asm volatile ( "rdpmc" : "=a" (low), "=d" (high) : "c" (select) );

    return (int64_t)((((uint64_t)high << 32) | low) << shift) >> shift;
}

/* The way to the next sample may take several overflows of the counter. */
static void arm(unsigned int counter, struct pvp_counter *c)
{
    uint64_t events = min(c->left, pmu_ops->max_events);

    c->left -= events;
    pmu_ops->arm(counter, events);
}

static bool freq_mode(const struct pvperf_event *event)
{
    return event->flags & PVPERF_EVENT_FLAG_FREQ;
}

/*
 * What the counters have counted since they were last read belongs to v and
 * the mode that it is in.
 */
static void account(struct pmu_cpu *p, const struct vcpu *v, uint64_t now)
{
    uint64_t mask = ~0ULL >> (64 - pvp_pmu.counter_bits);
    unsigned int cpu = smp_processor_id();
    uint64_t counters = p->counting;
    struct pvp_session *s = NULL;
    struct pvp_count *to = NULL;
    struct pvp_cpu *pc = NULL;

    if ( p->accounting )
        return;
    p->accounting = true;
    barrier();

    for ( ; counters; counters &= counters - 1 )
    {
        unsigned int counter = find_first_set_bit(counters);
        unsigned int e = p->event_on[counter];
        struct pvp_counter *c;
        uint64_t value;

        if ( s != pmu_holder[counter] )
        {
            s = pmu_holder[counter];
            pc = s->cpu[cpu];
            to = pvp_count_of(s, pc, v);
            if ( to )
                to->time += now - pc->since;
            pc->enabled += now - pc->since;
            pc->since = now;
        }

        c = &pc->counter[e];
        value = read_counter(counter);
        if ( to )
        {
            if ( pvp_count_wanted(&s->events[e], v) )
                to->count[e] += (value - c->value) & mask;
            to->counted[e] += now - c->since;
        }
        c->value = value;
        c->running += now - c->since;
        c->since = now;
    }

    barrier();
    p->accounting = false;
}

static void account_current(void)
{
    struct pmu_cpu *p;
    unsigned long flags;

    local_irq_save(flags);
    p = &this_cpu(pmu_cpu);
    if ( p->counting )
        account(p, current, NOW());
    local_irq_restore(flags);
}

/* Called as the CPU is about to leave prev, interrupts off. */
void pvperf_account_switch(const struct vcpu *prev)
{
    struct pmu_cpu *p = &this_cpu(pmu_cpu);

    if ( p->counting )
        account(p, prev, NOW());
}

/* The vCPU is about to go from user to kernel mode, or back. */
void pvperf_account_toggle(void)
{
    account_current();
}

static void cf_check sync_counts(void *unused)
{
    account_current();
}

void pvp_pmu_sync(void)
{
    on_selected_cpus(&pvp_cpus, sync_counts, NULL, 1);
}

static void counter_overflow(const struct pmu_cpu *p, unsigned int counter,
                             uint64_t now, struct pvp_sample *sample)
{
    struct pvp_session *s = pmu_holder[counter];
    unsigned int e = p->event_on[counter];
    const struct pvperf_event *event = &s->events[e];
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    struct pvp_counter *c = &pc->counter[e];
    uint64_t over = read_counter(counter);
    uint64_t period = c->period, missed = 0;
    bool freq = freq_mode(event);

    if ( over < c->left )
    {
        c->left -= over;
        arm(counter, c);
        return;
    }

    /* It went on counting while interrupts were off. */
    over -= c->left;
    if ( over >= period )
    {
        missed = over / period;
        over -= missed * period;
    }

    pvp_record(s, pc, e, freq || missed || c->shift ? period * (missed + 1) : 0,
               sample);
    if ( freq )
        pvp_adapt_period(c, event->rate, now);
    else
    {
        if ( c->shift )
            pc->counts[e].throttled += (1ULL << c->shift) - 1;
        pvp_throttle(c, event, now);
    }
    c->left = over < c->period ? c->period - over : 1;
    arm(counter, c);
}

/* Counters have overflowed; the sample is filled.  They are stopped. */
static void take_overflows(struct pmu_cpu *p, uint64_t counters, uint64_t now,
                           struct pvp_sample *sample)
{
    if ( counters & p->counting )
        account(p, sample->v, now);
    counters &= ~p->counting;

    for ( ; counters; counters &= counters - 1 )
        counter_overflow(p, find_first_set_bit(counters), now, sample);
}

static struct pvp_sample *new_sample(struct pmu_cpu *p,
                                     const struct cpu_user_regs *regs,
                                     uint64_t now)
{
    struct pvp_sample *sample = &p->sample;

    sample->v = current;
    sample->regs = regs;
    sample->time = now;
    sample->skid = !regs;
    sample->chain_max = 0;
    if ( regs )
        pvp_arch_context(sample, regs);
    else
        pvp_arch_context_skid(sample, true);
    p->last_time = now;

    return sample;
}

/*
 * Stop the counters for a change.  An overflow that comes at this moment, or
 * that still waits for the vector, gets its sample here, without a call chain:
 * its interrupt will find nothing.
 */
static void quiesce(struct pmu_cpu *p)
{
    uint64_t counters, now = NOW();

    p->quiet = true;
    barrier();

    if ( !p->active )
    {
        pmu_ops->reset(pmu_others);
        return;
    }

    pmu_ops->pause();
    counters = p->deferred;
    if ( counters )
    {
        struct pvp_sample *sample = &p->sample;

        sample->regs = NULL;
        take_overflows(p, counters, sample->time, sample);
        p->deferred = 0;
    }

    counters = pmu_ops->overflows() & p->active;
    if ( counters )
    {
        take_overflows(p, counters, now, new_sample(p, NULL, now));
        p->late_nmi = true;
    }
}

static void resume(const struct pmu_cpu *p)
{
    if ( p->active )
        apic_write(APIC_LVTPC, pmu_nmi ? APIC_DM_NMI : PMU_APIC_VECTOR);
    else
        apic_write(APIC_LVTPC, pmu_others ? APIC_DM_NMI
                                      : PMU_APIC_VECTOR | APIC_LVT_MASKED);
    pmu_ops->resume(p->active | pmu_others);
}

static void end_change(struct pmu_cpu *p)
{
    p->last_time = NOW();
    p->quiet = false;
    barrier(); /* the first overflow after resume() finds it so */
    resume(p);
}

/* Give the events of this round their counters. */
static void put_on(struct pmu_cpu *p, struct pvp_session *s,
                   struct pvp_cpu *pc)
{
    bool counts = s->flags & PVPERF_SESSION_FLAG_COUNT;
    uint64_t now = NOW();
    unsigned int e;

    for ( e = 0; e < s->nr_events; e++ )
    {
        const struct pvperf_event *event = &s->events[e];
        struct pvp_counter *c = &pc->counter[e];
        int counter = s->counter[pc->round][e];

        if ( counter < 0 )
            continue;

        /* Frequency mode knows nothing of the time without a counter. */
        c->last += now - c->since;
        c->since = now;
        p->event_on[counter] = e;
        pmu_ops->start(counter, event, counts ? pmu_rings_pv(event->modes)
                                          : pmu_rings(event->modes));
        if ( counts )
        {
            pmu_ops->arm(counter, 0);
            c->value = 0;
            p->counting |= 1ULL << counter;
        }
        else
            arm(counter, c);
        p->active |= 1ULL << counter;
    }
}

/* Take them away; how far a sample was off is kept. */
static void take_off(struct pmu_cpu *p, struct pvp_session *s,
                     struct pvp_cpu *pc)
{
    bool counts = s->flags & PVPERF_SESSION_FLAG_COUNT;
    uint64_t now = NOW();
    unsigned int e;

    if ( counts )
        account(p, current, now);

    for ( e = 0; e < s->nr_events; e++ )
    {
        struct pvp_counter *c = &pc->counter[e];
        int counter = s->counter[pc->round][e];

        if ( counter < 0 || !(p->active >> counter & 1) )
            continue;

        if ( !counts )
        {
            c->left -= read_counter(counter);
            c->running += now - c->since;
            c->since = now;
        }
        pmu_ops->stop(counter);
        p->active &= ~(1ULL << counter);
        p->counting &= ~(1ULL << counter);
    }
}

static void cf_check start_counters(void *data)
{
    struct pvp_session *s = data;
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    struct pmu_cpu *p = &this_cpu(pmu_cpu);
    unsigned long flags;
    unsigned int e;

    if ( !pc )
        return;

    for ( e = 0; e < s->nr_events; e++ )
    {
        const struct pvperf_event *event = &s->events[e];
        struct pvp_counter *c = &pc->counter[e];

        pvp_throttle_init(c, event, NOW());
        if ( freq_mode(event) )
            c->period = FIRST_PERIOD;
        c->left = c->period;
        c->last = c->since = c->window;
    }

    local_irq_save(flags);
    quiesce(p);
    pc->round = 0;
    put_on(p, s, pc);
    pc->since = NOW();
    end_change(p);
    local_irq_restore(flags);
}

static void cf_check stop_counters(void *data)
{
    struct pvp_session *s = data;
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    struct pmu_cpu *p = &this_cpu(pmu_cpu);
    unsigned long flags;

    if ( !pc || !(p->active & s->pool) )
        return;

    local_irq_save(flags);
    quiesce(p);
    take_off(p, s, pc);
    if ( !(s->flags & PVPERF_SESSION_FLAG_COUNT) )
        pc->enabled += NOW() - pc->since;
    end_change(p);
    local_irq_restore(flags);
}

/* Softirq, on the CPU that it is about. */
static void cf_check rotate(void *data)
{
    struct pvp_cpu *pc = data;
    struct pmu_cpu *p = &this_cpu(pmu_cpu);
    unsigned long flags;

    local_irq_save(flags);
    quiesce(p);
    take_off(p, pc->session, pc);
    pc->round = (pc->round + 1) % pc->session->nr_rounds;
    put_on(p, pc->session, pc);
    end_change(p);
    local_irq_restore(flags);

    set_timer(&pc->rotate, NOW() + ROTATE_NS);
}

/* Which hooks are of use. */
void pvp_pmu_hooks(void)
{
    bool counts = false, splits = false;
    unsigned int i, e;

    for ( i = 0; i < PVPERF_MAX_SESSIONS; i++ )
    {
        const struct pvp_session *s = pvp_session_slot(i);

        if ( !s || !s->running || !(s->flags & PVPERF_SESSION_FLAG_COUNT) )
            continue;
        counts = true;
        for ( e = 0; e < s->nr_events; e++ )
            splits |= pvp_count_splits(&s->events[e]);
    }

    pvperf_counting = counts;
    pvperf_splitting = splits;
}

void pvp_pmu_start(struct pvp_session *s, const cpumask_t *cpus)
{
    unsigned int cpu;

    on_selected_cpus(cpus, start_counters, s, 1);

    if ( s->nr_rounds < 2 )
        return;

    for_each_cpu ( cpu, cpus )
    {
        struct pvp_cpu *pc = s->cpu[cpu];

        if ( !pc )
            continue;
        init_timer(&pc->rotate, rotate, pc, cpu);
        set_timer(&pc->rotate, NOW() + ROTATE_NS);
    }
}

void pvp_pmu_stop(struct pvp_session *s, const cpumask_t *cpus)
{
    unsigned int cpu;

    if ( s->nr_rounds > 1 )
        for_each_cpu ( cpu, cpus )
            if ( s->cpu[cpu] )
                kill_timer(&s->cpu[cpu]->rotate);

    on_selected_cpus(cpus, stop_counters, s, 1);
}

/* While pvperf has the PMU its interrupts are all pvperf's. */
bool pvperf_pmu_irq(struct cpu_user_regs *regs)
{
    struct pmu_cpu *p = &this_cpu(pmu_cpu);
    struct pvp_sample *sample = &p->sample;
    uint64_t counters, now = NOW();

    if ( pmu_nmi )
    {
        /* The counters are stopped; the sample lacks its call chain. */
        counters = p->deferred;
        if ( sample->v != current ||
             pvp_arch_in_kernel(current) != p->deferred_kernel )
            sample->regs = NULL;
        now = sample->time;
    }
    else if ( p->active )
    {
        pmu_ops->pause();
        counters = pmu_ops->overflows() & p->active;
        new_sample(p, regs, now);
    }
    else
        counters = 0;

    if ( !counters )
        p->spurious++;
    else
        take_overflows(p, counters, now, sample);

    p->deferred = 0;
    barrier(); /* the first overflow after resume() finds it so */
    if ( pmu_nmi ? counters : p->active )
        resume(p);

    return true;
}

static bool wants_guest_chain(uint64_t counters)
{
    for ( ; counters; counters &= counters - 1 )
        if ( pmu_holder[find_first_set_bit(counters)]->flags &
             PVPERF_SESSION_FLAG_CALLCHAIN )
            return true;

    return false;
}

/* Nothing here but what is safe anywhere: see the top. */
static void nmi_overflows(struct pmu_cpu *p, const struct cpu_user_regs *regs,
                          uint64_t counters, uint64_t now)
{
    struct pvp_sample *sample = new_sample(p, regs, now);
    bool many = counters & (counters - 1);
    bool chain = guest_mode(regs) && is_pv_vcpu(current) &&
                 wants_guest_chain(counters);

    p->late_nmi = many;
    if ( !chain )
    {
        take_overflows(p, counters, now, sample);
        resume(p);
        /* An idle CPU may be past the place where it looks for softirqs. */
        if ( !is_idle_vcpu(current) || !softirq_pending(smp_processor_id()) )
            return;
    }
    else
    {
        p->deferred_kernel = pvp_arch_in_kernel(current);
        p->deferred = counters;
    }

    /* The NMI may have come in the middle of the sending of another one. */
    apic_wait_icr_idle();
    send_IPI_self(chain ? PMU_APIC_VECTOR : EVENT_CHECK_VECTOR);
    apic_wait_icr_idle();
}

/* False: somebody else should look at this NMI, too. */
bool pvperf_pmu_nmi(const struct cpu_user_regs *regs)
{
    struct pmu_cpu *p = &this_cpu(pmu_cpu);
    uint64_t counters, now;

    if ( !pmu_nmi )
        return false;
    if ( p->quiet || p->deferred )
        return !nmi_watchdog_due();

    /* NOW() is not to be had while it is set right. */
    now = this_cpu(cpu_time_changing) ? p->last_time : NOW();
    counters = 0;
    if ( p->active )
    {
        pmu_ops->pause();
        counters = pmu_ops->overflows() & p->active;
    }
    if ( counters )
        nmi_overflows(p, regs, counters, now);
    else
    {
        if ( p->active )
            resume(p);
        if ( !p->late_nmi || now - p->last_time > LATE_NMI_NS )
            return false;
        p->late_nmi = false;
        p->spurious++;
    }

    return !nmi_watchdog_due();
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
