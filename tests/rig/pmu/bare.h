/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMU's test without an operating system: what its parts share. */
#ifndef BARE_H
#define BARE_H

#include <stdbool.h>
#include <stdint.h>

/* bare.c: the machine */

struct trap_frame {
    uint32_t edi, esi, ebp, esp, ebx, edx, ecx, eax;
    uint32_t vector, error, eip, cs, eflags;
};

#define PMI_VECTOR   80
#define LVT_NMI      0x400u
#define LVT_MASKED   0x10000u

extern volatile uint32_t nr_faults;     /* since last set to 0 */
extern volatile uint32_t nr_pmis;       /* since last set to 0 */
extern volatile uint32_t pmi_eip, pmi_vector;

void run_user(void (*code)(void));      /* CODE ends with int $0x81 */
uint32_t read_lvtpc(void);
void write_lvtpc(uint32_t value);

void ok(bool good, const char *what);
void say(const char *text);
void say_number(const char *name, uint32_t number);

static inline void wrmsr(uint32_t msr, uint64_t value)
{
    __asm__ volatile ("wrmsr" : : "c" (msr), "A" (value) : "memory");
}

static inline uint64_t rdmsr(uint32_t msr)
{
    uint64_t value = 0;

    __asm__ volatile ("rdmsr" : "+A" (value) : "c" (msr) : "memory");
    return value;
}

static inline uint64_t rdpmc(uint32_t counter)
{
    uint64_t value = 0;

    __asm__ volatile ("rdpmc" : "+A" (value) : "c" (counter) : "memory");
    return value;
}

static inline void cpuid(uint32_t leaf, uint32_t r[4])
{
    __asm__ volatile ("cpuid" : "=a" (r[0]), "=b" (r[1]), "=c" (r[2]), "=d" (r[3])
                      : "0" (leaf), "2" (0));
}

/* Does writing VALUE fault? */
static inline bool wrmsr_faults(uint32_t msr, uint64_t value)
{
    nr_faults = 0;
    wrmsr(msr, value);
    return nr_faults == 1;
}

static inline bool rdmsr_faults(uint32_t msr)
{
    nr_faults = 0;
    (void)rdmsr(msr);
    return nr_faults == 1;
}

/* pmu.c: the PMU, for both vendors */

enum event {
    CYCLES, INSTRUCTIONS, REF_CYCLES, BRANCHES, BRANCH_MISSES, CACHE_REFS,
    CACHE_MISSES, NR_EVENTS
};

#define SEL_USR     (1ull << 16)
#define SEL_OS      (1ull << 17)
#define SEL_INT     (1ull << 20)
#define SEL_EN      (1ull << 22)
#define SEL_INV     (1ull << 23)
#define SEL_CMASK   24

struct pmu {
    const char *name;
    bool intel;
    bool core;                          /* AMD's core extension */
    unsigned int counters;
    uint32_t select_msr, counter_msr, stride;
};

extern struct pmu pmu;
void pmu_find(void);
uint64_t pmu_event(enum event event);   /* ~0: none */
uint32_t pmu_select_msr(unsigned int counter);
uint32_t pmu_counter_msr(unsigned int counter);
void pmu_set(unsigned int counter, uint64_t select, int32_t value);
void pmu_off(void);

void check_registers(void);
void check_counts(void);
void check_interrupts(void);
void check_snapshot(void);
void make_marks(void);

#endif
