/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_decoder.c: ring bytes in feeds of any length, at any position. */
#include <string.h>

#include <pvperf/ring.h>
#include "fuzz.h"

static uint64_t sum;

static void on_sample(void *user, const struct pvperf_sample *s)
{
    unsigned int i, n = (unsigned int)s->nr_xen + s->nr_kernel + s->nr_user;

    (void)user;
    if (n > PVPERF_MAX_STACK || s->mode >= PVPERF_MODES || s->event >= PVPERF_MAX_EVENTS)
        __builtin_trap();
    for (i = 0; i < n; i++)
        sum += s->chain[i];
    sum += s->period;
}

static void on_lost(void *user, const struct pvperf_lost *l)
{
    (void)user;
    if (l->event >= PVPERF_MAX_EVENTS)
        __builtin_trap();
    sum += l->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pvperf_decoder_ops ops = {on_sample, on_lost};
    struct pvperf_event events[PVPERF_MAX_EVENTS] = {{0}};
    struct pvperf_decoder_stats stats;
    struct pvperf_decoder *d;
    uint64_t position = 0, bad;

    if (size < 1)
        return 0;
    for (unsigned int e = 0; e < PVPERF_MAX_EVENTS; e++)
        events[e].rate = 1000 + e;
    if (pvperf_decoder_new(&d, events, 1 + data[0] % PVPERF_MAX_EVENTS, 7, 1, &ops, NULL))
        return 0;
    data++;
    size--;
    while (size >= 2) {
        size_t len = data[0] * 8u;
        int64_t step = (int8_t)data[1];

        data += 2;
        size -= 2;
        if (len > size)
            len = size;
        if (step > 100) /* a gap, or bytes that came before */
            position += (uint64_t)step * 8;
        else if (step < -100 && position >= 1024)
            position += (uint64_t)(step * 8);
        bad = position;
        if (pvperf_decoder_feed(d, position, data, len, &bad) < 0 &&
            (bad < position || bad > position + len))
            __builtin_trap();
        position += len;
        data += len;
        size -= len;
    }
    pvperf_decoder_stats(d, &stats);
    sum += stats.samples + stats.corrupt;
    pvperf_decoder_free(d);
    return 0;
}
