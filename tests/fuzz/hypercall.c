/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hypercall.c: random but not aimless: valid calls with a field or two
 * changed, life cycles of sessions, domains and CPUs, samples in between,
 * allocations and copies that fail, and a dom0 that writes nonsense into the
 * pages it may write.  The shim aborts when a rule of Xen's is broken; here
 * the promises of the ABI are checked: results, outputs, counts, rings.
 */
#include <stdlib.h>

#include <core_util.h>
#include "hypercall.h"

#define IDS 12 /* the last 8: those that live, by slot */
#define DOMS 6
#define MAPS 6

struct map {
    struct consumer c;
    bool used;
};

struct world {
    struct source *src;
    struct tally *tally;
    uint32_t ids[IDS];
    struct domain *doms[DOMS];
    struct map maps[MAPS];
    /* serials of rings whose header dom0 filled with nonsense */
    uint64_t dirty[256];
    unsigned int nr_dirty;
};

static bool over(const struct world *w)
{
    return !w->src->left && !w->src->seed;
}

static uint8_t byte(struct world *w)
{
    struct source *s = w->src;

    if (s->left) {
        s->left--;
        return *s->bytes++;
    }
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 7;
    s->seed ^= s->seed << 17;
    return (uint8_t)(s->seed >> 32);
}

static unsigned int below(struct world *w, unsigned int n)
{
    return byte(w) % n;
}

static uint64_t word(struct world *w)
{
    static const uint64_t odd[] = {
        0,      1,          7,          8,          0x7f,      0xff,       0x7ff0, 0x7fff,
        0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1ull << 63, ~0ull,  1000};
    uint64_t v = 0;
    unsigned int i;

    if (byte(w) & 1)
        return odd[below(w, 16)];
    for (i = 0; i < 8; i++)
        v = v << 8 | byte(w);
    return v;
}

/* Change some of the bytes of an argument, sometimes. */
static void mutate(struct world *w, void *arg, size_t len)
{
    unsigned int n = below(w, 12);

    if (n > 3)
        return;
    while (n--) {
        size_t at = (size_t)(byte(w) << 8 | byte(w)) % len;
        uint64_t v = word(w);
        size_t size = (size_t)1 << below(w, 4);

        at &= ~(size - 1);
        if (at + size <= len)
            memcpy((char *)arg + at, &v, size);
    }
}

static bool documented(unsigned int op, long rc)
{
    switch (rc) {
    case 0:
    case -EFAULT:
        return true;
    case -EPERM:
        return shim.unprivileged && op >= 16;
    case -ENOSYS:
        return (op && op < 16) || op > 25;
    case -EINVAL:
        return true;
    case -EBADMSG:
    case -ENODEV:
    case -ERANGE:
        return op == PVPERF_OP_session_create;
    case -ENOSPC:
    case -ENOMEM:
        return op == PVPERF_OP_session_create || op == PVPERF_OP_session_add_domain;
    case -EBUSY:
        return op == PVPERF_OP_session_create || op == PVPERF_OP_ring_release;
    case -ENOENT:
        return op >= 16;
    case -ESRCH:
        return op == PVPERF_OP_session_add_domain || op == PVPERF_OP_session_del_domain;
    }
    return false;
}

static long call(struct world *w, unsigned int op, void *arg, size_t len)
{
    uint8_t before[sizeof(struct pvperf_counts_read)], fail = byte(w);
    long rc;

    REQ(len <= sizeof(before));
    memcpy(before, arg, len);
    switch (fail) {
    case 0:
        shim.fail_xmalloc = below(w, 12);
        break;
    case 1:
        shim.fail_heap = below(w, 12);
        break;
    case 2:
        shim.fail_copy_to = 0;
        break;
    case 3:
        shim.fail_copy_from = below(w, 3);
        break;
    case 4:
        shim.unprivileged = true;
        break;
    case 5:
        shim.preempt_every = 1 + below(w, 4);
        break;
    }
    rc = shim_hypercall(op, arg);
    w->tally->calls++;
    if (rc)
        w->tally->refused++;
    else
        w->tally->ok++;
    REQ(documented(op, rc));
    REQ(rc != -ENOMEM || fail <= 1);
    if (rc && op != PVPERF_OP_session_add_domain)
        REQ(!memcmp(before, arg, len));
    shim.fail_xmalloc = shim.fail_heap = shim.fail_copy_to = shim.fail_copy_from = -1;
    shim.unprivileged = false;
    shim.preempt_every = 0;
    return rc;
}

/* Mostly of a session that lives, sometimes of one that did. */
static uint32_t some_id(struct world *w)
{
    unsigned int i = below(w, 16), n;

    if (i < 2)
        return w->ids[below(w, IDS - PVPERF_MAX_SESSIONS)];
    for (n = 0; n < PVPERF_MAX_SESSIONS; n++)
        if (w->ids[IDS - 1 - (i + n) % PVPERF_MAX_SESSIONS])
            return w->ids[IDS - 1 - (i + n) % PVPERF_MAX_SESSIONS];
    return w->ids[0];
}

static void know_ids(struct world *w)
{
    unsigned int slot;

    for (slot = 0; slot < PVPERF_MAX_SESSIONS; slot++) {
        struct pvperf_session_info i = {.session = slot,
                                        .flags = PVPERF_SESSION_INFO_BY_SLOT};
        uint32_t *id = &w->ids[IDS - PVPERF_MAX_SESSIONS + slot];
        bool lives = !shim_hypercall(PVPERF_OP_session_info, &i);

        if (*id && (!lives || *id != i.session))
            w->ids[below(w, IDS - PVPERF_MAX_SESSIONS)] = *id;
        *id = lives ? i.session : 0;
    }
}

static void do_create(struct world *w)
{
    struct pvperf_session_create op;
    unsigned int e;

    if (byte(w) & 1)
        op = create_timer((uint8_t)below(w, 16), (uint64_t)(100000 + byte(w) * 30000));
    else
        op = create_counters((uint8_t)below(w, 16), 1 + below(w, 8));
    if (op.events[0].type != PVPERF_EVENT_TIMER && !below(w, 4)) {
        op.flags = (uint8_t)(PVPERF_SESSION_FLAG_COUNT | below(w, 8));
        op.max_stack = 0;
        for (e = 0; e < op.nr_events; e++)
            op.events[e].rate = 0;
    }
    for (e = 0; e < op.nr_events; e++)
        op.events[e].modes = (uint8_t)(1 + below(w, 15));
    if (op.max_stack)
        op.max_stack = (uint8_t)(1 + below(w, 64));
    if (!(op.flags & PVPERF_SESSION_FLAG_COUNT))
        op.ring_order = below(w, 16) ? (uint8_t)below(w, 3) : (uint8_t)below(w, 9);
    mutate(w, &op, sizeof(op));
    if (!call(w, PVPERF_OP_session_create, &op, sizeof(op))) {
        REQ(op.session);
        know_ids(w);
    }
}

static void do_session(struct world *w, unsigned int op)
{
    struct pvperf_session s = {.session = some_id(w)};

    mutate(w, &s, sizeof(s));
    if (!call(w, op, &s, sizeof(s)) && op == PVPERF_OP_session_destroy)
        know_ids(w);
}

static void do_info(struct world *w)
{
    struct pvperf_session_info i = {.session = some_id(w)};
    unsigned int e;

    if (byte(w) & 1) {
        i.flags = PVPERF_SESSION_INFO_BY_SLOT;
        i.session = below(w, 10);
    }
    mutate(w, &i, sizeof(i));
    if (call(w, PVPERF_OP_session_info, &i, sizeof(i)))
        return;
    for (e = 0; e < PVPERF_MAX_EVENTS; e++)
        REQ(i.counts[e].overflows ==
            i.counts[e].recorded + i.counts[e].lost + i.counts[e].filtered);
}

static void do_domain_op(struct world *w, unsigned int op)
{
    struct pvperf_session_domain d = {.session = some_id(w),
                                      .domid = (domid_t)below(w, 10)};

    mutate(w, &d, sizeof(d));
    call(w, op, &d, sizeof(d));
}

static void do_ring(struct world *w, unsigned int op)
{
    struct pvperf_ring_info r = {.session = some_id(w), .index = below(w, 24)};

    mutate(w, &r, sizeof(r));
    call(w, op, &r, sizeof(r));
}

static void do_counts(struct world *w)
{
    struct pvperf_counts_read r = {.session = some_id(w), .index = below(w, 24)};
    unsigned int i;

    mutate(w, &r, sizeof(r));
    if (call(w, PVPERF_OP_counts_read, &r, sizeof(r)))
        return;
    REQ(r.nr <= PVPERF_READ_MAX && r.nr <= r.total);
    for (i = 0; i < r.nr; i++)
        REQ(!(r.entry[i].flags & ~PVPERF_COUNT_FLAG_DEAD));
}

static void do_query(struct world *w)
{
    struct pvperf_query q = {0};

    if (!call(w, PVPERF_OP_query, &q, sizeof(q)))
        REQ(q.ring_bytes_used <= q.ring_bytes_max || !q.privileged);
}

/* Any operation, any bytes, any address. */
static void do_raw(struct world *w)
{
    static uint64_t arg[(sizeof(struct pvperf_counts_read) + 7) / 8];
    unsigned int op = byte(w) < 200 ? below(w, 32) : (unsigned int)word(w);
    unsigned int i, n = below(w, 32);
    long rc;

    memset(arg, byte(w) & 1 ? 0 : 0xff, sizeof(arg));
    for (i = 0; i < n; i++)
        arg[i] = word(w);
    if (byte(w) < 200) {
        arg[0] = (arg[0] & ~0xffffffffull) | some_id(w);
        call(w, op, arg, sizeof(arg));
        know_ids(w);
        return;
    }
    do {
        arg[0] = word(w); /* addresses that are the shim's own do fault */
    } while (arg[0] >= 0x10000 && arg[0] < 1ull << 47);
    rc = shim_hypercall(op, (void *)(uintptr_t)arg[0]);
    w->tally->calls++;
    w->tally->refused++;
    REQ(rc == -EFAULT || rc == -ENOSYS);
}

static void do_overflow(struct world *w)
{
    unsigned int cpu = below(w, NR_CPUS), e = below(w, PVPERF_MAX_EVENTS);
    unsigned int n = below(w, 40) ? 1 : byte(w);
    uint32_t id = some_id(w);
    uint64_t before;

    if (!cpu_online(cpu))
        return;
    shim_regs[cpu].mode = (uint8_t)below(w, 4);
    shim_regs[cpu].ip = byte(w);
    shim_regs[cpu].tag = below(w, 3);
    shim_regs[cpu].chain = (struct pvperf_chain){.nr_xen = (uint16_t)below(w, 8),
                                                 .nr_kernel = (uint16_t)below(w, 70),
                                                 .nr_user = (uint16_t)below(w, 70)};
    if (shim_pmu_count(cpu, id, e, byte(w)))
        return;
    if (!shim_pmu_overflow(cpu, id, e, byte(w) & 1 ? word(w) : 0))
        return;
    before = session_counts(id, e).overflows;
    while (n--) {
        shim.now += byte(w);
        REQ(shim_pmu_overflow(cpu, id, e, 0));
        w->tally->samples++;
        before++;
    }
    REQ(session_counts(id, e).overflows == before);
    require_identity(id);
}

static void do_time(struct world *w)
{
    unsigned int n = byte(w);

    shim_softirq_first = !below(w, 8);
    if (!below(w, 16))
        shim.now += (s_time_t)byte(w) * 1000000;
    shim_advance((s_time_t)n * 20000);
}

static void do_life(struct world *w)
{
    struct domain **d = &w->doms[below(w, DOMS)];
    unsigned int vcpus = 1 + below(w, 6), cpu = below(w, NR_CPUS), i;

    switch (below(w, 6)) {
    case 0:
        if (!*d)
            *d = shim_domain_create((domid_t)(1 + (d - w->doms)), vcpus + 2, vcpus);
        break;
    case 1:
        if (*d && !(*d)->is_dying)
            shim_domain_kill(*d);
        break;
    case 2:
        if (*d && (*d)->is_dying) {
            shim_domain_free(*d);
            *d = NULL;
        }
        break;
    case 3:
        if (*d && !(*d)->is_dying && !(*d)->vcpu[(*d)->max_vcpus - 1])
            shim_domain_add_vcpu(*d);
        break;
    case 4:
        if (cpu && cpu_online(cpu) && cpu != 0)
            shim_cpu_down(cpu);
        break;
    case 5:
        i = byte(w);
        shim.fail_xmalloc = i == 1 ? 0 : -1;
        shim.fail_heap = i == 2 ? 0 : -1;
        if (!cpu_online(cpu) && cpu < 4)
            shim_cpu_up(cpu);
        shim.fail_xmalloc = shim.fail_heap = -1;
        break;
    }
}

static void do_run(struct world *w)
{
    struct domain *d = w->doms[below(w, DOMS)];
    unsigned int cpu = below(w, NR_CPUS), v;

    if (!cpu_online(cpu))
        return;
    if (!d || d->is_dying || !below(w, 4)) {
        shim_run_vcpu(cpu, NULL);
        return;
    }
    v = below(w, d->max_vcpus);
    if (d->vcpu[v]) {
        d->vcpu[v]->shim_pt_base = (uint64_t)below(w, 4) << 12;
        shim_run_vcpu(cpu, d->vcpu[v]);
    }
}

static bool is_dirty(const struct world *w, uint64_t serial)
{
    unsigned int i;

    for (i = 0; i < w->nr_dirty; i++)
        if (w->dirty[i] == serial)
            return true;
    return w->nr_dirty == ARRAY_SIZE(w->dirty); /* too many to know */
}

static void make_dirty(struct world *w, uint64_t serial)
{
    if (!is_dirty(w, serial))
        w->dirty[w->nr_dirty++] = serial;
}

static void open_map(struct world *w, struct map *m)
{
    struct pvperf_ring_info info;
    uint32_t id = some_id(w), index = below(w, 16);
    unsigned int n;

    if (ring_info(id, index, &info) || is_dirty(w, info.serial))
        return;
    for (n = 0; n < MAPS; n++) /* one consumer a ring */
        if (w->maps[n].used && w->maps[n].c.info.serial == info.serial)
            return;
    m->used = consumer_open(&m->c, id, index);
    REQ(m->used);
    /* Who begins in the middle takes the context from what comes. */
    if (m->c.ring->tail != m->c.ring->head)
        m->c.ring->tail = m->c.pos = m->c.ring->head;
}

/* dom0 maps, reads, scribbles, unmaps. */
static void do_map(struct world *w)
{
    struct map *m = &w->maps[below(w, MAPS)];
    uint64_t *page;
    unsigned int n;

    if (!m->used) {
        open_map(w, m);
        return;
    }
    switch (below(w, 16)) {
    case 0:
        consumer_close(&m->c);
        m->used = false;
        break;
    case 1:
        make_dirty(w, m->c.info.serial);
        page = (uint64_t *)(void *)m->c.ring;
        for (n = below(w, 40); n--;)
            page[(unsigned int)(byte(w) << 8 | byte(w)) % 512] = word(w);
        break;
    case 2:
        make_dirty(w, m->c.info.serial);
        m->c.ring->tail = word(w);
        break;
    case 3:
        make_dirty(w, m->c.info.serial);
        m->c.ring->tail = m->c.ring->head - (uint64_t)byte(w) * 8;
        break;
    default:
        if (is_dirty(w, m->c.info.serial)) {
            m->c.ring->tail = m->c.ring->head;
            break;
        }
        consumer_read(&m->c, true);
        consumer_forget(&m->c);
    }
}

static void step(struct world *w)
{
    static const uint8_t ops[8] = {17, 18, 18, 18, 18, 18, 18, 19};
    unsigned int what = byte(w);

    w->tally->steps++;
    if (what < 16)
        do_create(w);
    else if (what < 50)
        do_session(w, ops[what & 7]);
    else if (what < 60)
        do_info(w);
    else if (what < 85)
        do_domain_op(w, what & 7 ? PVPERF_OP_session_add_domain
                                 : PVPERF_OP_session_del_domain);
    else if (what < 110)
        do_ring(w, what & 1 ? PVPERF_OP_ring_info : PVPERF_OP_ring_release);
    else if (what < 113)
        do_query(w);
    else if (what < 115)
        do_counts(w);
    else if (what < 130)
        do_raw(w);
    else if (what < 175)
        do_overflow(w);
    else if (what < 185)
        do_time(w);
    else if (what < 200)
        do_life(w);
    else if (what < 215)
        do_run(w);
    else
        do_map(w);
}

void hypercall_episode(struct source *src, unsigned long calls, struct tally *tally)
{
    struct world w = {.src = src, .tally = tally};
    unsigned long end = tally->calls + calls;
    unsigned int i;

    shim_boot(3, "on,ring-mb=2");
    shim_pmu_set(PVPERF_BACKEND_INTEL, 24, 0);
    tally->episodes++;
    while (!over(&w) && tally->calls < end) {
        step(&w);
        shim_check_idle();
    }
    for (i = 0; i < MAPS; i++)
        if (w.maps[i].used)
            consumer_close(&w.maps[i].c);
    shim_down();
}
