/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_api.c: every operation's documented errors, padding, outputs and
 * privileges.
 */
#include <check.h>
#include <stdlib.h>

#include "core_util.h"

#define NOBODY 0x00fffff8u

static void up(void)
{
    shim_boot(2, "on");
}

static long make(const struct pvperf_session_create *op)
{
    struct pvperf_session_create copy = *op;
    long rc = shim_hypercall(PVPERF_OP_session_create, &copy);

    /* Outputs are written on success only. */
    if (rc)
        ck_assert_mem_eq(&copy, op, sizeof(copy));
    else
        ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, copy.session), 0);
    return rc;
}

START_TEST(disabled)
{
    struct pvperf_session_create op = create_timer(0, MS);
    struct pvperf_query q = {0};
    unsigned int i;
    static const char *const params[] = {NULL, "off", "no", "max-rate=100"};

    for (i = 0; i < 4; i++) {
        shim_boot(2, params[i]);
        ck_assert_int_eq(shim_hypercall(PVPERF_OP_query, &q), -EOPNOTSUPP);
        ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EOPNOTSUPP);
        shim_domain_create(5, 1, 1);
        shim_timer_interrupt(0);
        shim_down();
    }
}
END_TEST

START_TEST(parameter)
{
    static const struct {
        const char *text;
        bool ok, on;
    } t[] = {
        {"on", true, true},
        {"yes", true, true},
        {"off", true, false},
        {"on,max-rate=500", true, true},
        {"max-rate=500,on", true, true},
        {"on,ring-mb=8", true, true},
        {"on,ring-mb=0", false, true},
        {"on,ring-mb=x", false, true},
        {"on,max-rate=0", false, true},
        {"on,max-rate=99999999", false, true},
        {"on,max-rate=", false, true},
        {"on,nonsense", false, true},
        {"on,,off", false, false},
        {"on,max-rate=500x", false, true},
    };
    struct pvperf_query q;
    unsigned int i;

    for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        q = (struct pvperf_query){0};
        shim_boot(1, t[i].text);
        ck_assert_msg(!shim_param_rc == t[i].ok, "%s", t[i].text);
        ck_assert_msg(shim_hypercall(PVPERF_OP_query, &q) == (t[i].on ? 0 : -EOPNOTSUPP),
                      "%s", t[i].text);
        if (strstr(t[i].text, "max-rate=500") && t[i].ok)
            ck_assert_uint_eq(q.max_rate, 500);
        if (strstr(t[i].text, "ring-mb=8"))
            ck_assert_uint_eq(q.ring_bytes_max, 8u << 20);
        shim_down();
    }
}
END_TEST

START_TEST(unknown_operations)
{
    unsigned int op;
    uint64_t arg[64] = {0};

    up();
    for (op = 1; op < 16; op++)
        ck_assert_int_eq(shim_hypercall(op, arg), -ENOSYS);
    for (op = 26; op < 80; op++)
        ck_assert_int_eq(shim_hypercall(op, arg), -ENOSYS);
    ck_assert_int_eq(shim_hypercall(0x80000010u, arg), -ENOSYS);
    ck_assert_int_eq(shim_hypercall(~0u, arg), -ENOSYS);
    shim_down();
}
END_TEST

START_TEST(query_of_dom0)
{
    struct pvperf_query q;
    uint32_t id;

    up();
    q = query();
    ck_assert_uint_eq(q.abi_major, 1);
    ck_assert_uint_eq(q.abi_minor, PVPERF_ABI_MINOR);
    ck_assert_uint_eq(q.backend, PVPERF_BACKEND_NONE);
    ck_assert_uint_eq(q.privileged, 1);
    ck_assert_uint_eq(q.nr_pcpus, 2);
    ck_assert_uint_eq(q.sessions, 0);
    ck_assert_uint_gt(q.max_rate, 0);
    ck_assert_uint_eq(q.now, (uint64_t)shim.now);
    ck_assert(q.text_start && q.text_start < q.text_end);
    ck_assert_uint_eq(q.ring_bytes_used, 0);
    ck_assert_uint_gt(q.ring_bytes_max, 0);
    ck_assert(!q.flags && !q.reserved0 && !q.reserved1);
    id = session_make(create_timer(0, MS));
    q = query();
    ck_assert_uint_eq(q.sessions, 1);
    ck_assert_uint_eq(q.ring_bytes_used, 2 * 2 * 4096); /* two CPUs' rings */
    ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, id), 0);
    q = query();
    ck_assert(!q.sessions && !q.ring_bytes_used);
    shim_down();
}
END_TEST

START_TEST(query_of_others)
{
    struct pvperf_query q;

    up();
    shim_pmu_set(PVPERF_BACKEND_INTEL, 4, PVPERF_OWNER_VPMU);
    session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS));
    shim.unprivileged = true;
    q = query();
    ck_assert_uint_eq(q.abi_major, 1);
    ck_assert_uint_eq(q.privileged, 0);
    ck_assert_uint_eq(q.pmu_owner, 0);
    ck_assert_uint_eq(q.sessions, 0);
    ck_assert_uint_eq(q.text_start, 0);
    ck_assert_uint_eq(q.text_end, 0);
    ck_assert_uint_eq(q.ring_bytes_used, 0);
    shim.unprivileged = false;
    ck_assert_uint_eq(query().pmu_owner, PVPERF_OWNER_VPMU);
    shim_down();
}
END_TEST

START_TEST(control_is_refused)
{
    struct pvperf_session_create op = create_timer(0, MS);
    unsigned int cmd;
    uint64_t arg[64] = {0};
    uint32_t id;

    up();
    id = session_make(op);
    shim.unprivileged = true;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EPERM);
    for (cmd = 16; cmd <= 24; cmd++) {
        ck_assert_int_eq(shim_hypercall(cmd, arg), -EPERM);
        ck_assert_int_eq(shim_hypercall(cmd, NULL), -EPERM);
        arg[0] = id;
        ck_assert_int_eq(shim_hypercall(cmd, arg), -EPERM);
        arg[0] = 0;
    }
    shim.unprivileged = false;
    ck_assert_uint_eq(query().sessions, 1);
    shim_down();
}
END_TEST

START_TEST(faults)
{
    struct pvperf_session_create op = create_timer(0, MS);
    static uint64_t page[512];
    unsigned int cmd;
    uint32_t id;

    up();
    shim.bad_start = page;
    shim.bad_end = page + 512;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_query, page), -EFAULT);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_query, NULL), -EFAULT);
    for (cmd = 16; cmd <= 24; cmd++) {
        ck_assert_int_eq(shim_hypercall(cmd, page), -EFAULT);
        ck_assert_int_eq(shim_hypercall(cmd, NULL), -EFAULT);
        ck_assert_int_eq(shim_hypercall(cmd, (void *)0xffff888000000000ull), -EFAULT);
    }
    /* An id that nobody would learn of leaves no session. */
    shim.fail_copy_to = 0;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), -EFAULT);
    shim.fail_copy_to = -1;
    ck_assert_uint_eq(query().sessions, 0);
    ck_assert_uint_eq(query().ring_bytes_used, 0);
    id = session_make(op);
    {
        struct pvperf_session_info info = {.session = id};
        struct pvperf_ring_info ring = {.session = id};

        shim.fail_copy_to = 0;
        ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_info, &info), -EFAULT);
        ck_assert_int_eq(shim_hypercall(PVPERF_OP_ring_info, &ring), -EFAULT);
        ck_assert_int_eq(shim_hypercall(PVPERF_OP_query, &info), -EFAULT);
        shim.fail_copy_to = -1;
    }
    shim_down();
}
END_TEST

START_TEST(create_versions)
{
    struct pvperf_session_create op = create_timer(0, MS);

    up();
    op.abi_major = 0;
    ck_assert_int_eq(make(&op), -EBADMSG);
    op.abi_major = 2;
    ck_assert_int_eq(make(&op), -EBADMSG);
    op.nr_events = 77; /* what another version means is unknown */
    op.reserved1 = 1;
    ck_assert_int_eq(make(&op), -EBADMSG);
    shim_down();
}
END_TEST

START_TEST(create_invalid)
{
    struct pvperf_session_create good, op;
    unsigned int i;

#define BAD(change)                           \
    do {                                      \
        op = good;                            \
        change;                               \
        ck_assert_int_eq(make(&op), -EINVAL); \
    } while (0)
    up();
    good = create_timer(PVPERF_SESSION_FLAG_CALLCHAIN, MS);
    ck_assert_int_eq(make(&good), 0);
    BAD(op.nr_events = 0);
    BAD(op.nr_events = 9);
    BAD(op.nr_events = 0xffff);
    for (i = 4; i < 8; i++)
        BAD(op.flags |= (uint8_t)(1u << i));
    BAD(op.ring_order = 9);
    BAD(op.ring_order = 255);
    BAD(op.max_stack = 0);
    BAD(op.max_stack = 65);
    BAD(op.max_stack = 255);
    BAD(op.flags = 0); /* max_stack without CALLCHAIN */
    BAD(op.reserved0 = 1);
    BAD(op.reserved1 = 1);
    BAD(op.events[0].type = 3);
    BAD(op.events[0].type = 0xffff);
    BAD(op.events[0].flags = 2);
    BAD(op.events[0].flags = 0x80);
    BAD(op.events[0].modes = 0);
    BAD(op.events[0].modes = 0x10);
    BAD(op.events[0].modes = 0xff);
    BAD(op.events[0].reserved = 1);
    BAD(op.events[0].config = 1); /* "0 for the timer" */
    BAD((op.nr_events = 2, op.events[1] = op.events[0], op.events[1].modes = 0));
    op = good;
    op.max_stack = PVPERF_MAX_STACK;
    ck_assert_int_eq(make(&op), 0);
    op.max_stack = 1;
    ck_assert_int_eq(make(&op), 0);
    op = good;
    op.ring_order = PVPERF_MAX_RING_ORDER;
    ck_assert_int_eq(make(&op), 0);
    shim_down();
#undef BAD
}
END_TEST

START_TEST(create_rates)
{
    struct pvperf_session_create op = create_timer(0, MS);
    uint32_t max;

    up();
    max = query().max_rate;
    op.events[0].flags = PVPERF_EVENT_FLAG_FREQ;
    op.events[0].rate = 0;
    ck_assert_int_eq(make(&op), -ERANGE);
    op.events[0].rate = max + 1ull;
    ck_assert_int_eq(make(&op), -ERANGE);
    op.events[0].rate = ~0ull;
    ck_assert_int_eq(make(&op), -ERANGE);
    op.events[0].rate = max;
    ck_assert_int_eq(make(&op), 0);
    op.events[0].rate = 1;
    ck_assert_int_eq(make(&op), 0);

    op.events[0].flags = 0;
    op.events[0].rate = 0;
    ck_assert_int_eq(make(&op), -ERANGE);
    op.events[0].rate = 1000000000ull / max - 1;
    ck_assert_int_eq(make(&op), -ERANGE);
    op.events[0].rate = 1000000000ull / max;
    ck_assert_int_eq(make(&op), 0);

    shim_pmu_set(PVPERF_BACKEND_INTEL, 4, 0);
    op = create_counters(0, 1);
    op.events[0].rate = 999;
    ck_assert_int_eq(make(&op), -ERANGE);
    op.events[0].rate = 1000;
    ck_assert_int_eq(make(&op), 0);
    shim_down();
}
END_TEST

START_TEST(create_counters_errors)
{
    struct pvperf_session_create op = create_counters(0, 2);
    uint32_t id;

    up();
    ck_assert_int_eq(make(&op), -ENODEV);
    op.events[0].type = PVPERF_EVENT_GENERIC;
    op.events[0].config = 0;
    ck_assert_int_eq(make(&op), -ENODEV);
    shim_pmu_set(PVPERF_BACKEND_INTEL, 2, PVPERF_OWNER_VPMU);
    ck_assert_int_eq(make(&op), -EBUSY);
    shim_pmu_set(PVPERF_BACKEND_INTEL, 2, 0);
    op.events[0].config = PVPERF_GENERIC_CACHE_MISSES;
    ck_assert_int_eq(make(&op), -ENOENT);
    op.events[0].config = PVPERF_GENERIC_CYCLES;
    id = session_make(op);
    ck_assert_uint_eq(query().pmu_owner, PVPERF_OWNER_PVPERF);
    ck_assert_int_eq(make(&op), -EBUSY); /* no counter left */
    ck_assert_uint_eq(query().sessions, 1);
    session_op(PVPERF_OP_session_destroy, id);
    ck_assert_int_eq(make(&op), 0);
    ck_assert_uint_eq(query().pmu_owner, PVPERF_OWNER_NONE);
    shim_down();
}
END_TEST

START_TEST(nine_sessions)
{
    struct pvperf_session_create op = create_timer(0, MS);
    uint32_t id[8], fresh;
    unsigned int i, j;

    up();
    for (i = 0; i < 8; i++) {
        op.cookie = 100 + i;
        id[i] = session_make(op);
        for (j = 0; j < i; j++)
            ck_assert_uint_ne(id[i], id[j]);
    }
    ck_assert_uint_eq(query().sessions, 8);
    ck_assert_int_eq(make(&op), -ENOSPC);
    for (i = 0; i < 8; i++)
        ck_assert_uint_eq(session_info(id[i]).cookie, 100 + i);
    ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, id[3]), 0);
    fresh = session_make(op);
    ck_assert_uint_ne(fresh, id[3]);
    ck_assert_int_eq(make(&op), -ENOSPC);
    shim_down();
}
END_TEST

START_TEST(ids_are_not_soon_used_again)
{
    struct pvperf_session_create op = create_timer(0, MS);
    enum { N = 2000 };
    uint32_t *seen = calloc(N, sizeof(*seen));
    unsigned int i, j;

    up();
    for (i = 0; i < N; i++) {
        seen[i] = session_make(op);
        for (j = 0; j < i; j++)
            ck_assert_uint_ne(seen[i], seen[j]);
        ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, seen[i]), 0);
    }
    free(seen);
    shim_down();
}
END_TEST

/* Every operation on an id that is not there. */
static void refuse_id(uint32_t id)
{
    struct pvperf_session_info info = {.session = id}, before = info;
    struct pvperf_ring_info ring = {.session = id};

    ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, id), -ENOENT);
    ck_assert_int_eq(session_op(PVPERF_OP_session_start, id), -ENOENT);
    ck_assert_int_eq(session_op(PVPERF_OP_session_stop, id), -ENOENT);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_info, &info), -ENOENT);
    ck_assert_mem_eq(&info, &before, sizeof(info));
    ck_assert_int_eq(domain_op(PVPERF_OP_session_add_domain, id, 0), -ENOENT);
    ck_assert_int_eq(domain_op(PVPERF_OP_session_del_domain, id, 0), -ENOENT);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_ring_info, &ring), -ENOENT);
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_ring_release, &ring), -ENOENT);
}

START_TEST(no_such_session)
{
    uint32_t id, other;

    up();
    refuse_id(0);
    refuse_id(1);
    refuse_id(8);
    refuse_id(~0u);
    refuse_id(NOBODY);
    id = session_make(create_timer(0, MS));
    ck_assert_int_eq(session_op(PVPERF_OP_session_destroy, id), 0);
    refuse_id(id);
    other = session_make(create_timer(0, MS));
    refuse_id(id); /* not the one in the same slot */
    ck_assert_int_eq(session_op(PVPERF_OP_session_start, other), 0);
    refuse_id(id);
    ck_assert_uint_eq(session_info(other).state, PVPERF_SESSION_RUNNING);
    shim_down();
}
END_TEST

START_TEST(padding)
{
    uint32_t id;
    unsigned int cmd;

    up();
    id = session_make(create_timer(0, MS));
    for (cmd = PVPERF_OP_session_destroy; cmd <= PVPERF_OP_session_stop; cmd++) {
        struct pvperf_session op = {.session = id, .reserved = 1};

        ck_assert_int_eq(shim_hypercall(cmd, &op), -EINVAL);
    }
    for (cmd = PVPERF_OP_session_add_domain; cmd <= PVPERF_OP_session_del_domain; cmd++) {
        struct pvperf_session_domain op = {.session = id, .reserved0 = 1};

        ck_assert_int_eq(shim_hypercall(cmd, &op), -EINVAL);
        op.reserved0 = 0;
        op.reserved1 = 0x80000000u;
        ck_assert_int_eq(shim_hypercall(cmd, &op), -EINVAL);
    }
    {
        struct pvperf_session_info op = {.session = id};
        unsigned int i;

        for (i = 1; i < 16; i++) {
            op.flags = (uint16_t)(1u << i);
            ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_info, &op), -EINVAL);
        }
    }
    {
        struct pvperf_ring_info op = {.session = id, .reserved = 1};

        ck_assert_int_eq(shim_hypercall(PVPERF_OP_ring_info, &op), -EINVAL);
    }
    ck_assert_uint_eq(query().sessions, 1);
    shim_down();
}
END_TEST

START_TEST(padding_of_unused_events)
{
    struct pvperf_session_create op = create_timer(0, MS);

    up();
    op.events[7].reserved = 1;
    ck_assert_int_eq(make(&op), -EINVAL);
    shim_down();
}
END_TEST

START_TEST(info)
{
    struct pvperf_session_create op =
        create_timer(PVPERF_SESSION_FLAG_XEN | PVPERF_SESSION_FLAG_CALLCHAIN, 5 * MS);
    struct pvperf_session_info i;
    static const struct pvperf_event none;
    unsigned int e;
    uint32_t id;

    up();
    op.nr_events = 2;
    op.events[1] = op.events[0];
    op.events[1].modes = 1;
    op.ring_order = 3;
    id = session_make(op);
    memset(&i, 0xee, sizeof(i));
    i.session = id;
    i.flags = 0;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_info, &i), 0);
    ck_assert_uint_eq(i.session, id);
    ck_assert_uint_eq(i.state, PVPERF_SESSION_STOPPED);
    ck_assert_uint_eq(i.session_flags, op.flags);
    ck_assert_uint_eq(i.cookie, op.cookie);
    ck_assert_uint_eq(i.nr_events, 2);
    ck_assert_uint_eq(i.ring_order, 3);
    ck_assert_uint_eq(i.max_stack, op.max_stack);
    ck_assert_uint_eq(i.nr_rings, 2);
    ck_assert_mem_eq(i.events, op.events, 2 * sizeof(op.events[0]));
    for (e = 2; e < PVPERF_MAX_EVENTS; e++)
        ck_assert_mem_eq(&i.events[e], &none, sizeof(none));
    for (e = 0; e < PVPERF_MAX_EVENTS; e++)
        ck_assert(!i.counts[e].overflows && !i.counts[e].recorded && !i.counts[e].lost &&
                  !i.counts[e].filtered);
    shim.now += 123456;
    session_op(PVPERF_OP_session_start, id);
    i = session_info(id);
    ck_assert_uint_eq(i.state, PVPERF_SESSION_RUNNING);
    ck_assert_uint_eq(i.start_time, (uint64_t)shim.now);
    shim_down();
}
END_TEST

START_TEST(info_by_slot)
{
    struct pvperf_session_create op = create_timer(0, MS);
    struct pvperf_session_info i;
    uint32_t id[3];
    unsigned int slot, found = 0, n;

    up();
    for (n = 0; n < 3; n++) {
        op.cookie = 7000 + n;
        id[n] = session_make(op);
    }
    session_op(PVPERF_OP_session_destroy, id[1]);
    for (slot = 0; slot < PVPERF_MAX_SESSIONS; slot++) {
        i = (struct pvperf_session_info){.session = slot,
                                         .flags = PVPERF_SESSION_INFO_BY_SLOT};
        if (shim_hypercall(PVPERF_OP_session_info, &i) == 0) {
            found++;
            ck_assert(i.session == id[0] || i.session == id[2]);
            ck_assert_uint_eq(i.cookie, i.session == id[0] ? 7000 : 7002);
        }
    }
    ck_assert_uint_eq(found, 2);
    for (slot = 8; slot; slot *= 2) {
        i = (struct pvperf_session_info){.session = slot,
                                         .flags = PVPERF_SESSION_INFO_BY_SLOT};
        ck_assert_int_lt(shim_hypercall(PVPERF_OP_session_info, &i), 0);
    }
    shim_down();
}
END_TEST

START_TEST(start_and_stop_repeat)
{
    uint64_t first;
    uint32_t id;

    up();
    id = session_make(create_timer(PVPERF_SESSION_FLAG_ALL, MS));
    ck_assert_int_eq(session_op(PVPERF_OP_session_stop, id), 0);
    ck_assert_int_eq(session_op(PVPERF_OP_session_start, id), 0);
    first = session_info(id).start_time;
    shim_advance(10 * MS);
    ck_assert_int_eq(session_op(PVPERF_OP_session_start, id), 0);
    ck_assert_uint_eq(session_info(id).start_time, first); /* did nothing */
    ck_assert_int_eq(session_op(PVPERF_OP_session_stop, id), 0);
    ck_assert_int_eq(session_op(PVPERF_OP_session_stop, id), 0);
    ck_assert_uint_eq(shim_active_timers(), 0);
    ck_assert_uint_gt(session_counts(id, 0).overflows, 10);
    first = session_counts(id, 0).overflows;
    shim_advance(10 * MS);
    ck_assert_uint_eq(session_counts(id, 0).overflows, first);
    ck_assert_int_eq(session_op(PVPERF_OP_session_start, id), 0);
    shim_advance(10 * MS);
    ck_assert_uint_gt(session_counts(id, 0).overflows, first + 10);
    require_identity(id);
    shim_down();
}
END_TEST

static void scribble(void *guest, unsigned long len)
{
    memset(guest, 0xff, len);
}

/* The argument changes as soon as Xen has read it. */
START_TEST(arguments_that_change)
{
    struct pvperf_session_create op = create_timer(PVPERF_SESSION_FLAG_ALL, MS);
    struct pvperf_session s = {0};
    struct pvperf_session_domain d = {0};
    struct pvperf_ring_info r = {0};

    up();
    shim.after_copy_from = scribble;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_create, &op), 0);
    ck_assert_uint_eq(session_info(op.session).session_flags, PVPERF_SESSION_FLAG_ALL);
    s.session = op.session;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_start, &s), 0);
    d.session = op.session;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_session_add_domain, &d), 0);
    r.session = op.session;
    ck_assert_int_eq(shim_hypercall(PVPERF_OP_ring_info, &r), 0);
    ck_assert(!r.reserved && !r.flags);
    shim.after_copy_from = NULL;
    shim_down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("core-api");
    TCase *t = tcase_create("operations");
    SRunner *r;
    int failed;

    tcase_add_test(t, disabled);
    tcase_add_test(t, parameter);
    tcase_add_test(t, unknown_operations);
    tcase_add_test(t, query_of_dom0);
    tcase_add_test(t, query_of_others);
    tcase_add_test(t, control_is_refused);
    tcase_add_test(t, faults);
    tcase_add_test(t, create_versions);
    tcase_add_test(t, create_invalid);
    tcase_add_test(t, create_rates);
    tcase_add_test(t, create_counters_errors);
    tcase_add_test(t, nine_sessions);
    tcase_add_test(t, ids_are_not_soon_used_again);
    tcase_add_test(t, no_such_session);
    tcase_add_test(t, padding);
    tcase_add_test(t, padding_of_unused_events);
    tcase_add_test(t, info);
    tcase_add_test(t, info_by_slot);
    tcase_add_test(t, start_and_stop_repeat);
    tcase_add_test(t, arguments_that_change);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
