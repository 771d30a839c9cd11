/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * work: a fixed amount of work for the guest of the bench: loops, system calls,
 * copies. It does the same every time. With an argument it only sleeps, that
 * many times, a millisecond each: its CPU changes vCPU twice for each.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 12000

static volatile uint64_t sink;
static char buffer[4096];

__attribute__((noinline)) static void compute(unsigned n)
{
    uint64_t x = sink;

    while (n--)
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    sink = x;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int zero = open("/dev/zero", O_RDONLY);

    if (argc > 1) {
        for (long i = atol(argv[1]); i > 0; i--)
            nanosleep(&pause, NULL);
        return 0;
    }
    for (int i = 0; i < TURNS; i++) {
        compute(6000);
        for (int k = 0; k < 4; k++)
            syscall(SYS_getppid);
        if (read(zero, buffer, sizeof(buffer)) < 0)
            return 1;
    }
    return 0;
}
