/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * count.c: what the vCPUs of a counting session have counted.
 *
 * The arch code adds to the counts, as producer of the CPU that a vCPU runs
 * on, whenever that changes what it does (see arch/x86/pvperf/pmu.c).
 */
#include <xen/nospec.h>
#include <xen/string.h>
#include <xen/xmalloc.h>
#include <asm/atomic.h>
#include <asm/bitops.h>
#include <asm/system.h>

#include "private.h"

/* Entries of a session: domains that come and go leave theirs behind. */
#define MAX_COUNTS   65536
#define FIRST_COUNTS 16

/* The table doubles whenever it is full. */
static int grow_table(struct pvp_session *s)
{
    unsigned int n = s->nr_counts;
    struct pvp_count **table;

    if ( n && (n < FIRST_COUNTS || (n & (n - 1))) )
        return 0;
    if ( n == MAX_COUNTS )
        return -ENOSPC;

    table = xzalloc_array(struct pvp_count *, n ? n * 2 : FIRST_COUNTS);
    if ( !table )
        return -ENOMEM;

    if ( n )
        memcpy(table, s->count, n * sizeof(*table));
    xfree(s->count);
    s->count = table;

    return 0;
}

/* handle may be NULL.  The caller publishes the entry.  NULL: no room. */
struct pvp_count *pvp_count_create(struct pvp_session *s, uint16_t domid,
                                   uint16_t vcpu, const uint8_t *handle)
{
    struct pvp_count *c;

    if ( grow_table(s) )
        return NULL;

    c = xzalloc(struct pvp_count);
    if ( !c )
        return NULL;

    c->domid = domid;
    c->vcpu = vcpu;
    if ( handle )
        memcpy(c->handle, handle, sizeof(c->handle));
    s->count[s->nr_counts++] = c;

    return c;
}

/* No producer knows the entries any more. */
void pvp_counts_destroy(struct pvp_session *s)
{
    unsigned int i;

    for ( i = 0; i < s->nr_counts; i++ )
        xfree(s->count[i]);
    s->nr_counts = 0;
    XFREE(s->count);
}

static void fill(struct pvperf_vcpu_counts *out, const struct pvp_count *c,
                 unsigned int nr_events)
{
    unsigned int e;

    out->domid = c->domid;
    out->vcpu = c->vcpu;
    out->flags = c->dead ? PVPERF_COUNT_FLAG_DEAD : 0;
    memcpy(out->handle, c->handle, sizeof(out->handle));
    out->time = read_atomic(&c->time);
    for ( e = 0; e < nr_events; e++ )
    {
        out->count[e] = read_atomic(&c->count[e]);
        out->counted[e] = read_atomic(&c->counted[e]);
    }
}

/* Sets the OUT fields. */
int pvp_counts_read(const struct pvp_session *s, struct pvperf_counts_read *op)
{
    unsigned int i = op->index;

    if ( !(s->flags & PVPERF_SESSION_FLAG_COUNT) )
        return -ENOENT;

    if ( !i && s->running )
        pvp_pmu_sync();

    memset(op->entry, 0, sizeof(op->entry));
    op->total = s->nr_counts;
    for ( op->nr = 0; op->nr < PVPERF_READ_MAX && i < s->nr_counts; i++ )
        fill(&op->entry[op->nr++],
             s->count[array_index_nospec(i, s->nr_counts)], s->nr_events);

    return 0;
}

struct pvp_count *pvp_count_of(const struct pvp_session *s,
                               const struct pvp_cpu *pc, const struct vcpu *v)
{
    const struct pvp_domain *pd;

    if ( !is_idle_vcpu(v) &&
         (pd = ACCESS_ONCE(v->domain->pvperf)) != NULL &&
         v->vcpu_id < pd->nr_vcpus )
    {
        struct pvp_count *c = ACCESS_ONCE(pd->vcpu[v->vcpu_id].count[s->slot]);

        if ( c )
            return c;
    }

    return pc->count;
}

#define USER_OR_KERNEL ((1u << PVPERF_MODE_USER) | (1u << PVPERF_MODE_KERNEL))

bool pvp_count_splits(const struct pvperf_event *event)
{
    unsigned int modes = event->modes & USER_OR_KERNEL;

    return modes && modes != USER_OR_KERNEL;
}

bool pvp_count_wanted(const struct pvperf_event *event, const struct vcpu *v)
{
    if ( !pvp_count_splits(event) )
        return true;

    return event->modes & (1u << (pvp_arch_in_kernel(v) ? PVPERF_MODE_KERNEL
                                                        : PVPERF_MODE_USER));
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
