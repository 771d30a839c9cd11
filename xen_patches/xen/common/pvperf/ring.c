/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.c: the producer's side of a ring.
 *
 * One producer, which takes no lock, allocates nothing and runs in bounded
 * time.  The pages are mapped by dom0, the header writable: nothing is ever
 * read back from them but tail, and tail is read once and then checked.
 * private.h says who may call these functions.
 */
#include <xen/string.h>
#include <asm/atomic.h>
#include <asm/system.h>

#include "private.h"

static void publish_flags(struct pvp_ring *r)
{
    write_atomic(&r->shared->flags, r->dead ? PVPERF_RING_FLAG_DEAD : 0);
}

/* The page is zero and not yet known to dom0. */
void pvp_ring_init(struct pvp_ring *r, uint32_t session)
{
    struct pvperf_ring *h = r->shared;

    BUILD_BUG_ON(sizeof(*h) > PAGE_SIZE);
    BUILD_BUG_ON(offsetof(struct pvperf_ring, head) != 64);
    BUILD_BUG_ON(offsetof(struct pvperf_ring, tail) != 256);

    h->abi_major = PVPERF_ABI_MAJOR;
    h->abi_minor = PVPERF_ABI_MINOR;
    h->session = session;
    h->data_size = r->size;
    h->serial = r->serial;
    h->domid = r->domid;
    h->vcpu = r->vcpu;
    h->magic = PVPERF_RING_MAGIC;
}

/* Read the consumer's tail; one that cannot be makes the ring full. */
void pvp_ring_begin(struct pvp_ring *r)
{
    uint64_t used = r->head - read_atomic(&r->shared->tail);

    r->used = used > r->size ? r->size : used;
}

static uint8_t *at(const struct pvp_ring *r, uint64_t pos)
{
    return r->data + (pos & (r->size - 1));
}

static void put_pad(struct pvp_ring *r, unsigned int bytes)
{
    struct pvperf_rec *rec = (void *)at(r, r->head);

    *rec = (struct pvperf_rec) {
        .type = PVPERF_REC_PAD,
        .words = bytes / 8,
    };
}

/*
 * Room for records of so many bytes in all, in one piece; NULL if there is
 * none.  After pvp_ring_begin().
 */
void *pvp_ring_reserve(struct pvp_ring *r, unsigned int bytes)
{
    unsigned int to_end = r->size - (r->head & (r->size - 1));
    unsigned int pad = to_end < bytes ? to_end : 0;

    ASSERT(!(bytes & 7) && bytes / 8 <= 255);

    /*
     * The consumer has moved tail after it has read the old bytes; that our
     * stores depend on the value read keeps them behind it.
     */
    if ( pad + bytes > r->size - r->used )
        return NULL;

    if ( pad )
        put_pad(r, pad);

    r->pos = r->head + pad;
    r->end = r->pos + bytes;

    return at(r, r->pos);
}

void pvp_ring_commit(struct pvp_ring *r)
{
    bool high;

    r->used += r->end - r->head;
    r->head = r->end;
    smp_wmb(); /* records before head: pairs with the consumer's rmb */
    write_atomic(&r->shared->head, r->head);

    high = r->used >= r->size >> PVP_WATERMARK;
    if ( high && !r->woken )
        pvp_notify();
    r->woken = high;
}

void pvp_ring_recorded(struct pvp_ring *r, unsigned int event)
{
    write_atomic(&r->shared->recorded[event], ++r->recorded[event]);
}

void pvp_ring_lose(struct pvp_ring *r, unsigned int event, uint64_t count,
                   uint64_t time)
{
    if ( !r->gap[event].count )
    {
        r->gap[event].first = time;
        r->pending |= 1u << event;
        pvp_notify();
    }

    r->gap[event].count += count;
    r->gap[event].last = time;
    r->lost[event] += count;
    write_atomic(&r->shared->lost[event], r->lost[event]);
}

unsigned int pvp_ring_gap_bytes(const struct pvp_ring *r)
{
    return hweight8(r->pending) * sizeof(struct pvperf_rec_lost);
}

/* LOST records for all gaps, into space reserved.  Returns the end. */
void *pvp_ring_put_gaps(struct pvp_ring *r, void *p, unsigned int cpu)
{
    struct pvperf_rec_lost *rec = p;
    unsigned int e;

    for ( e = 0; r->pending; e++ )
    {
        if ( !(r->pending & (1u << e)) )
            continue;

        *rec++ = (struct pvperf_rec_lost) {
            .hdr.type = PVPERF_REC_LOST,
            .hdr.words = sizeof(*rec) / 8,
            .hdr.event = e,
            .hdr.pcpu = cpu,
            .count = r->gap[e].count,
            .time_first = r->gap[e].first,
            .time_last = r->gap[e].last,
        };
        r->gap[e].count = 0;
        r->pending &= ~(1u << e);
    }

    return rec;
}

/* Announce losses that no sample will follow, if there is room. */
void pvp_ring_flush_gaps(struct pvp_ring *r, unsigned int cpu)
{
    void *p;

    if ( !r->pending )
        return;

    pvp_ring_begin(r);
    p = pvp_ring_reserve(r, pvp_ring_gap_bytes(r));
    if ( p )
    {
        pvp_ring_put_gaps(r, p, cpu);
        pvp_ring_commit(r);
    }
}

void pvp_ring_kill(struct pvp_ring *r)
{
    r->dead = true;
    smp_wmb(); /* the last head before DEAD */
    publish_flags(r);
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
