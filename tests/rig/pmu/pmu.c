/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMU's test without an operating system: both vendors' registers. */
#include "bare.h"

#define GLOBAL_STATUS   0x38e
#define GLOBAL_CTRL     0x38f
#define OVF_CTRL        0x390
#define FIXED_CTR0      0x309
#define FIXED_CTRL      0x38d
#define AMD_CORE_BIT    (1u << 23)

struct pmu pmu = { .name = "no PMU: " };

static const uint16_t intel_events[NR_EVENTS] = {
    [CYCLES] = 0x003c, [INSTRUCTIONS] = 0x00c0, [REF_CYCLES] = 0x013c,
    [BRANCHES] = 0x00c4, [BRANCH_MISSES] = 0x00c5, [CACHE_REFS] = 0x4f2e,
    [CACHE_MISSES] = 0x412e,
};

static const uint16_t amd_events[NR_EVENTS] = {
    [CYCLES] = 0x0076, [INSTRUCTIONS] = 0x00c0, [BRANCHES] = 0x00c2,
    [BRANCH_MISSES] = 0x00c3, [CACHE_REFS] = 0x077d, [CACHE_MISSES] = 0x077e,
};

uint64_t pmu_event(enum event event)
{
    uint16_t select = pmu.intel ? intel_events[event] : amd_events[event];

    return select ? select : ~0ull;
}

void pmu_find(void)
{
    uint32_t r[4];

    cpuid(0, r);
    if (r[1] == 0x756e6547) {           /* Genu */
        cpuid(0xa, r);
        ok((r[0] & 0xff) == 0 || ((r[0] & 0xff) >= 2 && !r[1] &&
           (r[0] >> 16 & 0xff) == 48 && (r[3] & 0x1f) == 3),
           "CPUID leaf 0xA tells version 2 or no PMU");
        pmu = (struct pmu){ "Intel: ", true, false, r[0] >> 8 & 0xff, 0x186, 0xc1, 1 };
        return;
    }
    cpuid(0x80000001, r);
    if (r[2] & AMD_CORE_BIT) {
        pmu = (struct pmu){ "AMD core: ", false, true, 6, 0xc0010200, 0xc0010201, 2 };
        return;
    }
    /* Legacy counters have no bit in CPUID: do they keep what is written? */
    wrmsr(0xc0010004, 12345);
    if (rdmsr(0xc0010004) == 12345) {
        pmu = (struct pmu){ "AMD legacy: ", false, false, 4, 0xc0010000, 0xc0010004, 1 };
    }
}

uint32_t pmu_select_msr(unsigned int counter)
{
    return pmu.select_msr + counter * pmu.stride;
}

uint32_t pmu_counter_msr(unsigned int counter)
{
    return pmu.counter_msr + counter * pmu.stride;
}

void pmu_set(unsigned int counter, uint64_t select, int32_t value)
{
    wrmsr(pmu_select_msr(counter), 0);
    wrmsr(pmu_counter_msr(counter), (uint64_t)(int64_t)value & 0xffffffffffffull);
    wrmsr(pmu_select_msr(counter), select);
}

void pmu_off(void)
{
    unsigned int i;

    for (i = 0; i < pmu.counters; i++) {
        pmu_set(i, 0, 0);
    }
    if (pmu.intel) {
        wrmsr(FIXED_CTRL, 0);
        wrmsr(OVF_CTRL, rdmsr(GLOBAL_STATUS));
        wrmsr(GLOBAL_CTRL, 0xf);
    }
}

static void check_intel_registers(void)
{
    ok(rdmsr(GLOBAL_CTRL) == 0xf, "all general counters are enabled after reset");
    ok(wrmsr_faults(GLOBAL_CTRL, 1 << 4), "a reserved bit of GLOBAL_CTRL faults");
    ok(wrmsr_faults(GLOBAL_STATUS, 0), "GLOBAL_STATUS is read-only");
    ok(wrmsr_faults(OVF_CTRL, 1ull << 40), "a reserved bit of OVF_CTRL faults");
    ok(wrmsr_faults(FIXED_CTRL, 4), "AnyThread of a fixed counter faults");
    ok(wrmsr_faults(0x186, 1ull << 32), "a reserved bit of an event select faults");
    ok(wrmsr_faults(0x186, 1ull << 21), "AnyThread of an event select faults");
    ok(wrmsr_faults(FIXED_CTR0, 1ull << 48), "bit 48 of a fixed counter faults");
    ok(wrmsr_faults(0xc5, 0) && rdmsr_faults(0x18a), "a fifth counter faults");
    wrmsr(0xc1, 0x80000000u);
    ok(rdmsr(0xc1) == 0xffff80000000ull, "a general counter extends the sign of 32 bits");
    wrmsr(FIXED_CTR0, 0xfedcba987654ull);
    ok(rdmsr(FIXED_CTR0) == 0xfedcba987654ull, "a fixed counter takes 48 bits");
    wrmsr(FIXED_CTR0, 0);
}

static void check_amd_registers(void)
{
    ok(wrmsr_faults(0xc0010000, 1ull << 42), "a reserved bit of an event select faults");
    wrmsr(0xc0010004, 0x123456789abcull);
    ok(rdmsr(0xc0010004) == 0x123456789abcull, "a counter takes 48 bits");
    if (pmu.core) {
        ok(rdmsr(0xc0010201) == 0x123456789abcull, "both sets are the same counters");
        wrmsr(0xc001020b, 77);
        ok(rdmsr(0xc001020b) == 77, "there are six counters");
    } else {
        ok(rdmsr_faults(0xc0010200), "the core extension's registers fault");
    }
}

void check_registers(void)
{
    nr_faults = 0;
    rdpmc(pmu.counters);
    ok(nr_faults == 1, "RDPMC of a counter too far faults");
    if (pmu.intel) {
        nr_faults = 0;
        rdpmc(1u << 30 | 3);
        ok(nr_faults == 1, "RDPMC of a fourth fixed counter faults");
        check_intel_registers();
    } else {
        check_amd_registers();
    }
    pmu_off();
}
