/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * domain.c: the domains of a session.
 *
 * Everything but pvperf_domain_kill() and pvperf_domain_free(), which domain
 * destruction calls, runs under pvperf_lock.
 */
#include <xen/event.h>
#include <xen/nospec.h>
#include <xen/string.h>
#include <xen/xmalloc.h>
#include <asm/atomic.h>
#include <asm/bitops.h>
#include <asm/system.h>

#include "private.h"

static LIST_HEAD(domains);              /* pvperf_lock: of live domains */

static struct pvp_domain *get_domain_data(struct domain *d)
{
    struct pvp_domain *pd = d->pvperf;

    if ( pd )
        return pd;

    pd = xzalloc_flex_struct(struct pvp_domain, vcpu, d->max_vcpus);
    if ( !pd )
        return NULL;

    pd->nr_vcpus = d->max_vcpus;
    list_add_tail(&pd->list, &domains);
    smp_wmb(); /* zeroes before the pointer: producers follow it */
    write_atomic(&d->pvperf, pd);

    return pd;
}

static int add_count(struct pvp_session *s, struct domain *d,
                     struct pvp_domain *pd, unsigned int i)
{
    struct pvp_count *c = pvp_count_create(s, d->domain_id, i, d->handle);

    if ( !c )
        return -ENOMEM;

    /* What was counted until now is not this session's. */
    if ( s->running )
        pvp_pmu_sync();
    smp_wmb(); /* the entry before the pointer */
    write_atomic(&pd->vcpu[i].count[s->slot], c);

    return 0;
}

static int add_vcpu(struct pvp_session *s, struct domain *d,
                    struct pvp_domain *pd, unsigned int i)
{
    struct pvp_ring *r;
    int rc;

    if ( !domain_vcpu(d, i) || pd->vcpu[i].ring[s->slot] ||
         pd->vcpu[i].count[s->slot] )
        return 0;

    if ( s->flags & PVPERF_SESSION_FLAG_COUNT )
        return add_count(s, d, pd, i);

    rc = pvp_rings_room(1, s->ring_order);
    if ( rc )
        return rc;

    r = pvp_ring_create(s, d->domain_id, i, d->handle);
    if ( !r )
        return -ENOMEM;

    smp_wmb(); /* the ring before the pointer */
    write_atomic(&pd->vcpu[i].ring[s->slot], r);

    return 0;
}

static int add_domain(struct pvp_session *s, struct domain *d, uint32_t *next)
{
    struct pvp_domain *pd;
    unsigned int i = *next;
    int rc;

    if ( d->is_dying )
        return -ESRCH;

    pd = get_domain_data(d);
    if ( !pd )
        return -ENOMEM;

    for ( ; i < pd->nr_vcpus; i++ )
    {
        if ( i > *next && hypercall_preempt_check() )
        {
            *next = i;
            return -ERESTART;
        }

        rc = add_vcpu(s, d, pd, array_index_nospec(i, pd->nr_vcpus));
        if ( rc )
            return rc;
    }

    set_bit(s->slot, &pd->sessions);

    return 0;
}

/* -ERESTART: *next_vcpu has moved, call again. */
int pvp_domain_add(struct pvp_session *s, domid_t domid, uint32_t *next_vcpu)
{
    struct domain *d = rcu_lock_domain_by_id(domid);
    int rc;

    if ( !d )
        return -ESRCH;

    rc = add_domain(s, d, next_vcpu);
    rcu_unlock_domain(d);

    return rc;
}

/* Unpublish the rings and counts of a domain in a session: DEAD. */
static void detach(struct pvp_session *s, struct pvp_domain *pd,
                   uint16_t domid)
{
    bool any = test_and_clear_bit(s->slot, &pd->sessions);
    unsigned int i;

    /* The last that its vCPUs have counted. */
    if ( s->running && (s->flags & PVPERF_SESSION_FLAG_COUNT) )
        pvp_pmu_sync();

    for ( i = 0; i < pd->nr_vcpus; i++ )
    {
        any |= pd->vcpu[i].ring[s->slot] || pd->vcpu[i].count[s->slot];
        write_atomic(&pd->vcpu[i].ring[s->slot], NULL);
        write_atomic(&pd->vcpu[i].count[s->slot], NULL);
    }
    if ( !any )
        return;
    pvp_sync();

    for ( i = 0; i < s->nr_counts; i++ )
        if ( s->count[i]->domid == domid )
            s->count[i]->dead = true;

    for ( i = 0; i < s->nr_rings; i++ )
        if ( s->ring[i] && s->ring[i]->domid == domid && !s->ring[i]->dead )
            pvp_ring_retire(s, s->ring[i]);
}

/* 0 also when the domain was not in the session. */
int pvp_domain_del(struct pvp_session *s, domid_t domid)
{
    struct domain *d = rcu_lock_domain_by_id(domid);
    int rc = 0;

    if ( !d )
        return -ESRCH;

    if ( d->is_dying )
        rc = -ESRCH;
    else if ( d->pvperf )
        detach(s, d->pvperf, d->domain_id);
    rcu_unlock_domain(d);

    return rc;
}

/* The session in this slot goes: forget its rings. */
void pvp_domains_forget(unsigned int slot)
{
    struct pvp_domain *pd;
    unsigned int i;

    list_for_each_entry ( pd, &domains, list )
    {
        clear_bit(slot, &pd->sessions);
        for ( i = 0; i < pd->nr_vcpus; i++ )
        {
            write_atomic(&pd->vcpu[i].ring[slot], NULL);
            write_atomic(&pd->vcpu[i].count[slot], NULL);
        }
    }
    pvp_sync();
}

/* From domain_kill(): is_dying is set, and the domain's vCPUs are paused. */
void pvperf_domain_kill(struct domain *d)
{
    struct pvp_session *s;
    unsigned int i;

    if ( !opt_pvperf )
        return;

    spin_lock(&pvperf_lock);

    if ( d->pvperf )
    {
        for ( i = 0; i < PVPERF_MAX_SESSIONS; i++ )
            if ( (s = pvp_session_slot(i)) != NULL )
                detach(s, d->pvperf, d->domain_id);
        list_del_init(&d->pvperf->list);
    }

    spin_unlock(&pvperf_lock);
}

/* Nobody can reach the domain any more. */
void pvperf_domain_free(struct domain *d)
{
    XFREE(d->pvperf);
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
