/* SPDX-License-Identifier: GPL-2.0-only */
/* shim.c: CPUs, locks, softirqs, timers, domains of the user-space Xen. */
#include <stdio.h>
#include <stdlib.h>

#include "control.h"
#include "internal.h"
#include <xen/pvperf.h>

struct shim shim;
_Thread_local unsigned int shim_cpu;
cpumask_t cpu_online_map, cpu_present_map, cpu_possible_map;
unsigned int nr_cpu_ids;
char *shim_percpu_area[NR_CPUS];
struct vcpu *idle_vcpu[NR_CPUS];
struct domain *domain_list, *hardware_domain, *dom_xen;
int system_state = SYS_STATE_active;
bool shim_softirq_first;
char shim_text[1];

static struct domain idle_domain, xen_domain;
static struct vcpu *running[NR_CPUS];
static bool irqs_off[NR_CPUS];
static int irq_depth[NR_CPUS];
static struct notifier_block *notifiers;
static softirq_handler handlers[NR_SOFTIRQS];
static unsigned int softirq_bits[NR_CPUS];
static struct tasklet *tasklets;
static struct rcu_head *rcu_queue;
static struct timer *timers;
static unsigned int preempt_calls;
static spinlock_t *held[16];
static unsigned int nr_held;

void shim_bug(const char *what, const char *file, int line)
{
    fprintf(stderr, "shim: %s at %s:%d, CPU %u\n", what, file, line, shim_cpu);
    fflush(NULL);
    abort();
}

#define REQUIRE(p) do { if (!(p)) shim_bug("rule broken: " #p, __FILE__, __LINE__); } while (0)

/* CPUs and per-CPU data */
void *shim_percpu_ptr(void *var, unsigned int cpu)
{
    REQUIRE(cpu < nr_cpu_ids && shim_percpu_area[cpu]);
    return shim_percpu_area[cpu] + ((char *)var - __start_shim_percpu);
}

static void percpu_make(unsigned int cpu)
{
    size_t len = (size_t)(__stop_shim_percpu - __start_shim_percpu);

    shim_percpu_area[cpu] = calloc(1, len ? len : 1);
}

static void percpu_drop(unsigned int cpu)
{
    free(shim_percpu_area[cpu]);
    shim_percpu_area[cpu] = NULL;
}

bool get_cpu_maps(void)
{
    return true;
}

void put_cpu_maps(void)
{
}

void register_cpu_notifier(struct notifier_block *nb)
{
    nb->shim_next = notifiers;
    notifiers = nb;
}

static int notify(unsigned long action, unsigned int cpu)
{
    struct notifier_block *nb;
    int rc = NOTIFY_DONE;

    for (nb = notifiers; nb; nb = nb->shim_next)
        rc |= nb->notifier_call(nb, action, (void *)(unsigned long)cpu);
    return rc & NOTIFY_STOP_MASK ? notifier_to_errno(rc) : 0;
}

int shim_cpu_up(unsigned int cpu)
{
    int rc;

    if (cpu_online(cpu))
        return -EEXIST;
    percpu_make(cpu);
    rc = notify(CPU_UP_PREPARE, cpu);
    if (rc) {
        notify(CPU_UP_CANCELED, cpu);
        percpu_drop(cpu);
        return rc;
    }
    notify(CPU_STARTING, cpu);
    cpumask_set_cpu(cpu, &cpu_online_map);
    running[cpu] = idle_vcpu[cpu];
    notify(CPU_ONLINE, cpu);
    shim_softirqs();
    return 0;
}

int shim_cpu_down(unsigned int cpu)
{
    struct timer *t;
    int rc;

    if (!cpu || !cpu_online(cpu))
        return -EINVAL;
    rc = notify(CPU_DOWN_PREPARE, cpu);
    if (rc) {
        notify(CPU_DOWN_FAILED, cpu);
        return rc;
    }
    /* From here on interrupts of this CPU would be the core's mistake. */
    running[cpu] = idle_vcpu[cpu];
    notify(CPU_DYING, cpu);
    cpumask_clear_cpu(cpu, &cpu_online_map);
    softirq_bits[0] |= softirq_bits[cpu];
    softirq_bits[cpu] = 0;
    for (t = timers; t; t = t->shim_next)
        if (t->cpu == cpu && t->status == TIMER_STATUS_in_heap)
            t->cpu = 0;
    notify(CPU_DEAD, cpu);
    percpu_drop(cpu);
    shim_softirqs();
    return 0;
}

void on_selected_cpus(const cpumask_t *m, void (*fn)(void *), void *arg, int wait)
{
    unsigned int cpu, self = shim_cpu;

    (void)wait;
    REQUIRE(local_irq_is_enabled());
    shim.syncs++;
    for_each_online_cpu (cpu) {
        if (!cpumask_test_cpu(cpu, m))
            continue;
        shim_cpu = cpu;
        shim_irq_set(false);
        fn(arg);
        shim_irq_set(true);
    }
    shim_cpu = self;
}

/* interrupts */
bool local_irq_is_enabled(void)
{
    return !irqs_off[shim_cpu];
}

void shim_irq_set(bool on)
{
    irqs_off[shim_cpu] = !on;
}

bool in_irq(void)
{
    return irq_depth[shim_cpu];
}

void shim_irq_enter(unsigned int cpu, unsigned int *save)
{
    *save = shim_cpu;
    shim_cpu = cpu;
    REQUIRE(cpu_online(cpu) && !irqs_off[cpu]);
    irqs_off[cpu] = true;
    irq_depth[cpu]++;
}

void shim_irq_exit(unsigned int save)
{
    REQUIRE(irqs_off[shim_cpu] && !nr_held);
    irqs_off[shim_cpu] = false;
    irq_depth[shim_cpu]--;
    shim_cpu = save;
}

/* locks: the rules of Xen's debug build, and an order that never turns */
static const char *order[64][2];
static unsigned int nr_order;

static void check_order(spinlock_t *l)
{
    unsigned int i, h;

    for (h = 0; h < nr_held; h++) {
        const char *a = held[h]->name, *b = l->name;

        for (i = 0; i < nr_order; i++) {
            if (order[i][0] == b && order[i][1] == a)
                shim_bug("locks taken in both orders", a, 0);
            if (order[i][0] == a && order[i][1] == b)
                break;
        }
        if (i == nr_order && nr_order < 64) {
            order[nr_order][0] = a;
            order[nr_order++][1] = b;
        }
    }
}

void shim_spin_lock(spinlock_t *l)
{
    int safe = local_irq_is_enabled() ? -1 : 1;

    REQUIRE(!l->held);
    REQUIRE(!l->irq_safe || l->irq_safe == safe);
    REQUIRE(!in_irq()); /* producers take no lock */
    l->irq_safe = (signed char)safe;
    check_order(l);
    REQUIRE(nr_held < ARRAY_SIZE(held));
    held[nr_held++] = l;
    l->held = (int)shim_cpu + 1;
}

bool spin_trylock(spinlock_t *l)
{
    if (l->held)
        return false;
    shim_spin_lock(l);
    return true;
}

void shim_spin_unlock(spinlock_t *l)
{
    REQUIRE(l->held == (int)shim_cpu + 1);
    REQUIRE(nr_held && held[nr_held - 1] == l);
    nr_held--;
    l->held = 0;
}

/* softirqs, tasklets, RCU */
void open_softirq(int nr, softirq_handler handler)
{
    REQUIRE(nr >= 0 && nr < NR_SOFTIRQS);
    handlers[nr] = handler;
}

void cpu_raise_softirq(unsigned int cpu, unsigned int nr)
{
    REQUIRE(nr < NR_SOFTIRQS && cpu_online(cpu));
    softirq_bits[cpu] |= 1u << nr;
}

void raise_softirq(unsigned int nr)
{
    REQUIRE(nr < NR_SOFTIRQS);
    softirq_bits[shim_cpu] |= 1u << nr;
}

void tasklet_init(struct tasklet *t, void (*func)(void *), void *data)
{
    *t = (struct tasklet){ .func = func, .data = data };
}

void softirq_tasklet_init(struct tasklet *t, void (*func)(void *), void *data)
{
    tasklet_init(t, func, data);
}

void tasklet_schedule(struct tasklet *t)
{
    if (t->pending || t->killed)
        return;
    t->pending = true;
    t->next = tasklets;
    tasklets = t;
}

void tasklet_kill(struct tasklet *t)
{
    struct tasklet **p;

    for (p = &tasklets; *p; p = &(*p)->next)
        if (*p == t) {
            *p = t->next;
            break;
        }
    t->pending = false;
    t->killed = true;
}

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *))
{
    head->func = func;
    head->next = rcu_queue;
    rcu_queue = head;
}

void rcu_barrier(void)
{
    while (rcu_queue) {
        struct rcu_head *h = rcu_queue;

        rcu_queue = h->next;
        h->func(h);
    }
}

static bool softirqs_once(void)
{
    unsigned int cpu, nr, self = shim_cpu;
    bool any = false;

    for_each_online_cpu (cpu) {
        unsigned int bits = softirq_bits[cpu];

        softirq_bits[cpu] = 0;
        for (nr = 0; nr < NR_SOFTIRQS; nr++)
            if ((bits & (1u << nr)) && handlers[nr]) {
                any = true;
                shim_cpu = cpu;
                handlers[nr]();
            }
    }
    shim_cpu = self;
    while (tasklets) {
        struct tasklet *t = tasklets;

        tasklets = t->next;
        t->pending = false;
        t->func(t->data);
        any = true;
    }
    any |= rcu_queue != NULL;
    rcu_barrier();
    return any;
}

void shim_softirqs(void)
{
    REQUIRE(!nr_held && local_irq_is_enabled());
    while (softirqs_once())
        ;
}

void process_pending_softirqs(void)
{
    shim_softirqs();
}

bool hypercall_preempt_check(void)
{
    return shim.preempt_every && ++preempt_calls % shim.preempt_every == 0;
}

/* time */
s_time_t get_s_time(void)
{
    return shim.now;
}

void init_timer(struct timer *t, void (*fn)(void *), void *data, unsigned int cpu)
{
    struct timer *i;

    for (i = timers; i; i = i->shim_next)
        REQUIRE(i != t); /* neither new nor killed */
    *t = (struct timer){ .function = fn, .data = data, .cpu = (uint16_t)cpu,
                         .status = TIMER_STATUS_inactive, .shim_next = timers };
    timers = t;
}

void set_timer(struct timer *t, s_time_t expires)
{
    if (t->status == TIMER_STATUS_killed)
        return;
    REQUIRE(t->status != TIMER_STATUS_invalid && cpu_online(t->cpu));
    t->expires = expires;
    t->status = TIMER_STATUS_in_heap;
}

void stop_timer(struct timer *t)
{
    if (t->status == TIMER_STATUS_in_heap)
        t->status = TIMER_STATUS_inactive;
}

void kill_timer(struct timer *t)
{
    struct timer **p;

    REQUIRE(t->status != TIMER_STATUS_invalid);
    for (p = &timers; *p; p = &(*p)->shim_next)
        if (*p == t) {
            *p = t->shim_next;
            break;
        }
    t->status = TIMER_STATUS_killed;
}

void migrate_timer(struct timer *t, unsigned int cpu)
{
    t->cpu = (uint16_t)cpu;
}

bool timer_expires_before(struct timer *t, s_time_t when)
{
    return t->status == TIMER_STATUS_in_heap && t->expires < when;
}

unsigned int shim_active_timers(void)
{
    struct timer *t;
    unsigned int n = 0;

    for (t = timers; t; t = t->shim_next)
        n += t->status == TIMER_STATUS_in_heap;
    return n;
}

static struct timer *next_timer(int cpu)
{
    struct timer *t, *best = NULL;

    for (t = timers; t; t = t->shim_next)
        if (t->status == TIMER_STATUS_in_heap && (cpu < 0 || t->cpu == cpu) &&
            (!best || t->expires < best->expires))
            best = t;
    return best;
}

void shim_timer_interrupt(unsigned int cpu)
{
    struct cpu_user_regs regs = { .rip = shim_regs[cpu].ip };
    unsigned int save;

    regs.shim_guest = shim_regs[cpu].mode <= PVPERF_MODE_KERNEL;
    shim_irq_enter(cpu, &save);
    pvperf_timer_interrupt(&regs);
    shim_irq_exit(save);
}

static void run_callbacks(unsigned int cpu)
{
    unsigned int self = shim_cpu;
    struct timer *t;

    shim_cpu = cpu;
    while ((t = next_timer((int)cpu)) && t->expires <= shim.now) {
        t->status = TIMER_STATUS_inactive;
        t->function(t->data);
    }
    shim_cpu = self;
}

void shim_advance(s_time_t ns)
{
    s_time_t end = shim.now + ns;
    struct timer *t;

    while ((t = next_timer(-1)) && t->expires <= end) {
        unsigned int cpu = t->cpu;

        if (t->expires > shim.now)
            shim.now = t->expires;
        if (!shim_softirq_first)
            shim_timer_interrupt(cpu);
        run_callbacks(cpu);
        if (shim_softirq_first)
            shim_timer_interrupt(cpu);
        shim_softirqs();
    }
    shim.now = end;
}

/* domains */
struct vcpu *shim_current(void)
{
    return running[shim_cpu];
}

struct domain *shim_domain_create(domid_t id, unsigned int max, unsigned int made)
{
    struct domain *d = calloc(1, sizeof(*d)), **p;
    unsigned int i;

    d->domain_id = id;
    d->vcpu = calloc(max + 1, sizeof(*d->vcpu));
    atomic_set(&d->refcnt, 1);
    d->max_vcpus = max;
    for (i = 0; i < 16; i++)
        d->handle[i] = (uint8_t)(id * 16u + i + 1);
    while (made--)
        shim_domain_add_vcpu(d);
    for (p = &domain_list; *p; p = &(*p)->next_in_list)
        ;
    *p = d;
    return d;
}

void shim_domain_add_vcpu(struct domain *d)
{
    unsigned int i = 0;
    struct vcpu *v = calloc(1, sizeof(*v));

    while (d->vcpu[i])
        i++;
    REQUIRE(i < d->max_vcpus);
    v->vcpu_id = i;
    v->domain = d;
    v->shim_pt_base = 0x100000ull * (d->domain_id + 1u) + i * 0x1000u;
    d->vcpu[i] = v;
    if (i)
        d->vcpu[i - 1]->next_in_list = v;
}

void shim_domain_kill(struct domain *d)
{
    unsigned int cpu;

    d->is_dying = DOMDYING_dying;
    for_each_online_cpu (cpu)
        if (running[cpu]->domain == d)
            running[cpu] = idle_vcpu[cpu];
    pvperf_domain_kill(d);
    shim_softirqs();
    shim_check_idle();
}

void shim_domain_free(struct domain *d)
{
    struct domain **p;
    unsigned int i;

    for (p = &domain_list; *p; p = &(*p)->next_in_list)
        if (*p == d) {
            *p = d->next_in_list;
            break;
        }
    REQUIRE(atomic_read(&d->refcnt) == 1);
    pvperf_domain_free(d);
    REQUIRE(!d->pvperf);
    for (i = 0; i < d->max_vcpus; i++)
        free(d->vcpu[i]);
    free(d->vcpu);
    free(d);
}

void shim_run_vcpu(unsigned int cpu, struct vcpu *v)
{
    unsigned int i;

    for_each_online_cpu (i)
        if (v && running[i] == v)
            running[i] = idle_vcpu[i];
    REQUIRE(cpu_online(cpu));
    running[cpu] = v ? v : idle_vcpu[cpu];
    if (v)
        v->processor = (int)cpu;
}

struct vcpu *domain_vcpu(const struct domain *d, unsigned int id)
{
    return id < d->max_vcpus ? d->vcpu[id] : NULL;
}

struct domain *rcu_lock_domain_by_id(domid_t id)
{
    struct domain *d;

    for_each_domain (d)
        if (d->domain_id == id) {
            atomic_inc(&d->refcnt);
            return d;
        }
    return NULL;
}

void rcu_unlock_domain(struct domain *d)
{
    atomic_dec(&d->refcnt);
}

void send_global_virq(uint32_t virq)
{
    REQUIRE(virq < VIRQ_SHIM_NR && !in_irq() && !nr_held);
    shim.virqs[virq]++;
}

int xsm_pvperf_control(xsm_default_t action, bool audit)
{
    (void)audit;
    REQUIRE(action == XSM_PRIV);
    return shim.unprivileged ? -EPERM : 0;
}

/* hypercalls */
static struct {
    bool wanted;
    unsigned int op;
    void *arg;
} again;

unsigned long hypercall_create_continuation(unsigned int nr, const char *fmt, ...)
{
    va_list ap;

    REQUIRE(nr == __HYPERVISOR_pvperf_op && !strcmp(fmt, "ih"));
    va_start(ap, fmt);
    again.op = va_arg(ap, unsigned int);
    again.arg = va_arg(ap, XEN_GUEST_HANDLE_PARAM(void)).p;
    va_end(ap);
    again.wanted = true;
    shim.continuations++;
    return nr;
}

long shim_hypercall(unsigned int op, void *arg)
{
    long rc;

    for (;;) {
        XEN_GUEST_HANDLE_PARAM(void) h = { arg };

        again.wanted = false;
        rc = do_pvperf_op(op, h);
        shim_check_idle();
        shim_softirqs();
        if (!again.wanted)
            return rc;
        REQUIRE(again.op == op && again.arg == arg);
    }
}

void shim_check_idle(void)
{
    unsigned int cpu;
    struct domain *d;

    REQUIRE(!nr_held);
    for (cpu = 0; cpu < nr_cpu_ids; cpu++)
        REQUIRE(!irqs_off[cpu] && !irq_depth[cpu]);
    for_each_domain (d)
        REQUIRE(atomic_read(&d->refcnt) == 1);
}

/* boot and end */
static bool is_up;

/* A test that failed half-way, in a run without forks: sweep up after it. */
static void abandon(void)
{
    unsigned int i;

    for (i = 0; i < nr_held; i++)
        held[i]->held = 0;
    nr_held = 0;
    memset(irqs_off, 0, sizeof(irqs_off));
    memset(irq_depth, 0, sizeof(irq_depth));
    shim_cpu = 0;
    shim_mem_abandon();
    shim_down();
}

static void make_idle(unsigned int cpu)
{
    struct vcpu *v = calloc(1, sizeof(*v));

    v->vcpu_id = cpu;
    v->domain = &idle_domain;
    v->processor = (int)cpu;
    idle_vcpu[cpu] = v;
}

void shim_boot(unsigned int cpus, const char *params)
{
    unsigned int cpu;

    if (is_up)
        abandon();
    is_up = true;
    memset(&shim, 0, sizeof(shim));
    shim.verbose = getenv("SHIM_VERBOSE") != NULL;
    shim.fail_xmalloc = shim.fail_heap = -1;
    shim.fail_copy_from = shim.fail_copy_to = -1;
    shim.now = SECONDS(10);
    shim_cpu = 0;
    shim_softirq_first = false;
    notifiers = NULL;
    nr_order = 0;
    memset(handlers, 0, sizeof(handlers));
    memset(softirq_bits, 0, sizeof(softirq_bits));
    memset(shim_regs, 0, sizeof(shim_regs));
    idle_domain.domain_id = DOMID_IDLE;
    xen_domain = (struct domain){ .domain_id = DOMID_XEN };
    dom_xen = &xen_domain;
    nr_cpu_ids = NR_CPUS;
    cpu_online_map.bits[0] = (1ul << cpus) - 1;
    cpu_present_map.bits[0] = cpu_possible_map.bits[0] = (1ul << NR_CPUS) - 1;
    for (cpu = 0; cpu < NR_CPUS; cpu++) {
        make_idle(cpu);
        running[cpu] = idle_vcpu[cpu];
        if (cpu < cpus)
            percpu_make(cpu);
    }
    shim_pmu_set(PVPERF_BACKEND_NONE, 0, PVPERF_OWNER_NONE);
    hardware_domain = shim_domain_create(0, 2, 2);
    hardware_domain->is_privileged = true;
    shim_run_vcpu(0, hardware_domain->vcpu[0]);
    shim_core_defaults();
    shim_params(params);
    shim_initcalls();
}

/* Destroys all sessions and domains in the way a caller would. */
void shim_down(void)
{
    unsigned int slot, cpu;

    shim.unprivileged = false;
    shim.fail_xmalloc = shim.fail_heap = -1;
    shim.fail_copy_from = shim.fail_copy_to = -1;
    shim.after_copy_from = NULL;
    shim.bad_start = shim.bad_end = NULL;
    shim.preempt_every = 0;
    for (slot = 0; slot < PVPERF_MAX_SESSIONS; slot++) {
        struct pvperf_session_info info = {
            .session = slot, .flags = PVPERF_SESSION_INFO_BY_SLOT };
        struct pvperf_session op = { 0 };

        if (shim_hypercall(PVPERF_OP_session_info, &info))
            continue;
        op.session = info.session;
        REQUIRE(!shim_hypercall(PVPERF_OP_session_destroy, &op));
    }
    while (domain_list) {
        struct domain *d = domain_list;

        shim_domain_kill(d);
        shim_domain_free(d);
    }
    is_up = false;
    {
        XEN_GUEST_HANDLE_PARAM(void) h = { &(struct pvperf_query){ 0 } };

        do_pvperf_op(PVPERF_OP_query, h); /* reaps */
    }
    shim_softirqs();
    REQUIRE(!shim.live_blocks);
    REQUIRE(!shim.live_pages);
    REQUIRE(!xen_domain.xenheap_pages);
    REQUIRE(!timers);
    shim_check_idle();
    for (cpu = 0; cpu < NR_CPUS; cpu++) {
        free(idle_vcpu[cpu]);
        percpu_drop(cpu);
    }
}
