/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMU's test without an operating system: what is counted. */
#include "bare.h"

#define GLOBAL_CTRL     0x38f
#define FIXED_CTRL      0x38d
#define FIXED_COUNTER   (1u << 30)
#define LOOPS           500000u
#define LOOP_INSNS      (2 * LOOPS + 1)

extern uint8_t buffer[65536];
uint8_t buffer[65536];

/*
 * What COUNTER counts over CODE and OVERHEAD instructions. CODE may change
 * EAX, ECX, EDX, ESI and EDI; EBP is not for it.
 */
#define OVERHEAD 3
#define COUNT(counter, code) ({                                             \
    uint32_t count_;                                                        \
    __asm__ volatile ("mov %%ebx, %%ecx\n rdpmc\n push %%eax\n"             \
                      code "\n mov %%ebx, %%ecx\n rdpmc\n pop %%ecx\n"      \
                      "sub %%ecx, %%eax"                                    \
                      : "=a" (count_) : "b" (counter)                       \
                      : "ecx", "edx", "esi", "edi", "memory");              \
    count_; })
#define LOOP "mov $500000, %%ecx\n 1: dec %%ecx\n jnz 1b"

/* Per retired instruction, in the kernel and in the user's mode */
static const struct {
    const char *name;
    uint32_t num[2], den[2];
} rates[NR_EVENTS] = {
    [CYCLES] = { "cycles", { 2, 3 }, { 1, 2 } },
    [INSTRUCTIONS] = { "instructions", { 1, 1 }, { 1, 1 } },
    [REF_CYCLES] = { "reference cycles", { 5, 5 }, { 3, 4 } },
    [BRANCHES] = { "branches", { 1, 1 }, { 6, 5 } },
    [BRANCH_MISSES] = { "branch misses", { 1, 1 }, { 64, 100 } },
    [CACHE_REFS] = { "cache references", { 1, 1 }, { 40, 50 } },
    [CACHE_MISSES] = { "cache misses", { 1, 1 }, { 320, 500 } },
};

void user_nops(void);
void user_loop(void);
void user_faults(void);
void user_rdpmc(void);
__asm__ (".text\n"
         ".globl user_nops, user_nops_end\n"
         "user_nops: .rept 256\n nop\n .endr\n user_nops_end: int $0x81\n"
         "user_loop: mov $500000, %ecx\n 1: dec %ecx\n jnz 1b\n int $0x81\n"
         "user_faults: nop\n ud2\n cli\n xor %ecx, %ecx\n xor %edx, %edx\n"
         "div %ecx\n mov 0x40000000, %eax\n rdpmc\n int $0x81\n"
         "user_rdpmc: xor %ecx, %ecx\n rdpmc\n int $0x81\n");

static bool about(uint32_t number, uint32_t expected)
{
    return number + 1 >= expected && number <= expected + 1;
}

static uint64_t instructions(uint64_t modes)
{
    return pmu_event(INSTRUCTIONS) | modes | SEL_EN;
}

static void check_blocks(void)
{
    pmu_set(0, instructions(SEL_OS | SEL_USR), 0);
    ok(COUNT(0, "") == OVERHEAD, "an empty block counts as nothing");
    ok(COUNT(0, ".rept 1000\n nop\n .endr") == 1000 + OVERHEAD, "1000 instructions in a row");
    ok(COUNT(0, LOOP) == LOOP_INSNS + OVERHEAD, "a million instructions of a loop");
    ok(COUNT(0, "rdpmc\n rdpmc\n rdtsc\n rdpmc") == 4 + OVERHEAD,
       "reading the counter is one instruction");
}

static void check_rep(void)
{
    buffer[10] = 1;
    ok(COUNT(0, "mov $1000, %%ecx\n mov $buffer + 1024, %%edi\n rep stosb") ==
       3 + OVERHEAD, "REP STOS counts once");
    ok(COUNT(0, "mov $16384, %%ecx\n mov $buffer, %%edi\n mov %%edi, %%esi\n rep movsl") ==
       4 + OVERHEAD, "REP MOVS over 16 pages counts once");
    ok(COUNT(0, "xor %%ecx, %%ecx\n rep stosb") == 2 + OVERHEAD, "REP with ECX = 0 counts once");
    ok(COUNT(0, "mov $1, %%al\n mov $100, %%ecx\n mov $buffer, %%edi\n repne scasb") ==
       4 + OVERHEAD, "REPNE SCAS that finds something counts once");
    ok(COUNT(0, "mov $9, %%ecx\n mov $buffer, %%edi\n xor %%eax, %%eax\n repe scasb") ==
       4 + OVERHEAD, "REPE SCAS to the end counts once");
    ok(COUNT(0, "mov $100, %%ecx\n mov $buffer, %%edi\n mov $buffer + 1, %%esi\n repe cmpsb") ==
       4 + OVERHEAD, "REPE CMPS counts once");
}

static uint32_t count_user(void (*code)(void), uint64_t modes)
{
    pmu_set(0, instructions(modes), 0);
    run_user(code);
    return rdpmc(0);
}

static void check_modes(void)
{
    uint32_t kernel = count_user(user_nops, SEL_OS);

    ok(count_user(user_nops, SEL_USR) == 257, "the user's instructions alone");
    ok(kernel > 10 && kernel < 200, "the kernel's instructions alone");
    ok(count_user(user_loop, SEL_OS) == kernel, "the kernel's are the same for a long loop");
    ok(count_user(user_loop, SEL_USR) == LOOP_INSNS + 1, "the user's are all of the loop");
    ok(count_user(user_loop, SEL_OS | SEL_USR) == kernel + LOOP_INSNS + 1, "both together");
    ok(count_user(user_loop, 0) == 0, "a counter for no mode does not count");
}

static void check_faults(void)
{
    uint32_t count, cr4;

    nr_faults = 0;
    count = count_user(user_faults, SEL_USR);
    ok(nr_faults == 5 && count == 4, "instructions that fault do not count");

    __asm__ volatile ("mov %%cr4, %0" : "=r" (cr4));
    __asm__ volatile ("mov %0, %%cr4" : : "r" (cr4 | 0x100));
    nr_faults = 0;
    count = count_user(user_rdpmc, SEL_USR);
    __asm__ volatile ("mov %0, %%cr4" : : "r" (cr4));
    ok(nr_faults == 0 && count == 3, "RDPMC in ring 3 works with CR4.PCE");
}

static void check_events(void)
{
    uint32_t insns = LOOP_INSNS + OVERHEAD;
    unsigned int e;
    bool kernel = true, user = true;

    for (e = 0; e < NR_EVENTS; e++) {
        uint64_t event = pmu_event(e);

        if (event == ~0ull) {
            continue;
        }
        pmu_set(0, event | SEL_OS | SEL_EN, 0);
        if (!about(COUNT(0, LOOP), insns * rates[e].num[0] / rates[e].den[0])) {
            kernel = false;
            say("# wrong in the kernel: ");
            say(rates[e].name);
            say("\n");
        }
        pmu_set(0, event | SEL_USR | SEL_EN, 0);
        run_user(user_loop);
        if (!about(rdpmc(0), (LOOP_INSNS + 1) * rates[e].num[1] / rates[e].den[1])) {
            user = false;
            say("# wrong for the user: ");
            say(rates[e].name);
            say("\n");
        }
    }
    ok(kernel && user, "each event has a rate of its own in each mode");
    pmu_set(0, 0x01c0 | SEL_OS | SEL_EN, 0);
    ok(COUNT(0, LOOP) == 0, "a wrong unit mask counts nothing");
    pmu_set(0, 0x00ff | SEL_OS | SEL_EN, 0);
    ok(COUNT(0, LOOP) == 0, "an unknown event counts nothing");
}

static void check_cmask(void)
{
    uint64_t select = instructions(SEL_OS);
    uint32_t insns = LOOP_INSNS + OVERHEAD;

    pmu_set(0, select | 1ull << SEL_CMASK, 0);
    ok(COUNT(0, LOOP) == insns, "counter mask 1: cycles with an instruction");
    pmu_set(0, select | 2ull << SEL_CMASK, 0);
    ok(COUNT(0, LOOP) == 0, "counter mask 2: no cycle has two");
    pmu_set(0, select | SEL_INV | 1ull << SEL_CMASK, 0);
    ok(about(COUNT(0, LOOP), insns), "counter mask 1, inverted: cycles without one");
    pmu_set(0, select | SEL_INV | 16ull << SEL_CMASK, 0);
    ok(about(COUNT(0, LOOP), 2 * insns), "counter mask 16, inverted: all cycles");
}

static void check_all_counters(void)
{
    unsigned int i;
    bool good = true;

    for (i = 0; i < pmu.counters; i++) {
        pmu_set(i, instructions(SEL_OS), 0);
    }
    for (i = 0; i < pmu.counters; i++) {
        good = good && COUNT(i, LOOP) == LOOP_INSNS + OVERHEAD;
    }
    ok(good, "all general counters count at once");
    pmu_off();
}

static void check_fixed(void)
{
    uint32_t insns = LOOP_INSNS + OVERHEAD;

    wrmsr(FIXED_CTRL, 0x333);
    wrmsr(GLOBAL_CTRL, 7ull << 32);
    ok(COUNT(FIXED_COUNTER, LOOP) == insns, "fixed counter 0: instructions");
    ok(about(COUNT(FIXED_COUNTER | 1, LOOP), 2 * insns), "fixed counter 1: cycles");
    ok(about(COUNT(FIXED_COUNTER | 2, LOOP), insns * 5 / 3), "fixed counter 2: reference cycles");
    pmu_set(0, instructions(SEL_OS), 0);
    ok(COUNT(0, LOOP) == 0, "GLOBAL_CTRL stops a counter");
    wrmsr(FIXED_CTRL, 0x222);
    ok(COUNT(FIXED_COUNTER, LOOP) == 0, "a fixed counter for the user does not count the kernel");
    pmu_off();
}

static void check_host_guest(void)
{
    uint64_t select = instructions(SEL_OS);

    pmu_set(0, select | 1ull << 40, 0);
    ok(COUNT(0, LOOP) == 0, "guest-only does not count without a guest");
    pmu_set(0, select | 1ull << 41, 0);
    ok(COUNT(0, LOOP) == 0, "host-only does not count without SVM");
    pmu_set(0, select | 3ull << 40, 0);
    ok(COUNT(0, LOOP) == LOOP_INSNS + OVERHEAD, "host and guest count without SVM");
    pmu_off();
}

void check_counts(void)
{
    check_blocks();
    check_rep();
    check_modes();
    check_faults();
    check_events();
    check_cmask();
    check_all_counters();
    if (pmu.intel) {
        check_fixed();
    } else {
        check_host_guest();
    }
}

/* Let QEMU's pmu-marks=FILE have a line. */
static void mark(void)
{
    __asm__ volatile ("outb %%al, %%dx" : : "a" (0), "d" (0x5c0) : "memory");
}

/*
 * Pairs of marks, no counter running; check_marks() of run knows what lies
 * between the two of each, beside the OUT of one: nothing, 4001 instructions
 * with one RDMSR, 257 of the user with the interrupt that ends them, three
 * WRMSR, two APIC writes.
 */
void make_marks(void)
{
    uint32_t count = 1999;

    pmu_off();
    __asm__ volatile ("outb %%al, %%dx\n\toutb %%al, %%dx"
                      : : "a" (0), "d" (0x5c0));
    __asm__ volatile ("mov $0x5c0, %%edx\n\t"
                      "outb %%al, %%dx\n\t"
                      "1: decl %%ecx\n\t"             /* 2 * 1999 */
                      "jnz 1b\n\t"
                      "mov $0x10, %%ecx\n\t"          /* 3 */
                      "rdmsr\n\t"
                      "mov $0x5c0, %%edx\n\t"
                      "outb %%al, %%dx"
                      : "+c" (count) : "a" (0) : "edx");
    mark();
    run_user(user_nops);
    mark();
    mark();
    wrmsr(pmu_select_msr(0), 0);
    wrmsr(pmu_select_msr(0), 0);
    wrmsr(pmu_select_msr(0), 0);
    mark();
    mark();
    write_lvtpc(LVT_MASKED);
    write_lvtpc(LVT_MASKED);
    mark();
}
