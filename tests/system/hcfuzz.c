/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hcfuzz: throws generated calls of the pvperf hypercall at the real Xen.
 *
 * It talks to the kernel's privcmd device directly, so that it is one static
 * program that runs in dom0 and in a guest alike.  Calls are half valid: an
 * operation, a structure with likely values, some of them changed.  Sessions
 * it makes are destroyed at the end.
 *
 * Usage: hcfuzz COUNT SEED
 * Prints how often each result came, then "hcfuzz: N calls done".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pvperf/abi.h>

/* Linux's include/uapi/xen/privcmd.h */
struct privcmd_hypercall {
    uint64_t op;
    uint64_t arg[5];
};
#define IOCTL_PRIVCMD_HYPERCALL _IOC(_IOC_NONE, 'P', 0, sizeof(struct privcmd_hypercall))

static uint64_t state;
static unsigned long results[256]; /* by errno, all operations but query */
static unsigned long queries;
static uint32_t sessions[4];

static uint32_t rnd(void)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 32;
}

static uint32_t pick(uint32_t n)
{
    return rnd() % n;
}

static uint64_t odd_value(void)
{
    static const uint64_t values[] = {
        0, 1, 7, 8, 9, 255, 256, 999, 0x7fff, 0xffff, 0x7ff0, 1000000, 0x7fffffff,
        0x80000000u, 0xffffffffu, 1ULL << 63, ~0ULL, ~0ULL - 7, 0xffff800000000000ULL,
    };

    return pick(4) ? values[pick(sizeof(values) / sizeof(values[0]))]
                   : (uint64_t)rnd() << 32 | rnd();
}

static void fill_create(struct pvperf_session_create *c)
{
    c->abi_major = PVPERF_ABI_MAJOR;
    c->nr_events = 1 + pick(3);
    c->flags = pick(32);
    c->ring_order = c->flags & PVPERF_SESSION_FLAG_COUNT ? 0 : pick(3);
    c->max_stack = c->flags & PVPERF_SESSION_FLAG_CALLCHAIN ? 1 + pick(PVPERF_MAX_STACK) : 0;
    c->cookie = rnd();
    for (unsigned i = 0; i < c->nr_events; i++) {
        if (c->flags & PVPERF_SESSION_FLAG_COUNT) {
            c->events[i].type = PVPERF_EVENT_GENERIC;
            c->events[i].modes = 1 + pick(15);
            continue;
        }
        c->events[i].type = pick(8) ? PVPERF_EVENT_TIMER : pick(4);
        c->events[i].flags = PVPERF_EVENT_FLAG_FREQ;
        c->events[i].modes = 1 + pick(15);
        c->events[i].rate = 1 + pick(2000);
    }
}

/* A session this program made, mostly. */
static uint32_t some_session(void)
{
    return pick(8) ? sessions[pick(4)] : (uint32_t)odd_value();
}

static void fill(unsigned op, void *buf)
{
    memset(buf, 0, 4096);
    switch (op) {
    case PVPERF_OP_session_create:
        fill_create(buf);
        break;
    case PVPERF_OP_session_add_domain:
    case PVPERF_OP_session_del_domain: {
        struct pvperf_session_domain *d = buf;

        d->session = some_session();
        d->domid = pick(2) ? pick(4) : (uint16_t)odd_value();
        break;
    }
    case PVPERF_OP_session_info: {
        struct pvperf_session_info *i = buf;

        i->flags = pick(2);
        i->session = i->flags ? pick(9) : some_session();
        break;
    }
    case PVPERF_OP_ring_info:
    case PVPERF_OP_ring_release: {
        struct pvperf_ring_info *r = buf;

        r->session = some_session();
        r->index = pick(2) ? pick(6) : (uint32_t)odd_value();
        break;
    }
    default:
        ((struct pvperf_session *)buf)->session = some_session();
    }
    /* Spoil some of it. */
    for (unsigned n = pick(3) ? 0 : 1 + pick(3); n; n--) {
        uint64_t v = odd_value();

        memcpy((char *)buf + 2 * pick(136), &v, 1u << pick(4));
    }
}

static long call(int fd, unsigned op, void *arg)
{
    struct privcmd_hypercall hc = {
        .op = __HYPERVISOR_pvperf_op,
        .arg = {op, (uintptr_t)arg},
    };
    int rc = ioctl(fd, IOCTL_PRIVCMD_HYPERCALL, &hc);

    return rc < 0 ? -errno : rc;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000;
    int fd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
    unsigned char *buf = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (fd < 0 || buf == MAP_FAILED || mprotect(buf + 4096, 4096, PROT_NONE)) {
        perror("hcfuzz: /dev/xen/privcmd");
        return 1;
    }
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    for (unsigned long i = 0; i < count; i++) {
        unsigned op = pick(16) ? 16u + pick(10) : (uint32_t)odd_value();
        void *arg = buf;
        long rc;

        if (!pick(4))
            op = PVPERF_OP_session_create;
        fill(op, buf);
        if (!pick(32))
            arg = (void *)(uintptr_t)odd_value();
        else if (!pick(32))
            arg = buf + 4096 - 8 * pick(8); /* its end cannot be read */
        rc = call(fd, op, arg);
        if (op == PVPERF_OP_query)
            queries++;
        else
            results[rc < 0 && rc > -255 ? -rc : 0]++;
        if (op == PVPERF_OP_session_create && rc == 0 && arg == buf) {
            struct pvperf_session old = {.session = sessions[i % 4]};

            if (old.session)
                call(fd, PVPERF_OP_session_destroy, &old);
            sessions[i % 4] = ((struct pvperf_session_create *)buf)->session;
        }
    }
    /* Whatever there is now, this program made it. */
    for (unsigned slot = 0; slot < PVPERF_MAX_SESSIONS; slot++) {
        struct pvperf_session_info info = {.session = slot, .flags = PVPERF_SESSION_INFO_BY_SLOT};
        struct pvperf_session s = {0};

        memcpy(buf, &info, sizeof(info));
        if (call(fd, PVPERF_OP_session_info, buf) == 0) {
            s.session = ((struct pvperf_session_info *)buf)->session;
            memcpy(buf, &s, sizeof(s));
            call(fd, PVPERF_OP_session_destroy, buf);
        }
    }
    for (unsigned i = 0; i < 256; i++)
        if (results[i])
            printf("hcfuzz: %8lu %s\n", results[i], i ? strerror((int)i) : "ok");
    printf("hcfuzz: %8lu queries\n", queries);
    printf("hcfuzz: %lu calls done\n", count);
    return 0;
}
