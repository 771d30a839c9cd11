/* SPDX-License-Identifier: GPL-2.0-only */
/* arch.c: what the core asks of the processor: contexts, chains, a PMU. */
#include "control.h"
#include "internal.h"
#include "../../../xen_patches/xen/common/pvperf/private.h"

struct shim_regs shim_regs[NR_CPUS];
struct pvp_pmu pvp_pmu;
bool pvperf_pmu_in_use;

/* Each boot begins with what the core was linked with. */
void shim_core_defaults(void)
{
    static bool known;
    static unsigned int rate, pages;

    if (!known) {
        known = true;
        rate = opt_pvperf_max_rate;
        pages = opt_pvperf_ring_pages;
    }
    opt_pvperf = false;
    opt_pvperf_max_rate = rate;
    opt_pvperf_ring_pages = pages;
}

static uint8_t pmu_owner;
static unsigned int pmu_free;
static struct {
    struct pvp_session *session;
    unsigned long cpus;
    unsigned int taken;
} pmu_users[PVPERF_MAX_SESSIONS];

/* Events that a CPU has counted for its vCPU and that nobody has read yet. */
static struct {
    struct pvp_session *session;
    unsigned int event;
    uint64_t n;
} pending[NR_CPUS];

static void account(unsigned int cpu)
{
    struct pvp_session *s = pending[cpu].session;
    unsigned int e = pending[cpu].event, save = shim_cpu;
    struct pvp_count *to;

    if (!s)
        return;
    pending[cpu].session = NULL;
    shim_cpu = cpu;
    to = pvp_count_of(s, s->cpu[cpu], current);
    if (to && pvp_count_wanted(&s->events[e], current))
        to->count[e] += pending[cpu].n;
    if (to) {
        to->counted[e] += pending[cpu].n;
        to->time += pending[cpu].n;
    }
    shim_cpu = save;
}

static void fill(struct pvp_sample *sample, uint8_t mode)
{
    const struct vcpu *v = current;
    bool idle = is_idle_vcpu(v);

    if (idle && mode != PVPERF_MODE_HYPERVISOR)
        mode = PVPERF_MODE_IDLE;
    if (!idle && mode == PVPERF_MODE_IDLE)
        mode = PVPERF_MODE_HYPERVISOR;
    sample->v = v;
    sample->mode = mode;
    sample->ip = shim_regs[shim_cpu].ip;
    sample->context.domid = v->domain->domain_id;
    sample->context.vcpu = (uint16_t)v->vcpu_id;
    sample->context.pt_base = idle ? 0 : v->shim_pt_base;
    sample->context.tag = shim_regs[shim_cpu].tag;
}

void pvp_arch_prepare(void)
{
}

void pvp_arch_context(struct pvp_sample *sample, const struct cpu_user_regs *regs)
{
    ASSERT(regs && in_irq() && !local_irq_is_enabled());
    fill(sample, shim_regs[shim_cpu].mode);
}

void pvp_arch_context_skid(struct pvp_sample *sample, bool in_xen)
{
    uint8_t mode = shim_regs[shim_cpu].mode;

    ASSERT(!local_irq_is_enabled());
    if (in_xen)
        fill(sample, PVPERF_MODE_HYPERVISOR);
    else
        fill(sample, mode == PVPERF_MODE_HYPERVISOR ? PVPERF_MODE_KERNEL : mode);
}

void pvp_arch_chain(struct pvp_sample *sample, unsigned int max)
{
    const struct shim_regs *from = &shim_regs[shim_cpu];
    unsigned int left = max;
    struct pvperf_chain *c = &sample->chain;

    memset(c, 0, sizeof(*c));
    c->nr_xen = (uint16_t)min_t(unsigned int, from->chain.nr_xen, left);
    left -= c->nr_xen;
    c->nr_kernel = (uint16_t)min_t(unsigned int, from->chain.nr_kernel, left);
    left -= c->nr_kernel;
    c->nr_user = (uint16_t)min_t(unsigned int, from->chain.nr_user, left);
    if (c->nr_xen + c->nr_kernel + c->nr_user <
        from->chain.nr_xen + from->chain.nr_kernel + from->chain.nr_user)
        c->flags = PVPERF_CHAIN_FLAG_TRUNCATED;
    memcpy(sample->frames, from->frames, sizeof(sample->frames));
}

void pvp_arch_text(uint64_t *start, uint64_t *end)
{
    *start = 0xffff82d040200000ull;
    *end = 0xffff82d040400000ull;
}

void shim_pmu_set(uint8_t backend, unsigned int counters, uint8_t owner)
{
    memset(&pvp_pmu, 0, sizeof(pvp_pmu));
    memset(pmu_users, 0, sizeof(pmu_users));
    memset(pending, 0, sizeof(pending));
    pmu_owner = owner;
    pmu_free = counters;
    if (backend == PVPERF_BACKEND_NONE)
        return;
    pvp_pmu.backend = backend;
    pvp_pmu.nr_counters = (uint16_t)counters;
    pvp_pmu.counter_bits = 48;
    pvp_pmu.generic_events = (1u << PVPERF_GENERIC_CYCLES) |
                             (1u << PVPERF_GENERIC_INSTRUCTIONS);
}

uint8_t pvp_pmu_owner(void)
{
    return pvperf_pmu_in_use ? PVPERF_OWNER_PVPERF : pmu_owner;
}

int pvp_pmu_check(const struct pvperf_event *event)
{
    if (event->type == PVPERF_EVENT_RAW)
        return event->config >> 32 ? -EINVAL : 0;
    if (event->config >= PVPERF_GENERIC_NR)
        return -EINVAL;
    return pvp_pmu.generic_events & (1u << event->config) ? 0 : -ENOENT;
}

int pvp_pmu_reserve(struct pvp_session *s)
{
    unsigned int n = hweight8(s->hw_events), e, c = 0;

    if (pmu_owner || n > pmu_free)
        return -EBUSY;
    for (e = 0; e < s->nr_events; e++)
        if (s->hw_events & (1u << e))
            s->counter[0][e] = (int8_t)c++;
        else
            s->counter[0][e] = -1;
    s->nr_rounds = 1;
    pmu_free -= n;
    ASSERT(!pmu_users[s->slot].session);
    pmu_users[s->slot].session = s;
    pmu_users[s->slot].taken = n;
    pvperf_pmu_in_use = true;
    return 0;
}

void pvp_pmu_release(struct pvp_session *s)
{
    unsigned int i;

    ASSERT(pmu_users[s->slot].session == s && !pmu_users[s->slot].cpus);
    pmu_free += pmu_users[s->slot].taken;
    pmu_users[s->slot].session = NULL;
    pvperf_pmu_in_use = false;
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        pvperf_pmu_in_use |= pmu_users[i].session != NULL;
}

void pvp_pmu_start(struct pvp_session *s, const cpumask_t *cpus)
{
    unsigned int cpu;

    ASSERT(pmu_users[s->slot].session == s);
    for (cpu = 0; cpu < nr_cpu_ids; cpu++)
        if (cpumask_test_cpu(cpu, cpus)) {
            ASSERT(cpu_online(cpu));
            pmu_users[s->slot].cpus |= 1ul << cpu;
        }
}

void pvp_pmu_stop(struct pvp_session *s, const cpumask_t *cpus)
{
    unsigned int cpu;

    ASSERT(pmu_users[s->slot].session == s);
    for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
        if (cpumask_test_cpu(cpu, cpus) && pending[cpu].session == s)
            account(cpu);
    }
    pmu_users[s->slot].cpus &= ~cpus->bits[0];
}

uint32_t pvp_pmu_flags(void)
{
    return 0;
}

bool pvp_arch_in_kernel(const struct vcpu *v)
{
    ASSERT(v == current);
    return is_idle_vcpu(v) || shim_regs[shim_cpu].mode != PVPERF_MODE_USER;
}

void pvp_pmu_hooks(void)
{
}

/* What shim_pmu_count() said comes to be known when it is asked for. */
void pvp_pmu_sync(void)
{
    unsigned int cpu;

    for (cpu = 0; cpu < nr_cpu_ids; cpu++)
        account(cpu);
}

bool shim_pmu_count(unsigned int cpu, uint32_t id, unsigned int event, uint64_t n)
{
    struct pvp_session *s = pvp_session_find(id);

    if (!s || !s->cpu[cpu] || event >= s->nr_events ||
        !(s->flags & PVPERF_SESSION_FLAG_COUNT) ||
        !(pmu_users[s->slot].cpus & (1ul << cpu)))
        return false;
    account(cpu);
    pending[cpu].session = s;
    pending[cpu].event = event;
    pending[cpu].n = n;
    return true;
}

bool pvperf_pmu_irq(struct cpu_user_regs *regs)
{
    (void)regs;
    return false;
}

bool shim_pmu_overflow(unsigned int cpu, uint32_t id, unsigned int event,
                       uint64_t period)
{
    struct pvp_session *s = pvp_session_find(id);
    struct cpu_user_regs regs = { .rip = shim_regs[cpu].ip };
    static struct pvp_sample sample;
    unsigned int save;

    if (!s || !s->cpu[cpu] || event >= s->nr_events || !(s->hw_events & (1u << event)) ||
        !(pmu_users[s->slot].cpus & (1ul << cpu)))
        return false;
    shim_irq_enter(cpu, &save);
    memset(&sample, 0, sizeof(sample));
    sample.regs = &regs;
    sample.time = (uint64_t)NOW();
    pvp_arch_context(&sample, &regs);
    pvp_record(s, s->cpu[cpu], event, period, &sample);
    shim_irq_exit(save);
    shim_softirqs();
    return true;
}
