/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ringmem.c: the rings of a session and their memory.
 *
 * Ring pages are Xen's, shared with dom0.  A ring given up while dom0 still
 * maps it goes to the reap list, and its pages are freed, and taken off the
 * account, when nobody maps them any more.
 */
#include <xen/nospec.h>
#include <xen/string.h>
#include <xen/xmalloc.h>
#include <asm/atomic.h>

#include "private.h"

static LIST_HEAD(reap_list);            /* pvperf_lock */
static atomic_t pages_used;             /* added to under pvperf_lock */
static uint64_t last_serial;            /* pvperf_lock */

unsigned int pvp_ring_pages_used(void)
{
    return atomic_read(&pages_used);
}

static unsigned int ring_pages(unsigned int order)
{
    return 1 + (1u << order);
}

/* The set of rings is another: consumers want to know. */
static void changed(struct pvp_session *s)
{
    s->ring_changes++;
    pvp_notify();
}

/* Would so many rings fit into the limit? */
int pvp_rings_room(unsigned int count, unsigned int order)
{
    unsigned int used = pvp_ring_pages_used();

    if ( used > opt_pvperf_ring_pages ||
         count > (opt_pvperf_ring_pages - used) / ring_pages(order) )
        return -ENOSPC;

    return 0;
}

static void free_ring(struct pvp_ring *r)
{
    if ( r->shared )
        pvp_pages_free(r->shared, 0);
    if ( r->data )
        pvp_pages_free(r->data, r->order);
    atomic_sub(ring_pages(r->order), &pages_used);
    xfree(r);
}

static void cf_check free_ring_rcu(struct rcu_head *head)
{
    free_ring(container_of(head, struct pvp_ring, rcu));
}

static bool ring_unused(const struct pvp_ring *r)
{
    return (!r->shared || pvp_pages_unused(r->shared, 0)) &&
           (!r->data || pvp_pages_unused(r->data, r->order));
}

void pvp_rings_reap(void)
{
    struct pvp_ring *r, *next;

    list_for_each_entry_safe ( r, next, &reap_list, reap )
        if ( ring_unused(r) )
        {
            list_del(&r->reap);
            /* Whoever drops the last reference may be about to touch it. */
            call_rcu(&r->rcu, free_ring_rcu);
        }
}

/* No producer knows the ring any more, and no index leads to it. */
static void discard(struct pvp_ring *r)
{
    if ( r->shared )
        pvp_pages_unshare(r->shared, 0);
    if ( r->data )
        pvp_pages_unshare(r->data, r->order);
    list_add_tail(&r->reap, &reap_list);
}

static struct pvp_ring *alloc_ring(unsigned int order)
{
    struct pvp_ring *r = xzalloc(struct pvp_ring);

    if ( !r )
        return NULL;

    r->order = order;
    r->size = PAGE_SIZE << order;
    atomic_add(ring_pages(order), &pages_used);

    r->shared = pvp_pages_alloc(0, false);
    r->data = r->shared ? pvp_pages_alloc(order, true) : NULL;
    if ( r->data )
        return r;

    discard(r);
    return NULL;
}

static int grow_table(struct pvp_session *s)
{
    unsigned int slots = s->ring_slots ? s->ring_slots * 2 : 16;
    struct pvp_ring **table = xzalloc_array(struct pvp_ring *, slots);

    if ( !table )
        return -ENOMEM;

    if ( s->nr_rings )
        memcpy(table, s->ring, s->nr_rings * sizeof(*table));
    xfree(s->ring);
    s->ring = table;
    s->ring_slots = slots;

    return 0;
}

/* An index that leads nowhere, or the next one. */
static int free_index(struct pvp_session *s)
{
    unsigned int i;

    for ( i = 0; i < s->nr_rings; i++ )
        if ( !s->ring[i] )
            return i;

    if ( s->nr_rings == s->ring_slots )
    {
        int rc = grow_table(s);

        if ( rc )
            return rc;
    }

    return s->nr_rings;
}

/*
 * A new ring in the session's table; handle may be NULL.  The caller has
 * asked pvp_rings_room() and publishes the ring.  NULL: no memory.
 */
struct pvp_ring *pvp_ring_create(struct pvp_session *s, uint16_t domid,
                                 uint16_t vcpu, const uint8_t *handle)
{
    int index = free_index(s);
    struct pvp_ring *r;

    if ( index < 0 )
        return NULL;

    r = alloc_ring(s->ring_order);
    if ( !r )
        return NULL;

    r->domid = domid;
    r->vcpu = vcpu;
    r->serial = ++last_serial;
    if ( handle )
        memcpy(r->handle, handle, sizeof(r->handle));
    pvp_ring_init(r, s->id);

    s->ring[index] = r;
    if ( index == s->nr_rings )
        s->nr_rings++;
    changed(s);

    return r;
}

struct pvp_ring *pvp_ring_find(const struct pvp_session *s, unsigned int index)
{
    if ( index >= s->nr_rings )
        return NULL;

    return s->ring[array_index_nospec(index, s->nr_rings)];
}

/* No record will come: unpublished and synced by the caller. */
void pvp_ring_retire(struct pvp_session *s, struct pvp_ring *r)
{
    pvp_ring_flush_gaps(r, 0);
    pvp_ring_kill(r);
    changed(s);
}

int pvp_ring_release(struct pvp_session *s, unsigned int index)
{
    struct pvp_ring *r = pvp_ring_find(s, index);

    if ( !r )
        return -ENOENT;
    if ( !r->dead )
        return -EBUSY;

    s->ring[array_index_nospec(index, s->nr_rings)] = NULL;
    changed(s);
    discard(r);
    pvp_rings_reap();

    return 0;
}

/* All rings of a session which no producer knows any more. */
void pvp_rings_destroy(struct pvp_session *s)
{
    unsigned int i;

    for ( i = 0; i < s->nr_rings; i++ )
        if ( s->ring[i] )
        {
            pvp_ring_kill(s->ring[i]);
            discard(s->ring[i]);
        }

    s->nr_rings = 0;
    XFREE(s->ring);
    pvp_rings_reap();
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
