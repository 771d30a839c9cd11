/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMU's test without an operating system: the machine, and the order. */
#include "bare.h"

#define LAPIC       0xfee00000u
#define LAPIC_EOI   0x0b0
#define LAPIC_SPIV  0x0f0
#define LAPIC_LVTPC 0x340
#define SERIAL      0x3f8
#define DEBUG_EXIT  0xf4
#define PIC1_MASK   0x21
#define PIC2_MASK   0xa1

struct idt_entry {
    uint16_t low, selector, flags, high;
};

extern uint64_t gdt[];
extern char trap_stack_top[];
void stub0(void);
void stub2(void);
void stub6(void);
void stub13(void);
void stub14(void);
void stub80(void);
void user_done(void);
void trap(struct trap_frame *frame);
void main(void);

volatile uint32_t nr_faults, nr_pmis, pmi_eip, pmi_vector;
static uint32_t nr_bad;
static struct idt_entry idt[256] __attribute__((aligned(8)));
static uint32_t tss[26];
static uint32_t page_directory[1024] __attribute__((aligned(4096)));

static void outb(uint16_t port, uint8_t value)
{
    __asm__ volatile ("outb %0, %1" : : "a" (value), "Nd" (port));
}

void say(const char *text)
{
    while (*text) {
        outb(SERIAL, *text++);
    }
}

void say_number(const char *name, uint32_t number)
{
    char digits[11], *p = digits + 10;

    *p = 0;
    do {
        *--p = '0' + number % 10;
        number /= 10;
    } while (number);
    say(name);
    say(p);
    say("\n");
}

void ok(bool good, const char *what)
{
    say(good ? "ok - " : "not ok - ");
    say(pmu.name);
    say(what);
    say("\n");
    nr_bad += !good;
}

static void end(void)
{
    say("# end\n");
    outb(DEBUG_EXIT, nr_bad != 0);
    for (;;) {
        __asm__ volatile ("cli; hlt");
    }
}

static volatile uint32_t *lapic(uint32_t reg)
{
    return (volatile uint32_t *)(LAPIC + reg);
}

uint32_t read_lvtpc(void)
{
    return *lapic(LAPIC_LVTPC);
}

void write_lvtpc(uint32_t value)
{
    *lapic(LAPIC_LVTPC) = value;
}

/* Length of the instructions that the tests let fault. */
static uint32_t length(uint32_t eip)
{
    const uint8_t *code = (const uint8_t *)eip;

    switch (code[0]) {
    case 0x0f:      /* ud2, rdmsr, wrmsr, rdpmc */
    case 0xf7:      /* div */
        return 2;
    case 0xfa:      /* cli */
        return 1;
    case 0xa1:      /* mov address, %eax */
        return 5;
    }
    say_number("not ok - unexpected trap at ", eip);
    nr_bad++;
    end();
    return 0;
}

void trap(struct trap_frame *frame)
{
    if (frame->vector == 2 || frame->vector == PMI_VECTOR) {
        nr_pmis++;
        pmi_eip = frame->eip;
        pmi_vector = frame->vector;
        if (frame->vector == PMI_VECTOR) {
            *lapic(LAPIC_EOI) = 0;
        }
        return;
    }
    nr_faults++;
    frame->eip += length(frame->eip);
}

static void set_gate(unsigned int vector, void (*handler)(void), bool user)
{
    uint32_t address = (uint32_t)handler;

    idt[vector] = (struct idt_entry){ address, 0x08, user ? 0xee00 : 0x8e00,
                                      address >> 16 };
}

static void set_traps(void)
{
    struct { uint16_t limit; uint32_t base; } __attribute__((packed)) pointer =
        { sizeof(idt) - 1, (uint32_t)idt };
    uint32_t base = (uint32_t)tss;

    set_gate(0, stub0, false);
    set_gate(2, stub2, false);
    set_gate(6, stub6, false);
    set_gate(13, stub13, false);
    set_gate(14, stub14, false);
    set_gate(PMI_VECTOR, stub80, false);
    set_gate(0x81, user_done, true);
    __asm__ volatile ("lidt %0" : : "m" (pointer));

    tss[1] = (uint32_t)trap_stack_top;
    tss[2] = 0x10;
    gdt[5] = (sizeof(tss) - 1) | (uint64_t)(base & 0xffffff) << 16 |
             0x89ull << 40 | (uint64_t)(base >> 24) << 56;
    __asm__ volatile ("ltr %w0" : : "r" (0x28));
}

/* All memory is mapped at its address, but for 4 MB at 0x40000000. */
static void set_paging(void)
{
    uint32_t i, cr;

    for (i = 0; i < 1024; i++) {
        page_directory[i] = i << 22 | 0x87;
    }
    page_directory[0x40000000u >> 22] = 0;
    __asm__ volatile ("mov %%cr4, %0" : "=r" (cr));
    __asm__ volatile ("mov %0, %%cr4" : : "r" (cr | 0x10));
    __asm__ volatile ("mov %0, %%cr3" : : "r" (page_directory));
    __asm__ volatile ("mov %%cr0, %0" : "=r" (cr));
    __asm__ volatile ("mov %0, %%cr0" : : "r" (cr | 0x80000000u));
}

void main(void)
{
    outb(PIC1_MASK, 0xff);
    outb(PIC2_MASK, 0xff);
    set_traps();
    set_paging();
    *lapic(LAPIC_SPIV) = 0x1ff;
    write_lvtpc(LVT_MASKED);
    pmu_find();
    if (pmu.counters) {
        check_registers();
        check_counts();
        check_interrupts();
        check_snapshot();
        make_marks();
    }
    end();
}
