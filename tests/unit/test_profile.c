/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles: sums, shares, order, limits, stacks and the text report. */
#include <errno.h>
#include <math.h>

#include "capture_help.h"
#include <pvperf/profile.h>

static struct pvperf_symbols *symbols;

static const char xen_map[] = "ffff82d040200000 T schedule\n"
                              "ffff82d040200100 T do_softirq\n"
                              "ffff82d040200200 T idle_loop\n";
static const char kernel_map[] = "ffffffff81000000 T startup_64\n"
                                 "ffffffff81000100 T do_syscall_64\n"
                                 "ffffffff81000200 T vfs_read\n";

static const char *const program_names[] = {"seventy", "thirty", NULL};
static uint64_t seventy, thirty;

static void add_text(const char *text, enum pvperf_object_kind kind, const char *name)
{
    struct pvperf_object *o;

    ck_assert_int_eq(pvperf_object_load_buffer(text, strlen(text), name, kind, &o, NULL),
                     0);
    ck_assert_int_eq(pvperf_symbols_add(symbols, 1, 0, 0, o), 0);
    pvperf_object_put(o);
}

static void setup(void)
{
    struct pvperf_object *o;

    ck_assert_int_eq(pvperf_symbols_new(&symbols), 0);
    add_text(xen_map, PVPERF_OBJECT_XEN, "xen-syms");
    add_text(kernel_map, PVPERF_OBJECT_KERNEL, "vmlinux");
    help_object(help_path("program"), "0x401000", "-static", program_names);
    o = help_load(help_path("program"), PVPERF_OBJECT_PROGRAM);
    ck_assert_int_eq(pvperf_object_find(o, "seventy", &seventy), 0);
    ck_assert_int_eq(pvperf_object_find(o, "thirty", &thirty), 0);
    ck_assert_int_eq(pvperf_symbols_add(symbols, 1, 0, 0, o), 0);
    pvperf_object_put(o);
}

static void teardown(void)
{
    pvperf_symbols_free(symbols);
}

static struct pvperf_profile *new_profile(bool stacks, size_t max)
{
    struct pvperf_profile_options options = {
        .event = -1,
        .stacks = stacks,
        .max_entries = max,
    };
    struct pvperf_profile *p;

    ck_assert_int_eq(pvperf_profile_new(symbols, &options, &p), 0);
    return p;
}

static void add(struct pvperf_profile *p, unsigned int n, uint16_t domid,
                unsigned int mode, uint64_t ip)
{
    struct pvperf_sample s = help_sample(1000, domid, mode, ip);

    while (n--) {
        s.time += 1000;
        ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    }
}

/* 70 + 30 in the program, 50 in its kernel, 30 in Xen, 20 idle. */
static void fill(struct pvperf_profile *p)
{
    ck_assert_int_eq(pvperf_profile_name_domain(p, 1, "web"), 0);
    add(p, 30, 1, PVPERF_MODE_USER, thirty + 1);
    add(p, 70, 1, PVPERF_MODE_USER, seventy + 1);
    add(p, 50, 1, PVPERF_MODE_KERNEL, 0xffffffff81000210);
    add(p, 20, PVPERF_DOMID_IDLE, PVPERF_MODE_IDLE, 0xffff82d040200210);
    add(p, 30, 1, PVPERF_MODE_HYPERVISOR, 0xffff82d040200010);
}

START_TEST(functions)
{
    struct pvperf_profile *p = new_profile(false, 0);
    struct pvperf_profile_totals totals;
    struct pvperf_profile_row *rows;
    size_t nr;

    fill(p);
    pvperf_profile_get_totals(p, &totals);
    ck_assert_uint_eq(totals.samples, 200);
    ck_assert_uint_eq(totals.weight, 200000000);
    ck_assert_uint_eq(totals.first_time, 2000);
    ck_assert_uint_eq(totals.last_time, 71000);
    ck_assert_int_eq(
        pvperf_profile_query(p, PVPERF_BY_FUNCTION, PVPERF_SORT_WEIGHT, NULL, &rows, &nr),
        0);
    ck_assert_uint_eq(nr, 5);
    ck_assert_str_eq(rows[0].symbol, "seventy");
    ck_assert_str_eq(rows[0].object, "program");
    ck_assert_str_eq(rows[0].domain, "web");
    ck_assert_uint_eq(rows[0].samples, 70);
    ck_assert(fabs(rows[0].share - 0.35) < 1e-9);
    ck_assert(fabs(rows[0].error - sqrt(0.35 * 0.65 / 200)) < 1e-9);
    ck_assert_str_eq(rows[1].symbol, "vfs_read");
    /* Of equal weight: by domain, mode and name. */
    ck_assert_str_eq(rows[2].symbol, "thirty");
    ck_assert_str_eq(rows[3].symbol, "schedule");
    ck_assert_uint_eq(rows[3].mode, PVPERF_MODE_HYPERVISOR);
    ck_assert_str_eq(rows[4].symbol, "idle_loop");
    ck_assert_str_eq(rows[4].domain, "xen");
    free(rows);
    pvperf_profile_free(p);
}
END_TEST

START_TEST(coarser)
{
    struct pvperf_profile *p = new_profile(false, 0);
    struct pvperf_profile_filter filter = {.modes = 1 << PVPERF_MODE_USER};
    static const uint16_t domains[] = {PVPERF_DOMID_IDLE};
    struct pvperf_profile_row *rows;
    size_t nr;

    fill(p);
    ck_assert_int_eq(
        pvperf_profile_query(p, PVPERF_BY_DOMAIN, PVPERF_SORT_WEIGHT, NULL, &rows, &nr),
        0);
    ck_assert_uint_eq(nr, 2);
    ck_assert(fabs(rows[0].share - 0.9) < 1e-9);
    ck_assert_ptr_null(rows[0].object);
    free(rows);
    ck_assert_int_eq(
        pvperf_profile_query(p, PVPERF_BY_MODE, PVPERF_SORT_NAME, NULL, &rows, &nr), 0);
    ck_assert_uint_eq(nr, 4);
    ck_assert_uint_eq(rows[0].mode, PVPERF_MODE_USER);
    ck_assert_uint_eq(rows[0].samples, 100);
    free(rows);
    ck_assert_int_eq(pvperf_profile_query(p, PVPERF_BY_FUNCTION, PVPERF_SORT_NAME,
                                          &filter, &rows, &nr),
                     0);
    ck_assert_uint_eq(nr, 2);
    ck_assert(fabs(rows[0].share - 0.7) < 1e-9);
    free(rows);
    filter.domains = domains;
    filter.nr_domains = 1;
    ck_assert_int_eq(pvperf_profile_query(p, PVPERF_BY_FUNCTION, PVPERF_SORT_NAME,
                                          &filter, &rows, &nr),
                     0);
    ck_assert_uint_eq(nr, 0);
    free(rows);
    pvperf_profile_free(p);
}
END_TEST

START_TEST(weights)
{
    struct pvperf_profile *p = new_profile(false, 0);
    struct pvperf_sample s = help_sample(1, 1, PVPERF_MODE_USER, seventy);
    struct pvperf_profile_row *rows;
    size_t nr;

    s.period = 9000;
    ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    s.ip = thirty;
    s.period = 1000;
    ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    ck_assert_int_eq(
        pvperf_profile_query(p, PVPERF_BY_FUNCTION, PVPERF_SORT_WEIGHT, NULL, &rows, &nr),
        0);
    ck_assert(fabs(rows[0].share - 0.9) < 1e-9);
    free(rows);
    pvperf_profile_free(p);
}
END_TEST

START_TEST(events)
{
    struct pvperf_profile_options options = {.event = 1};
    struct pvperf_lost lost = {.count = 5, .event = 1};
    struct pvperf_profile_totals totals;
    struct pvperf_profile *p;
    struct pvperf_sample s = help_sample(1, 1, PVPERF_MODE_USER, seventy);

    ck_assert_int_eq(pvperf_profile_new(symbols, &options, &p), 0);
    ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    s.event = 1;
    ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    pvperf_profile_add_lost(p, &lost);
    lost.event = 0;
    pvperf_profile_add_lost(p, &lost);
    pvperf_profile_get_totals(p, &totals);
    ck_assert_uint_eq(totals.samples, 1);
    ck_assert_uint_eq(totals.lost, 5);
    s.mode = PVPERF_MODES;
    ck_assert_int_eq(pvperf_profile_add(p, &s), -EINVAL);
    s.mode = 0;
    s.nr_user = PVPERF_MAX_STACK + 1;
    ck_assert_int_eq(pvperf_profile_add(p, &s), -EINVAL);
    pvperf_profile_free(p);
}
END_TEST

/* Memory is bounded: what has no room is one "[other]" a domain and mode. */
START_TEST(bounded)
{
    struct pvperf_profile *p = new_profile(true, 2);
    struct pvperf_profile_totals totals;
    struct pvperf_profile_row *rows;
    uint64_t sum = 0;
    size_t nr, i;
    bool other = false;

    fill(p);
    pvperf_profile_get_totals(p, &totals);
    ck_assert_uint_eq(totals.samples, 200);
    ck_assert_uint_gt(totals.overflowed, 0);
    ck_assert_int_eq(
        pvperf_profile_query(p, PVPERF_BY_FUNCTION, PVPERF_SORT_NAME, NULL, &rows, &nr),
        0);
    for (i = 0; i < nr; i++) {
        sum += rows[i].samples;
        other |= !strcmp(rows[i].symbol, "[other]");
    }
    ck_assert_uint_eq(sum, 200);
    ck_assert(other);
    free(rows);
    pvperf_profile_free(p);
}
END_TEST

struct walk {
    char text[4096];
    uint64_t samples;
};

static int note_stack(void *arg, const char *domain, uint16_t domid, unsigned int mode,
                      const struct pvperf_profile_frame *frames, size_t nr,
                      uint64_t samples, uint64_t weight)
{
    struct walk *w = arg;
    size_t i, len = strlen(w->text);

    ck_assert_uint_eq(weight, samples * 1000000);
    ck_assert_uint_le(domid, PVPERF_DOMID_IDLE);
    len += (size_t)snprintf(w->text + len, sizeof(w->text) - len, "%s;%s", domain,
                            pvperf_mode_name(mode));
    for (i = 0; i < nr; i++)
        len += (size_t)snprintf(w->text + len, sizeof(w->text) - len, ";%c:%s",
                                pvperf_mode_name(frames[i].mode)[0], frames[i].symbol);
    snprintf(w->text + len, sizeof(w->text) - len, " %u\n", (unsigned int)samples);
    w->samples += samples;
    return 0;
}

START_TEST(stacks)
{
    struct pvperf_profile *p = new_profile(true, 0);
    struct pvperf_sample s =
        help_sample(1, 1, PVPERF_MODE_HYPERVISOR, 0xffff82d040200010);
    struct walk w = {.text = ""};

    fill(p);
    s.nr_xen = s.nr_kernel = 1;
    s.nr_user = 2;
    s.chain[0] = 0xffff82d040200200; /* returns behind do_softirq's end */
    s.chain[1] = 0xffffffff81000200; /* where the guest itself was: exact */
    s.chain[2] = seventy + 32;       /* behind its end, as for a last call */
    s.chain[3] = thirty + 5;
    ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    ck_assert_int_eq(pvperf_profile_add(p, &s), 0);
    ck_assert_int_eq(pvperf_profile_stacks(p, NULL, note_stack, &w), 0);
    ck_assert_str_eq(w.text, "web;user;u:seventy 70\n"
                             "web;user;u:thirty 30\n"
                             "web;kernel;k:vfs_read 50\n"
                             "web;hypervisor;u:thirty;u:seventy;k:vfs_read;h:do_softirq;"
                             "h:schedule 2\n"
                             "web;hypervisor;h:schedule 30\n"
                             "xen;idle;i:idle_loop 20\n");
    pvperf_profile_free(p);
}
END_TEST

static char *report_text(struct pvperf_profile *p, struct pvperf_report_options *options)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    ck_assert_int_eq(pvperf_profile_report(p, f, options), 0);
    fclose(f);
    return text;
}

static void expect(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part), "'%s' is not in\n%s", part, text);
}

START_TEST(report)
{
    struct pvperf_profile *p = new_profile(false, 0);
    struct pvperf_capture_info info = help_info(1);
    struct pvperf_capture_summary summary = {
        .finished = true,
        .has_counts = true,
        .end_time = 3000000000ull,
        .counts[0] = {300, 200, 50, 50},
    };
    struct pvperf_report_options options = {
        .capture = "x.data",
        .info = &info,
        .summary = &summary,
        .top = 2,
    };
    char *text;

    info.start_time = 1;
    fill(p);
    text = report_text(p, &options);
    expect(text, "capture   x.data\n");
    expect(text, "event     timer (1000 samples a second and CPU)\n");
    expect(text, "duration  3.000 s\n");
    expect(text, "samples   200\n");
    expect(text, "LOST      50 samples (20.00% of 250)");
    expect(text, "  90.00% ± 2.12       180  web (1)\n");
    expect(text, "  50.00% ± 3.54       100  web     user\n");
    expect(text, "  35.00% ± 3.37        70  web     user        program  seventy\n");
    expect(text, "  40.00%               80  in 3 more\n");
    ck_assert_ptr_null(strstr(text, "\033["));
    free(text);

    options.color = true;
    options.filter.modes = 1 << PVPERF_MODE_KERNEL;
    summary.finished = false;
    text = report_text(p, &options);
    expect(text, "\033[1m");
    expect(text, "of which 50 pass the filter");
    expect(text, "was not finished");
    ck_assert_ptr_null(strstr(text, "seventy"));
    free(text);
    pvperf_profile_free(p);

    p = new_profile(false, 0);
    options.color = false;
    text = report_text(p, &options);
    expect(text, "No samples.");
    free(text);
    pvperf_profile_free(p);
}
END_TEST

/* Names come from guests' files: nothing in them drives a terminal. */
START_TEST(hostile_names)
{
    struct pvperf_object *o;
    struct pvperf_profile *p;
    struct pvperf_report_options options = {.top = 5};
    char *text, *c;

    ck_assert_int_eq(pvperf_object_load_buffer("ffffffff81000000 T a\xff\x1b[2Jb\n", 26,
                                               "x\x1b]0;evil", PVPERF_OBJECT_KERNEL, &o,
                                               NULL),
                     0);
    ck_assert_int_eq(pvperf_symbols_add(symbols, 2, 0, 0, o), 0);
    pvperf_object_put(o);
    p = new_profile(false, 0);
    ck_assert_int_eq(pvperf_profile_name_domain(p, 2, "\x1b[31mred\n"), 0);
    add(p, 1, 2, PVPERF_MODE_KERNEL, 0xffffffff81000000);
    text = report_text(p, &options);
    for (c = text; *c; c++)
        ck_assert_msg(*c == '\n' || *c < 0 || (*c >= 0x20 && *c < 0x7f), "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "?[31mred?"));
    free(text);
    pvperf_profile_free(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tc = tcase_create("profile");
    SRunner *runner;
    int failed;

    help_make_dir();
    atexit(help_remove);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, functions);
    tcase_add_test(tc, coarser);
    tcase_add_test(tc, weights);
    tcase_add_test(tc, events);
    tcase_add_test(tc, bounded);
    tcase_add_test(tc, stacks);
    tcase_add_test(tc, report);
    tcase_add_test(tc, hostile_names);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
