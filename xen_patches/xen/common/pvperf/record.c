/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record.c: the way of one overflow into a ring.
 *
 * Hot path, in producer context (see private.h): no lock, no allocation, no
 * loop but over the frames of a call chain.
 */
#include <xen/string.h>
#include <asm/atomic.h>
#include <asm/bitops.h>
#include <asm/system.h>

#include "private.h"

static struct pvp_domain *domain_of(const struct pvp_sample *sample)
{
    return is_idle_vcpu(sample->v) ? NULL
                                   : ACCESS_ONCE(sample->v->domain->pvperf);
}

static bool wanted(const struct pvp_session *s, unsigned int event,
                   const struct pvp_sample *sample,
                   const struct pvp_domain *pd)
{
    if ( !(s->events[event].modes & (1u << sample->mode)) )
        return false;

    if ( (s->flags & PVPERF_SESSION_FLAG_ALL) ||
         (pd && test_bit(s->slot, &pd->sessions)) )
        return true;

    switch ( sample->mode )
    {
    case PVPERF_MODE_HYPERVISOR:
        return s->flags & PVPERF_SESSION_FLAG_XEN;

    case PVPERF_MODE_IDLE:
        return s->flags & PVPERF_SESSION_FLAG_IDLE;
    }

    return false;
}

/* The ring of the vCPU, or else that of the physical CPU, or NULL. */
static struct pvp_ring *ring_of(const struct pvp_session *s,
                                const struct pvp_cpu *pc,
                                const struct pvp_sample *sample,
                                const struct pvp_domain *pd)
{
    struct pvp_ring *r = NULL;

    if ( pd && sample->v->vcpu_id < pd->nr_vcpus )
        r = ACCESS_ONCE(pd->vcpu[sample->v->vcpu_id].ring[s->slot]);

    return r ?: pc->ring;
}

static bool context_differs(const struct pvp_ring *r,
                            const struct pvp_context *c)
{
    /*
     * Repeated now and then, and after the consumer has read all, for the
     * benefit of consumers that begin in the middle.
     */
    return !r->context_valid ||
           r->context.pt_base != c->pt_base ||
           r->context.vcpu != c->vcpu ||
           r->context.domid != c->domid ||
           r->context.tag != c->tag ||
           r->head - r->context_pos >= PVP_CONTEXT_BYTES ||
           !r->used;
}

static void *put_context(struct pvp_ring *r, void *p, unsigned int cpu,
                         const struct pvp_context *c)
{
    struct pvperf_rec_context *rec = p;

    *rec = (struct pvperf_rec_context) {
        .hdr.type = PVPERF_REC_CONTEXT,
        .hdr.words = sizeof(*rec) / 8,
        .hdr.pcpu = cpu,
        .domid = c->domid,
        .vcpu = c->vcpu,
        .pt_base = c->pt_base,
        .tag = c->tag,
    };
    r->context = *c;
    r->context_valid = true;

    return rec + 1;
}

static unsigned int chain_frames(const struct pvp_sample *sample)
{
    return sample->chain.nr_xen + sample->chain.nr_kernel +
           sample->chain.nr_user;
}

static void put_sample(void *p, unsigned int bytes, unsigned int event,
                       unsigned int cpu, uint64_t period, bool chain,
                       const struct pvp_sample *sample)
{
    struct pvperf_rec_sample *rec = p;
    uint64_t *word = (uint64_t *)(rec + 1);

    *rec = (struct pvperf_rec_sample) {
        .hdr.type = PVPERF_REC_SAMPLE,
        .hdr.words = bytes / 8,
        .hdr.event = event,
        .hdr.mode = sample->mode,
        .hdr.pcpu = cpu,
        .hdr.flags = (period ? PVPERF_SAMPLE_FLAG_PERIOD : 0) |
                     (chain ? PVPERF_SAMPLE_FLAG_CHAIN : 0) |
                     (sample->skid ? PVPERF_SAMPLE_FLAG_SKID : 0),
        .time = sample->time,
        .ip = sample->ip,
    };

    if ( period )
        *word++ = period;

    if ( chain )
    {
        memcpy(word, &sample->chain, sizeof(sample->chain));
        memcpy(word + 1, sample->frames,
               chain_frames(sample) * sizeof(uint64_t));
    }
}

/* [LOST...] [CONTEXT] SAMPLE, published at once.  False: no room. */
static bool write_sample(struct pvp_session *s, struct pvp_ring *r,
                         unsigned int cpu, unsigned int event,
                         uint64_t period, struct pvp_sample *sample)
{
    bool chain = s->flags & PVPERF_SESSION_FLAG_CALLCHAIN;
    unsigned int bytes = sizeof(struct pvperf_rec_sample) + (period ? 8 : 0);
    unsigned int before = r->pending ? pvp_ring_gap_bytes(r) : 0;
    bool context;
    void *p;

    pvp_ring_begin(r);
    context = context_differs(r, &sample->context);
    if ( context )
        before += sizeof(struct pvperf_rec_context);

    if ( chain )
    {
        if ( sample->chain_max != s->max_stack )
        {
            pvp_arch_chain(sample, s->max_stack);
            sample->chain_max = s->max_stack;
        }
        ASSERT(chain_frames(sample) <= s->max_stack);
        bytes += 8 + chain_frames(sample) * 8;
    }

    p = pvp_ring_reserve(r, before + bytes);
    if ( !p )
        return false;

    if ( r->pending )
        p = pvp_ring_put_gaps(r, p, cpu);
    if ( context )
        p = put_context(r, p, cpu, &sample->context);
    put_sample(p, bytes, event, cpu, period, chain, sample);
    pvp_ring_recorded(r, event);
    pvp_ring_commit(r);
    if ( context )
        r->context_pos = r->head;

    return true;
}

static void record(struct pvp_session *s, struct pvp_cpu *pc,
                   unsigned int event, uint64_t period,
                   struct pvp_sample *sample)
{
    const struct pvp_domain *pd = domain_of(sample);
    struct pvperf_counts *counts = &pc->counts[event];
    struct pvp_ring *r;

    counts->overflows++;

    if ( !wanted(s, event, sample, pd) )
    {
        counts->filtered++;
        return;
    }

    r = ring_of(s, pc, sample, pd);
    if ( r && write_sample(s, r, pc->cpu, event, period, sample) )
    {
        counts->recorded++;
        return;
    }

    counts->lost++;
    if ( r )
        pvp_ring_lose(r, event, 1, sample->time);
}

void pvp_record(struct pvp_session *s, struct pvp_cpu *pc, unsigned int event,
                uint64_t period, struct pvp_sample *sample)
{
    /* An NMI in the middle of another record of this CPU: count it as lost. */
    if ( pc->busy )
    {
        pc->nested[event]++;
        return;
    }

    pc->busy = true;
    barrier();
    record(s, pc, event, period, sample);
    barrier();
    pc->busy = false;
}

void pvp_throttle_init(struct pvp_counter *c, const struct pvperf_event *event,
                       uint64_t now)
{
    c->period = event->rate;
    c->shift = 0;
    c->window = now;
    c->in_window = 0;
    c->window_max = max(opt_pvperf_max_rate / (1000000000 / PVP_WINDOW_NS),
                        4u);
}

/*
 * A window is over, or it has more samples than it may: the period becomes twice
 * as long, or eight times if it is far off; or shorter again if there is room.
 */
void pvp_throttle_turn(struct pvp_counter *c, const struct pvperf_event *event,
                       uint64_t now)
{
    uint64_t in = now - c->window;

    if ( in >= PVP_WINDOW_NS )
    {
        /* In 1024 windows.  Each step back makes twice as many. */
        uint64_t samples = (uint64_t)c->in_window * PVP_WINDOW_NS * 1024 / in;

        for ( ; c->shift && samples <= c->window_max / 4 * 1024ULL; c->shift-- )
            samples *= 2;
    }
    else
        c->shift += in < PVP_WINDOW_NS / 8 ? 3 : 1;

    while ( event->rate > (PVP_MAX_PERIOD >> c->shift) )
        c->shift--;

    c->window = now;
    c->in_window = 0;
    c->period = event->rate << c->shift;
}

/*
 * Frequency mode of a counter: the period that would have made the last
 * interval the wanted one, and half way back to the present period, so that
 * one odd interval does not upset it.  rate: samples a second.
 */
uint64_t pvp_adapt_period(struct pvp_counter *c, uint64_t rate, uint64_t now)
{
    uint64_t target = 1000000000ULL / rate;
    uint64_t dt = now - c->last;
    uint64_t period = c->period;

    c->last = now;

    if ( dt <= target / 8 )
        period *= 8;
    else if ( dt / 8 >= target )
        period /= 8;
    else
        period = (period + ((period * ((target << 12) / dt)) >> 12)) / 2;

    c->period = min(max(period, (uint64_t)PVP_MIN_PERIOD),
                    (uint64_t)PVP_MAX_PERIOD);

    return c->period;
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
