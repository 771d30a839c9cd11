/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed: a program that keeps all three worlds busy, for the demonstration.
 *
 *   user        multiply() and hash_text()
 *   kernel      read_zeroes(): system calls that fill memory
 *   hypervisor  map_and_touch(): new page tables, which a paravirtual kernel
 *               has to ask Xen for
 *   idle        a short sleep in each turn
 *
 * Usage: mixed [SECONDS]   (default: for ever)
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define N 48

static double a[N][N], b[N][N];
static volatile double c[N][N];
static char buffer[1 << 16];
static volatile uint32_t sink;

__attribute__((noinline)) static void multiply(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;

            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

__attribute__((noinline)) static void hash_text(void)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < sizeof(buffer); i++)
        h = (h ^ (unsigned char)buffer[i]) * 16777619u;
    sink = h;
}

__attribute__((noinline)) static void read_zeroes(int zero)
{
    for (int i = 0; i < 32; i++)
        if (read(zero, buffer, sizeof(buffer)) < 0)
            exit(1);
}

__attribute__((noinline)) static void map_and_touch(void)
{
    size_t size = 128 << 10;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        exit(1);
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
    munmap(p, size);
}

/* One turn of the work; seen in call chains as the caller of all the rest. */
__attribute__((noinline)) static void serve_request(int zero)
{
    for (int i = 0; i < 4; i++)
        multiply();
    for (int i = 0; i < 60; i++)
        hash_text();
    read_zeroes(zero);
    map_and_touch();
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    time_t end = time(NULL) + (time_t)seconds;
    const struct timespec pause = {.tv_nsec = 2000000};
    int zero = open("/dev/zero", O_RDONLY);

    if (zero < 0)
        return 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = b[j][i] = i + j + 1;
    puts("mixed: running");
    fflush(stdout);
    do {
        for (int i = 0; i < 8; i++)
            serve_request(zero);
        nanosleep(&pause, NULL);
    } while (seconds == 0 || time(NULL) < end);
    puts("mixed: done");
    return 0;
}
