/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shim.h: what the hypervisor core needs of Xen, for user space.
 *
 * The headers xen/…, asm/… and xsm/… in this directory all lead here, so that
 * the core's files compile without a change.  Names and meanings are Xen's;
 * where Xen has a rule (no allocation with interrupts off, a lock is taken
 * either always or never with them off), the shim checks it and aborts.
 * What a test may do to this Xen is in control.h.
 */
#ifndef PVPERF_SHIM_H
#define PVPERF_SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef __XEN__
#define __XEN__ 1
#endif
#define CONFIG_PVPERF 1
#define CONFIG_PV 1
#define CONFIG_HVM 1
#define CONFIG_X86 1
#define CONFIG_FRAME_POINTER 1
#define CONFIG_DEBUG 1
#define NR_CPUS 8
#define BITS_PER_LONG 64
#define SMP_CACHE_BYTES 64
#define XEN_VENDOR_SHIM 1

/* types and the compiler */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef int32_t s32;
typedef int64_t s_time_t;
typedef uint64_t paddr_t;
typedef uint16_t domid_t;
typedef uint8_t xen_domain_handle_t[16];
typedef bool bool_t;
#define PRI_stime PRId64
#define PRI_mfn "05lx"
#ifndef PRIu64
#define PRIu64 "lu"
#define PRIx64 "lx"
#define PRId64 "ld"
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define always_inline inline __attribute__((__always_inline__))
#define noinline __attribute__((__noinline__))
#define noreturn __attribute__((__noreturn__))
#define __packed __attribute__((__packed__))
#define __aligned(n) __attribute__((__aligned__(n)))
#define __must_check __attribute__((__warn_unused_result__))
#define __maybe_unused __attribute__((__unused__))
#define __used __attribute__((__used__))
#define __read_mostly
#define __ro_after_init
#define __init
#define __initdata
#define __initconst
#define __cold
#define cf_check
#define fallthrough __attribute__((__fallthrough__))
#define barrier() __asm__ __volatile__("" ::: "memory")
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define mb() smp_mb()
#define wmb() smp_wmb()
#define rmb() smp_rmb()
#define cpu_relax() barrier()
#define sizeof_field(t, m) sizeof(((t *)0)->m)

/* lib */
void shim_bug(const char *what, const char *file, int line) noreturn;
#define BUG() shim_bug("BUG", __FILE__, __LINE__)
#define BUG_ON(p) do { if (p) shim_bug("BUG_ON " #p, __FILE__, __LINE__); } while (0)
#define WARN() shim_bug("WARN", __FILE__, __LINE__)
#define WARN_ON(p) ({ bool w_ = (p); if (w_) shim_bug("WARN_ON " #p, __FILE__, __LINE__); w_; })
#define ASSERT(p) do { if (!(p)) shim_bug("ASSERT " #p, __FILE__, __LINE__); } while (0)
#define ASSERT_UNREACHABLE() shim_bug("unreachable", __FILE__, __LINE__)
#define BUILD_BUG_ON(c) ({ _Static_assert(!(c), "!(" #c ")"); })
#define BUILD_BUG_ON_ZERO(c) ((int)(sizeof(struct { int:-!!(c); })))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ROUNDUP(x, a) (((x) + (a) - 1) & ~((a) - 1))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND(n, d) (((n) + (d) / 2) / (d))
#define IS_ALIGNED(v, a) (!((v) & ((a) - 1)))
#define ACCESS_ONCE(x) (*(volatile typeof(x) *)&(x))
#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define min(x, y) ({ const typeof(x) a_ = (x); const typeof(y) b_ = (y); \
                     (void)(&a_ == &b_); a_ < b_ ? a_ : b_; })
#define max(x, y) ({ const typeof(x) a_ = (x); const typeof(y) b_ = (y); \
                     (void)(&a_ == &b_); a_ > b_ ? a_ : b_; })
#define min_t(t, x, y) ({ t a_ = (x); t b_ = (y); a_ < b_ ? a_ : b_; })
#define max_t(t, x, y) ({ t a_ = (x); t b_ = (y); a_ > b_ ? a_ : b_; })
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define _p(x) ((void *)(unsigned long)(x))

#define XENLOG_ERR "E:"
#define XENLOG_WARNING "W:"
#define XENLOG_INFO "I:"
#define XENLOG_DEBUG "D:"
#define XENLOG_G_ERR XENLOG_ERR
#define XENLOG_G_WARNING XENLOG_WARNING
#define XENLOG_G_INFO XENLOG_INFO
#define XENLOG_G_DEBUG XENLOG_DEBUG
void printk(const char *fmt, ...); /* Xen has formats of its own: unchecked */
#define gprintk(lvl, fmt, ...) printk(lvl fmt, ##__VA_ARGS__)
#define gdprintk gprintk
#define dprintk gprintk
#define printk_once printk

unsigned long simple_strtoul(const char *cp, const char **endp, unsigned int base);
unsigned long long simple_strtoull(const char *cp, const char **endp, unsigned int base);
unsigned long long parse_size_and_unit(const char *s, const char **ps);
int parse_bool(const char *s, const char *e);
int parse_boolean(const char *name, const char *s, const char *e);
int cmdline_strcmp(const char *frag, const char *name);
size_t xen_strlcpy(char *dst, const char *src, size_t size);
#define strlcpy xen_strlcpy
#define safe_strcpy(d, s) xen_strlcpy(d, s, sizeof(d))

/* boot parameters and init calls register themselves; shim_boot runs them */
void shim_add_param(const char *name, int kind, void *var, size_t len);
void shim_add_initcall(int (*fn)(void));
#define SHIM_PARAM(nam, kind, var, ptr, len) \
    static void __attribute__((constructor)) shim_param_##var(void) \
    { shim_add_param(nam, kind, ptr, len); }
#define custom_param(nam, fn) SHIM_PARAM(nam, 0, fn, (void *)fn, 0)
#define boolean_param(nam, var) SHIM_PARAM(nam, 1, var, &var, sizeof(var))
#define integer_param(nam, var) SHIM_PARAM(nam, 2, var, &var, sizeof(var))
#define size_param(nam, var) SHIM_PARAM(nam, 3, var, &var, sizeof(var))
#define string_param(nam, var) SHIM_PARAM(nam, 4, var, var, sizeof(var))
#define __initcall(fn) \
    static void __attribute__((constructor)) shim_init_##fn(void) \
    { shim_add_initcall(fn); }
#define presmp_initcall(fn) __initcall(fn)

/* speculation */
#define array_index_nospec(i, n) ({ \
    unsigned long i_ = (i); if (i_ >= (unsigned long)(n)) BUG(); (typeof(i))i_; })
#define array_access_nospec(a, i) ((a)[array_index_nospec(i, ARRAY_SIZE(a))])
#define block_speculation() ((void)0)
#define evaluate_nospec(c) (c)

/* bits and atomics */
#define BIT(n, sfx) (1##sfx << (n))
#define fls(x) ((x) ? 32 - __builtin_clz(x) : 0)
#define flsl(x) ((x) ? 64 - __builtin_clzl(x) : 0)
#define ffsl(x) ((x) ? __builtin_ctzl(x) + 1 : 0)
#define find_first_set_bit(x) ((unsigned int)__builtin_ctzl(x))
#define hweight8(x) ((unsigned int)__builtin_popcount((x) & 0xff))
#define hweight32(x) ((unsigned int)__builtin_popcount(x))
#define hweight64(x) ((unsigned int)__builtin_popcountll(x))
#define BITS_TO_LONGS(n) DIV_ROUND_UP(n, BITS_PER_LONG)
#define DECLARE_BITMAP(n, bits) unsigned long n[BITS_TO_LONGS(bits)]
#define SHIM_WORD(nr, p) (((uint32_t *)(uintptr_t)(p)) + ((nr) >> 5))
#define SHIM_BIT(nr) (1u << ((nr) & 31))
#define test_bit(nr, p) \
    (!!(*(volatile uint32_t *)SHIM_WORD(nr, p) & SHIM_BIT(nr)))
#define set_bit(nr, p) ((void)__atomic_fetch_or(SHIM_WORD(nr, p), SHIM_BIT(nr), 5))
#define clear_bit(nr, p) ((void)__atomic_fetch_and(SHIM_WORD(nr, p), ~SHIM_BIT(nr), 5))
#define test_and_set_bit(nr, p) \
    (!!(__atomic_fetch_or(SHIM_WORD(nr, p), SHIM_BIT(nr), 5) & SHIM_BIT(nr)))
#define test_and_clear_bit(nr, p) \
    (!!(__atomic_fetch_and(SHIM_WORD(nr, p), ~SHIM_BIT(nr), 5) & SHIM_BIT(nr)))
#define __set_bit set_bit
#define __clear_bit clear_bit
#define __test_and_set_bit test_and_set_bit
#define __test_and_clear_bit test_and_clear_bit
unsigned int find_next_bit(const unsigned long *p, unsigned int size, unsigned int off);
unsigned int find_next_zero_bit(const unsigned long *p, unsigned int size, unsigned int off);
#define find_first_bit(p, n) find_next_bit(p, n, 0)
#define find_first_zero_bit(p, n) find_next_zero_bit(p, n, 0)
#define bitmap_zero(p, n) memset(p, 0, BITS_TO_LONGS(n) * sizeof(long))
#define for_each_set_bit(b, p, n) \
    for ((b) = find_first_bit(p, n); (b) < (n); (b) = find_next_bit(p, n, (b) + 1))

typedef struct { int counter; } atomic_t;
#define ATOMIC_INIT(i) { (i) }
#define atomic_read(v) __atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_set(v, i) __atomic_store_n(&(v)->counter, i, __ATOMIC_RELAXED)
#define atomic_inc(v) ((void)__atomic_add_fetch(&(v)->counter, 1, 5))
#define atomic_dec(v) ((void)__atomic_sub_fetch(&(v)->counter, 1, 5))
#define atomic_add(i, v) ((void)__atomic_add_fetch(&(v)->counter, i, 5))
#define atomic_sub(i, v) ((void)__atomic_sub_fetch(&(v)->counter, i, 5))
#define atomic_inc_return(v) __atomic_add_fetch(&(v)->counter, 1, 5)
#define atomic_dec_return(v) __atomic_sub_fetch(&(v)->counter, 1, 5)
#define atomic_dec_and_test(v) (!__atomic_sub_fetch(&(v)->counter, 1, 5))
#define read_atomic(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define write_atomic(p, x) __atomic_store_n(p, x, __ATOMIC_RELAXED)
#define add_sized(p, x) ((void)__atomic_add_fetch(p, x, __ATOMIC_RELAXED))
#define cmpxchg(p, o, n) ({ typeof(*(p)) o_ = (o); \
    __atomic_compare_exchange_n(p, &o_, n, false, 5, 5); o_; })
#define xchg(p, n) __atomic_exchange_n(p, n, 5)

/* lists */
struct list_head { struct list_head *next, *prev; };
#define LIST_HEAD_INIT(n) { &(n), &(n) }
#define LIST_HEAD(n) struct list_head n = LIST_HEAD_INIT(n)
#define LIST_HEAD_READ_MOSTLY LIST_HEAD
#define INIT_LIST_HEAD(l) ((void)((l)->next = (l)->prev = (l)))
static inline void list_insert_(struct list_head *n, struct list_head *prev)
{
    n->next = prev->next;
    n->prev = prev;
    prev->next->prev = n;
    prev->next = n;
}
#define list_add(n, h) list_insert_(n, h)
#define list_add_tail(n, h) list_insert_(n, (h)->prev)
#define list_add_rcu list_add
#define list_add_tail_rcu list_add_tail
static inline void list_unlink_(struct list_head *n)
{
    n->next->prev = n->prev;
    n->prev->next = n->next;
}
static inline void list_del(struct list_head *n)
{
    list_unlink_(n);
    n->next = n->prev = NULL;
}
static inline void list_del_init(struct list_head *n)
{
    list_unlink_(n);
    INIT_LIST_HEAD(n);
}
#define list_del_rcu list_unlink_
#define list_move(n, h) (list_unlink_(n), list_insert_(n, h))
#define list_move_tail(n, h) (list_unlink_(n), list_insert_(n, (h)->prev))
#define list_empty(h) ((h)->next == (h))
#define list_entry(p, t, m) container_of(p, t, m)
#define list_first_entry(h, t, m) list_entry((h)->next, t, m)
#define list_first_entry_or_null(h, t, m) (list_empty(h) ? NULL : list_first_entry(h, t, m))
#define list_for_each(p, h) for (p = (h)->next; p != (h); p = p->next)
#define list_for_each_safe(p, n, h) \
    for (p = (h)->next, n = p->next; p != (h); p = n, n = p->next)
#define list_for_each_entry(p, h, m) \
    for (p = list_entry((h)->next, typeof(*p), m); &p->m != (h); \
         p = list_entry(p->m.next, typeof(*p), m))
#define list_for_each_entry_rcu list_for_each_entry
#define list_for_each_entry_safe(p, n, h, m) \
    for (p = list_entry((h)->next, typeof(*p), m), \
         n = list_entry(p->m.next, typeof(*p), m); &p->m != (h); \
         p = n, n = list_entry(n->m.next, typeof(*n), m))

/* CPUs and per-CPU data, which exists while its CPU is up */
typedef struct cpumask { unsigned long bits[1]; } cpumask_t;
extern cpumask_t cpu_online_map, cpu_present_map, cpu_possible_map;
extern unsigned int nr_cpu_ids;
extern _Thread_local unsigned int shim_cpu;
extern char *shim_percpu_area[NR_CPUS];
extern char __start_shim_percpu[], __stop_shim_percpu[];
#define smp_processor_id() shim_cpu
#define cpumask_test_cpu(c, m) ((bool)(((m)->bits[0] >> (c)) & 1))
#define cpumask_set_cpu(c, m) ((void)((m)->bits[0] |= 1ul << (c)))
#define cpumask_clear_cpu(c, m) ((void)((m)->bits[0] &= ~(1ul << (c))))
#define __cpumask_set_cpu cpumask_set_cpu
#define __cpumask_clear_cpu cpumask_clear_cpu
#define cpumask_clear(m) ((void)((m)->bits[0] = 0))
#define cpumask_copy(d, s) ((void)((d)->bits[0] = (s)->bits[0]))
#define cpumask_empty(m) (!(m)->bits[0])
#define cpumask_weight(m) ((unsigned int)__builtin_popcountl((m)->bits[0]))
#define cpu_online(c) cpumask_test_cpu(c, &cpu_online_map)
#define num_online_cpus() cpumask_weight(&cpu_online_map)
#define num_present_cpus() cpumask_weight(&cpu_present_map)
#define for_each_cpu(c, m) \
    for ((c) = 0; (c) < nr_cpu_ids; (c)++) if (!cpumask_test_cpu(c, m)) continue; else
#define for_each_online_cpu(c) for_each_cpu(c, &cpu_online_map)
#define for_each_present_cpu(c) for_each_cpu(c, &cpu_present_map)
#define for_each_possible_cpu(c) for_each_cpu(c, &cpu_possible_map)
bool get_cpu_maps(void);
void put_cpu_maps(void);
void on_selected_cpus(const cpumask_t *m, void (*fn)(void *), void *arg, int wait);
void smp_call_function(void (*fn)(void *), void *arg, int wait);
#define on_each_cpu(fn, arg, wait) on_selected_cpus(&cpu_online_map, fn, arg, wait)
#define cpumask_of(c) (&(const cpumask_t){ { 1ul << (c) } })

#define DEFINE_PER_CPU(type, name) \
    __attribute__((section("shim_percpu"), used)) __typeof__(type) per_cpu__##name
#define DEFINE_PER_CPU_READ_MOSTLY DEFINE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) per_cpu__##name
void *shim_percpu_ptr(void *var, unsigned int cpu);
#define per_cpu(var, cpu) \
    (*(__typeof__(&per_cpu__##var))shim_percpu_ptr(&per_cpu__##var, cpu))
#define this_cpu(var) per_cpu(var, shim_cpu)
#define get_cpu_var this_cpu
#define put_cpu_var(x) ((void)0)

#define NOTIFY_DONE 0x0000
#define NOTIFY_STOP_MASK 0x8000
#define NOTIFY_BAD (NOTIFY_STOP_MASK | EINVAL)
#define notifier_from_errno(e) (NOTIFY_STOP_MASK | -(e))
#define notifier_to_errno(r) (-((r) & ~NOTIFY_STOP_MASK))
struct notifier_block {
    int (*notifier_call)(struct notifier_block *, unsigned long, void *);
    struct notifier_block *shim_next;
    int priority;
};
#define CPU_UP_PREPARE 0x0001
#define CPU_UP_CANCELED 0x8002
#define CPU_STARTING 0x0003
#define CPU_ONLINE 0x0004
#define CPU_DOWN_PREPARE 0x8005
#define CPU_DOWN_FAILED 0x0006
#define CPU_DYING 0x8007
#define CPU_DEAD 0x8008
#define CPU_REMOVE 0x8009
#define CPU_RESUME_FAILED 0x800a
void register_cpu_notifier(struct notifier_block *nb);

/* interrupts, softirqs, tasklets, preemption */
bool local_irq_is_enabled(void);
void shim_irq_set(bool on);
#define local_irq_disable() shim_irq_set(false)
#define local_irq_enable() shim_irq_set(true)
#define local_irq_save(f) ((f) = local_irq_is_enabled(), shim_irq_set(false))
#define local_irq_restore(f) shim_irq_set(f)
bool in_irq(void);
enum {
    TIMER_SOFTIRQ, RCU_SOFTIRQ, SCHEDULE_SOFTIRQ, TASKLET_SOFTIRQ,
    PVPERF_SOFTIRQ, NR_SOFTIRQS
};
typedef void (*softirq_handler)(void);
void open_softirq(int nr, softirq_handler handler);
void raise_softirq(unsigned int nr);
void cpu_raise_softirq(unsigned int cpu, unsigned int nr);
struct tasklet {
    void (*func)(void *);
    void *data;
    bool pending, killed;
    struct tasklet *next;
};
void tasklet_init(struct tasklet *t, void (*func)(void *), void *data);
void softirq_tasklet_init(struct tasklet *t, void (*func)(void *), void *data);
void tasklet_schedule(struct tasklet *t);
void tasklet_kill(struct tasklet *t);
#define DECLARE_TASKLET(n, f, d) struct tasklet n = { .func = f, .data = d }
#define DECLARE_SOFTIRQ_TASKLET DECLARE_TASKLET
void process_pending_softirqs(void);
bool hypercall_preempt_check(void);
unsigned long hypercall_create_continuation(unsigned int op, const char *fmt, ...);

/* locks */
typedef struct spinlock {
    int held;               /* CPU + 1 */
    signed char irq_safe;   /* 0: not yet known, 1: interrupts off, -1: on */
    const char *name;
} spinlock_t;
#define SPIN_LOCK_UNLOCKED { 0, 0, NULL }
#define DEFINE_SPINLOCK(l) spinlock_t l = { 0, 0, #l }
#define spin_lock_init(l) (*(l) = (spinlock_t){ 0, 0, #l })
void shim_spin_lock(spinlock_t *l);
void shim_spin_unlock(spinlock_t *l);
bool spin_trylock(spinlock_t *l);
#define spin_lock(l) shim_spin_lock(l)
#define spin_unlock(l) shim_spin_unlock(l)
#define spin_lock_irq(l) (local_irq_disable(), shim_spin_lock(l))
#define spin_unlock_irq(l) (shim_spin_unlock(l), local_irq_enable())
#define spin_lock_irqsave(l, f) (local_irq_save(f), shim_spin_lock(l))
#define spin_unlock_irqrestore(l, f) (shim_spin_unlock(l), local_irq_restore(f))
#define spin_is_locked(l) (!!(l)->held)
#define spin_barrier(l) ((void)(l))
typedef spinlock_t rwlock_t;
#define DEFINE_RWLOCK DEFINE_SPINLOCK
#define rwlock_init spin_lock_init
#define read_lock spin_lock
#define read_unlock spin_unlock
#define write_lock spin_lock
#define write_unlock spin_unlock
typedef struct { int dummy; } rcu_read_lock_t;
#define DEFINE_RCU_READ_LOCK(x) rcu_read_lock_t x
#define rcu_read_lock(x) ((void)(x))
#define rcu_read_unlock(x) ((void)(x))
#define rcu_dereference(p) (p)
#define rcu_assign_pointer(p, v) ((p) = (v))
struct rcu_head { struct rcu_head *next; void (*func)(struct rcu_head *); };
#define INIT_RCU_HEAD(h) ((void)((h)->next = NULL))
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *));
void rcu_barrier(void);

/* time */
s_time_t get_s_time(void);
#define NOW() get_s_time()
#define SECONDS(s) ((s_time_t)((s) * 1000000000ll))
#define MILLISECS(s) ((s_time_t)((s) * 1000000ll))
#define MICROSECS(s) ((s_time_t)((s) * 1000ll))
#define STIME_MAX INT64_MAX
struct timer {
    s_time_t expires;
    void (*function)(void *);
    void *data;
    uint16_t cpu;
    uint8_t status;
    struct timer *shim_next;
};
#define TIMER_STATUS_invalid 0
#define TIMER_STATUS_inactive 1
#define TIMER_STATUS_killed 2
#define TIMER_STATUS_in_heap 3
void init_timer(struct timer *t, void (*fn)(void *), void *data, unsigned int cpu);
void set_timer(struct timer *t, s_time_t expires);
void stop_timer(struct timer *t);
void kill_timer(struct timer *t);
void migrate_timer(struct timer *t, unsigned int cpu);
#define timer_is_active(t) ((t)->status == TIMER_STATUS_in_heap)
bool timer_expires_before(struct timer *t, s_time_t when);

/* memory */
#define PAGE_SHIFT 12
#define PAGE_SIZE (1l << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define PFN_UP(x) (((x) + PAGE_SIZE - 1) >> PAGE_SHIFT)
#define PFN_DOWN(x) ((x) >> PAGE_SHIFT)
typedef struct { unsigned long mfn; } mfn_t;
#define _mfn(n) ((mfn_t){ n })
#define mfn_x(m) ((m).mfn)
#define INVALID_MFN _mfn(~0ul)
#define mfn_to_maddr(m) ((paddr_t)mfn_x(m) << PAGE_SHIFT)
#define pfn_to_paddr(p) ((paddr_t)(p) << PAGE_SHIFT)
struct domain;
struct page_info {
    unsigned long count_info;
    union { struct { unsigned long type_info; } inuse; } u;
    struct domain *owner;
    struct list_head list;
};
#define _PGC_allocated 63
#define PGC_allocated (1ul << 63)
#define _PGC_xen_heap 62
#define PGC_xen_heap (1ul << 62)
#define PGC_count_mask ((1ul << 40) - 1)
#define PGT_count_mask ((1ul << 40) - 1)
#define PGT_none 0ul
#define PGT_writable_page (7ul << 60)
#define PGT_type_mask (7ul << 60)
#define PGT_validated (1ul << 59)
#define PGT_pinned (1ul << 58)
#define MEMF_bits(n) 0
#define MEMF_node(n) 0
void *alloc_xenheap_pages(unsigned int order, unsigned int memflags);
void free_xenheap_pages(void *p, unsigned int order);
#define alloc_xenheap_page() alloc_xenheap_pages(0, 0)
#define free_xenheap_page(p) free_xenheap_pages(p, 0)
unsigned long shim_virt_to_mfn(const void *p);
void *shim_mfn_to_virt(unsigned long mfn);
struct page_info *shim_mfn_to_page(unsigned long mfn);
unsigned long shim_page_to_mfn(const struct page_info *pg);
#define virt_to_mfn(p) shim_virt_to_mfn(p)
#define __virt_to_mfn(p) shim_virt_to_mfn(p)
#define mfn_to_virt(n) shim_mfn_to_virt(n)
#define virt_to_page(p) shim_mfn_to_page(shim_virt_to_mfn(p))
#define mfn_to_page(m) shim_mfn_to_page(mfn_x(m))
#define page_to_mfn(pg) _mfn(shim_page_to_mfn(pg))
#define page_to_virt(pg) shim_mfn_to_virt(shim_page_to_mfn(pg))
#define virt_to_maddr(p) ((paddr_t)virt_to_mfn(p) << PAGE_SHIFT)
#define page_get_owner(pg) ((pg)->owner)
#define page_set_owner(pg, d) ((void)((pg)->owner = (d)))
#define is_xen_heap_page(pg) (!!((pg)->count_info & PGC_xen_heap))
#define clear_page(p) memset(p, 0, PAGE_SIZE)
enum XENSHARE_flags { SHARE_rw, SHARE_ro };
void share_xen_page_with_guest(struct page_info *pg, struct domain *d, enum XENSHARE_flags f);
#define share_xen_page_with_privileged_guests(pg, f) share_xen_page_with_guest(pg, dom_xen, f)
int get_page(struct page_info *pg, const struct domain *d);
void put_page(struct page_info *pg);
void put_page_alloc_ref(struct page_info *pg);
extern struct domain *dom_xen;

void *_xmalloc(unsigned long size, unsigned long align);
void *_xzalloc(unsigned long size, unsigned long align);
void xfree(void *p);
#define xmalloc(t) ((t *)_xmalloc(sizeof(t), __alignof__(t)))
#define xzalloc(t) ((t *)_xzalloc(sizeof(t), __alignof__(t)))
#define xmalloc_array(t, n) ((t *)_xmalloc(sizeof(t) * (unsigned long)(n), __alignof__(t)))
#define xzalloc_array(t, n) ((t *)_xzalloc(sizeof(t) * (unsigned long)(n), __alignof__(t)))
#define xmalloc_bytes(n) _xmalloc(n, SMP_CACHE_BYTES)
#define xzalloc_bytes(n) _xzalloc(n, SMP_CACHE_BYTES)
#define xzalloc_flex_struct(t, f, n) ((t *)_xzalloc(offsetof(t, f[n]), __alignof__(t)))
#define XFREE(p) do { void *x_ = (p); (p) = NULL; xfree(x_); } while (0)

/* guest handles */
#define __DEFINE_XEN_GUEST_HANDLE(name, type) \
    typedef struct { type *p; } __guest_handle_##name
#define DEFINE_XEN_GUEST_HANDLE(name) __DEFINE_XEN_GUEST_HANDLE(name, name)
#define XEN_GUEST_HANDLE(name) __guest_handle_##name
#define XEN_GUEST_HANDLE_PARAM(name) __guest_handle_##name
DEFINE_XEN_GUEST_HANDLE(void);
DEFINE_XEN_GUEST_HANDLE(char);
__DEFINE_XEN_GUEST_HANDLE(uint8, uint8_t);
#define guest_handle_is_null(h) ((h).p == NULL)
#define guest_handle_okay(h, n) ((void)(h), (void)(n), true)
#define guest_handle_cast(h, type) ((XEN_GUEST_HANDLE_PARAM(type)){ (void *)(h).p })
unsigned long raw_copy_to_guest(void *to, const void *from, unsigned long len);
unsigned long raw_copy_from_guest(void *to, const void *from, unsigned long len);
#define copy_to_guest(h, ptr, nr) \
    raw_copy_to_guest((h).p, ptr, sizeof(*(ptr)) * (nr))
#define copy_from_guest(ptr, h, nr) \
    raw_copy_from_guest(ptr, (h).p, sizeof(*(ptr)) * (nr))
#define __copy_to_guest copy_to_guest
#define __copy_from_guest copy_from_guest
#define copy_field_to_guest(h, ptr, f) \
    raw_copy_to_guest(&(h).p->f, &(ptr)->f, sizeof((ptr)->f))
#define __copy_field_to_guest copy_field_to_guest
unsigned int copy_from_guest_pv(void *to, const void *from, unsigned int len);
#define __copy_from_guest_pv copy_from_guest_pv
#define access_ok(p, n) ((void)(p), (void)(n), true)

/* domains */
struct cpu_user_regs {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    uint64_t rax, rcx, rdx, rsi, rdi;
    uint32_t error_code, entry_vector;
    uint64_t rip;
    uint16_t cs, _pad0[3];
    uint64_t rflags, rsp;
    uint16_t ss, _pad1[3];
    bool shim_guest;        /* they are the guest's */
};
#define eip rip
#define esp rsp
#define guest_mode(regs) ((regs)->shim_guest)
#define DOMID_FIRST_RESERVED 0x7ff0
#define DOMID_SELF 0x7ff0
#define DOMID_XEN 0x7ff2
#define DOMID_IDLE 0x7fff
#define DOMID_INVALID 0x7ff4
#define VIRQ_SHIM_NR 24
enum { DOMDYING_alive, DOMDYING_dying, DOMDYING_dead };
struct vcpu;
struct pvp_domain;
struct domain {
    domid_t domain_id;
    unsigned int max_vcpus;
    struct vcpu **vcpu;
    int is_dying;
    bool is_privileged, is_hvm, is_32bit;
    xen_domain_handle_t handle;
    atomic_t refcnt;
    struct domain *next_in_list;
    unsigned int xenheap_pages;
    struct pvp_domain *pvperf;
};
struct vcpu {
    unsigned int vcpu_id;
    int processor;
    struct domain *domain;
    struct vcpu *next_in_list;
    bool shim_kernel;       /* in the guest's kernel mode */
    uint64_t shim_pt_base;
    struct cpu_user_regs shim_regs;
};
extern struct vcpu *idle_vcpu[NR_CPUS];
extern struct domain *domain_list, *hardware_domain;
struct vcpu *shim_current(void);
#define current shim_current()
#define is_idle_vcpu(v) ((v)->domain->domain_id == DOMID_IDLE)
#define is_idle_domain(d) ((d)->domain_id == DOMID_IDLE)
#define is_hvm_domain(d) ((d)->is_hvm)
#define is_pv_domain(d) (!(d)->is_hvm)
#define is_hvm_vcpu(v) is_hvm_domain((v)->domain)
#define is_pv_vcpu(v) is_pv_domain((v)->domain)
#define is_pv_32bit_domain(d) ((d)->is_32bit)
#define is_pv_32bit_vcpu(v) is_pv_32bit_domain((v)->domain)
#define is_control_domain(d) ((d)->is_privileged)
#define is_hardware_domain(d) ((d) == hardware_domain)
#define for_each_domain(d) for ((d) = domain_list; (d); (d) = (d)->next_in_list)
#define for_each_vcpu(d, v) \
    for ((v) = (d)->vcpu ? (d)->vcpu[0] : NULL; (v); (v) = (v)->next_in_list)
struct vcpu *domain_vcpu(const struct domain *d, unsigned int id);
struct domain *rcu_lock_domain_by_id(domid_t id);
struct domain *rcu_lock_domain_by_any_id(domid_t id);
int rcu_lock_live_remote_domain_by_id(domid_t id, struct domain **d);
void rcu_unlock_domain(struct domain *d);
struct domain *get_domain_by_id(domid_t id);
bool get_domain(struct domain *d);
void get_knownalive_domain(struct domain *d);
void put_domain(struct domain *d);
void domain_lock(struct domain *d);
void domain_unlock(struct domain *d);
void vcpu_pause(struct vcpu *v);
void vcpu_unpause(struct vcpu *v);
void domain_pause(struct domain *d);
void domain_unpause(struct domain *d);
void send_global_virq(uint32_t virq);
struct cpu_user_regs *guest_cpu_user_regs(void);
struct cpu_user_regs *get_irq_regs(void);

/* XSM */
typedef enum { XSM_HOOK, XSM_TARGET, XSM_PRIV } xsm_default_t;
int xsm_pvperf_op(xsm_default_t action, struct domain *d, unsigned int op);
int xsm_pvperf_control(xsm_default_t action, bool audit);

long do_pvperf_op(unsigned int cmd, XEN_GUEST_HANDLE_PARAM(void) arg);

extern char shim_text[];
#define _stext shim_text
#define _etext (shim_text + 0x100000)
#define _sinittext (shim_text + 0x100000)
#define _einittext (shim_text + 0x110000)
enum { SYS_STATE_early_boot, SYS_STATE_boot, SYS_STATE_smp_boot, SYS_STATE_active };
extern int system_state;

#endif /* PVPERF_SHIM_H */
