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
/* An NMI so soon after one of ours may be what is left of it. */
#define LATE_NMI_NS  MILLISECS(10)

bool __read_mostly pvperf_counting;
bool __read_mostly pvperf_splitting;

/* This CPU's, interrupts off. */
static DEFINE_PER_CPU(uint8_t[PMU_COUNTERS], event_on); /* of the owner's */
static DEFINE_PER_CPU(uint64_t, active);   /* counters that count */
static DEFINE_PER_CPU(uint64_t, counting); /* of them, those of FLAG_COUNT */
static DEFINE_PER_CPU(uint64_t, deferred); /* overflows left to the vector */
static DEFINE_PER_CPU(bool, deferred_kernel); /* the guest's mode then */
static DEFINE_PER_CPU(bool, quiet);        /* counters stopped for a change */
static DEFINE_PER_CPU(bool, accounting);   /* a later read will do, NMI */
static DEFINE_PER_CPU(s_time_t, last_time); /* of an interrupt or change */
static DEFINE_PER_CPU(unsigned long, spurious);
static DEFINE_PER_CPU(struct pvp_sample, pmu_sample); /* producer */

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
static void account(const struct vcpu *v, uint64_t now)
{
    uint64_t mask = ~0ULL >> (64 - pvp_pmu.counter_bits);
    unsigned int cpu = smp_processor_id();
    uint64_t counters = this_cpu(counting);
    struct pvp_session *s = NULL;
    struct pvp_count *to = NULL;
    struct pvp_cpu *pc = NULL;

    if ( this_cpu(accounting) )
        return;
    this_cpu(accounting) = true;
    barrier();

    for ( ; counters; counters &= counters - 1 )
    {
        unsigned int counter = find_first_set_bit(counters);
        unsigned int e = this_cpu(event_on)[counter];
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
    this_cpu(accounting) = false;
}

static void account_current(void)
{
    unsigned long flags;

    local_irq_save(flags);
    if ( this_cpu(counting) )
        account(current, NOW());
    local_irq_restore(flags);
}

/* Called as the CPU is about to leave prev, interrupts off. */
void pvperf_account_switch(const struct vcpu *prev)
{
    if ( this_cpu(counting) )
        account(prev, NOW());
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

static void counter_overflow(unsigned int counter, uint64_t now,
                             struct pvp_sample *sample)
{
    struct pvp_session *s = pmu_holder[counter];
    unsigned int e = this_cpu(event_on)[counter];
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
static void take_overflows(uint64_t counters, uint64_t now,
                           struct pvp_sample *sample)
{
    if ( counters & this_cpu(counting) )
        account(sample->v, now);
    counters &= ~this_cpu(counting);

    for ( ; counters; counters &= counters - 1 )
        counter_overflow(find_first_set_bit(counters), now, sample);
}

static struct pvp_sample *new_sample(const struct cpu_user_regs *regs,
                                     uint64_t now)
{
    struct pvp_sample *sample = &this_cpu(pmu_sample);

    sample->v = current;
    sample->regs = regs;
    sample->time = now;
    sample->skid = !regs;
    sample->chain_max = 0;
    if ( regs )
        pvp_arch_context(sample, regs);
    else
        pvp_arch_context_skid(sample, true);
    this_cpu(last_time) = now;

    return sample;
}

/*
 * Stop the counters for a change.  An overflow that comes at this moment gets
 * its sample here: its interrupt will find nothing.
 */
static void quiesce(void)
{
    uint64_t counters, now = NOW();

    this_cpu(quiet) = true;
    barrier();

    if ( !this_cpu(active) )
    {
        pmu_ops->reset(pmu_others);
        return;
    }

    pmu_ops->pause();
    counters = pmu_ops->overflows() & this_cpu(active);
    if ( counters )
        take_overflows(counters, now, new_sample(NULL, now));
}

static void resume(void)
{
    if ( this_cpu(active) )
        apic_write(APIC_LVTPC, pmu_nmi ? APIC_DM_NMI : PMU_APIC_VECTOR);
    else
        apic_write(APIC_LVTPC, pmu_others ? APIC_DM_NMI
                                      : PMU_APIC_VECTOR | APIC_LVT_MASKED);
    pmu_ops->resume(this_cpu(active) | pmu_others);
}

static void end_change(void)
{
    this_cpu(last_time) = NOW();
    this_cpu(quiet) = false;
    barrier(); /* the first overflow after resume() finds it so */
    resume();
}

/* Give the events of this round their counters. */
static void put_on(struct pvp_session *s, struct pvp_cpu *pc)
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
        this_cpu(event_on)[counter] = e;
        pmu_ops->start(counter, event, counts ? pmu_rings_pv(event->modes)
                                          : pmu_rings(event->modes));
        if ( counts )
        {
            pmu_ops->arm(counter, 0);
            c->value = 0;
            this_cpu(counting) |= 1ULL << counter;
        }
        else
            arm(counter, c);
        this_cpu(active) |= 1ULL << counter;
    }
}

/* Take them away; how far a sample was off is kept. */
static void take_off(struct pvp_session *s, struct pvp_cpu *pc)
{
    bool counts = s->flags & PVPERF_SESSION_FLAG_COUNT;
    uint64_t now = NOW();
    unsigned int e;

    if ( counts )
        account(current, now);

    for ( e = 0; e < s->nr_events; e++ )
    {
        struct pvp_counter *c = &pc->counter[e];
        int counter = s->counter[pc->round][e];

        if ( counter < 0 || !(this_cpu(active) >> counter & 1) )
            continue;

        if ( !counts )
        {
            c->left -= read_counter(counter);
            c->running += now - c->since;
            c->since = now;
        }
        pmu_ops->stop(counter);
        this_cpu(active) &= ~(1ULL << counter);
        this_cpu(counting) &= ~(1ULL << counter);
    }
}

static void cf_check start_counters(void *data)
{
    struct pvp_session *s = data;
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    unsigned long flags;
    unsigned int e;

    if ( !pc )
        return;

    for ( e = 0; e < s->nr_events; e++ )
    {
        const struct pvperf_event *event = &s->events[e];
        struct pvp_counter *c = &pc->counter[e];

        c->period = freq_mode(event) ? FIRST_PERIOD : event->rate;
        c->left = c->period;
        c->shift = 0;
        c->in_window = 0;
        c->window = c->last = c->since = NOW();
    }

    local_irq_save(flags);
    quiesce();
    pc->round = 0;
    put_on(s, pc);
    pc->since = NOW();
    end_change();
    local_irq_restore(flags);
}

static void cf_check stop_counters(void *data)
{
    struct pvp_session *s = data;
    struct pvp_cpu *pc = s->cpu[smp_processor_id()];
    unsigned long flags;

    if ( !pc || !(this_cpu(active) & s->pool) )
        return;

    local_irq_save(flags);
    quiesce();
    take_off(s, pc);
    if ( !(s->flags & PVPERF_SESSION_FLAG_COUNT) )
        pc->enabled += NOW() - pc->since;
    end_change();
    local_irq_restore(flags);
}

/* Softirq, on the CPU that it is about. */
static void cf_check rotate(void *data)
{
    struct pvp_cpu *pc = data;
    unsigned long flags;

    local_irq_save(flags);
    quiesce();
    take_off(pc->session, pc);
    pc->round = (pc->round + 1) % pc->session->nr_rounds;
    put_on(pc->session, pc);
    end_change();
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
    struct pvp_sample *sample = &this_cpu(pmu_sample);
    uint64_t counters, now = NOW();

    if ( pmu_nmi )
    {
        /* The counters are stopped; the sample lacks its call chain. */
        counters = this_cpu(deferred);
        if ( sample->v != current ||
             pvp_arch_in_kernel(current) != this_cpu(deferred_kernel) )
            sample->regs = NULL;
        now = sample->time;
    }
    else if ( this_cpu(active) )
    {
        pmu_ops->pause();
        counters = pmu_ops->overflows() & this_cpu(active);
        sample = new_sample(regs, now);
    }
    else
        counters = 0;

    if ( !counters )
        this_cpu(spurious)++;
    else
        take_overflows(counters, now, sample);

    this_cpu(deferred) = 0;
    barrier(); /* the first overflow after resume() finds it so */
    if ( pmu_nmi ? counters : this_cpu(active) )
        resume();

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
static void nmi_overflows(const struct cpu_user_regs *regs,
                          uint64_t counters, uint64_t now)
{
    struct pvp_sample *sample = new_sample(regs, now);
    bool chain = guest_mode(regs) && is_pv_vcpu(current) &&
                 wants_guest_chain(counters);

    if ( !chain )
    {
        take_overflows(counters, now, sample);
        resume();
        /* An idle CPU may be past the place where it looks for softirqs. */
        if ( !is_idle_vcpu(current) || !softirq_pending(smp_processor_id()) )
            return;
    }
    else
    {
        this_cpu(deferred_kernel) = pvp_arch_in_kernel(current);
        this_cpu(deferred) = counters;
    }

    /* The NMI may have come in the middle of the sending of another one. */
    apic_wait_icr_idle();
    send_IPI_self(chain ? PMU_APIC_VECTOR : EVENT_CHECK_VECTOR);
    apic_wait_icr_idle();
}

/* False: somebody else should look at this NMI, too. */
bool pvperf_pmu_nmi(const struct cpu_user_regs *regs)
{
    uint64_t counters, now;

    if ( !pmu_nmi )
        return false;
    if ( this_cpu(quiet) || this_cpu(deferred) )
        return !nmi_watchdog_due();

    /* NOW() is not to be had while it is set right. */
    now = this_cpu(cpu_time_changing) ? this_cpu(last_time) : NOW();
    counters = 0;
    if ( this_cpu(active) )
    {
        pmu_ops->pause();
        counters = pmu_ops->overflows() & this_cpu(active);
    }
    if ( counters )
        nmi_overflows(regs, counters, now);
    else
    {
        if ( this_cpu(active) )
            resume();
        if ( now - this_cpu(last_time) > LATE_NMI_NS )
            return false;
        this_cpu(spurious)++;
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
