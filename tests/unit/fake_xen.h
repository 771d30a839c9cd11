/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fake_xen.h: the part of Xen that host.h needs, in memory that outlives a
 * forked and killed daemon.  For tests of the library and the daemon only; the
 * hypervisor's own code has its own tests.
 */
#ifndef FAKE_XEN_H
#define FAKE_XEN_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <pvperf/client.h>
#include <pvperf/ring.h>

#include "transport.h"

#define FAKE_RINGS 64
#define FAKE_DOMAINS 16
#define FAKE_ORDER 2u
#define FAKE_DATA (4096u << FAKE_ORDER)
#define FAKE_OPS 32
#define FAKE_COUNTS 32

struct fake_ring {
    bool used;
    uint32_t session, index;
    struct pvperf_ring_info info;
    uint64_t head;
    bool context_written;
};

struct fake_session {
    bool used;
    struct pvperf_session_info info;
    struct pvperf_vcpu_counts counts[FAKE_COUNTS];
    uint32_t nr_counts;
};

struct fake_xen {
    pthread_mutex_t lock; /* robust: its holder may be killed */
    struct pvperf_query query;
    int rc[FAKE_OPS]; /* what an operation fails with, 0: works */
    int open_rc, virq_rc, map_rc, list_rc;
    uint32_t last_id;
    uint64_t last_serial;
    struct fake_session sessions[PVPERF_MAX_SESSIONS];
    struct fake_ring rings[FAKE_RINGS];
    struct pvperf_domain domains[FAKE_DOMAINS];
    size_t nr_domains;
    int virq, store; /* eventfds, inherited */
    int maps;        /* now mapped */
    bool bound;
    uint8_t pages[FAKE_RINGS][4096 + FAKE_DATA] __attribute__((aligned(4096)));
};

static inline void fake_lock(struct fake_xen *x)
{
    if (pthread_mutex_lock(&x->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&x->lock);
}

static inline void fake_unlock(struct fake_xen *x)
{
    pthread_mutex_unlock(&x->lock);
}

static inline struct pvperf_ring *fake_header(struct fake_xen *x, unsigned int ring)
{
    return (struct pvperf_ring *)(void *)x->pages[ring];
}

static inline struct fake_xen *fake_new(void)
{
    struct fake_xen *x =
        mmap(NULL, sizeof(*x), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attr;

    if (x == MAP_FAILED)
        abort();
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&x->lock, &attr);
    x->query = (struct pvperf_query){.abi_major = PVPERF_ABI_MAJOR,
                                     .privileged = 1,
                                     .nr_pcpus = 1,
                                     .max_rate = 10000,
                                     .now = 5000000000,
                                     .ring_bytes_max = 64 << 20};
    x->virq = eventfd(0, EFD_NONBLOCK);
    x->store = eventfd(0, EFD_NONBLOCK);
    return x;
}

static inline void fake_free(struct fake_xen *x)
{
    close(x->virq);
    close(x->store);
    munmap(x, sizeof(*x));
}

/* ---- Domains ---- */

static inline void fake_poke(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        abort();
}

static inline void fake_add_domain(struct fake_xen *x, uint16_t domid, unsigned int vcpus,
                                   const char *name)
{
    struct pvperf_domain *d;

    fake_lock(x);
    d = &x->domains[x->nr_domains++];
    memset(d, 0, sizeof(*d));
    d->domid = domid;
    d->nr_vcpus = vcpus;
    d->uuid[0] = (uint8_t)domid;
    d->uuid[15] = 0xaa;
    strncpy(d->name, name, sizeof(d->name) - 1);
    fake_unlock(x);
    fake_poke(x->store);
}

static inline const struct pvperf_domain *fake_domain(struct fake_xen *x, uint16_t domid)
{
    size_t i;

    for (i = 0; i < x->nr_domains; i++)
        if (x->domains[i].domid == domid)
            return &x->domains[i];
    return NULL;
}

/* ---- Rings ---- */

static inline struct fake_session *fake_session(struct fake_xen *x, uint32_t id)
{
    unsigned int i;

    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        if (x->sessions[i].used && x->sessions[i].info.session == id)
            return &x->sessions[i];
    return NULL;
}

static inline int fake_find_ring(struct fake_xen *x, uint32_t session, uint16_t domid,
                                 uint16_t vcpu)
{
    int i;

    for (i = 0; i < FAKE_RINGS; i++)
        if (x->rings[i].used && x->rings[i].session == session &&
            x->rings[i].info.domid == domid && x->rings[i].info.vcpu == vcpu &&
            !x->rings[i].info.flags)
            return i;
    return -1;
}

static inline int fake_make_ring(struct fake_xen *x, struct fake_session *s,
                                 uint16_t domid, uint16_t vcpu, const uint8_t *uuid)
{
    struct pvperf_ring *h;
    struct fake_ring *r;
    int i = 0;

    if (fake_find_ring(x, s->info.session, domid, vcpu) >= 0)
        return 0;
    while (i < FAKE_RINGS && x->rings[i].used)
        i++;
    if (i == FAKE_RINGS)
        return -ENOSPC;
    r = &x->rings[i];
    memset(r, 0, sizeof(*r));
    r->used = true;
    r->session = s->info.session;
    r->index = s->info.nr_rings++;
    r->info = (struct pvperf_ring_info){.session = r->session,
                                        .index = r->index,
                                        .domid = domid,
                                        .vcpu = vcpu,
                                        .data_order = FAKE_ORDER,
                                        .header_frame = (uint64_t)i * 2,
                                        .data_frame = (uint64_t)i * 2 + 1,
                                        .serial = ++x->last_serial};
    if (uuid)
        memcpy(r->info.handle, uuid, 16);
    memset(x->pages[i], 0, sizeof(x->pages[i]));
    h = fake_header(x, (unsigned int)i);
    h->magic = PVPERF_RING_MAGIC;
    h->abi_major = PVPERF_ABI_MAJOR;
    h->session = r->session;
    h->data_size = FAKE_DATA;
    h->serial = r->info.serial;
    h->domid = domid;
    h->vcpu = vcpu;
    s->info.ring_changes++;
    return 0;
}

static inline void fake_kill_rings(struct fake_xen *x, uint32_t session, int domid)
{
    struct fake_session *s;
    int i;

    for (i = 0; i < FAKE_RINGS; i++) {
        struct fake_ring *r = &x->rings[i];

        if (!r->used || (session && r->session != session) || r->info.domid != domid)
            continue;
        r->info.flags = PVPERF_RING_FLAG_DEAD;
        __atomic_store_n(&fake_header(x, (unsigned int)i)->flags, PVPERF_RING_FLAG_DEAD,
                         __ATOMIC_RELEASE);
        s = fake_session(x, r->session);
        if (s)
            s->info.ring_changes++;
    }
}

static inline void fake_kill_domain(struct fake_xen *x, uint16_t domid)
{
    size_t i;

    fake_lock(x);
    for (i = 0; i < x->nr_domains; i++)
        if (x->domains[i].domid == domid)
            break;
    if (i < x->nr_domains) {
        memmove(&x->domains[i], &x->domains[i + 1],
                (x->nr_domains - i - 1) * sizeof(x->domains[0]));
        x->nr_domains--;
    }
    fake_kill_rings(x, 0, domid);
    fake_unlock(x);
    fake_poke(x->store);
    fake_poke(x->virq);
}

/* Write @words of a record; false if there is no room. */
static inline bool fake_write(struct fake_xen *x, int ring, const void *rec,
                              unsigned int words)
{
    struct pvperf_ring *h = fake_header(x, (unsigned int)ring);
    struct fake_ring *r = &x->rings[ring];
    uint8_t *data = x->pages[ring] + 4096;
    uint64_t tail = __atomic_load_n(&h->tail, __ATOMIC_RELAXED);
    uint64_t at = r->head, end = FAKE_DATA - at % FAKE_DATA, need = words * 8;
    struct pvperf_rec pad = {.type = PVPERF_REC_PAD};

    if (need > end)
        need += end;
    if (tail > at || at - tail > FAKE_DATA || FAKE_DATA - (at - tail) < need)
        return false;
    if (words * 8 > end) {
        pad.words = (uint8_t)(end / 8);
        memcpy(data + at % FAKE_DATA, &pad, sizeof(pad));
        at += end;
    }
    memcpy(data + at % FAKE_DATA, rec, words * 8);
    r->head = at + words * 8;
    __atomic_store_n(&h->head, r->head, __ATOMIC_RELEASE);
    return true;
}

/* One sample of event 0; true if it was recorded, false if lost. */
static inline bool fake_sample(struct fake_xen *x, uint32_t session, uint16_t domid,
                               uint16_t vcpu, uint64_t ip)
{
    struct pvperf_rec_context context = {
        .hdr = {.type = PVPERF_REC_CONTEXT, .words = sizeof(context) / 8},
        .domid = domid,
        .vcpu = vcpu,
        .pt_base = 0x1000};
    struct pvperf_rec_sample sample = {
        .hdr = {.type = PVPERF_REC_SAMPLE, .words = sizeof(sample) / 8},
        .time = ip,
        .ip = ip};
    struct fake_session *s;
    bool done = false;
    int ring;

    fake_lock(x);
    s = fake_session(x, session);
    ring = fake_find_ring(x, session, domid, vcpu);
    if (s && ring >= 0 && s->info.state == PVPERF_SESSION_RUNNING) {
        s->info.counts[0].overflows++;
        if (!x->rings[ring].context_written)
            x->rings[ring].context_written =
                fake_write(x, ring, &context, sizeof(context) / 8);
        done = x->rings[ring].context_written &&
               fake_write(x, ring, &sample, sizeof(sample) / 8);
        if (done)
            s->info.counts[0].recorded++;
        else
            s->info.counts[0].lost++;
    }
    fake_unlock(x);
    return done;
}

/* ---- The transport ---- */

static inline int fake_create(struct fake_xen *x, struct pvperf_session_create *req)
{
    struct fake_session *s;
    unsigned int i = 0, cpu;

    if (req->abi_major != PVPERF_ABI_MAJOR)
        return -EBADMSG;
    while (i < PVPERF_MAX_SESSIONS && x->sessions[i].used)
        i++;
    if (i == PVPERF_MAX_SESSIONS)
        return -ENOSPC;
    s = &x->sessions[i];
    memset(s, 0, sizeof(*s));
    s->used = true;
    x->query.sessions++;
    s->info.session = req->session = ++x->last_id;
    s->info.cookie = req->cookie;
    s->info.session_flags = req->flags;
    s->info.nr_events = req->nr_events;
    s->info.ring_order = req->ring_order;
    memcpy(s->info.events, req->events, sizeof(req->events));
    if (req->flags & PVPERF_SESSION_FLAG_COUNT)
        return req->ring_order || req->max_stack ? -EINVAL : 0;
    for (cpu = 0; cpu < x->query.nr_pcpus; cpu++)
        fake_make_ring(x, s, PVPERF_DOMID_IDLE, (uint16_t)cpu, NULL);
    return 0;
}

static inline int fake_destroy(struct fake_xen *x, uint32_t id)
{
    struct fake_session *s = fake_session(x, id);
    int i;

    if (!s)
        return -ENOENT;
    s->used = false;
    x->query.sessions--;
    for (i = 0; i < FAKE_RINGS; i++)
        if (x->rings[i].session == id)
            x->rings[i].used = false;
    return 0;
}

static inline int fake_info(struct fake_xen *x, struct pvperf_session_info *arg)
{
    struct fake_session *s = fake_session(x, arg->session);

    if (arg->flags & PVPERF_SESSION_INFO_BY_SLOT) {
        if (arg->session >= PVPERF_MAX_SESSIONS)
            return -EINVAL;
        s = &x->sessions[arg->session];
    }
    if (!s || !s->used)
        return -ENOENT;
    *arg = s->info;
    return 0;
}

static inline int fake_add_counts(struct fake_session *s, const struct pvperf_domain *d)
{
    unsigned int i;

    for (i = 0; i < s->nr_counts; i++)
        if (s->counts[i].domid == d->domid)
            return 0;
    for (i = 0; i < d->nr_vcpus && s->nr_counts < FAKE_COUNTS; i++) {
        struct pvperf_vcpu_counts *c = &s->counts[s->nr_counts++];

        *c = (struct pvperf_vcpu_counts){.domid = d->domid, .vcpu = (uint16_t)i};
        memcpy(c->handle, d->uuid, sizeof(c->handle));
    }
    return 0;
}

/*
 * Each reading finds, for each vCPU, 10 ms more, a million more of event 0 and
 * two of the next, which had a counter half of the time.
 */
static inline int fake_counts(struct fake_xen *x, struct pvperf_counts_read *arg)
{
    struct fake_session *s = fake_session(x, arg->session);
    uint32_t i, e;

    if (!s || !(s->info.session_flags & PVPERF_SESSION_FLAG_COUNT))
        return -ENOENT;
    for (i = 0; !arg->index && i < s->nr_counts; i++) {
        s->counts[i].time += 10000000;
        for (e = 0; e < s->info.nr_events; e++) {
            s->counts[i].count[e] += (e + 1) * 1000000;
            s->counts[i].counted[e] += e ? 5000000 : 10000000;
        }
    }
    arg->total = s->nr_counts;
    for (arg->nr = 0; arg->nr < PVPERF_READ_MAX && arg->index + arg->nr < s->nr_counts;
         arg->nr++)
        arg->entry[arg->nr] = s->counts[arg->index + arg->nr];
    return 0;
}

static inline int fake_add(struct fake_xen *x, const struct pvperf_session_domain *arg)
{
    struct fake_session *s = fake_session(x, arg->session);
    const struct pvperf_domain *d = fake_domain(x, arg->domid);
    unsigned int i;
    int rc = 0;

    if (!s)
        return -ENOENT;
    if (!d)
        return -ESRCH;
    if (s->info.session_flags & PVPERF_SESSION_FLAG_COUNT)
        return fake_add_counts(s, d);
    for (i = 0; !rc && i < d->nr_vcpus; i++)
        rc = fake_make_ring(x, s, d->domid, (uint16_t)i, d->uuid);
    return rc;
}

static inline int fake_ring_op(struct fake_xen *x, unsigned int op,
                               struct pvperf_ring_info *arg)
{
    int i;

    for (i = 0; i < FAKE_RINGS; i++) {
        struct fake_ring *r = &x->rings[i];

        if (!r->used || r->session != arg->session || r->index != arg->index)
            continue;
        if (op == PVPERF_OP_ring_info) {
            *arg = r->info;
            return 0;
        }
        if (!r->info.flags)
            return -EBUSY;
        r->used = false;
        if (fake_session(x, r->session))
            fake_session(x, r->session)->info.ring_changes++;
        return 0;
    }
    return -ENOENT;
}

static inline int fake_run(struct fake_xen *x, uint32_t id, uint8_t state)
{
    struct fake_session *s = fake_session(x, id);

    if (!s)
        return -ENOENT;
    s->info.state = state;
    if (state == PVPERF_SESSION_RUNNING)
        s->info.start_time = x->query.now;
    return 0;
}

static inline int fake_dispatch(struct fake_xen *x, unsigned int op, void *arg)
{
    switch (op) {
    case PVPERF_OP_query:
        *(struct pvperf_query *)arg = x->query;
        return 0;
    case PVPERF_OP_session_create:
        return fake_create(x, arg);
    case PVPERF_OP_session_destroy:
        return fake_destroy(x, ((struct pvperf_session *)arg)->session);
    case PVPERF_OP_session_start:
        return fake_run(x, ((struct pvperf_session *)arg)->session,
                        PVPERF_SESSION_RUNNING);
    case PVPERF_OP_session_stop:
        return fake_run(x, ((struct pvperf_session *)arg)->session,
                        PVPERF_SESSION_STOPPED);
    case PVPERF_OP_session_info:
        return fake_info(x, arg);
    case PVPERF_OP_session_add_domain:
        return fake_add(x, arg);
    case PVPERF_OP_session_del_domain:
        fake_kill_rings(x, ((struct pvperf_session_domain *)arg)->session,
                        ((struct pvperf_session_domain *)arg)->domid);
        return 0;
    case PVPERF_OP_counts_read:
        return fake_counts(x, arg);
    case PVPERF_OP_ring_info:
    case PVPERF_OP_ring_release:
        return fake_ring_op(x, op, arg);
    default:
        return -ENOSYS;
    }
}

static inline int fake_hypercall(void *ctx, unsigned int op, void *arg, size_t size)
{
    struct fake_xen *x = ctx;
    void *copy;
    int rc;

    if (op < FAKE_OPS && x->rc[op])
        return x->rc[op];
    copy = malloc(size);
    memcpy(copy, arg, size);
    fake_lock(x);
    rc = fake_dispatch(x, op, copy);
    fake_unlock(x);
    if (!rc)
        memcpy(arg, copy, size);
    free(copy);
    return rc;
}

static inline int fake_map(void *ctx, uint64_t frame, size_t pages, bool write,
                           void **out)
{
    struct fake_xen *x = ctx;

    if (x->map_rc)
        return x->map_rc;
    if (frame / 2 >= FAKE_RINGS || write == frame % 2 ||
        pages != (write ? 1 : FAKE_DATA / 4096))
        return -EINVAL;
    *out = x->pages[frame / 2] + (frame % 2 ? 4096 : 0);
    x->maps++;
    return 0;
}

static inline void fake_unmap(void *ctx, void *addr, size_t pages)
{
    (void)addr;
    (void)pages;
    ((struct fake_xen *)ctx)->maps--;
}

static inline int fake_virq_open(void *ctx)
{
    struct fake_xen *x = ctx;

    return x->virq_rc ? x->virq_rc : x->virq;
}

static inline int fake_ack(int fd)
{
    uint64_t n;

    return read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN ? -errno : 0;
}

static inline int fake_virq_ack(void *ctx)
{
    return fake_ack(((struct fake_xen *)ctx)->virq);
}

static inline void fake_close(void *ctx)
{
    (void)ctx;
}

static const struct pvp_transport fake_ops = {
    fake_hypercall, fake_map, fake_unmap, fake_virq_open, fake_virq_ack, fake_close,
};

#endif
