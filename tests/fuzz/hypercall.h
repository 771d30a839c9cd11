/* SPDX-License-Identifier: GPL-2.0-only */
/* hypercall.h: one episode of random life with the core of pvperf. */
#ifndef PVPERF_FUZZ_HYPERCALL_H
#define PVPERF_FUZZ_HYPERCALL_H

#include <stddef.h>
#include <stdint.h>

/* Where decisions come from: the bytes of an input, or a generator. */
struct source {
    const uint8_t *bytes;
    size_t left; /* 0: the generator, if seed is set; else the end */
    uint64_t seed;
};

struct tally {
    unsigned long calls, ok, refused, samples, steps, episodes;
};

/* Boots, lives until the source ends or so many calls are made, ends. */
void hypercall_episode(struct source *src, unsigned long calls, struct tally *tally);

#endif /* PVPERF_FUZZ_HYPERCALL_H */
