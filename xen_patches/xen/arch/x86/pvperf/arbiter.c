/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arbiter.c: who holds the counters.
 *
 * pvperf takes the PMU when the first session with a counter is made, and
 * gives it back when the last is destroyed.  Meanwhile vpmu and xenoprof are
 * refused; pvperf is refused while one of them has it.  The watchdog keeps its
 * counter, and its interrupt, which is an NMI.
 */
#include <xen/init.h>
#include <xen/types.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/vpmu.h>
#include <public/pmu.h>

#include "pmu.h"

bool __read_mostly pvperf_pmu_in_use;
struct pvp_pmu __read_mostly pvp_pmu;
const struct pmu_ops *__read_mostly pmu_ops;
bool __read_mostly pmu_nmi;
uint64_t __read_mostly pmu_others;
struct pvp_session *pmu_holder[PMU_COUNTERS];
static uint64_t reserved;               /* pvperf_lock: bit counter */

uint8_t pvp_pmu_owner(void)
{
    if ( pvperf_pmu_in_use )
        return PVPERF_OWNER_PVPERF;
    if ( vpmu_mode != XENPMU_MODE_OFF )
        return PVPERF_OWNER_VPMU;
    if ( lapic_nmi_reserved() )
        return PVPERF_OWNER_XENOPROF;

    return PVPERF_OWNER_NONE;
}

static int take_pmu(void)
{
    bool watchdog = nmi_watchdog == NMI_LOCAL_APIC;

    if ( pvperf_pmu_in_use )
        return 0;

    if ( !vpmu_exclude(true) )
        return -EBUSY;

    if ( !share_lapic_nmi() )
    {
        vpmu_exclude(false);
        return -EBUSY;
    }

    /* Its counter is always the first; its interrupt has to be an NMI. */
    pmu_others = watchdog ? 1 : 0;
    pmu_nmi = opt_pvperf_nmi || watchdog;
    reserved = pmu_others;
    pvperf_pmu_in_use = true;

    return 0;
}

static void give_pmu(void)
{
    if ( !pvperf_pmu_in_use || (reserved & ~pmu_others) )
        return;

    pvperf_pmu_in_use = false;
    reserved = 0;
    unshare_lapic_nmi();
    vpmu_exclude(false);
}

int pvp_pmu_check(const struct pvperf_event *event)
{
    return pmu_ops ? pmu_ops->check(event) : -ENOENT;
}

/*
 * Counters for one round, in which event first has precedence.  -EBUSY: not
 * even that one gets a counter.
 */
static int plan_round(struct pvp_session *s, unsigned int round,
                      unsigned int first, bool *complete)
{
    uint64_t taken = reserved;
    unsigned int i;

    *complete = true;
    for ( i = 0; i < s->nr_events; i++ )
    {
        unsigned int e = (first + i) % s->nr_events;
        int c = -1;

        if ( s->hw_events & (1u << e) )
        {
            c = pmu_ops->assign(&s->events[e], taken);
            if ( c >= 0 )
                taken |= 1ULL << c;
            else if ( !i )
                return -EBUSY;
            else
                *complete = false;
        }
        s->counter[round][e] = c;
    }
    s->pool |= taken & ~reserved;

    return 0;
}

/* All events at once if there are so many counters, or else by turns. */
static int plan(struct pvp_session *s)
{
    unsigned int first;

    s->nr_rounds = 0;
    for ( first = 0; first < s->nr_events; first++ )
    {
        bool complete;
        int rc;

        if ( !(s->hw_events & (1u << first)) )
            continue;

        rc = plan_round(s, s->nr_rounds, first, &complete);
        if ( rc )
            return rc;

        s->nr_rounds++;
        if ( complete && s->nr_rounds == 1 )
            break;
    }

    return 0;
}

int pvp_pmu_reserve(struct pvp_session *s)
{
    unsigned int c;
    int rc = take_pmu();

    if ( rc )
        return rc;

    rc = plan(s);
    if ( rc )
    {
        s->pool = 0;
        give_pmu();
        return rc;
    }

    for ( c = 0; c < PMU_COUNTERS; c++ )
        if ( s->pool >> c & 1 )
            pmu_holder[c] = s;
    reserved |= s->pool;

    return 0;
}

void pvp_pmu_release(struct pvp_session *s)
{
    unsigned int c;

    for ( c = 0; c < PMU_COUNTERS; c++ )
        if ( s->pool >> c & 1 )
            pmu_holder[c] = NULL;
    reserved &= ~s->pool;
    s->pool = 0;

    give_pmu();
}

uint32_t pvp_pmu_flags(void)
{
    bool watchdog = nmi_watchdog == NMI_LOCAL_APIC;

    return (opt_pvperf_nmi || watchdog ? PVPERF_QUERY_FLAG_NMI : 0) |
           (watchdog ? PVPERF_QUERY_FLAG_WATCHDOG : 0);
}

static int __init cf_check pvp_pmu_init(void)
{
    if ( !opt_pvperf )
        return 0;

    if ( boot_cpu_data.x86_vendor == X86_VENDOR_INTEL )
        pmu_ops = pvp_intel_probe();
    else if ( boot_cpu_data.x86_vendor &
              (X86_VENDOR_AMD | X86_VENDOR_HYGON) )
        pmu_ops = pvp_amd_probe();

    return 0;
}
presmp_initcall(pvp_pmu_init);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
