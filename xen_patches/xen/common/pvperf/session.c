/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.c: the table of sessions and their life cycle.
 *
 * Everything here runs under pvperf_lock.
 */
#include <xen/nospec.h>
#include <xen/string.h>
#include <xen/xmalloc.h>

#include "private.h"

DEFINE_SPINLOCK(pvperf_lock);

static struct pvp_session *sessions[PVPERF_MAX_SESSIONS]; /* pvperf_lock */
static uint32_t generation;                               /* pvperf_lock */

struct pvp_session *pvp_session_slot(unsigned int slot)
{
    if ( slot >= PVPERF_MAX_SESSIONS )
        return NULL;

    return sessions[array_index_nospec(slot, PVPERF_MAX_SESSIONS)];
}

struct pvp_session *pvp_session_find(uint32_t id)
{
    struct pvp_session *s = pvp_session_slot(id % PVPERF_MAX_SESSIONS);

    return s && s->id == id ? s : NULL;
}

unsigned int pvp_sessions_used(void)
{
    unsigned int i, n = 0;

    for ( i = 0; i < PVPERF_MAX_SESSIONS; i++ )
        n += !!sessions[i];

    return n;
}

/* The slot is the id modulo the number of slots; the rest is a generation. */
static uint32_t new_id(unsigned int slot)
{
    generation = (generation + 1) % (0xffffffffu / PVPERF_MAX_SESSIONS);

    return (generation + 1) * PVPERF_MAX_SESSIONS + slot;
}

static int make_cpu(struct pvp_session *s, unsigned int cpu)
{
    struct pvp_cpu *pc = xzalloc(struct pvp_cpu);
    int rc;

    if ( !pc )
        return -ENOMEM;

    pc->session = s;
    pc->cpu = cpu;
    s->cpu[cpu] = pc;

    if ( s->flags & PVPERF_SESSION_FLAG_COUNT )
    {
        if ( !(s->flags & PVPERF_SESSION_FLAG_ALL) )
            return 0;
        pc->count = pvp_count_create(s, PVPERF_DOMID_IDLE, cpu, NULL);

        return pc->count ? 0 : -ENOMEM;
    }

    rc = pvp_rings_room(1, s->ring_order);
    if ( rc )
        return rc;

    pc->ring = pvp_ring_create(s, PVPERF_DOMID_IDLE, cpu, NULL);

    return pc->ring ? 0 : -ENOMEM;
}

static void free_session(struct pvp_session *s)
{
    unsigned int cpu;

    pvp_rings_destroy(s);
    pvp_counts_destroy(s);
    if ( s->hw_events )
        pvp_pmu_release(s);
    if ( s->cpu )
        for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
            xfree(s->cpu[cpu]);
    xfree(s->cpu);
    xfree(s);
}

static struct pvp_session *new_session(const struct pvperf_session_create *op,
                                       unsigned int slot)
{
    struct pvp_session *s = xzalloc(struct pvp_session);
    unsigned int e;

    if ( !s )
        return NULL;

    s->id = new_id(slot);
    s->slot = slot;
    s->cookie = op->cookie;
    s->flags = op->flags;
    s->ring_order = op->ring_order;
    s->max_stack = op->max_stack;
    s->nr_events = op->nr_events;
    for ( e = 0; e < PVPERF_MAX_EVENTS; e++ )
    {
        s->events[e] = op->events[e];
        if ( e < s->nr_events && s->events[e].type != PVPERF_EVENT_TIMER )
            s->hw_events |= 1u << e;
    }

    s->cpu = xzalloc_array(struct pvp_cpu *, nr_cpu_ids);
    if ( !s->cpu )
    {
        xfree(s);
        return NULL;
    }

    return s;
}

/* The operation has been validated.  Sets its OUT fields. */
int pvp_session_create(struct pvperf_session_create *op)
{
    struct pvp_session *s;
    unsigned int slot, cpu;
    int rc;

    for ( slot = 0; slot < PVPERF_MAX_SESSIONS && sessions[slot]; slot++ )
        ;
    if ( slot == PVPERF_MAX_SESSIONS )
        return -ENOSPC;

    if ( !(op->flags & PVPERF_SESSION_FLAG_COUNT) &&
         (rc = pvp_rings_room(cpumask_weight(&pvp_cpus), op->ring_order)) )
        return rc;

    s = new_session(op, slot);
    if ( !s )
        return -ENOMEM;

    if ( s->hw_events && (rc = pvp_pmu_reserve(s)) )
    {
        s->hw_events = 0;
        goto fail;
    }

    for_each_cpu ( cpu, &pvp_cpus )
        if ( (rc = make_cpu(s, cpu)) )
            goto fail;

    sessions[slot] = s;
    op->session = s->id;

    return 0;

 fail:
    free_session(s);
    return rc;
}

static void start_cpu(struct pvp_session *s, unsigned int cpu)
{
    struct pvp_cpu *pc = s->cpu[cpu];

    if ( pc && !pc->started )
    {
        pc->started = true;
        pvp_timer_start(s, pc);
    }
}

int pvp_session_start(struct pvp_session *s)
{
    unsigned int cpu;

    if ( s->running )
        return 0;

    pvp_arch_prepare();
    s->running = true;
    s->start_time = NOW();
    pvp_pmu_hooks();
    for_each_cpu ( cpu, &pvp_cpus )
        start_cpu(s, cpu);
    if ( s->hw_events )
        pvp_pmu_start(s, &pvp_cpus);

    return 0;
}

static void stop_cpu(struct pvp_session *s, unsigned int cpu)
{
    struct pvp_cpu *pc = s->cpu[cpu];

    if ( pc && pc->started )
    {
        pvp_timer_stop(s, pc);
        pc->started = false;
    }
}

/* What an NMI found in the way is lost, too.  The producer is at rest. */
static void settle_nested(struct pvp_session *s, struct pvp_cpu *pc)
{
    unsigned int e;

    for ( e = 0; e < s->nr_events; e++ )
    {
        uint64_t n = pc->nested[e];

        if ( !n )
            continue;
        pc->nested[e] = 0;
        pc->counts[e].overflows += n;
        pc->counts[e].lost += n;
        if ( pc->ring )
            pvp_ring_lose(pc->ring, e, n, NOW());
    }
}

/* When it returns, no producer is inside, and all counts are exact. */
void pvp_session_stop(struct pvp_session *s)
{
    unsigned int cpu, i;

    if ( !s->running )
        return;

    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        stop_cpu(s, cpu);
    if ( s->hw_events )
        pvp_pmu_stop(s, &pvp_cpus);
    pvp_sync();
    s->running = false;
    pvp_pmu_hooks();

    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        if ( s->cpu[cpu] )
            settle_nested(s, s->cpu[cpu]);
    for ( i = 0; i < s->nr_rings; i++ )
        if ( s->ring[i] && !s->ring[i]->dead )
            pvp_ring_flush_gaps(s->ring[i], 0);
    pvp_notify();
}

void pvp_session_destroy(struct pvp_session *s)
{
    pvp_session_stop(s);
    pvp_domains_forget(s->slot);
    sessions[s->slot] = NULL;
    free_session(s);
    pvp_notify();
}

static void add_counts(const struct pvp_session *s, unsigned int e,
                       struct pvperf_counts *sum)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
    {
        const struct pvp_cpu *pc = s->cpu[cpu];

        if ( !pc )
            continue;
        sum->overflows += pc->counts[e].overflows + pc->nested[e];
        sum->recorded += pc->counts[e].recorded;
        sum->lost += pc->counts[e].lost + pc->nested[e];
        sum->filtered += pc->counts[e].filtered;
        sum->throttled += pc->counts[e].throttled;
        if ( s->hw_events & (1u << e) )
        {
            sum->time_enabled += pc->enabled;
            sum->time_running += pc->counter[e].running;
        }
    }
}

void pvp_session_info(const struct pvp_session *s,
                      struct pvperf_session_info *op)
{
    unsigned int e;

    memset(op, 0, sizeof(*op));
    op->session = s->id;
    op->state = s->running ? PVPERF_SESSION_RUNNING : PVPERF_SESSION_STOPPED;
    op->session_flags = s->flags;
    op->cookie = s->cookie;
    op->start_time = s->start_time;
    op->nr_events = s->nr_events;
    op->ring_order = s->ring_order;
    op->max_stack = s->max_stack;
    op->nr_rings = s->nr_rings;
    op->ring_changes = s->ring_changes;
    for ( e = 0; e < s->nr_events; e++ )
    {
        op->events[e] = s->events[e];
        add_counts(s, e, &op->counts[e]);
    }
}

/*
 * CPU hotplug.  online: the CPU is in pvp_cpus now.  offline: it is not any
 * more, but still runs.
 */
void pvp_cpu_online(unsigned int cpu)
{
    unsigned int i;

    for ( i = 0; i < PVPERF_MAX_SESSIONS; i++ )
    {
        struct pvp_session *s = sessions[i];

        if ( !s )
            continue;

        /* Without memory for a ring, its samples are counted as lost. */
        if ( !s->cpu[cpu] )
            make_cpu(s, cpu);
        if ( !s->running )
            continue;

        start_cpu(s, cpu);
        if ( s->hw_events )
            pvp_pmu_start(s, cpumask_of(cpu));
    }
}

void pvp_cpu_offline(unsigned int cpu)
{
    unsigned int i;

    for ( i = 0; i < PVPERF_MAX_SESSIONS; i++ )
    {
        struct pvp_session *s = sessions[i];

        if ( !s || !s->running )
            continue;
        stop_cpu(s, cpu);
        if ( s->hw_events )
            pvp_pmu_stop(s, cpumask_of(cpu));
    }
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
