/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * intel.c: back end for Intel's architectural PMU, version 2 and later.
 *
 * All functions but the probe run on the CPU concerned, interrupts off.
 */
#include <xen/init.h>
#include <asm/msr.h>
#include <asm/processor.h>

#include "pmu.h"

#define EVTSEL_EVENT   0x0000ffffULL    /* event and unit mask */
#define EVTSEL_RAW     (EVTSEL_EVENT | EVTSEL_EDGE | EVTSEL_INV | EVTSEL_CMASK)

#define FIXED_OS       1ULL
#define FIXED_USR      2ULL
#define FIXED_PMI      8ULL
#define FIXED_FIELD    0xfULL
#define FIXED_BITS     4

#define CAP_FULL_WIDTH (1ULL << 13)     /* of IA32_PERF_CAPABILITIES */

/* GLOBAL_STATUS: buffer overflow, and "counters changed by another". */
#define STATUS_OTHER   (3ULL << 62)

/*
 * The architectural events: bit in CPUID leaf 0xa EBX (set: absent), event
 * select, and the fixed counter that counts it, or -1.
 */
static const struct {
    uint8_t cpuid_bit;
    int8_t fixed;
    uint16_t select;            /* 0: fixed counter only */
} generic[PVPERF_GENERIC_NR] = {
    [PVPERF_GENERIC_CYCLES]           = { 0,  1, 0x003c },
    [PVPERF_GENERIC_INSTRUCTIONS]     = { 1,  0, 0x00c0 },
    [PVPERF_GENERIC_REF_CYCLES]       = { 2,  2, 0 },
    [PVPERF_GENERIC_CACHE_REFERENCES] = { 3, -1, 0x4f2e },
    [PVPERF_GENERIC_CACHE_MISSES]     = { 4, -1, 0x412e },
    [PVPERF_GENERIC_BRANCHES]         = { 5, -1, 0x00c4 },
    [PVPERF_GENERIC_BRANCH_MISSES]    = { 6, -1, 0x00c5 },
};

static uint64_t __read_mostly general_mask; /* bit counter: exists */
static uint64_t __read_mostly fixed_mask;   /* bit PMU_FIXED + n: exists */
static unsigned int __read_mostly counter_msr = MSR_IA32_PERFCTR0;
static uint64_t __read_mostly write_mask;   /* bits a general counter takes */
static uint64_t __read_mostly fixed_write_mask; /* and a fixed one */
static uint64_t __read_mostly boot_ctrl;    /* GLOBAL_CTRL as it was */

static bool is_fixed(unsigned int counter)
{
    return counter >= PMU_FIXED;
}

static int cf_check intel_check(const struct pvperf_event *event)
{
    if ( event->type == PVPERF_EVENT_RAW )
        return event->config & ~EVTSEL_RAW ? -EINVAL : 0;

    if ( event->config >= PVPERF_GENERIC_NR ||
         !(pvp_pmu.generic_events & (1u << event->config)) )
        return -ENOENT;

    return 0;
}

static int cf_check intel_assign(const struct pvperf_event *event,
                                 uint64_t taken)
{
    uint64_t free = general_mask & ~taken;

    if ( event->type == PVPERF_EVENT_GENERIC )
    {
        int fixed = generic[event->config].fixed;
        unsigned int counter = PMU_FIXED + fixed;

        if ( fixed >= 0 && (fixed_mask & ~taken & (1ULL << counter)) )
            return counter;
        if ( !generic[event->config].select )
            return -1;
    }

    return free ? find_first_set_bit(free) : -1;
}

static void cf_check intel_pause(void)
{
    wrmsrl(MSR_CORE_PERF_GLOBAL_CTRL, 0);
}

/* With nothing to count the control is left as it was found. */
static void cf_check intel_resume(uint64_t counters)
{
    wrmsrl(MSR_CORE_PERF_GLOBAL_CTRL, counters ?: boot_ctrl);
}

static uint64_t cf_check intel_overflows(void)
{
    uint64_t status;

    rdmsrl(MSR_CORE_PERF_GLOBAL_STATUS, status);
    status &= general_mask | fixed_mask | STATUS_OTHER;
    if ( status )
        wrmsrl(MSR_CORE_PERF_GLOBAL_OVF_CTRL, status);

    return status & ~STATUS_OTHER;
}

static void cf_check intel_reset(uint64_t others)
{
    intel_pause();
    wrmsrl(MSR_CORE_PERF_FIXED_CTR_CTRL, 0);
    intel_overflows();
}

static void set_fixed(unsigned int n, uint64_t field)
{
    unsigned int shift = n * FIXED_BITS;
    uint64_t ctrl;

    rdmsrl(MSR_CORE_PERF_FIXED_CTR_CTRL, ctrl);
    ctrl &= ~(FIXED_FIELD << shift);
    wrmsrl(MSR_CORE_PERF_FIXED_CTR_CTRL, ctrl | (field << shift));
}

static void cf_check intel_start(unsigned int counter,
                                 const struct pvperf_event *event,
                                 uint64_t rings)
{
    uint64_t select;

    if ( is_fixed(counter) )
    {
        set_fixed(counter - PMU_FIXED,
                  FIXED_PMI | (rings & EVTSEL_USR ? FIXED_USR : 0) |
                  (rings & EVTSEL_OS ? FIXED_OS : 0));
        return;
    }

    select = event->type == PVPERF_EVENT_RAW ? event->config
                                             : generic[event->config].select;
    wrmsrl(MSR_P6_EVNTSEL(counter), select | rings | EVTSEL_INT | EVTSEL_EN);
}

static void cf_check intel_stop(unsigned int counter)
{
    if ( is_fixed(counter) )
        set_fixed(counter - PMU_FIXED, 0);
    else
        wrmsrl(MSR_P6_EVNTSEL(counter), 0);
}

static void cf_check intel_arm(unsigned int counter, uint64_t events)
{
    if ( is_fixed(counter) )
        wrmsrl(MSR_CORE_PERF_FIXED_CTR0 + counter - PMU_FIXED,
               -events & fixed_write_mask);
    else
        wrmsrl(counter_msr + counter, -events & write_mask);
}

static struct pmu_ops __read_mostly intel_ops = {
    .check = intel_check,
    .assign = intel_assign,
    .reset = intel_reset,
    .start = intel_start,
    .stop = intel_stop,
    .arm = intel_arm,
    .pause = intel_pause,
    .overflows = intel_overflows,
    .resume = intel_resume,
};

static void __init find_generic_events(unsigned int absent, unsigned int known)
{
    unsigned int i;

    for ( i = 0; i < PVPERF_GENERIC_NR; i++ )
    {
        int fixed = generic[i].fixed;
        bool counts = generic[i].cpuid_bit < known &&
                      !(absent & (1u << generic[i].cpuid_bit));

        if ( !generic[i].select )
            counts = fixed >= 0 && (fixed_mask >> (PMU_FIXED + fixed) & 1);
        if ( counts )
            pvp_pmu.generic_events |= 1u << i;
    }
}

/*
 * A plain write of a general counter takes 32 bits and extends the sign, so
 * that only 31 are of use, unless the processor has the full-width alias.
 */
static void __init find_width(unsigned int bits)
{
    uint64_t caps;

    pvp_pmu.counter_bits = bits;
    write_mask = (1ULL << 32) - 1;
    intel_ops.max_events = (1ULL << 31) - 1;

    if ( boot_cpu_has(X86_FEATURE_PDCM) &&
         !rdmsr_safe(MSR_IA32_PERF_CAPABILITIES, caps) &&
         (caps & CAP_FULL_WIDTH) )
    {
        counter_msr = MSR_IA32_A_PERFCTR0;
        write_mask = (1ULL << bits) - 1;
        intel_ops.max_events = (1ULL << (bits - 1)) - 1;
    }
}

const struct pmu_ops *__init pvp_intel_probe(void)
{
    unsigned int eax, ebx, ecx, edx, version, general, fixed, bits;
    unsigned int fixed_bits;

    if ( boot_cpu_data.cpuid_level < 0xa )
        return NULL;

    cpuid(0xa, &eax, &ebx, &ecx, &edx);
    version = eax & 0xff;
    general = min((eax >> 8) & 0xff, (unsigned int)PMU_FIXED);
    bits = (eax >> 16) & 0xff;
    fixed = min(edx & 0x1f, 16u);
    fixed_bits = (edx >> 5) & 0xff;
    if ( fixed_bits < bits || fixed_bits > 63 )
        fixed = 0;

    if ( version < 2 || !general || bits < 32 || bits > 63 ||
         rdmsr_safe(MSR_CORE_PERF_GLOBAL_CTRL, boot_ctrl) )
        return NULL;

    general_mask = (1ULL << general) - 1;
    fixed_mask = ((1ULL << fixed) - 1) << PMU_FIXED;
    fixed_write_mask = (1ULL << fixed_bits) - 1;
    intel_ops.fixed_bits = fixed_bits;
    find_width(bits);
    find_generic_events(ebx, eax >> 24);

    pvp_pmu.backend = PVPERF_BACKEND_INTEL;
    pvp_pmu.nr_counters = general;
    pvp_pmu.nr_fixed = fixed;

    return &intel_ops;
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
