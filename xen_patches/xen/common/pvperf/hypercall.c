/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hypercall.c: validation and dispatch of the operations.
 *
 * Arguments are copied in once, checked here, and copied out on success.
 */
#include <xen/guest_access.h>
#include <xen/hypercall.h>
#include <xen/string.h>
#include <xsm/xsm.h>

#include "private.h"

typedef XEN_GUEST_HANDLE_PARAM(void) arg_t;

/* What anybody may know. */
static void query_public(struct pvperf_query *op)
{
    op->abi_major = PVPERF_ABI_MAJOR;
    op->abi_minor = PVPERF_ABI_MINOR;
    op->backend = pvp_pmu.backend;
    op->nr_counters = pvp_pmu.nr_counters;
    op->nr_fixed = pvp_pmu.nr_fixed;
    op->counter_bits = pvp_pmu.counter_bits;
    op->generic_events = pvp_pmu.generic_events;
    op->nr_pcpus = num_online_cpus();
    op->max_rate = opt_pvperf_max_rate;
    op->now = NOW();
}

static void query_private(struct pvperf_query *op)
{
    op->privileged = 1;
    op->ring_bytes_used = (uint64_t)pvp_ring_pages_used() << PAGE_SHIFT;
    op->ring_bytes_max = (uint64_t)opt_pvperf_ring_pages << PAGE_SHIFT;
    pvp_arch_text(&op->text_start, &op->text_end);

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    op->pmu_owner = pvp_pmu_owner();
    op->flags = pvp_pmu_flags();
    op->sessions = pvp_sessions_used();
    spin_unlock(&pvperf_lock);
}

static long op_query(arg_t arg)
{
    struct pvperf_query op = {};

    query_public(&op);
    /* Not being privileged is no offence here: no audit. */
    if ( !xsm_pvperf_control(XSM_PRIV, false) )
        query_private(&op);

    return copy_to_guest(arg, &op, 1) ? -EFAULT : 0;
}

/* -EINVAL, or -ERANGE for the rate. */
static int check_rate(const struct pvperf_event *event)
{
    uint64_t least = event->type == PVPERF_EVENT_TIMER
                     ? DIV_ROUND_UP(1000000000ULL, opt_pvperf_max_rate)
                     : PVP_MIN_PERIOD;

    if ( event->flags & PVPERF_EVENT_FLAG_FREQ )
        return event->rate && event->rate <= opt_pvperf_max_rate ? 0 : -ERANGE;

    return event->rate >= least && event->rate <= PVP_MAX_PERIOD ? 0 : -ERANGE;
}

static int check_event(const struct pvperf_event *event, bool counts)
{
    int rc;

    if ( event->type > PVPERF_EVENT_RAW || event->reserved ||
         (event->flags & ~PVPERF_EVENT_FLAG_FREQ) ||
         !event->modes || (event->modes & ~PVPERF_MODE_MASK_ALL) )
        return -EINVAL;

    if ( event->type == PVPERF_EVENT_TIMER )
        return event->config || counts ? -EINVAL : check_rate(event);

    if ( pvp_pmu.backend == PVPERF_BACKEND_NONE )
        return -ENODEV;

    rc = pvp_pmu_check(event);
    if ( rc || !counts )
        return rc ?: check_rate(event);

    if ( event->flags || event->rate ||
         (pvp_count_splits(event) &&
          (event->modes & ((1u << PVPERF_MODE_HYPERVISOR) |
                           (1u << PVPERF_MODE_IDLE)))) )
        return -EINVAL;

    return 0;
}

static int check_create(const struct pvperf_session_create *op)
{
    static const struct pvperf_event none;
    bool counts = op->flags & PVPERF_SESSION_FLAG_COUNT;
    unsigned int e;
    int rc;

    if ( op->abi_major != PVPERF_ABI_MAJOR )
        return -EBADMSG;

    if ( !op->nr_events || op->nr_events > PVPERF_MAX_EVENTS ||
         (op->flags & ~(PVPERF_SESSION_FLAG_ALL | PVPERF_SESSION_FLAG_XEN |
                        PVPERF_SESSION_FLAG_IDLE |
                        PVPERF_SESSION_FLAG_CALLCHAIN |
                        PVPERF_SESSION_FLAG_COUNT)) ||
         op->ring_order > PVPERF_MAX_RING_ORDER ||
         op->max_stack > PVPERF_MAX_STACK ||
         !op->max_stack != !(op->flags & PVPERF_SESSION_FLAG_CALLCHAIN) ||
         (counts && (op->ring_order || op->max_stack)) ||
         op->reserved0 || op->reserved1 )
        return -EINVAL;

    for ( e = 0; e < op->nr_events; e++ )
        if ( (rc = check_event(&op->events[e], counts)) )
            return rc;

    for ( ; e < PVPERF_MAX_EVENTS; e++ )
        if ( memcmp(&op->events[e], &none, sizeof(none)) )
            return -EINVAL;

    return 0;
}

static long op_create(arg_t arg)
{
    struct pvperf_session_create op;
    struct pvp_session *s;
    int rc;

    if ( copy_from_guest(&op, arg, 1) )
        return -EFAULT;

    rc = check_create(&op);
    if ( rc )
        return rc;

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    rc = pvp_session_create(&op);
    spin_unlock(&pvperf_lock);

    if ( rc || !copy_to_guest(arg, &op, 1) )
        return rc;

    /* Nobody would ever know of it. */
    spin_lock(&pvperf_lock);
    s = pvp_session_find(op.session);
    if ( s )
        pvp_session_destroy(s);
    spin_unlock(&pvperf_lock);

    return -EFAULT;
}

static long op_session(unsigned int cmd, arg_t arg)
{
    struct pvperf_session op;
    struct pvp_session *s;
    int rc = -ENOENT;

    if ( copy_from_guest(&op, arg, 1) )
        return -EFAULT;

    if ( op.reserved )
        return -EINVAL;

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    s = pvp_session_find(op.session);
    if ( s )
    {
        rc = 0;
        if ( cmd == PVPERF_OP_session_start )
            rc = pvp_session_start(s);
        else if ( cmd == PVPERF_OP_session_stop )
            pvp_session_stop(s);
        else
            pvp_session_destroy(s);
    }
    spin_unlock(&pvperf_lock);

    return rc;
}

static long op_info(arg_t arg)
{
    struct pvperf_session_info op;
    struct pvp_session *s;

    if ( copy_from_guest(&op, arg, 1) )
        return -EFAULT;

    if ( op.flags & ~PVPERF_SESSION_INFO_BY_SLOT )
        return -EINVAL;

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    s = op.flags & PVPERF_SESSION_INFO_BY_SLOT ? pvp_session_slot(op.session)
                                               : pvp_session_find(op.session);
    if ( s )
        pvp_session_info(s, &op);
    spin_unlock(&pvperf_lock);

    if ( !s )
        return -ENOENT;

    return copy_to_guest(arg, &op, 1) ? -EFAULT : 0;
}

static long op_domain(unsigned int cmd, arg_t arg)
{
    struct pvperf_session_domain op;
    struct pvp_session *s;
    int rc = -ENOENT;

    if ( copy_from_guest(&op, arg, 1) )
        return -EFAULT;

    if ( op.reserved0 || op.reserved1 ||
         (op.next_vcpu && cmd == PVPERF_OP_session_del_domain) )
        return -EINVAL;

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    s = pvp_session_find(op.session);
    if ( s )
        rc = cmd == PVPERF_OP_session_add_domain
             ? pvp_domain_add(s, op.domid, &op.next_vcpu)
             : pvp_domain_del(s, op.domid);
    spin_unlock(&pvperf_lock);

    if ( rc != -ERESTART )
        return rc;

    if ( copy_to_guest(arg, &op, 1) )
        return -EFAULT;

    return hypercall_create_continuation(__HYPERVISOR_pvperf_op, "ih", cmd,
                                         arg);
}

static void fill_ring_info(const struct pvp_ring *r,
                           struct pvperf_ring_info *op)
{
    op->domid = r->domid;
    op->vcpu = r->vcpu;
    op->data_order = r->order;
    op->flags = r->dead ? PVPERF_RING_FLAG_DEAD : 0;
    op->reserved = 0;
    op->header_frame = pvp_pages_frame(r->shared);
    op->data_frame = pvp_pages_frame(r->data);
    op->serial = r->serial;
    memcpy(op->handle, r->handle, sizeof(op->handle));
}

static long op_ring(unsigned int cmd, arg_t arg)
{
    struct pvperf_ring_info op;
    const struct pvp_ring *r;
    struct pvp_session *s;
    int rc = -ENOENT;

    if ( copy_from_guest(&op, arg, 1) )
        return -EFAULT;

    if ( op.reserved && cmd == PVPERF_OP_ring_info )
        return -EINVAL;

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    s = pvp_session_find(op.session);
    if ( s && cmd == PVPERF_OP_ring_release )
        rc = pvp_ring_release(s, op.index);
    else if ( s && (r = pvp_ring_find(s, op.index)) != NULL )
    {
        fill_ring_info(r, &op);
        rc = 0;
    }
    spin_unlock(&pvperf_lock);

    if ( !rc && cmd == PVPERF_OP_ring_info && copy_to_guest(arg, &op, 1) )
        rc = -EFAULT;

    return rc;
}

static long op_counts(arg_t arg)
{
    struct pvperf_counts_read op;
    const struct pvp_session *s;
    int rc = -ENOENT;

    if ( copy_from_guest(&op, arg, 1) )
        return -EFAULT;

    spin_lock(&pvperf_lock);
    pvp_rings_reap();
    s = pvp_session_find(op.session);
    if ( s )
        rc = pvp_counts_read(s, &op);
    spin_unlock(&pvperf_lock);

    if ( !rc && copy_to_guest(arg, &op, 1) )
        rc = -EFAULT;

    return rc;
}

long do_pvperf_op(unsigned int cmd, arg_t arg)
{
    if ( !opt_pvperf )
        return -EOPNOTSUPP;

    if ( cmd == PVPERF_OP_query )
        return op_query(arg);

    if ( cmd < PVPERF_OP_session_create || cmd > PVPERF_OP_counts_read )
        return -ENOSYS;

    /* FLASK would say -EACCES. */
    if ( xsm_pvperf_control(XSM_PRIV, true) )
        return -EPERM;

    switch ( cmd )
    {
    case PVPERF_OP_session_create:
        return op_create(arg);

    case PVPERF_OP_session_destroy:
    case PVPERF_OP_session_start:
    case PVPERF_OP_session_stop:
        return op_session(cmd, arg);

    case PVPERF_OP_session_info:
        return op_info(arg);

    case PVPERF_OP_session_add_domain:
    case PVPERF_OP_session_del_domain:
        return op_domain(cmd, arg);

    case PVPERF_OP_ring_info:
    case PVPERF_OP_ring_release:
        return op_ring(cmd, arg);

    case PVPERF_OP_counts_read:
        return op_counts(arg);
    }

    return -ENOSYS;
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
