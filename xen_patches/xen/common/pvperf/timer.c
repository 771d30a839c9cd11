/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * timer.c: the back end that samples time.
 *
 * Each event has a timer on each CPU.  The timer makes the LAPIC's timer
 * interrupt at the deadline; the hook in that interrupt takes the sample, with
 * the interrupted registers, and the timer's own callback, which runs in a
 * softirq, only arms the next deadline.  If a deadline has passed without a
 * sample (the interrupt had nothing to do with us, or the softirq was late
 * itself), the callback takes the sample and marks it: SKID.
 *
 * Deadlines lie on a grid of whole periods, so that the rate does not drift.
 * A CPU that is late takes one sample for all deadlines that have passed; its
 * period says for how much time it stands.  So no time goes missing.
 */
#include <xen/softirq.h>
#include <xen/string.h>
#include <xen/timer.h>
#include <asm/bitops.h>

#include "private.h"

/* An interrupt so little before the deadline is meant for it. */
#define SLOP_NS 5000

DEFINE_PER_CPU(unsigned long, pvperf_armed);
/* Running sessions by slot: set before any CPU is armed. */
static struct pvp_session *armed[PVPERF_MAX_SESSIONS]; /* pvperf_lock */
/* Producer of this CPU: both users run with interrupts off. */
static DEFINE_PER_CPU(struct pvp_sample, timer_sample);

static struct pvp_sample *new_sample(void)
{
    struct pvp_sample *sample = &this_cpu(timer_sample);

    sample->v = current;
    sample->regs = NULL;
    sample->skid = false;
    sample->chain_max = 0;

    return sample;
}

/*
 * One sample for each deadline up to now, and there is at least one: the
 * period to be recorded, 0 for a single one.  Moves on to the next deadline.
 */
static uint64_t pass_deadlines(struct pvp_timer *t, s_time_t now)
{
    uint64_t n = 1;

    if ( now >= t->deadline + t->period )
        n += (now - t->deadline) / t->period;
    t->deadline += n * t->period;

    return n > 1 ? n * t->period : 0;
}

void pvperf_timer_irq(struct cpu_user_regs *regs)
{
    unsigned long slots = this_cpu(pvperf_armed);
    unsigned int cpu = smp_processor_id();
    struct pvp_sample *sample = NULL;
    s_time_t now = NOW();

    for ( ; slots; slots &= slots - 1 )
    {
        struct pvp_session *s = armed[find_first_set_bit(slots)];
        struct pvp_cpu *pc = s->cpu[cpu];
        unsigned int e;

        for ( e = 0; e < s->nr_events; e++ )
        {
            struct pvp_timer *t = &pc->timer[e];

            if ( !t->period || now + SLOP_NS < t->deadline )
                continue;

            if ( !sample )
            {
                sample = new_sample();
                sample->time = now;
                sample->regs = regs;
                pvp_arch_context(sample, regs);
            }
            pvp_record(s, pc, e, pass_deadlines(t, now), sample);
            t->taken = true;
        }
    }
}

static void cf_check timer_expired(void *data)
{
    struct pvp_timer *t = data;
    unsigned long flags;
    s_time_t now;

    local_irq_save(flags);

    now = NOW();
    if ( t->deadline <= now )
    {
        struct pvp_sample *sample = new_sample();

        sample->time = now;
        sample->skid = true;
        /* From the interrupt to here Xen kept the CPU for itself. */
        pvp_arch_context_skid(sample, t->taken);
        pvp_record(t->session, t->session->cpu[smp_processor_id()], t->event,
                   pass_deadlines(t, now), sample);
    }
    t->taken = false;

    local_irq_restore(flags);

    set_timer(&t->timer, t->deadline);
}

static s_time_t event_period(const struct pvperf_event *event)
{
    return event->flags & PVPERF_EVENT_FLAG_FREQ
           ? 1000000000ULL / event->rate : event->rate;
}

/* The CPUs' grids are shifted against each other, lest all wake at once. */
static void start_event(struct pvp_session *s, struct pvp_cpu *pc,
                        unsigned int e)
{
    struct pvp_timer *t = &pc->timer[e];

    t->session = s;
    t->event = e;
    t->period = event_period(&s->events[e]);
    t->taken = false;
    t->deadline = NOW() + t->period + t->period / nr_cpu_ids * pc->cpu;
    init_timer(&t->timer, timer_expired, t, pc->cpu);
}

void pvp_timer_start(struct pvp_session *s, struct pvp_cpu *pc)
{
    unsigned int e, n = 0;

    for ( e = 0; e < s->nr_events; e++ )
        if ( s->events[e].type == PVPERF_EVENT_TIMER )
        {
            start_event(s, pc, e);
            n++;
        }

    if ( !n )
        return;

    armed[s->slot] = s;
    set_bit(s->slot, &per_cpu(pvperf_armed, pc->cpu)); /* a full barrier */
    for ( e = 0; e < s->nr_events; e++ )
        if ( pc->timer[e].period )
            set_timer(&pc->timer[e].timer, pc->timer[e].deadline);
}

/* The caller calls pvp_sync() before it touches what producers use. */
void pvp_timer_stop(struct pvp_session *s, struct pvp_cpu *pc)
{
    unsigned int e;

    clear_bit(s->slot, &per_cpu(pvperf_armed, pc->cpu));
    for ( e = 0; e < s->nr_events; e++ )
        if ( pc->timer[e].period )
            kill_timer(&pc->timer[e].timer);
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
