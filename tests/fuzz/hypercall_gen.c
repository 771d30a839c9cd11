/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hypercall_gen [N [SEED]]: throw N generated calls at the core.  The same
 * seed gives the same calls.  Without arguments: 1200000 calls.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hypercall.h"

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1200000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 20261201;
    struct tally t = {0};

    while (t.calls < n) {
        uint64_t s = (seed + t.episodes) * 0x9e3779b97f4a7c15ull;
        struct source src = {.seed = s ? s : 1};

        /* For a failure: run again with this seed and one episode. */
        if (getenv("FUZZ_VERBOSE"))
            fprintf(stderr, "episode %lu\n", t.episodes);
        hypercall_episode(&src, n - t.calls < 3000 ? n - t.calls : 3000, &t);
    }
    printf("hypercall_gen: seed %llu: %lu calls (%lu ok, %lu refused) in %lu lives, "
           "%lu samples by counters\n",
           (unsigned long long)seed, t.calls, t.ok, t.refused, t.episodes, t.samples);
    return 0;
}
