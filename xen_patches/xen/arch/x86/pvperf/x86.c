/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * x86.c: where a processor was: context and call chain of a sample.
 *
 * Everything here runs in producer context (see common/pvperf/private.h).
 *
 * HVM guests: on Intel an interrupt that makes a guest exit is handled with
 * the guest's registers, on AMD it is taken at a known place in Xen right
 * after the exit; both are told apart and become samples of the guest, with
 * no call chain.
 */
#include <xen/kernel.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/string.h>
#include <xen/symbols.h>
#include <asm/current.h>
#include <asm/hvm/hvm.h>
#include <asm/hvm/svm/vmcb.h>
#include <asm/paging.h>
#include <asm/regs.h>
#include <asm/uaccess.h>

#include "../../../common/pvperf/private.h"

#ifdef CONFIG_HVM
/* Behind the STGI that follows VMRUN, and the length of the next instruction. */
extern const char svm_stgi_label[];
#define SVM_STGI_NEXT 3
#endif

void pvp_arch_text(uint64_t *start, uint64_t *end)
{
    *start = (unsigned long)_stext;
    *end = (unsigned long)_etext;
}

static void put_context(struct pvp_sample *sample)
{
    const struct vcpu *v = sample->v;

    sample->context = (struct pvp_context) { .vcpu = v->vcpu_id };

    if ( is_idle_vcpu(v) )
    {
        sample->context.domid = PVPERF_DOMID_IDLE;
        return;
    }

    sample->context.domid = v->domain->domain_id;
    sample->context.pt_base = is_hvm_vcpu(v)
                              ? v->arch.hvm.guest_cr[3]
                              : pagetable_get_paddr(v->arch.guest_table);
}

static uint8_t guest_mode_of(struct vcpu *v, const struct cpu_user_regs *regs)
{
    bool kernel = is_hvm_vcpu(v) ? hvm_get_cpl(v) != 3
                                 : guest_kernel_mode(v, regs);

    return kernel ? PVPERF_MODE_KERNEL : PVPERF_MODE_USER;
}

/*
 * The interrupt of an SVM guest is taken in Xen, where STGI allows it.  The
 * guest's registers are not in place yet.
 */
static bool svm_exit(struct pvp_sample *sample,
                     const struct cpu_user_regs *regs)
{
#ifdef CONFIG_HVM
    struct vcpu *v = current;
    const struct vmcb_struct *vmcb;

    if ( !is_hvm_vcpu(v) || !cpu_has_svm ||
         regs->rip - (unsigned long)svm_stgi_label > SVM_STGI_NEXT )
        return false;

    vmcb = v->arch.hvm.svm.vmcb;
    sample->ip = vmcb->rip;
    sample->mode = vmcb_get_cpl(vmcb) == 3 ? PVPERF_MODE_USER
                                           : PVPERF_MODE_KERNEL;
    if ( paging_mode_hap(v->domain) )
        sample->context.pt_base = vmcb_get_cr3(vmcb);

    return true;
#else
    return false;
#endif
}

static bool in_text(unsigned long addr)
{
    return addr >= (unsigned long)_stext && addr < (unsigned long)_etext;
}

/*
 * The extent of pm_idle's function: an idle CPU that waits in MWAIT with
 * interrupts off is interrupted some way behind it, when it enables them.
 * Written under pvperf_lock; a torn read does no harm.
 */
static unsigned long idle_start, idle_end;

void pvp_arch_prepare(void)
{
    char name[KSYM_NAME_LEN + 1];
    unsigned long size, offset;

    if ( !symbols_lookup((unsigned long)pm_idle, &size, &offset, name) )
        return;

    write_atomic(&idle_end, 0);
    write_atomic(&idle_start, (unsigned long)pm_idle - offset);
    write_atomic(&idle_end, (unsigned long)pm_idle - offset + size);
}

/* HLT or MWAIT just before the interrupted instruction, or see above. */
static bool halted(const struct cpu_user_regs *regs)
{
    const uint8_t *ip = (const uint8_t *)regs->rip;

    if ( !in_text(regs->rip - 3) )
        return false;

    return ip[-1] == 0xf4 ||
           (ip[-3] == 0x0f && ip[-2] == 0x01 && ip[-1] == 0xc9) ||
           (regs->rip >= read_atomic(&idle_start) &&
            regs->rip < read_atomic(&idle_end));
}

bool pvp_arch_in_kernel(const struct vcpu *v)
{
    return !is_pv_vcpu(v) || is_idle_vcpu(v) || is_pv_32bit_vcpu(v) ||
           (v->arch.flags & TF_kernel_mode);
}

void pvp_arch_context(struct pvp_sample *sample,
                      const struct cpu_user_regs *regs)
{
    struct vcpu *v = current;

    put_context(sample);
    sample->ip = regs->rip;
    sample->sp = regs->rsp;
    sample->bp = regs->rbp;
    sample->in_guest = guest_mode(regs);

    if ( sample->in_guest )
        sample->mode = guest_mode_of(v, regs);
    else if ( is_idle_vcpu(v) )
        sample->mode = halted(regs) ? PVPERF_MODE_IDLE
                                    : PVPERF_MODE_HYPERVISOR;
    else if ( !svm_exit(sample, regs) )
        sample->mode = PVPERF_MODE_HYPERVISOR;
}

/*
 * No interrupt told us: Xen itself, if in_xen, or what it will go on with: the
 * guest or the idle loop.
 */
void pvp_arch_context_skid(struct pvp_sample *sample, bool in_xen)
{
    const struct cpu_user_regs *regs = guest_cpu_user_regs();
    struct vcpu *v = current;

    put_context(sample);
    sample->in_guest = false;

    if ( in_xen || is_idle_vcpu(v) )
    {
        sample->ip = (unsigned long)do_softirq;
        sample->mode = in_xen ? PVPERF_MODE_HYPERVISOR : PVPERF_MODE_IDLE;
    }
    else
    {
        sample->ip = regs->rip;
        sample->mode = guest_mode_of(v, regs);
    }
}

/* False: the chain is full. */
static bool __maybe_unused add_frame(struct pvp_sample *sample,
                                     unsigned int max, uint64_t addr,
                                     uint16_t *count)
{
    unsigned int n = sample->chain.nr_xen + sample->chain.nr_kernel +
                     sample->chain.nr_user;

    if ( n == max )
    {
        sample->chain.flags |= PVPERF_CHAIN_FLAG_TRUNCATED;
        return false;
    }

    sample->frames[n] = addr;
    ++*count;

    return true;
}

/*
 * Xen's own frames, inside the stack that was interrupted.  An inverted frame
 * pointer denotes an exception frame.
 */
static bool walk_xen(struct pvp_sample *sample, unsigned int max)
{
#ifdef CONFIG_FRAME_POINTER
    const struct cpu_user_regs *regs = sample->regs;
    unsigned long low = regs->rsp, next = regs->rbp;
    unsigned long high = get_stack_trace_bottom(low);
    const unsigned long *frame;
    unsigned long addr;

    if ( (low ^ (unsigned long)regs) & ~(STACK_SIZE - 1UL) )
        return true;

    for ( ; ; )
    {
        bool exception = next < low || next >= high;

        if ( exception )
            next = ~next;
        if ( next < low || next >= high || (next & 7) )
            return true;

        frame = (const unsigned long *)next;
        next = frame[0];
        addr = frame[exception ? (offsetof(struct cpu_user_regs, rip) -
                                  offsetof(struct cpu_user_regs, rbp)) / 8
                               : 1];
        low = (unsigned long)&frame[2];

        /* Code of live patches ends the chain: no list to walk here. */
        if ( !in_text(addr) )
            return true;
        if ( !add_frame(sample, max, addr, &sample->chain.nr_xen) )
            return false;
    }
#else
    return true;
#endif
}

#ifdef CONFIG_PV

/*
 * Kernel and user frames of a 64-bit PV guest are told apart by the half of
 * the address space.  False: no more.
 */
static bool add_guest_frame(struct pvp_sample *sample, unsigned int max,
                            uint64_t addr)
{
    if ( !is_canonical_address(addr) || !addr )
        return false;

    if ( !(addr >> 63) )
        return add_frame(sample, max, addr, &sample->chain.nr_user);

    /* A kernel called by user code: not a call chain. */
    if ( sample->chain.nr_user )
        return false;

    return add_frame(sample, max, addr, &sample->chain.nr_kernel);
}

/*
 * The guest's memory may say anything and change at any time: each frame is
 * read once, through a copy that may fault, and must lie above the last one.
 */
static void walk_guest(struct pvp_sample *sample, unsigned int max)
{
    uint64_t low = sample->sp, next = sample->bp;
    uint64_t frame[2];

    while ( next >= low && !(next & 7) )
    {
        if ( copy_from_guest_pv(frame, (const void __user *)next,
                                sizeof(frame)) )
            return;
        if ( !add_guest_frame(sample, max, frame[1]) )
            return;

        low = next + sizeof(frame);
        next = frame[0];
    }
}

#endif /* CONFIG_PV */

/* sample->regs is NULL for a sample that was not taken by an interrupt. */
void pvp_arch_chain(struct pvp_sample *sample, unsigned int max)
{
    const struct vcpu *v = sample->v;

    sample->chain = (struct pvperf_chain) {};
    if ( !sample->regs )
        return;

    if ( !sample->in_guest && !walk_xen(sample, max) )
        return;

    if ( is_idle_vcpu(v) || !is_pv_vcpu(v) || is_pv_32bit_vcpu(v) )
        return;

#ifdef CONFIG_PV
    if ( sample->in_guest )
        walk_guest(sample, max);
    else
        add_guest_frame(sample, max, guest_cpu_user_regs()->rip);
#endif
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
