/* SPDX-License-Identifier: GPL-2.0-only */
/* Folded stacks and flame graphs: shapes, sums, escaping. */
#include <errno.h>

#include "capture_help.h"
#include <pvperf/flamegraph.h>

static struct pvperf_symbols *symbols;
static struct pvperf_profile *profile;

static const char kernel_map[] = "ffffffff81000000 T outer\n"
                                 "ffffffff81000100 T inner<a&b>;\"'\n"
                                 "ffffffff81000200 T leaf\n";

static void add(unsigned int n, uint16_t domid, uint64_t ip, uint64_t caller)
{
    struct pvperf_sample s = help_sample(1, domid, PVPERF_MODE_KERNEL, ip);

    if (caller) {
        s.nr_kernel = 1;
        s.chain[0] = caller;
    }
    while (n--)
        ck_assert_int_eq(pvperf_profile_add(profile, &s), 0);
}

static void setup(void)
{
    struct pvperf_profile_options options = {.event = -1, .stacks = true};
    struct pvperf_object *o;

    ck_assert_int_eq(pvperf_symbols_new(&symbols), 0);
    ck_assert_int_eq(pvperf_object_load_buffer(kernel_map, strlen(kernel_map), "vm<linux",
                                               PVPERF_OBJECT_KERNEL, &o, NULL),
                     0);
    ck_assert_int_eq(pvperf_symbols_add(symbols, 1, 0, 0, o), 0);
    ck_assert_int_eq(pvperf_symbols_add(symbols, 2, 0, 0, o), 0);
    pvperf_object_put(o);
    ck_assert_int_eq(pvperf_profile_new(symbols, &options, &profile), 0);
    /* Two domains of one name stay two. */
    ck_assert_int_eq(pvperf_profile_name_domain(profile, 1, "w;<b>"), 0);
    ck_assert_int_eq(pvperf_profile_name_domain(profile, 2, "w;<b>"), 0);
}

static void teardown(void)
{
    pvperf_profile_free(profile);
    pvperf_symbols_free(symbols);
}

static void fill(void)
{
    add(50, 1, 0xffffffff81000110, 0xffffffff81000010);
    add(25, 1, 0xffffffff81000210, 0xffffffff81000010);
    add(15, 1, 0xffffffff81000010, 0);
    add(10, 2, 0xffffffff81000010, 0);
}

typedef int writer_fn(const struct pvperf_profile *p, FILE *out,
                      const struct pvperf_flamegraph_options *options);

static char *made_by(writer_fn *fn, const struct pvperf_flamegraph_options *options)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    ck_assert_int_eq(fn(profile, f, options), 0);
    fclose(f);
    return text;
}

static void expect(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part), "'%s' is not in\n%s", part, text);
}

static unsigned int occurrences(const char *text, const char *part)
{
    unsigned int n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

START_TEST(folded)
{
    char *text;

    fill();
    text = made_by(pvperf_flamegraph_folded, NULL);
    ck_assert_str_eq(text, "w:<b>;kernel;outer 15\n"
                           "w:<b>;kernel;outer;inner<a&b>:\"' 50\n"
                           "w:<b>;kernel;outer;leaf 25\n"
                           "w:<b>;kernel;outer 10\n");
    free(text);
}
END_TEST

START_TEST(svg)
{
    struct pvperf_flamegraph_options options = {.title = "a <title>", .width = 1020};
    struct pvperf_lost lost = {.count = 7};
    char *text;

    fill();
    pvperf_profile_add_lost(profile, &lost);
    text = made_by(pvperf_flamegraph_svg, &options);
    ck_assert_int_eq(strncmp(text, "<?xml", 5), 0);
    expect(text, "a &lt;title&gt;");
    expect(text, "100 samples; 7 samples were lost");
    /* all, 2 domains, 2 modes, 2 outer, inner, leaf */
    ck_assert_uint_eq(occurrences(text, "<g class=\"f "), 9);
    ck_assert_uint_eq(occurrences(text, "<g class=\"f d\""), 2);
    ck_assert_uint_eq(occurrences(text, "<title>outer\nvm&lt;linux\n"), 2);
    expect(text, "<title>outer\nvm&lt;linux\n90 samples, 90.00%</title>"
                 "<rect x=\"10.00\"");
    expect(text, "<title>inner&lt;a&amp;b&gt;;&quot;&#39;\nvm&lt;linux\n"
                 "50 samples, 50.00%</title>");
    expect(text, "width=\"500.00\"");
    expect(text, "guest kernel");
    ck_assert_ptr_null(strstr(text, "<b>"));
    /* Nothing from outside. */
    ck_assert_uint_eq(occurrences(text, "http"), 1);
    expect(text, "xmlns=\"http://www.w3.org/2000/svg\"");
    free(text);
}
END_TEST

START_TEST(html)
{
    char *text;

    fill();
    text = made_by(pvperf_flamegraph_html, NULL);
    ck_assert_int_eq(strncmp(text, "<!DOCTYPE html>", 15), 0);
    expect(text, "</html>");
    expect(text, "default-src 'none'");
    ck_assert_uint_eq(occurrences(text, "<script>"), 1);
    ck_assert_uint_eq(occurrences(text, "<g class=\"f "), 9);
    ck_assert_ptr_null(strstr(text, "CDATA"));
    ck_assert_ptr_null(strstr(text, "<b>"));
    ck_assert_ptr_null(strstr(text, "<?xml"));
    free(text);
}
END_TEST

START_TEST(filtered)
{
    struct pvperf_flamegraph_options options = {.min_share = 0.3};
    static const uint16_t domains[] = {1};
    char *text;

    fill();
    options.filter.domains = domains;
    options.filter.nr_domains = 1;
    text = made_by(pvperf_flamegraph_svg, &options);
    expect(text, "90 samples");
    /* leaf has 25 of 90 samples: too narrow for this picture. */
    ck_assert_ptr_null(strstr(text, "<title>leaf"));
    ck_assert_uint_eq(occurrences(text, "<g class=\"f "), 5);
    free(text);
}
END_TEST

START_TEST(empty)
{
    char *text = made_by(pvperf_flamegraph_svg, NULL);

    expect(text, "no samples");
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
    text = made_by(pvperf_flamegraph_folded, NULL);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

/* A full disk is told. */
START_TEST(no_room)
{
    FILE *f = fopen("/dev/full", "w");

    ck_assert_ptr_nonnull(f);
    fill();
    ck_assert_int_eq(pvperf_flamegraph_html(profile, f, NULL), -ENOSPC);
    fclose(f);
}
END_TEST

/* The deepest stack there can be. */
START_TEST(deep)
{
    struct pvperf_sample s = help_sample(1, 1, PVPERF_MODE_KERNEL, 0xffffffff81000010);
    unsigned int i;
    char *text;

    s.nr_kernel = PVPERF_MAX_STACK;
    for (i = 0; i < PVPERF_MAX_STACK; i++)
        s.chain[i] = 0xffffffff81000010 + i % 2 * 0x200;
    ck_assert_int_eq(pvperf_profile_add(profile, &s), 0);
    text = made_by(pvperf_flamegraph_svg, NULL);
    ck_assert_uint_eq(occurrences(text, "<g class=\"f "), PVPERF_MAX_STACK + 1 + 3);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flamegraph");
    TCase *tc = tcase_create("flamegraph");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, folded);
    tcase_add_test(tc, svg);
    tcase_add_test(tc, html);
    tcase_add_test(tc, filtered);
    tcase_add_test(tc, empty);
    tcase_add_test(tc, no_room);
    tcase_add_test(tc, deep);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
