/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_consumer.c: a ring whose header and records are anybody's. */
#include <stdlib.h>
#include <string.h>

#include <pvperf/ring.h>
#include "fuzz.h"

#define PAGE 4096u

static uint64_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pvperf_ring_info info = {.session = 8, .domid = 5, .serial = 3};
    uint8_t *page = aligned_alloc(PAGE, PAGE), *ring = NULL;
    struct pvperf_ring *h = (void *)page;
    struct pvperf_consumer *c = NULL;
    uint64_t moved[4];
    size_t n;

    if (!page || size < 64)
        goto out;
    info.data_order = data[0] & 1;
    ring = aligned_alloc(PAGE, PAGE << info.data_order);
    if (!ring)
        goto out;
    memset(page, 0, PAGE);
    memset(ring, 0, PAGE << info.data_order);
    h->magic = PVPERF_RING_MAGIC;
    h->abi_major = data[1] ? PVPERF_ABI_MAJOR : data[2];
    h->session = 8;
    h->data_size = PAGE << info.data_order;
    h->serial = 3;
    h->domid = 5;
    memcpy(&h->head, data + 8, 8);
    memcpy(&h->tail, data + 16, 8);
    memcpy(moved, data + 24, 32);
    if (data[3] & 1) { /* plausible positions, mostly */
        h->head &= 0xfffff8;
        h->tail = h->head - (h->tail & 0x1ff8);
    }
    n = size - 56;
    if (n > PAGE << info.data_order)
        n = PAGE << info.data_order;
    memcpy(ring, data + 56, n);
    if (pvperf_consumer_new(&c, h, ring, &info, NULL))
        goto out;
    for (unsigned int i = 0; i < 4; i++) {
        struct pvperf_span span;

        for (unsigned int k = 0; k < 80; k++) {
            size_t max = PVPERF_RECORD_MAX + (data[4] % 8) * 512u;

            if (pvperf_consumer_peek(c, max, &span) != 1)
                break;
            if (!span.len || span.len > max || (span.len & 7) ||
                (const uint8_t *)span.bytes < ring ||
                (const uint8_t *)span.bytes + span.len > ring + (PAGE << info.data_order))
                __builtin_trap();
            for (size_t at = 0; at < span.len; at += 8)
                sum += ((const uint8_t *)span.bytes)[at];
            pvperf_consumer_advance(c, data[5] & 1 ? span.len : 8);
        }
        h->head = (data[6] >> i) & 1 ? moved[i] : h->head + (moved[i] & 0xff8);
        if ((data[7] >> i) & 1)
            h->tail = moved[3 - i];
        sum += pvperf_consumer_waiting(c) + (uint64_t)pvperf_consumer_dead(c);
    }
out:
    pvperf_consumer_free(c);
    free(ring);
    free(page);
    return 0;
}
