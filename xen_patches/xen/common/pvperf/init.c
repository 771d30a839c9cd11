/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * init.c: boot parameter, CPU hotplug, and the VIRQ.
 */
#include <xen/cpu.h>
#include <xen/event.h>
#include <xen/init.h>
#include <xen/param.h>
#include <xen/smp.h>
#include <xen/softirq.h>

#include "private.h"

bool __read_mostly opt_pvperf;
bool __read_mostly opt_pvperf_nmi;
unsigned int __read_mostly opt_pvperf_max_rate = 10000;
unsigned int __read_mostly opt_pvperf_ring_pages = 64 << (20 - PAGE_SHIFT);
cpumask_t pvp_cpus;

#define MAX_RATE_LIMIT 1000000
#define RING_MB_LIMIT  4096

/* name=<number> between s and e: 0, -ENOENT another name, -EINVAL. */
static int __init parse_number(const char *name, const char *s, const char *e,
                               unsigned int max, unsigned int *value)
{
    size_t len = strlen(name);
    unsigned long n;
    const char *end;

    if ( e - s <= len || strncmp(s, name, len) || s[len] != '=' )
        return -ENOENT;

    n = simple_strtoul(s + len + 1, &end, 0);
    if ( end != e || !n || n > max )
        return -EINVAL;
    *value = n;

    return 0;
}

static int __init parse_item(const char *s, const char *e)
{
    unsigned int mb;
    int rc = parse_bool(s, e);

    if ( rc >= 0 )
    {
        opt_pvperf = rc;
        return 0;
    }

    rc = parse_boolean("nmi", s, e);
    if ( rc >= 0 )
    {
        opt_pvperf_nmi = rc;
        return 0;
    }

    rc = parse_number("max-rate", s, e, MAX_RATE_LIMIT, &opt_pvperf_max_rate);
    if ( rc != -ENOENT )
        return rc;

    rc = parse_number("ring-mb", s, e, RING_MB_LIMIT, &mb);
    if ( !rc )
        opt_pvperf_ring_pages = mb << (20 - PAGE_SHIFT);

    return rc == -ENOENT ? -EINVAL : rc;
}

static int __init cf_check parse_pvperf(const char *s)
{
    const char *e;
    int rc = 0, one;

    do {
        e = strchr(s, ',');
        if ( !e )
            e = strchr(s, '\0');

        one = parse_item(s, e);
        if ( one )
            rc = one;

        s = e + 1;
    } while ( *e );

    return rc;
}
custom_param("pvperf", parse_pvperf);

void pvp_notify(void)
{
    raise_softirq(PVPERF_SOFTIRQ);
}

static void cf_check notify_consumer(void)
{
    send_global_virq(VIRQ_PVPERF);
}

static void cf_check do_nothing(void *unused)
{
}

/*
 * Producers run with interrupts off: when every CPU has taken an interrupt,
 * those that were inside are out.
 */
void pvp_sync(void)
{
    on_each_cpu(do_nothing, NULL, 1);
}

static int cf_check cpu_callback(struct notifier_block *nfb,
                                 unsigned long action, void *hcpu)
{
    unsigned int cpu = (unsigned long)hcpu;

    switch ( action )
    {
    case CPU_ONLINE:
    case CPU_DOWN_FAILED:
        spin_lock(&pvperf_lock);
        cpumask_set_cpu(cpu, &pvp_cpus);
        pvp_cpu_online(cpu);
        spin_unlock(&pvperf_lock);
        break;

    case CPU_DOWN_PREPARE:
        /* Before its timers would move to another CPU. */
        spin_lock(&pvperf_lock);
        cpumask_clear_cpu(cpu, &pvp_cpus);
        pvp_cpu_offline(cpu);
        pvp_sync();
        spin_unlock(&pvperf_lock);
        break;
    }

    return NOTIFY_DONE;
}

static struct notifier_block cpu_nfb = {
    .notifier_call = cpu_callback
};

static int __init cf_check pvperf_init(void)
{
    if ( !opt_pvperf )
        return 0;

    cpumask_copy(&pvp_cpus, &cpu_online_map);
    open_softirq(PVPERF_SOFTIRQ, notify_consumer);
    register_cpu_notifier(&cpu_nfb);
    printk(XENLOG_INFO
           "pvperf: ABI %u.%u, %u counters, max rate %u Hz, rings %u MiB\n",
           PVPERF_ABI_MAJOR, PVPERF_ABI_MINOR,
           pvp_pmu.nr_counters + pvp_pmu.nr_fixed, opt_pvperf_max_rate,
           opt_pvperf_ring_pages >> (20 - PAGE_SHIFT));

    return 0;
}
__initcall(pvperf_init);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
