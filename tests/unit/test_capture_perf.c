/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures as unmodified perf sees them: domains, objects, functions, call
 * chains, vCPUs, losses.  Skipped (77) where there is no perf.
 */
#include <errno.h>

#include "capture_help.h"

static struct pvperf_err err;

static const char *const xen_names[] = {"do_xen_one", "do_xen_two", NULL};
static const char *const kernel_names[] = {"kernel_one", "kernel_two", NULL};
static const char *const program_names[] = {"seventy", "thirty", NULL};
static const char *const other_names[] = {"other_one", "other_two", NULL};

static uint64_t address(const struct pvperf_object *o, const char *name)
{
    uint64_t a = 0;

    ck_assert_msg(pvperf_object_find(o, name, &a) == 0, "%s", name);
    return a;
}

struct world {
    struct pvperf_object *xen, *kernel, *program, *other;
};

static void make_world(struct world *w)
{
    help_object(help_path("xen-syms"), "0xffff82d040200000", "-static", xen_names);
    help_object(help_path("vmlinux"), "0xffffffff81000000", "-static", kernel_names);
    help_object(help_path("program"), "0x401000", "-static", program_names);
    help_object(help_path("other"), "0x401000", "-static", other_names);
    w->xen = help_load(help_path("xen-syms"), PVPERF_OBJECT_XEN);
    w->kernel = help_load(help_path("vmlinux"), PVPERF_OBJECT_KERNEL);
    w->program = help_load(help_path("program"), PVPERF_OBJECT_PROGRAM);
    w->other = help_load(help_path("other"), PVPERF_OBJECT_PROGRAM);
}

static void put_world(struct world *w)
{
    pvperf_object_put(w->xen);
    pvperf_object_put(w->kernel);
    pvperf_object_put(w->program);
    pvperf_object_put(w->other);
}

static void write_capture(const char *path, const struct world *o)
{
    struct pvperf_capture_info info = help_info(1);
    struct pvperf_capture_domain web = {.domid = 3, .nr_vcpus = 2, .name = "web-server"};
    struct pvperf_lost lost = {.count = 42, .time_last = 2100000100ull, .domid = 3};
    struct pvperf_capture_writer *w;
    unsigned int i;

    ck_assert_int_eq(pvperf_capture_create(path, &info, &w, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_domain(w, &web, &err), 0);
    ck_assert_msg(pvperf_capture_add_file(w, 0, 0, 0, o->xen, &err) == 0, "%s", err.text);
    ck_assert_int_eq(pvperf_capture_add_file(w, 3, 0, 0, o->kernel, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_file(w, 3, 0, 0, o->program, &err), 0);
    /* Another program at the same place, told by its page tables. */
    ck_assert_int_eq(pvperf_capture_add_file(w, 3, 0, 0x7000, o->other, &err), 0);
    for (i = 0; i < 100; i++) {
        struct pvperf_sample s =
            help_sample(2000000000ull + i, 3, PVPERF_MODE_USER,
                        address(o->program, i < 70 ? "seventy" : "thirty") + 3);

        s.vcpu = i % 2;
        ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
    }
    for (i = 0; i < 10; i++) {
        struct pvperf_sample s =
            help_sample(2100000003ull + i * 10, 3, PVPERF_MODE_HYPERVISOR,
                        address(o->xen, "do_xen_two") + 9);

        s.nr_xen = s.nr_kernel = s.nr_user = 1;
        s.chain[0] = address(o->xen, "do_xen_one") + 4;
        s.chain[1] = address(o->kernel, "kernel_two") + 4;
        s.chain[2] = address(o->program, "seventy") + 4;
        ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
        /* Another ring: older than what was just written. */
        s = help_sample(2100000001ull + i * 10, PVPERF_DOMID_IDLE, PVPERF_MODE_IDLE,
                        address(o->xen, "do_xen_one") + 1);
        ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
        s = help_sample(2100000002ull + i * 10, 3, PVPERF_MODE_USER,
                        address(o->other, "other_two") + 1);
        s.pt_base = 0x7000;
        ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
        ck_assert_int_eq(pvperf_capture_end_round(w, &err), 0);
    }
    ck_assert_int_eq(pvperf_capture_write_lost(w, &lost, &err), 0);
    ck_assert_msg(pvperf_capture_finish(w, &err) == 0, "%s", err.text);
}

static char *perf(const char *arguments)
{
    char command[512], *out, *p, *squeezed;

    /* An empty HOME: no configuration and no cache of build-ids. */
    snprintf(command, sizeof(command), "cd %s && HOME=%s perf %s 2>&1", help_dir,
             help_dir, arguments);
    /* Runs of spaces depend on the widths of columns. */
    squeezed = out = help_run(command);
    for (p = out; *p; p++)
        if (*p != ' ' || p == out || p[-1] != ' ')
            *squeezed++ = *p;
    *squeezed = '\0';
    return out;
}

static void expect(const char *output, const char *text)
{
    ck_assert_msg(strstr(output, text), "'%s' is not in\n%s", text, output);
}

static struct world world;

static void setup(void)
{
    make_world(&world);
    write_capture(help_path("t.data"), &world);
}

static void teardown(void)
{
    put_world(&world);
}

START_TEST(report)
{
    char *out =
        perf("report --stdio -i t.data --no-children -g none --sort comm,dso,sym");

    if (getenv("SHOW"))
        fputs(out, stdout);
    expect(out, "53.85% web-server program [.] seventy");
    expect(out, "23.08% web-server program [.] thirty");
    expect(out, "7.69% web-server other [.] other_two");
    expect(out, "7.69% web-server xen-syms [.] do_xen_two");
    expect(out, "7.69% xen xen-syms [.] do_xen_one");
    expect(out, "of event 'timer'");
    expect(out, "Total Lost Samples: 0");
    ck_assert_ptr_null(strstr(out, "unknown"));
    free(out);
}
END_TEST

START_TEST(script)
{
    char *out = perf("script -i t.data");
    char *at;

    if (getenv("SHOW"))
        fputs(out, stdout);
    /* The chain: Xen, guest kernel, guest user, in one list. */
    at = strstr(out, "do_xen_two+0x9");
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(at = strstr(at, "do_xen_one+0x4"));
    ck_assert_ptr_nonnull(at = strstr(at, "kernel_two+0x4"));
    ck_assert_ptr_nonnull(strstr(at, "seventy+0x4"));
    expect(out, "web-server ");
    expect(out, "timer:");
    free(out);
}
END_TEST

/* Samples of a round come sorted, with nothing said of disorder. */
START_TEST(order)
{
    char *out = perf("script -i t.data -F time"), *p;
    double last = 0;
    unsigned int n = 0;

    ck_assert_msg(!strstr(out, "out of order"), "%s", out);

    for (p = strtok(out, "\n"); p; p = strtok(NULL, "\n")) {
        double t = strtod(p, NULL);

        if (t > 0) {
            ck_assert_msg(t >= last, "%s", p);
            last = t;
            n++;
        }
    }
    ck_assert_uint_ge(n, 130);
    free(out);
}
END_TEST

START_TEST(header)
{
    char *out = perf("report --stdio -i t.data --header-only");

    if (getenv("SHOW"))
        fputs(out, stdout);
    expect(out, "hostname : testhost");
    expect(out, "cmdline : pvperf record -a");
    expect(out, "name = timer");
    free(out);
}
END_TEST

START_TEST(lost)
{
    char *out = perf("report --stdio -i t.data --stats");

    if (getenv("SHOW"))
        fputs(out, stdout);
    expect(out, "LOST events:");
    expect(out, "SAMPLE events: 130");
    free(out);
}
END_TEST

START_TEST(vcpus)
{
    char *out = perf("report --stdio -i t.data --no-children -g none --sort pid");

    if (getenv("SHOW"))
        fputs(out, stdout);
    expect(out, "web-server");
    expect(out, "100003:");
    expect(out, "1024577:"); /* 1000000 + 3 * 8192 + 1 */
    free(out);
}
END_TEST

/* Symbols of what perf cannot read, exported for it. */
START_TEST(exported)
{
    static const char map[] = "ffffffff81000000 T startup_64\n"
                              "ffffffff81000100 T do_idle\n"
                              "ffffffff81000200 t schedule_idle\n"
                              "ffffffff83000000 t init_thing\n"
                              "ffffffff83000100 T late_init\n";
    struct pvperf_capture_info info = help_info(1);
    struct pvperf_capture_writer *w;
    struct pvperf_object *text, *elf;
    struct pvperf_sample s;
    char *out;

    help_write(help_path("System.map"), map, sizeof(map) - 1);
    text = help_load(help_path("System.map"), PVPERF_OBJECT_KERNEL);
    ck_assert_int_eq(pvperf_object_export_elf(text, help_path("kernel.elf"), &elf, &err),
                     0);
    ck_assert_uint_eq(pvperf_object_get_info(elf)->nr_symbols, 5);
    ck_assert_int_eq(pvperf_capture_create(help_path("e.data"), &info, &w, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_file(w, 1, 0, 0, elf, &err), 0);
    s = help_sample(5, 1, PVPERF_MODE_KERNEL, 0xffffffff81000144ull);
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
    s = help_sample(6, 1, PVPERF_MODE_KERNEL, 0xffffffff83000080ull);
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
    out = perf("report --stdio -i e.data --no-children -g none --sort comm,dso,sym");
    if (getenv("SHOW"))
        fputs(out, stdout);
    expect(out, "50.00% dom1 kernel.elf [.] do_idle");
    expect(out, "50.00% dom1 kernel.elf [.] init_thing");
    free(out);
    pvperf_object_put(elf);
    pvperf_object_put(text);
}
END_TEST

/* What a killed writer leaves. */
START_TEST(unfinished)
{
    struct pvperf_capture_info info = help_info(1);
    struct pvperf_capture_writer *w;
    struct pvperf_sample s =
        help_sample(5, 1, PVPERF_MODE_USER, address(world.program, "thirty"));
    char *out;

    ck_assert_int_eq(pvperf_capture_create(help_path("k.data"), &info, &w, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_file(w, 1, 0, 0, world.program, &err), 0);
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
    ck_assert_int_eq(pvperf_capture_end_round(w, &err), 0);
    out = perf("report --stdio -i k.data --no-children -g none --sort comm,dso,sym");
    if (getenv("SHOW"))
        fputs(out, stdout);
    expect(out, "100.00% dom1 program [.] thirty");
    free(out);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_perf");
    TCase *tc = tcase_create("perf");
    SRunner *runner;
    int failed;

    if (system("perf --version >/dev/null 2>&1")) {
        printf("skipped: there is no perf; install linux-perf\n");
        return 77;
    }
    help_make_dir();
    atexit(help_remove);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, report);
    tcase_add_test(tc, script);
    tcase_add_test(tc, order);
    tcase_add_test(tc, header);
    tcase_add_test(tc, lost);
    tcase_add_test(tc, vcpus);
    tcase_add_test(tc, exported);
    tcase_add_test(tc, unfinished);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
