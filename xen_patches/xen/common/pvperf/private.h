/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * private.h: the inside of pvperf.
 *
 * Files
 *   ring.c       producer's side of a ring                  (core)
 *   record.c     one overflow: filter, context, sample      (core)
 *   ringmem.c    rings of a session, their memory, reaping  (core)
 *   session.c    table and life cycle of sessions           (core)
 *   domain.c     domains of a session                       (core)
 *   count.c      counts of vCPUs                            (core)
 *   hypercall.c  validation and dispatch of operations      (core)
 *   timer.c      back end: a timer on each CPU
 *   mem.c        pages shared with dom0
 *   init.c       boot parameter, CPU hotplug, VIRQ
 *   arch/x86/pvperf/  context of a sample, call chains, counters
 *
 * The core files also compile in user space, for the unit tests and fuzzers.
 * From Xen they need: types, errno, lib (ASSERT, min, ARRAY_SIZE), string,
 * list, spinlock (pvperf_lock only), xmalloc (xzalloc, xzalloc_array,
 * xzalloc_flex_struct, xfree), rcupdate (call_rcu), atomic (read_atomic,
 * write_atomic, atomic_t), bitops (set_bit, clear_bit, test_bit on unsigned
 * long), barriers (smp_wmb, barrier), nospec (array_index_nospec), cpumask
 * (for_each_cpu, cpumask_test_cpu), nr_cpu_ids, num_online_cpus(), NOW(),
 * domains (rcu_lock_domain_by_id, rcu_unlock_domain, domain_vcpu,
 * is_idle_vcpu; fields domain_id, max_vcpus, is_dying, handle and pvperf of
 * struct domain, domain and vcpu_id of struct vcpu), guest access
 * (copy_from_guest, copy_to_guest), hypercall_preempt_check,
 * hypercall_create_continuation, xsm_pvperf_control; and the functions in
 * the section "Environment" below.
 *
 * Locks and contexts
 *   pvperf_lock   all control operations: table of sessions, rings of a
 *                 session, domains, reaping.  Taken with interrupts on, never
 *                 from interrupt context.
 *   producer      the CPU that a struct pvp_cpu belongs to, with interrupts
 *                 off: it takes no lock.  Whoever wants to change what a
 *                 producer uses unpublishes it, calls pvp_sync(), and only
 *                 then touches it.
 *   Order: domctl_lock -> pvperf_lock -> vpmu_lock, lapic_nmi_owner_lock,
 *   page_alloc_lock of DOMID_XEN, the heap's and the timers' locks.
 */
#ifndef __PVPERF_PRIVATE_H__
#define __PVPERF_PRIVATE_H__

#include <xen/cpumask.h>
#include <xen/errno.h>
#include <xen/lib.h>
#include <xen/list.h>
#include <xen/pvperf.h>
#include <xen/rcupdate.h>
#include <xen/sched.h>
#include <xen/spinlock.h>
#include <xen/timer.h>
#include <xen/types.h>
#include <public/pvperf.h>

/* Least number of events between two samples of a counter. */
#define PVP_MIN_PERIOD    1000
/* Longest period, events or ns: keeps all arithmetic far from overflow. */
#define PVP_MAX_PERIOD    (1ULL << 40)
/* Xen repeats the context of a ring after so many bytes. */
#define PVP_CONTEXT_BYTES 4096
/* Throttling looks at the samples of so long a time. */
#define PVP_WINDOW_NS     100000000
/* A ring wakes its consumer when 1/2^n of it is full. */
#define PVP_WATERMARK     2

struct pvp_context {
    uint16_t domid;
    uint16_t vcpu;
    uint64_t pt_base;
    uint64_t tag;
};

/*
 * A ring.  "const": set when the ring is made.  "producer": see above; with
 * the session stopped, or the ring unpublished and synced: pvperf_lock.
 */
struct pvp_ring {
    struct pvperf_ring *shared; /* const; the page is dom0's to write, too */
    uint8_t *data;              /* const */
    uint32_t size;              /* const: bytes of data */
    uint8_t order;              /* const: pages of data, log2 */
    uint16_t domid;             /* const */
    uint16_t vcpu;              /* const */
    uint64_t serial;            /* const */
    uint8_t handle[16];         /* const */

    uint64_t head;              /* producer: published */
    uint32_t used;              /* producer: bytes not consumed, as of begin */
    uint64_t pos;               /* producer: where the reservation begins */
    uint64_t end;               /* producer: where the reservation ends */
    uint64_t context_pos;       /* producer: head after the last CONTEXT */
    struct pvp_context context; /* producer: as last written */
    bool context_valid;         /* producer */
    bool woken;                 /* producer: consumer told of the watermark */
    uint8_t pending;            /* producer: bit event: LOST to be written */
    uint64_t recorded[PVPERF_MAX_EVENTS]; /* producer */
    uint64_t lost[PVPERF_MAX_EVENTS];     /* producer */
    struct {
        uint64_t count;
        uint64_t first;
        uint64_t last;
    } gap[PVPERF_MAX_EVENTS];   /* producer: losses without a record yet */

    bool dead;                  /* pvperf_lock */
    struct list_head reap;      /* pvperf_lock: on the reap list */
    struct rcu_head rcu;        /* pvperf_lock */
};

/* One overflow, filled by the arch code.  Producer. */
struct pvp_sample {
    const struct vcpu *v;       /* current */
    const struct cpu_user_regs *regs; /* for the call chain; NULL: none */
    uint64_t time;
    uint64_t ip;
    uint64_t sp, bp;            /* of the guest, if it was interrupted */
    struct pvp_context context;
    uint8_t mode;               /* PVPERF_MODE_* */
    bool skid;
    bool in_guest;              /* it was interrupted, not Xen */
    unsigned int chain_max;     /* chain is valid for this depth; 0: not yet */
    struct pvperf_chain chain;
    uint64_t frames[PVPERF_MAX_STACK];
};

struct pvp_session;

/* An event of type TIMER on one CPU. */
struct pvp_timer {
    struct timer timer;
    struct pvp_session *session; /* const */
    unsigned int event;         /* const */
    s_time_t period;            /* const */
    s_time_t deadline;          /* producer: the first without a sample */
    bool taken;                 /* producer: sampled by the interrupt */
};

/* An event of another type on one CPU: producer. */
struct pvp_counter {
    uint64_t period;            /* events between samples */
    uint64_t left;              /* to the next one, not programmed yet */
    uint64_t last;              /* time of the last sample */
    uint64_t value;             /* counting: when last read */
    uint64_t since;             /* time when it got its counter */
    uint64_t running;           /* ns with a counter, until then */
    uint64_t window;            /* throttling: when the window began */
    unsigned int in_window;     /* throttling: samples in it */
    unsigned int window_max;    /* throttling: how many it may have */
    unsigned int shift;         /* throttling: period is that of the event
                                   times 2^shift */
};

/* What a vCPU, or a CPU, has counted. */
struct pvp_count {
    uint16_t domid;             /* const */
    uint16_t vcpu;              /* const */
    bool dead;                  /* pvperf_lock */
    uint8_t handle[16];         /* const */
    uint64_t time;              /* producer of the CPU it runs on */
    uint64_t count[PVPERF_MAX_EVENTS];   /* the same */
    uint64_t counted[PVPERF_MAX_EVENTS]; /* the same */
};

/* A session on one CPU. */
struct pvp_cpu {
    struct pvp_session *session; /* const */
    struct pvp_ring *ring;      /* const; NULL if there was no memory, or
                                   the session counts */
    struct pvp_count *count;    /* const; NULL: not wanted */
    unsigned int cpu;           /* const */
    unsigned int round;         /* producer: of s->counter[] */
    uint64_t since;             /* producer: counters began; accounted */
    uint64_t enabled;           /* producer: ns that they ran, until then */
    struct timer rotate;        /* pvperf_lock: to the next round */
    bool busy;                  /* producer: record in progress (vs. NMI) */
    bool started;               /* pvperf_lock */
    struct pvperf_counts counts[PVPERF_MAX_EVENTS]; /* producer */
    uint64_t nested[PVPERF_MAX_EVENTS]; /* producer, overflows while busy */
    struct pvp_timer timer[PVPERF_MAX_EVENTS];
    struct pvp_counter counter[PVPERF_MAX_EVENTS];
};

struct pvp_session {
    uint32_t id;                /* const */
    unsigned int slot;          /* const */
    uint64_t cookie;            /* const */
    uint8_t flags;              /* const: PVPERF_SESSION_FLAG_* */
    uint8_t ring_order;         /* const */
    uint8_t max_stack;          /* const */
    uint8_t hw_events;          /* const: bit event: uses a counter */
    unsigned int nr_events;     /* const */
    struct pvperf_event events[PVPERF_MAX_EVENTS]; /* const */
    unsigned int nr_rounds;     /* const: 1, or how events take turns */
    /* const: by round and event, the back end's counter, -1 none. */
    int8_t counter[PVPERF_MAX_EVENTS][PVPERF_MAX_EVENTS];
    uint64_t pool;              /* const: counters, bit each */
    struct pvp_cpu **cpu;       /* nr_cpu_ids entries: set under pvperf_lock
                                   before the CPU is started, then const */
    bool running;               /* pvperf_lock */
    uint64_t start_time;        /* pvperf_lock */
    struct pvp_ring **ring;     /* pvperf_lock: by index, NULL if none */
    unsigned int nr_rings;      /* pvperf_lock */
    unsigned int ring_slots;    /* pvperf_lock: entries of ring[] */
    uint64_t ring_changes;      /* pvperf_lock */
    struct pvp_count **count;   /* pvperf_lock: by index */
    unsigned int nr_counts;     /* pvperf_lock */
};

/*
 * What pvperf knows of a domain: d->pvperf, made when it is first added to a
 * session, freed with the domain.  Producers read it.
 */
struct pvp_domain {
    struct list_head list;      /* pvperf_lock */
    unsigned long sessions;     /* bit slot: wanted; atomic, pvperf_lock */
    unsigned int nr_vcpus;      /* const */
    struct {
        /* Written atomically under pvperf_lock. */
        struct pvp_ring *ring[PVPERF_MAX_SESSIONS];
        struct pvp_count *count[PVPERF_MAX_SESSIONS];
    } vcpu[];
};

extern spinlock_t pvperf_lock;

/* ring.c.  Producer. */
void pvp_ring_init(struct pvp_ring *r, uint32_t session);
void pvp_ring_begin(struct pvp_ring *r);
void *pvp_ring_reserve(struct pvp_ring *r, unsigned int bytes);
void pvp_ring_commit(struct pvp_ring *r);
void pvp_ring_recorded(struct pvp_ring *r, unsigned int event);
void pvp_ring_lose(struct pvp_ring *r, unsigned int event, uint64_t count,
                   uint64_t time);
unsigned int pvp_ring_gap_bytes(const struct pvp_ring *r);
void *pvp_ring_put_gaps(struct pvp_ring *r, void *p, unsigned int cpu);
void pvp_ring_flush_gaps(struct pvp_ring *r, unsigned int cpu);
void pvp_ring_kill(struct pvp_ring *r);

/*
 * record.c.  Producer.  period: what the sample stands for, 0 for the event's
 * fixed period.
 */
void pvp_record(struct pvp_session *s, struct pvp_cpu *pc, unsigned int event,
                uint64_t period, struct pvp_sample *sample);
uint64_t pvp_adapt_period(struct pvp_counter *c, uint64_t rate, uint64_t now);

/*
 * Throttling: an event with a fixed period that makes more than max_rate samples
 * a second gets a longer one.  After a sample; c->period is that of the next.
 */
void pvp_throttle_init(struct pvp_counter *c, const struct pvperf_event *event,
                       uint64_t now);
void pvp_throttle_turn(struct pvp_counter *c, const struct pvperf_event *event,
                       uint64_t now);
static inline void pvp_throttle(struct pvp_counter *c,
                                const struct pvperf_event *event, uint64_t now)
{
    if ( ++c->in_window > c->window_max || now - c->window >= PVP_WINDOW_NS )
        pvp_throttle_turn(c, event, now);
}

/* count.c.  The first three: pvperf_lock. */
struct pvp_count *pvp_count_create(struct pvp_session *s, uint16_t domid,
                                   uint16_t vcpu, const uint8_t *handle);
void pvp_counts_destroy(struct pvp_session *s);
int pvp_counts_read(const struct pvp_session *s, struct pvperf_counts_read *op);
/* Producer.  Where the vCPU's counts go, or NULL. */
struct pvp_count *pvp_count_of(const struct pvp_session *s,
                               const struct pvp_cpu *pc, const struct vcpu *v);
/* Is the event counted in the mode that v is about to leave? */
bool pvp_count_wanted(const struct pvperf_event *event, const struct vcpu *v);
/* Does the event tell user from kernel mode? */
bool pvp_count_splits(const struct pvperf_event *event);

/* ringmem.c.  pvperf_lock. */
int pvp_rings_room(unsigned int count, unsigned int order);
struct pvp_ring *pvp_ring_create(struct pvp_session *s, uint16_t domid,
                                 uint16_t vcpu, const uint8_t *handle);
void pvp_ring_retire(struct pvp_session *s, struct pvp_ring *r);
int pvp_ring_release(struct pvp_session *s, unsigned int index);
void pvp_rings_destroy(struct pvp_session *s);
struct pvp_ring *pvp_ring_find(const struct pvp_session *s,
                               unsigned int index);
void pvp_rings_reap(void);
unsigned int pvp_ring_pages_used(void);

/* session.c.  pvperf_lock. */
struct pvp_session *pvp_session_find(uint32_t id);
struct pvp_session *pvp_session_slot(unsigned int slot);
int pvp_session_create(struct pvperf_session_create *op);
void pvp_session_destroy(struct pvp_session *s);
int pvp_session_start(struct pvp_session *s);
void pvp_session_stop(struct pvp_session *s);
void pvp_session_info(const struct pvp_session *s,
                      struct pvperf_session_info *op);
unsigned int pvp_sessions_used(void);
void pvp_cpu_online(unsigned int cpu);
void pvp_cpu_offline(unsigned int cpu);

/* domain.c.  pvperf_lock. */
int pvp_domain_add(struct pvp_session *s, domid_t domid, uint32_t *next_vcpu);
int pvp_domain_del(struct pvp_session *s, domid_t domid);
void pvp_domains_forget(unsigned int slot);

/*
 * Environment: what the core asks of timer.c, mem.c, init.c and the arch.
 */

/* timer.c.  stop: no callback runs any more when it returns. */
void pvp_timer_start(struct pvp_session *s, struct pvp_cpu *pc);
void pvp_timer_stop(struct pvp_session *s, struct pvp_cpu *pc);

/*
 * mem.c.  2^order zeroed pages, shared with dom0.  unshare may be called once;
 * then, when unused says that nobody maps them, free after a grace period.
 */
void *pvp_pages_alloc(unsigned int order, bool readonly);
void pvp_pages_unshare(void *va, unsigned int order);
bool pvp_pages_unused(const void *va, unsigned int order);
void pvp_pages_free(void *va, unsigned int order);
uint64_t pvp_pages_frame(const void *va);

/* init.c.  notify: producer or pvperf_lock.  sync: no producer is inside. */
extern bool opt_pvperf;                 /* const after boot */
extern bool opt_pvperf_nmi;             /* const after boot */
extern unsigned int opt_pvperf_max_rate; /* const after boot */
extern unsigned int opt_pvperf_ring_pages; /* const after boot */
extern cpumask_t pvp_cpus;              /* CPUs that take samples: pvperf_lock */
void pvp_notify(void);
void pvp_sync(void);

/* Arch: before a session starts, pvperf_lock. */
void pvp_arch_prepare(void);

/* Arch: producer. */
/* Is the guest in kernel mode?  Only PV vCPUs can tell: true for others. */
bool pvp_arch_in_kernel(const struct vcpu *v);
void pvp_arch_context(struct pvp_sample *sample,
                      const struct cpu_user_regs *regs);
/* No interrupt: Xen itself (in_xen), or what it will go on with. */
void pvp_arch_context_skid(struct pvp_sample *sample, bool in_xen);
void pvp_arch_chain(struct pvp_sample *sample, unsigned int max);
void pvp_arch_text(uint64_t *start, uint64_t *end);

/* Arch: counters.  pvperf_lock. */
struct pvp_pmu {
    uint8_t backend;            /* PVPERF_BACKEND_* */
    uint16_t nr_counters;
    uint16_t nr_fixed;
    uint16_t counter_bits;
    uint32_t generic_events;
};
extern struct pvp_pmu pvp_pmu;          /* const after boot */
uint8_t pvp_pmu_owner(void);
uint32_t pvp_pmu_flags(void);           /* PVPERF_QUERY_FLAG_* */
/* Can the event be counted here?  0, -EINVAL or -ENOENT. */
int pvp_pmu_check(const struct pvperf_event *event);
/* Take counters for the session's hw_events: 0 or -EBUSY. */
int pvp_pmu_reserve(struct pvp_session *s);
void pvp_pmu_release(struct pvp_session *s);
/* A session runs, or does not any more: which hooks are of use now? */
void pvp_pmu_hooks(void);
/* Bring the counts of all vCPUs that run now up to date; synchronous. */
void pvp_pmu_sync(void);
/* Start or stop the session's counters on the CPUs; synchronous. */
void pvp_pmu_start(struct pvp_session *s, const cpumask_t *cpus);
void pvp_pmu_stop(struct pvp_session *s, const cpumask_t *cpus);

#endif /* __PVPERF_PRIVATE_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
