/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mover: moves vCPU 0 of a domain between CPU 0 and CPU 1 until it is told to
 * stop (SIGTERM), and prints how often.
 *
 * Usage: mover DOMID MICROSECONDS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <xenctrl.h>

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
    (void)sig;
    stop = 1;
}

int main(int argc, char **argv)
{
    xc_interface *xc = xc_interface_open(NULL, NULL, 0);
    unsigned long moves = 0;
    xc_cpumap_t hard, soft;

    if (argc != 3 || !xc)
        return 1;
    hard = xc_cpumap_alloc(xc);
    soft = xc_cpumap_alloc(xc);
    if (!hard || !soft)
        return 1;
    signal(SIGTERM, on_term);
    while (!stop) {
        hard[0] = moves & 1 ? 2 : 1;
        if (xc_vcpu_setaffinity(xc, (uint32_t)atoi(argv[1]), 0, hard, soft,
                                XEN_VCPUAFFINITY_HARD))
            break;
        moves++;
        usleep((useconds_t)atoi(argv[2]));
    }
    printf("%lu\n", moves);
    free(hard);
    free(soft);
    xc_interface_close(xc);
    return 0;
}
