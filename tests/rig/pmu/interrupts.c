/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMU's test without an operating system: overflows, and a snapshot. */
#include "bare.h"

#define GLOBAL_STATUS   0x38e
#define GLOBAL_CTRL     0x38f
#define OVF_CTRL        0x390
#define FIXED_CTR0      0x309
#define FIXED_CTRL      0x38d
#define NOPS            512u
#define USER_NOPS       256u
/* behind the NOPs, two of 2 bytes, then WRMSR */
#define STOP_LENGTH     6u
#define STOP_INSNS      3u
#define SNAPSHOT_LOOPS  100000000u

extern const char nops[], user_nops_end[], user_triple[];
void user_nops(void);
void user_long(void);
void user_rep(void);
void user_snapshot(void);
void user_done(void);
__asm__ (".text\n"
         "user_long: mov $1000000, %ecx\n"
         "user_triple: dec %ecx\n nop\n jnz user_triple\n int $0x81\n"
         "user_rep: mov $1000, %ecx\n lea -2000(%esp), %edi\n"
         "rep stosb\n nop\n int $0x81\n"
         "user_snapshot: mov $100000000, %ecx\n 1: dec %ecx\n jnz 1b\n int $0x81\n");

/* One copy only: it defines a symbol. */
static __attribute__((noinline)) void run_nops(uint32_t msr, uint64_t on)
{
    __asm__ volatile ("wrmsr\n nops: .rept 512\n nop\n .endr\n"
                      "xor %%eax, %%eax\n xor %%edx, %%edx\n wrmsr\n .rept 8\n nop\n .endr"
                      : "+A" (on) : "c" (msr) : "memory");
}

/* Let a counter overflow after PERIOD events from where the NOPs begin. */
static void overflow_kernel(enum event event, uint32_t period, uint32_t lvt)
{
    uint64_t select = pmu_event(event) | SEL_OS | SEL_INT | SEL_EN;

    nr_pmis = 0;
    write_lvtpc(lvt);
    if (pmu.intel) {
        wrmsr(GLOBAL_CTRL, 0);
        wrmsr(OVF_CTRL, 1);
        pmu_set(0, select, -period);
        run_nops(GLOBAL_CTRL, 1);
    } else {
        pmu_set(0, 0, -period);
        run_nops(pmu_select_msr(0), select);
    }
}

static void overflow_user(void (*code)(void), enum event event, uint32_t period,
                          uint32_t lvt)
{
    nr_pmis = 0;
    write_lvtpc(lvt);
    if (pmu.intel) {
        wrmsr(GLOBAL_CTRL, 0xf);
        wrmsr(OVF_CTRL, 1);
    }
    pmu_set(0, pmu_event(event) | SEL_USR | SEL_INT | SEL_EN, -period);
    run_user(code);
}

static void check_kernel_skid(uint32_t lvt, const char *what)
{
    uint32_t period, bad = 0, worst = 0;

    if (!(lvt & LVT_NMI)) {
        __asm__ volatile ("sti");
    }
    for (period = 1; period <= NOPS; period++) {
        uint32_t skid;

        overflow_kernel(INSTRUCTIONS, period, lvt);
        skid = pmi_eip - (uint32_t)nops - period;
        bad += nr_pmis != 1 || skid;
        worst = nr_pmis == 1 && skid > worst ? skid : worst;
    }
    __asm__ volatile ("cli");
    if (bad) {
        say_number("# late interrupts: ", bad);
        say_number("# largest skid: ", worst);
    }
    ok(!bad && pmi_vector == (lvt & LVT_NMI ? 2 : PMI_VECTOR), what);
}

static void check_user_skid(uint32_t lvt, const char *what)
{
    uint32_t period, bad = 0;

    for (period = 1; period <= USER_NOPS; period++) {
        overflow_user(user_nops, INSTRUCTIONS, period, lvt);
        bad += nr_pmis != 1 || pmi_eip != (uint32_t)user_nops + period;
    }
    ok(!bad && pmi_vector == (lvt & LVT_NMI ? 2 : PMI_VECTOR), what);
}

static void check_cycles_skid(void)
{
    uint32_t period, bad = 0;

    for (period = 1; period <= NOPS; period++) {
        overflow_kernel(CYCLES, period, LVT_NMI);
        bad += nr_pmis != 1 || pmi_eip != (uint32_t)nops + (period + 1) / 2;
    }
    ok(!bad, "cycles overflow at their instruction");
    for (bad = 0, period = 3; period < USER_NOPS; period++) {
        uint32_t expected = (uint32_t)user_nops + period * 2 / 3;

        overflow_user(user_nops, CYCLES, period, LVT_NMI);
        bad += nr_pmis != 1 || pmi_eip < expected || pmi_eip > expected + 1;
    }
    ok(!bad, "the user's cycles overflow within one instruction");
}

static void check_places(void)
{
    uint32_t period;
    bool good = true;

    for (period = 2999990; period <= 3000000; period++) {
        overflow_user(user_long, INSTRUCTIONS, period, LVT_NMI);
        good = good && nr_pmis == 1 &&
               pmi_eip == (uint32_t)user_triple + (period - 1) % 3;
    }
    ok(good, "an overflow after 3 million instructions hits its instruction");

    overflow_user(user_rep, INSTRUCTIONS, 3, LVT_NMI);
    ok(nr_pmis == 1 && *(const uint8_t *)pmi_eip == 0x90, "an overflow by REP comes behind it");
    overflow_user(user_nops, INSTRUCTIONS, USER_NOPS + 1, LVT_NMI);
    ok(nr_pmis == 1 && pmi_eip == (uint32_t)user_done,
       "an overflow by the last instruction in ring 3 comes at the first in ring 0");
    overflow_kernel(INSTRUCTIONS, NOPS + STOP_INSNS, LVT_NMI);
    ok(nr_pmis == 1 && pmi_eip == (uint32_t)nops + NOPS + STOP_LENGTH,
       "an overflow by the instruction that stops the counter is delivered at once");
    overflow_kernel(INSTRUCTIONS, NOPS + STOP_INSNS + 1, LVT_NMI);
    ok(nr_pmis == 0, "and one instruction later there is none");
}

static void check_lvt(void)
{
    overflow_kernel(INSTRUCTIONS, 10, LVT_NMI);
    ok(!(read_lvtpc() & LVT_MASKED) == !pmu.intel,
       pmu.intel ? "delivery masks LVTPC" : "delivery does not mask LVTPC");
    overflow_kernel(INSTRUCTIONS, 10, LVT_NMI | LVT_MASKED);
    ok(nr_pmis == 0, "a masked LVTPC delivers nothing");
    write_lvtpc(LVT_NMI);
    ok(nr_pmis == 0, "and remembers nothing");
}

static void check_status(void)
{
    overflow_kernel(INSTRUCTIONS, 10, LVT_NMI);
    ok(rdmsr(GLOBAL_STATUS) == 1, "GLOBAL_STATUS shows the overflow");
    wrmsr(OVF_CTRL, 1);
    ok(rdmsr(GLOBAL_STATUS) == 0, "OVF_CTRL clears it");
    pmu_off();

    nr_pmis = 0;
    write_lvtpc(LVT_NMI);
    wrmsr(FIXED_CTR0, 0xffffffffff00ull);
    wrmsr(FIXED_CTRL, 9);
    wrmsr(GLOBAL_CTRL, 0);
    run_nops(GLOBAL_CTRL, 1ull << 32);
    ok(nr_pmis == 1 && pmi_eip == (uint32_t)nops + 256 &&
       rdmsr(GLOBAL_STATUS) == 1ull << 32, "a fixed counter interrupts");
    pmu_off();
}

void check_interrupts(void)
{
    check_kernel_skid(LVT_NMI, "NMI: 512 overflows in ring 0, no skid");
    check_kernel_skid(PMI_VECTOR, "fixed vector: 512 overflows in ring 0, no skid");
    check_user_skid(LVT_NMI, "NMI: 256 overflows in ring 3, no skid");
    check_user_skid(PMI_VECTOR, "fixed vector: 256 overflows in ring 3, no skid");
    check_cycles_skid();
    check_places();
    check_lvt();
    if (pmu.intel) {
        check_status();
    }
    pmu_off();
}

/* The test's driver may save and restore the machine while this runs. */
void check_snapshot(void)
{
    uint32_t count;

    write_lvtpc(LVT_NMI);
    nr_pmis = 0;
    pmu_set(0, pmu_event(INSTRUCTIONS) | SEL_USR | SEL_EN, 0);
    pmu_set(1, pmu_event(INSTRUCTIONS) | SEL_USR | SEL_INT | SEL_EN,
            -(int32_t)(2 * SNAPSHOT_LOOPS + 2));
    pmu_set(2, pmu_event(BRANCHES) | SEL_USR | SEL_EN, 0);
    say("# long loop\n");
    run_user(user_snapshot);
    count = rdpmc(0);
    ok(count == 2 * SNAPSHOT_LOOPS + 2, "200 million instructions");
    ok(nr_pmis == 1 && pmi_eip == (uint32_t)user_done, "and an overflow at the last");
    count = rdpmc(2) - (2 * SNAPSHOT_LOOPS + 2) / 5;
    ok(count + 1 <= 2, "and a fifth of them branches");
    pmu_off();
}
