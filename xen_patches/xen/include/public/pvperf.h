/* SPDX-License-Identifier: MIT */
/*
 * pvperf.h: performance counters for Xen, its domains and their guests.
 *
 * This is the whole ABI between Xen and its callers: the hypercall's
 * operations, and the layout of the rings in which samples reach dom0.
 * docs/abi.md and docs/ring.md explain it at length.
 *
 * The header needs nothing but the fixed-width integer types.  Every
 * structure has the same layout for 32-bit and 64-bit callers: 64-bit fields
 * lie at multiples of eight bytes, sizes are multiples of eight, and padding
 * is explicit.  Padding and reserved fields must be zero on input (-EINVAL
 * otherwise) and are zero on output.
 *
 * Promise: within one major version, fields and values are only added, in
 * places that were reserved.  A caller of another major version is refused
 * with -EBADMSG and can learn Xen's version from PVPERF_OP_query.
 */
#ifndef __XEN_PUBLIC_PVPERF_H__
#define __XEN_PUBLIC_PVPERF_H__

#define PVPERF_ABI_MAJOR 1
#define PVPERF_ABI_MINOR 0

/* The hypercall: long pvperf_op(unsigned int op, void *arg). */
#define __HYPERVISOR_pvperf_op 43

/*
 * Global VIRQ, to dom0 by default: some ring has passed its watermark, or
 * the set of rings has changed.  Consumers look at every ring they map.
 */
#define VIRQ_PVPERF 14

/*
 * Errors common to all operations
 *   -ENOSYS      this Xen has no pvperf, or does not know the operation
 *   -EOPNOTSUPP  pvperf is built in but was not enabled (boot with pvperf=on)
 *   -EPERM       the caller may not use the operation
 *   -EFAULT      the argument cannot be read or written
 *   -EINVAL      a reserved field is not zero, or a value is out of range
 *   -EBADMSG     the caller speaks another major version of this ABI
 * Output fields are written on success only.
 *
 * Operations 0 to 15 are for any guest; 16 and up control system-wide
 * sessions and need the privilege of XSM's pvperf_control (dom0 by default).
 */
#define PVPERF_OP_query                0
#define PVPERF_OP_session_create      16
#define PVPERF_OP_session_destroy     17
#define PVPERF_OP_session_start       18
#define PVPERF_OP_session_stop        19
#define PVPERF_OP_session_info        20
#define PVPERF_OP_session_add_domain  21
#define PVPERF_OP_session_del_domain  22
#define PVPERF_OP_ring_info           23
#define PVPERF_OP_ring_release        24
#define PVPERF_OP_counts_read         25

#define PVPERF_MAX_EVENTS    8   /* events in a session */
#define PVPERF_MAX_SESSIONS  8   /* sessions at one time */
#define PVPERF_MAX_STACK    64   /* frames in a call chain, all modes */
#define PVPERF_MAX_RING_ORDER 8  /* 2^8 pages of data: 1 MiB */

/* Where the processor was when a sample was taken. */
#define PVPERF_MODE_USER        0  /* a guest's user mode */
#define PVPERF_MODE_KERNEL      1  /* a guest's kernel mode */
#define PVPERF_MODE_HYPERVISOR  2  /* Xen, for the domain of the sample */
#define PVPERF_MODE_IDLE        3  /* halted: nothing to run */
#define PVPERF_MODES            4
#define PVPERF_MODE_MASK_ALL    0xf

/* What is sampled. */
#define PVPERF_EVENT_TIMER    0  /* time, by a timer on each CPU; no PMU used */
#define PVPERF_EVENT_GENERIC  1  /* config: PVPERF_GENERIC_* */
#define PVPERF_EVENT_RAW      2  /* config: the processor's event select bits */

#define PVPERF_GENERIC_CYCLES            0
#define PVPERF_GENERIC_INSTRUCTIONS      1
#define PVPERF_GENERIC_REF_CYCLES        2
#define PVPERF_GENERIC_BRANCHES          3
#define PVPERF_GENERIC_BRANCH_MISSES     4
#define PVPERF_GENERIC_CACHE_REFERENCES  5
#define PVPERF_GENERIC_CACHE_MISSES      6
#define PVPERF_GENERIC_NR                7

/* Who drives the counters of this host. */
#define PVPERF_BACKEND_NONE   0  /* no PMU that pvperf knows: timer only */
#define PVPERF_BACKEND_INTEL  1  /* architectural PMU, version 2 or later */
#define PVPERF_BACKEND_AMD    2

/* Who holds the counters of this host. */
#define PVPERF_OWNER_NONE      0
#define PVPERF_OWNER_PVPERF    1
#define PVPERF_OWNER_VPMU      2  /* boot without vpmu */
#define PVPERF_OWNER_XENOPROF  3  /* stop the xenoprof user */

/* How this host samples. */
#define PVPERF_QUERY_FLAG_NMI       1  /* counters interrupt by NMI */
#define PVPERF_QUERY_FLAG_WATCHDOG  2  /* one counter is Xen's watchdog's */

/*
 * PVPERF_OP_query: any domain.  What this Xen offers; pmu_owner, sessions,
 * flags and the addresses of Xen's text are for privileged callers, zero for
 * others.
 */
struct pvperf_query {
    uint16_t abi_major;         /* OUT: PVPERF_ABI_MAJOR of this Xen */
    uint16_t abi_minor;         /* OUT */
    uint8_t  backend;           /* OUT: PVPERF_BACKEND_* */
    uint8_t  pmu_owner;         /* OUT: PVPERF_OWNER_* */
    uint8_t  sessions;          /* OUT: sessions in use */
    uint8_t  privileged;        /* OUT: 1 if the caller may use all operations */
    uint16_t nr_counters;       /* OUT: general counters, 0 without a PMU */
    uint16_t nr_fixed;          /* OUT: fixed counters */
    uint16_t counter_bits;      /* OUT: width of a general counter */
    uint16_t nr_pcpus;          /* OUT: physical CPUs online */
    uint32_t generic_events;    /* OUT: bit PVPERF_GENERIC_*: supported here */
    uint32_t max_rate;          /* OUT: highest samples a second and CPU */
    uint64_t now;               /* OUT: Xen system time, ns */
    uint64_t text_start;        /* OUT: first byte of Xen's text */
    uint64_t text_end;          /* OUT: first byte after it */
    uint64_t ring_bytes_used;   /* OUT: memory now held by rings, bytes */
    uint64_t ring_bytes_max;    /* OUT: limit for all sessions, bytes */
    uint32_t flags;             /* OUT: PVPERF_QUERY_FLAG_* */
    uint32_t reserved0;
    uint64_t reserved1;
};

/*
 * One event of a session.  A session may have several of type TIMER; each has
 * its own timer.  Timer samples lie on a grid of whole periods; a CPU that is
 * late takes one sample for all the periods that have passed, and the sample
 * says so (FLAG_PERIOD).
 */
#define PVPERF_EVENT_FLAG_FREQ  1  /* rate is a frequency, else a period */

struct pvperf_event {
    uint16_t type;              /* PVPERF_EVENT_* */
    uint8_t  flags;             /* PVPERF_EVENT_FLAG_* */
    uint8_t  modes;             /* bit PVPERF_MODE_*: samples wanted, not 0 */
    uint32_t reserved;
    uint64_t config;            /* by type; 0 for the timer */
    /*
     * With FLAG_FREQ: samples a second and CPU, 1 to pvperf_query.max_rate.
     * Without: events between samples, for the timer nanoseconds; not less
     * than max_rate allows (timer) or 1000 (counters), not more than 2^40.
     * A counter that would interrupt more than max_rate times a second is
     * throttled: its period is doubled until it does not, and its samples say
     * for how much they stand (FLAG_PERIOD).
     * -ERANGE otherwise.  0 in a session with FLAG_COUNT.
     */
    uint64_t rate;
};

/*
 * PVPERF_OP_session_create: make a stopped session.
 *
 * Which samples it takes: those of the domains added to it, in the modes that
 * the event wants, hypervisor mode meaning Xen at work while a vCPU of such a
 * domain is current.  FLAG_ALL: those of every domain, Xen and idle.
 * FLAG_XEN: also hypervisor mode in any other domain or when idle.
 * FLAG_IDLE: also the idle mode.
 *
 * FLAG_COUNT: count, and take no samples.  Events are of type GENERIC or RAW,
 * with flags and rate 0; ring_order and max_stack are 0, and there are no
 * rings; PVPERF_OP_counts_read has the counts of each vCPU.  They are exact for
 * PV domains: user and kernel mode are told apart, at some cost for each system
 * call, if an event asks for one of the two without the other; such an event
 * cannot ask for hypervisor or idle (-EINVAL).  The processor cannot tell an
 * HVM domain's kernel from Xen: both count as hypervisor mode.
 *
 * Events may need more counters than there are: then they take turns on each
 * CPU, and pvperf_counts says for how long each had one.
 *
 * Errors: -ENOSPC all sessions are in use, or ring memory is at its limit;
 * -ENODEV the event needs a PMU and there is none; -EBUSY the PMU is held
 * by somebody else (pvperf_query.pmu_owner) or has no counter left;
 * -ENOENT the event does not exist on this host; -ERANGE rate; -ENOMEM.
 */
#define PVPERF_SESSION_FLAG_ALL        1
#define PVPERF_SESSION_FLAG_XEN        2
#define PVPERF_SESSION_FLAG_IDLE       4
#define PVPERF_SESSION_FLAG_CALLCHAIN  8
#define PVPERF_SESSION_FLAG_COUNT     16

struct pvperf_session_create {
    uint16_t abi_major;         /* IN: PVPERF_ABI_MAJOR */
    uint16_t nr_events;         /* IN: 1 to PVPERF_MAX_EVENTS */
    uint8_t  flags;             /* IN: PVPERF_SESSION_FLAG_* */
    uint8_t  ring_order;        /* IN: data pages of a ring, log2 */
    uint8_t  max_stack;         /* IN: frames of a call chain, 1 to
                                   PVPERF_MAX_STACK; 0 without CALLCHAIN */
    uint8_t  reserved0;
    uint64_t cookie;            /* IN: the caller's name for the session */
    uint32_t session;           /* OUT: its id, never 0, not soon used again */
    uint32_t reserved1;
    struct pvperf_event events[PVPERF_MAX_EVENTS]; /* IN: zero beyond
                                                      nr_events */
};

/*
 * PVPERF_OP_session_destroy, _start, _stop.  -ENOENT: no such session.
 * Start and stop of a session that already runs or rests do nothing.  A
 * stopped session may be started again.  Destroy stops it and gives up its
 * rings; what dom0 still maps of them stays until it is unmapped.
 */
struct pvperf_session {
    uint32_t session;           /* IN */
    uint32_t reserved;
};

/*
 * PVPERF_OP_session_info.  With FLAG_BY_SLOT, session is a slot, 0 to
 * PVPERF_MAX_SESSIONS - 1, and the session in it is reported (-ENOENT: none).
 * For each event and the whole session:
 *     overflows = recorded + lost + filtered
 * where filtered are those outside the domains and modes wanted.  The sums
 * are exact when the session is stopped.
 *
 * time_enabled is the time that the session ran on each CPU, time_running that
 * in which the event had its counter there: less if events take turns.  What
 * was counted, times enabled / running, estimates what there was.  0 for
 * timers.
 */
#define PVPERF_SESSION_INFO_BY_SLOT  1

#define PVPERF_SESSION_STOPPED  0
#define PVPERF_SESSION_RUNNING  1

struct pvperf_counts {
    uint64_t overflows;
    uint64_t recorded;
    uint64_t lost;
    uint64_t filtered;
    uint64_t throttled;         /* overflows saved by throttling the event */
    uint64_t time_enabled;      /* ns, all CPUs together */
    uint64_t time_running;      /* ns */
    uint64_t reserved;
};

struct pvperf_session_info {
    uint32_t session;           /* IN: id or slot; OUT: id */
    uint16_t flags;             /* IN: PVPERF_SESSION_INFO_* */
    uint8_t  state;             /* OUT: PVPERF_SESSION_* */
    uint8_t  session_flags;     /* OUT: as created */
    uint64_t cookie;            /* OUT */
    uint64_t start_time;        /* OUT: of the last start, ns of system time */
    uint16_t nr_events;         /* OUT */
    uint8_t  ring_order;        /* OUT */
    uint8_t  max_stack;         /* OUT */
    uint32_t nr_rings;          /* OUT: ring indices are below this */
    uint64_t ring_changes;      /* OUT: grows when a ring comes or goes */
    struct pvperf_event events[PVPERF_MAX_EVENTS];  /* OUT */
    struct pvperf_counts counts[PVPERF_MAX_EVENTS]; /* OUT */
};

/*
 * PVPERF_OP_session_add_domain, _del_domain: also while the session runs.
 * add makes a ring for each vCPU that has none yet in this session; repeat it
 * when a domain has gained vCPUs.  del ends sampling of the domain (unless
 * FLAG_ALL) and marks its rings DEAD; they can be drained until released.
 * A domain that dies is deleted from every session in the same way.
 * Errors: -ENOENT no such session; -ESRCH no such domain, or it is dying;
 * -ENOSPC ring memory is at its limit; -ENOMEM.  After an error of add, the
 * rings made so far stay.
 */
struct pvperf_session_domain {
    uint32_t session;           /* IN */
    uint16_t domid;             /* IN */
    uint16_t reserved0;
    uint32_t next_vcpu;         /* IN: 0; used by Xen to continue long calls */
    uint32_t reserved1;
};

/*
 * PVPERF_OP_ring_info: where a ring is.  Indices run from 0 to nr_rings - 1;
 * -ENOENT: none with that index now.  Frames belong to DOMID_XEN; map the
 * header read-write and the data read-only.
 *
 * PVPERF_OP_ring_release: give up a DEAD ring that has been drained and
 * unmapped (-EBUSY: not DEAD).  Only session and index are read.
 */
struct pvperf_ring_info {
    uint32_t session;           /* IN */
    uint32_t index;             /* IN */
    uint16_t domid;             /* OUT: PVPERF_DOMID_IDLE for a CPU's ring */
    uint16_t vcpu;              /* OUT: vCPU; the CPU for a CPU's ring */
    uint8_t  data_order;        /* OUT: 2^data_order pages, contiguous */
    uint8_t  flags;             /* OUT: PVPERF_RING_FLAG_* */
    uint16_t reserved;
    uint64_t header_frame;      /* OUT: machine frame of struct pvperf_ring */
    uint64_t data_frame;        /* OUT: first machine frame of the data */
    uint64_t serial;            /* OUT: differs for every ring ever made */
    uint8_t  handle[16];        /* OUT: the domain's UUID, zero for a CPU */
};

/*
 * PVPERF_OP_counts_read: what a session with FLAG_COUNT has counted so far, up
 * to the instant of a read with index 0; the entries from index on.  There is
 * one for each vCPU of its domains, and with FLAG_ALL one for each CPU, with
 * what no other entry has: idle, and domains that were not added.  Entries stay
 * when their domain dies or is deleted (FLAG_DEAD), until the session ends.
 * Errors: -ENOENT no such session, or it does not count.
 */
#define PVPERF_READ_MAX  8

#define PVPERF_COUNT_FLAG_DEAD  1   /* counts no more */

struct pvperf_vcpu_counts {
    uint16_t domid;             /* PVPERF_DOMID_IDLE: of a CPU */
    uint16_t vcpu;              /* vCPU, or the CPU */
    uint32_t flags;             /* PVPERF_COUNT_FLAG_* */
    uint8_t  handle[16];        /* the domain's UUID, zero for a CPU */
    uint64_t time;              /* ns on a CPU while the session ran */
    uint64_t count[PVPERF_MAX_EVENTS];
    uint64_t counted[PVPERF_MAX_EVENTS]; /* ns of time in which the event
                                            had a counter */
};

struct pvperf_counts_read {
    uint32_t session;           /* IN */
    uint32_t index;             /* IN: of the first entry */
    uint32_t nr;                /* OUT: entries below, 0 to PVPERF_READ_MAX */
    uint32_t total;             /* OUT: entries there are */
    struct pvperf_vcpu_counts entry[PVPERF_READ_MAX]; /* OUT */
};

#define PVPERF_DOMID_IDLE  0x7fff  /* DOMID_IDLE */

#define PVPERF_RING_FLAG_DEAD  1   /* no record will come any more */

/*
 * The header page of a ring.
 *
 * head and tail count bytes since the ring was made and never wrap in
 * practice; the place of byte n is n modulo data_size.  Records are multiples
 * of 8 bytes and do not wrap round the end: a PAD record fills the rest.
 *
 * Producer (Xen): write the record, write barrier, head.  It never reads head
 * back; it reads tail once a record and takes a tail that cannot be
 * (beyond head, or more than data_size behind) for a full ring.
 * Consumer: head, read barrier, the records, full barrier, tail.
 *
 * lost[e] counts all losses of event e so far, announced by LOST records or
 * not yet; recorded[e] the SAMPLE records written.  Both are exact when the
 * session is stopped.
 *
 * Xen raises VIRQ_PVPERF when a quarter of the ring is full, and when it
 * begins to lose.
 */
#define PVPERF_RING_MAGIC  0x66727650u  /* "Pvrf" */

struct pvperf_ring {
    uint32_t magic;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t session;
    uint32_t data_size;         /* bytes, a power of two */
    uint64_t serial;
    uint16_t domid;
    uint16_t vcpu;
    uint32_t flags;             /* PVPERF_RING_FLAG_* */
    uint64_t reserved0[4];
    uint64_t head;              /* offset 64: written by Xen */
    uint64_t reserved1[7];
    uint64_t recorded[PVPERF_MAX_EVENTS];
    uint64_t lost[PVPERF_MAX_EVENTS];
    uint64_t tail;              /* offset 256: written by the consumer */
    uint64_t reserved2[7];
};

/* Records.  All begin with this header. */
#define PVPERF_REC_PAD      0  /* skip it */
#define PVPERF_REC_SAMPLE   1
#define PVPERF_REC_CONTEXT  2  /* holds for the samples that follow */
#define PVPERF_REC_LOST     3

#define PVPERF_SAMPLE_FLAG_PERIOD  1  /* a uint64_t period follows ip: what
                                         the sample stands for; else the
                                         event's fixed period */
#define PVPERF_SAMPLE_FLAG_CHAIN   2  /* a call chain follows */
#define PVPERF_SAMPLE_FLAG_SKID    4  /* ip is where the CPU was later on */

struct pvperf_rec {
    uint8_t  type;              /* PVPERF_REC_* */
    uint8_t  words;             /* size of the record in 8-byte words, >= 1 */
    uint8_t  event;             /* index in the session's events */
    uint8_t  mode;              /* PVPERF_MODE_* (SAMPLE) */
    uint16_t pcpu;              /* physical CPU */
    uint16_t flags;             /* PVPERF_SAMPLE_FLAG_* */
};

/* SAMPLE: 24 bytes, then [period] [chain]. */
struct pvperf_rec_sample {
    struct pvperf_rec hdr;
    uint64_t time;              /* Xen system time, ns, one base host-wide */
    uint64_t ip;                /* in the address space of its mode */
};

/*
 * A call chain: this word, then nr_xen + nr_kernel + nr_user return addresses,
 * innermost first, Xen's frames before the guest kernel's before the guest
 * user's.  The sample's ip is not repeated.  Where Xen was interrupted, the
 * first guest frame is the guest's own instruction pointer.
 */
#define PVPERF_CHAIN_FLAG_TRUNCATED  1  /* max_stack was reached */

struct pvperf_chain {
    uint16_t nr_xen;
    uint16_t nr_kernel;
    uint16_t nr_user;
    uint16_t flags;             /* PVPERF_CHAIN_FLAG_* */
};

/*
 * CONTEXT: whose samples follow in this ring, until the next CONTEXT.  Xen
 * repeats it from time to time (every 4096 bytes, and when it finds the ring
 * empty), so that a consumer may begin in the middle of a ring.
 */
struct pvperf_rec_context {
    struct pvperf_rec hdr;
    uint16_t domid;             /* PVPERF_DOMID_IDLE: no domain */
    uint16_t vcpu;
    uint32_t reserved;
    uint64_t pt_base;           /* page-table base: a PV vCPU's kernel root,
                                   an HVM vCPU's CR3; bytes; 0 when idle */
    uint64_t tag;               /* guest tag, 0 if the guest sets none */
};

/* LOST: samples of one event that found the ring full. */
struct pvperf_rec_lost {
    struct pvperf_rec hdr;
    uint64_t count;
    uint64_t time_first;        /* ns, of the first and the last of them */
    uint64_t time_last;
};

#endif /* __XEN_PUBLIC_PVPERF_H__ */
