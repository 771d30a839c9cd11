/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shares: two functions whose shares of the time are known.
 *
 * seventy() and thirty() run the same loop, 7 and 3 times a turn, so that 70
 * and 30 of a hundred samples in the two belong to them.  A turn is short
 * against any sampling period, and its length varies, so that a periodic
 * sampler cannot fall into step with it.
 *
 * Usage: shares [SECONDS]   (default: for ever)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

/* One unit of work; inlined, so that the samples fall into its callers. */
static inline __attribute__((always_inline)) uint64_t unit(uint64_t x, unsigned n)
{
    while (n--)
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return x;
}

__attribute__((noinline, noclone)) static void seventy(unsigned n)
{
    sink = unit(sink, 7 * n);
}

__attribute__((noinline, noclone)) static void thirty(unsigned n)
{
    sink = unit(sink, 3 * n);
}

/* A caller of both, so that call chains have something to show. */
__attribute__((noinline, noclone)) static void turn(unsigned n)
{
    seventy(n);
    thirty(n);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    time_t end = time(NULL) + (time_t)seconds;
    unsigned i = 0;

    puts("shares: running");
    fflush(stdout);
    do {
        for (unsigned k = 0; k < 256; k++)
            turn(500 + (++i * 2654435761u >> 24));
    } while (seconds == 0 || time(NULL) < end);
    puts("shares: done");
    return 0;
}
