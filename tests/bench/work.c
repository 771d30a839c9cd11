/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * work: a fixed amount of work for the guest of the bench: loops, system calls,
 * copies. It does the same every time.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
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

int main(void)
{
    int zero = open("/dev/zero", O_RDONLY);

    for (int i = 0; i < TURNS; i++) {
        compute(6000);
        for (int k = 0; k < 4; k++)
            syscall(SYS_getppid);
        if (read(zero, buffer, sizeof(buffer)) < 0)
            return 1;
    }
    return 0;
}
