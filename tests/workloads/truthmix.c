/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * truthmix: what a profiler has to get right: functions of very different
 * shares (8 : 4 : 2 : 1), short functions that are called often, system calls,
 * and page tables that change, for which a paravirtual kernel asks Xen.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;
static char buffer[16384];

static inline __attribute__((always_inline)) uint64_t unit(uint64_t x, unsigned n)
{
    while (n--)
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return x;
}

NOINLINE static void eight(unsigned n)
{
    sink = unit(sink, 8 * n);
}

NOINLINE static void four(unsigned n)
{
    sink = unit(sink, 4 * n);
}

NOINLINE static void two(unsigned n)
{
    sink = unit(sink, 2 * n);
}

NOINLINE static void one(unsigned n)
{
    sink = unit(sink, n);
}

/* A few instructions each. */
NOINLINE static unsigned short_add(unsigned x)
{
    return x + 7;
}

NOINLINE static unsigned short_mix(unsigned x)
{
    return x * 31 ^ x >> 5;
}

NOINLINE static void many_calls(unsigned n)
{
    unsigned x = 1;

    while (n--)
        x = short_mix(short_add(x));
    sink = x;
}

NOINLINE static void system_calls(int zero)
{
    for (int i = 0; i < 40; i++)
        syscall(SYS_getppid);
    for (int i = 0; i < 4; i++)
        if (read(zero, buffer, sizeof(buffer)) < 0)
            _exit(1);
}

NOINLINE static void page_tables(void)
{
    size_t size = 32 << 10;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        _exit(1);
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
    munmap(p, size);
}

int main(void)
{
    int zero = open("/dev/zero", O_RDONLY);

    if (zero < 0)
        return 1;
    puts("truthmix: running");
    fflush(stdout);
    for (unsigned i = 0;;) {
        unsigned n = 800 + (++i * 2654435761u >> 23);

        eight(n);
        four(n);
        two(n);
        one(n);
        many_calls(n / 2);
        system_calls(zero);
        page_tables();
    }
}
