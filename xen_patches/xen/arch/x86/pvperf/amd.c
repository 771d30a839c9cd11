/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * amd.c: back end for AMD's counters, from family 0Fh on: the four of K7, or
 * the six of the core performance counter extension where CPUID announces it.
 *
 * There is no control for all counters together: each has its enable bit, and
 * an overflow is seen by the sign of its counter.
 *
 * All functions but the probe run on the CPU concerned, interrupts off.
 */
#include <xen/init.h>
#include <xen/percpu.h>
#include <asm/bitops.h>
#include <asm/msr.h>
#include <asm/processor.h>

#include "pmu.h"

#define EVTSEL_EVENT   0xf0000ffffULL   /* event, its high bits, unit mask */
#define EVTSEL_RAW     (EVTSEL_EVENT | EVTSEL_EDGE | EVTSEL_INV | EVTSEL_CMASK)

#define CPUID_PERFCORE (1u << 23)       /* of leaf 80000001h ECX */

#define LEGACY_COUNTERS 4
#define CORE_COUNTERS   6
#define COUNTER_BITS    48
#define COUNTER_SIGN    (1ULL << (COUNTER_BITS - 1))
#define COUNTER_MASK    ((1ULL << COUNTER_BITS) - 1)

/*
 * Event selects, 0: none.  Until family 16h as in the BIOS and Kernel
 * Developer's Guides, "Performance Monitor Counters" (PMCx076, C0, C2, C3, and
 * 7D and 7E, requests to the L2 cache and its misses); from family 17h on as
 * in the Processor Programming References (PMCx060 and 064, core to L2).
 */
static const uint16_t events_0fh[PVPERF_GENERIC_NR] = {
    [PVPERF_GENERIC_CYCLES]           = 0x0076,
    [PVPERF_GENERIC_INSTRUCTIONS]     = 0x00c0,
    [PVPERF_GENERIC_CACHE_REFERENCES] = 0x077d,
    [PVPERF_GENERIC_CACHE_MISSES]     = 0x077e,
    [PVPERF_GENERIC_BRANCHES]         = 0x00c2,
    [PVPERF_GENERIC_BRANCH_MISSES]    = 0x00c3,
};
static const uint16_t events_17h[PVPERF_GENERIC_NR] = {
    [PVPERF_GENERIC_CYCLES]           = 0x0076,
    [PVPERF_GENERIC_INSTRUCTIONS]     = 0x00c0,
    [PVPERF_GENERIC_CACHE_REFERENCES] = 0xff60,
    [PVPERF_GENERIC_CACHE_MISSES]     = 0x0964,
    [PVPERF_GENERIC_BRANCHES]         = 0x00c2,
    [PVPERF_GENERIC_BRANCH_MISSES]    = 0x00c3,
};

static const uint16_t *__read_mostly generic = events_0fh;
static unsigned int __read_mostly nr_counters = LEGACY_COUNTERS;
static unsigned int __read_mostly select_msr = MSR_K7_EVNTSEL0;
static unsigned int __read_mostly counter_msr = MSR_K7_PERFCTR0;
static unsigned int __read_mostly stride = 1;
/* Family 15h counts events of the L2 cache in its first three counters. */
static bool __read_mostly l2_first_three;

/* This CPU: selects of the counters that were started, enabled; else 0. */
static DEFINE_PER_CPU(uint64_t[CORE_COUNTERS], selects);

static int cf_check amd_check(const struct pvperf_event *event)
{
    if ( event->type == PVPERF_EVENT_RAW )
        return event->config & ~EVTSEL_RAW ? -EINVAL : 0;

    if ( event->config >= PVPERF_GENERIC_NR ||
         !(pvp_pmu.generic_events & (1u << event->config)) )
        return -ENOENT;

    return 0;
}

static uint64_t select_of(const struct pvperf_event *event)
{
    return event->type == PVPERF_EVENT_RAW ? event->config
                                           : generic[event->config];
}

static int cf_check amd_assign(const struct pvperf_event *event,
                               uint64_t taken)
{
    uint64_t free = ((1ULL << nr_counters) - 1) & ~taken;
    uint64_t code = select_of(event) & 0xf000000ffULL;

    if ( l2_first_three && (code == 0x7d || code == 0x7e) )
        free &= 7;

    return free ? find_first_set_bit(free) : -1;
}

static void write_select(unsigned int counter, uint64_t value)
{
    wrmsrl(select_msr + counter * stride, value);
}

static void cf_check amd_pause(void)
{
    unsigned int i;

    for ( i = 0; i < nr_counters; i++ )
        if ( this_cpu(selects)[i] )
            write_select(i, this_cpu(selects)[i] & ~EVTSEL_EN);
}

static void cf_check amd_resume(uint64_t counters)
{
    for ( ; counters; counters &= counters - 1 )
    {
        unsigned int i = find_first_set_bit(counters);

        if ( this_cpu(selects)[i] ) /* else the watchdog's */
            write_select(i, this_cpu(selects)[i]);
    }
}

/* Arming the counter again is what acknowledges an overflow. */
static uint64_t cf_check amd_overflows(void)
{
    uint64_t value, overflowed = 0;
    unsigned int i;

    for ( i = 0; i < nr_counters; i++ )
    {
        if ( !this_cpu(selects)[i] )
            continue;
        rdmsrl(counter_msr + i * stride, value);
        if ( !(value & COUNTER_SIGN) )
            overflowed |= 1ULL << i;
    }

    return overflowed;
}

static void cf_check amd_stop(unsigned int counter)
{
    this_cpu(selects)[counter] = 0;
    write_select(counter, 0);
}

static void cf_check amd_reset(uint64_t others)
{
    unsigned int i;

    for ( i = 0; i < nr_counters; i++ )
        if ( !(others >> i & 1) )
            amd_stop(i);
}

static void cf_check amd_start(unsigned int counter,
                               const struct pvperf_event *event,
                               uint64_t rings)
{
    this_cpu(selects)[counter] = select_of(event) | rings | EVTSEL_INT |
                                 EVTSEL_EN;
}

static void cf_check amd_arm(unsigned int counter, uint64_t events)
{
    wrmsrl(counter_msr + counter * stride, -events & COUNTER_MASK);
}

static const struct pmu_ops amd_ops = {
    .check = amd_check,
    .assign = amd_assign,
    .reset = amd_reset,
    .start = amd_start,
    .stop = amd_stop,
    .arm = amd_arm,
    .pause = amd_pause,
    .overflows = amd_overflows,
    .resume = amd_resume,
    .max_events = COUNTER_SIGN - 1,
};

const struct pmu_ops *__init pvp_amd_probe(void)
{
    unsigned int i;
    uint64_t value;

    if ( boot_cpu_data.x86 < 0xf )
        return NULL;

    if ( cpuid_ecx(0x80000001) & CPUID_PERFCORE )
    {
        nr_counters = CORE_COUNTERS;
        select_msr = MSR_AMD_FAM15H_EVNTSEL0;
        counter_msr = MSR_AMD_FAM15H_PERFCTR0;
        stride = 2;
    }

    /*
     * A hypervisor below may have the registers and not the counters: the
     * enable bit must stay.
     */
    if ( wrmsr_safe(select_msr, EVTSEL_EN) || rdmsr_safe(select_msr, value) )
        return NULL;
    wrmsr_safe(select_msr, 0);
    if ( !(value & EVTSEL_EN) )
        return NULL;

    l2_first_three = boot_cpu_data.x86 == 0x15;
    if ( boot_cpu_data.x86 >= 0x17 )
        generic = events_17h;
    for ( i = 0; i < PVPERF_GENERIC_NR; i++ )
        if ( generic[i] )
            pvp_pmu.generic_events |= 1u << i;

    pvp_pmu.backend = PVPERF_BACKEND_AMD;
    pvp_pmu.nr_counters = nr_counters;
    pvp_pmu.counter_bits = COUNTER_BITS;

    return &amd_ops;
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
