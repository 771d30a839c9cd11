/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xenoprof: a client for xenoprof of Xen 4.17, which has none left, for
 * comparison. dom0 is profiled as active domain and DOMID as passive one. The
 * buffers are emptied every 20 ms until SIGTERM; then it prints how many samples
 * there were and how many xenoprof lost.
 *
 * Usage: xenoprof DOMID EVENT PERIOD     (event select, hexadecimal)
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xencall.h>
#include <xenforeignmemory.h>
#include <xen/xen.h>
#include <xen/xenoprof.h>

#define MAX_SAMPLES 2000
#define PAGE 4096u

static xencall_handle *xcall;
static xenforeignmemory_handle *fmem;
static volatile sig_atomic_t stop;

static void on_term(int sig)
{
    (void)sig;
    stop = 1;
}

static void op(const char *what, int nr, const void *arg, size_t size, void *out)
{
    void *buf = xencall_alloc_buffer(xcall, size ? size : 8);
    long rc;

    if (!buf) {
        perror("xenoprof: xencall_alloc_buffer");
        exit(1);
    }
    if (size)
        memcpy(buf, arg, size);
    rc = xencall2(xcall, __HYPERVISOR_xenoprof_op, (unsigned long)nr, (unsigned long)buf);
    if (rc < 0) {
        fprintf(stderr, "xenoprof: %s: %s\n", what, strerror(errno));
        exit(1);
    }
    if (out)
        memcpy(out, buf, size);
    xencall_free_buffer(xcall, buf);
}

struct buffers {
    char *mem;
    int nr, size;
    uint64_t samples;
};

static void map(struct buffers *b, uint64_t address, int nr, int size)
{
    size_t pages = ((size_t)nr * (size_t)size + PAGE - 1) / PAGE, i;
    xen_pfn_t frames[64];

    for (i = 0; i < pages && i < 64; i++)
        frames[i] = address / PAGE + i;
    b->mem = xenforeignmemory_map(fmem, DOMID_SELF, 3, i, frames, NULL);
    if (!b->mem) {
        perror("xenoprof: mapping a buffer");
        exit(1);
    }
    b->nr = nr;
    b->size = size;
}

/* As the oprofile driver would: read each sample, and give its place back. */
static void drain(struct buffers *b)
{
    static volatile uint64_t sink;
    int i;

    for (i = 0; i < b->nr; i++) {
        struct xenoprof_buf *buf = (void *)(b->mem + i * b->size);
        uint32_t head = *(volatile uint32_t *)&buf->event_head, tail = buf->event_tail;

        __sync_synchronize();
        while (tail != head) {
            sink += buf->event_log[tail].eip;
            b->samples++;
            tail = tail + 1 >= buf->event_size ? 0 : tail + 1;
        }
        __sync_synchronize();
        *(volatile uint32_t *)&buf->event_tail = tail;
    }
}

static uint64_t lost(const struct buffers *b)
{
    uint64_t n = 0;
    int i;

    for (i = 0; i < b->nr; i++)
        n += ((struct xenoprof_buf *)(void *)(b->mem + i * b->size))->lost_samples;
    return n;
}

int main(int argc, char **argv)
{
    struct xenoprof_init init = {0};
    struct xenoprof_get_buffer own = {.max_samples = MAX_SAMPLES};
    struct xenoprof_passive passive = {.max_samples = MAX_SAMPLES};
    struct xenoprof_counter counter = {
        .enabled = 1, .hypervisor = 1, .kernel = 1, .user = 1};
    struct buffers active = {0}, guest = {0};
    domid_t dom0 = 0;

    if (argc != 4)
        return 2;
    xcall = xencall_open(NULL, 0);
    fmem = xenforeignmemory_open(NULL, 0);
    if (!xcall || !fmem) {
        perror("xenoprof");
        return 1;
    }
    passive.domain_id = (uint16_t)atoi(argv[1]);
    counter.event = (uint32_t)strtoul(argv[2], NULL, 16);
    counter.count = strtoull(argv[3], NULL, 0);
    op("init", XENOPROF_init, &init, sizeof(init), &init);
    op("get_buffer", XENOPROF_get_buffer, &own, sizeof(own), &own);
    map(&active, own.buf_gmaddr, own.nbuf, own.bufsize);
    op("reset_active_list", XENOPROF_reset_active_list, NULL, 0, NULL);
    op("reset_passive_list", XENOPROF_reset_passive_list, NULL, 0, NULL);
    op("set_active", XENOPROF_set_active, &dom0, sizeof(dom0), NULL);
    op("set_passive", XENOPROF_set_passive, &passive, sizeof(passive), &passive);
    map(&guest, passive.buf_gmaddr, passive.nbuf, passive.bufsize);
    op("reserve_counters", XENOPROF_reserve_counters, NULL, 0, NULL);
    op("counter", XENOPROF_counter, &counter, sizeof(counter), NULL);
    op("setup_events", XENOPROF_setup_events, NULL, 0, NULL);
    op("enable_virq", XENOPROF_enable_virq, NULL, 0, NULL);
    signal(SIGTERM, on_term);
    op("start", XENOPROF_start, NULL, 0, NULL);
    puts("running");
    fflush(stdout);
    while (!stop) {
        usleep(20000);
        drain(&active);
        drain(&guest);
    }
    op("stop", XENOPROF_stop, NULL, 0, NULL);
    drain(&active);
    drain(&guest);
    printf("%llu %llu\n", (unsigned long long)(active.samples + guest.samples),
           (unsigned long long)(lost(&active) + lost(&guest)));
    op("disable_virq", XENOPROF_disable_virq, NULL, 0, NULL);
    op("release_counters", XENOPROF_release_counters, NULL, 0, NULL);
    op("shutdown", XENOPROF_shutdown, NULL, 0, NULL);
    return 0;
}
