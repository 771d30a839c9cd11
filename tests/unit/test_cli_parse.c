// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an operator types: event specs, numbers, durations, files, domains.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

/* A refusal is one line that says something. */
#define ck_refused(call, code, word)                   \
    do {                                               \
        struct pvperf_err err = {""};                  \
        ck_assert_int_eq(call, code);                  \
        ck_assert_ptr_nonnull(strstr(err.text, word)); \
        ck_assert_ptr_null(strchr(err.text, '\n'));    \
    } while (0)

/* ---- events ---- */

START_TEST(event_names)
{
    struct parse_event e;

    ck_assert_int_eq(parse_event("timer", &e, NULL), 0);
    ck_assert_uint_eq(e.event.type, PVPERF_EVENT_TIMER);
    ck_assert_uint_eq(e.event.config, 0);
    ck_assert_uint_eq(e.event.modes, PVPERF_MODE_MASK_ALL);
    ck_assert_int_eq(parse_event("cycles", &e, NULL), 0);
    ck_assert_uint_eq(e.event.type, PVPERF_EVENT_GENERIC);
    ck_assert_uint_eq(e.event.config, PVPERF_GENERIC_CYCLES);
    ck_assert_int_eq(parse_event("branch-misses", &e, NULL), 0);
    ck_assert_uint_eq(e.event.config, PVPERF_GENERIC_BRANCH_MISSES);
    ck_assert_int_eq(parse_event("cache-misses", &e, NULL), 0);
    ck_assert_uint_eq(e.event.config, PVPERF_GENERIC_CACHE_MISSES);
    ck_assert_str_eq(e.name, "cache-misses");
}
END_TEST

/* Each generic number has a name, and the name leads back to it. */
START_TEST(event_names_go_round)
{
    struct pvperf_event event = {.type = PVPERF_EVENT_GENERIC};
    struct parse_event e;
    char name[64];

    for (event.config = 0; event.config < PVPERF_GENERIC_NR; event.config++) {
        parse_event_name(&event, name, sizeof(name));
        ck_assert_int_eq(parse_event(name, &e, NULL), 0);
        ck_assert_uint_eq(e.event.type, PVPERF_EVENT_GENERIC);
        ck_assert_uint_eq(e.event.config, event.config);
    }
    parse_event_name(&event, name, sizeof(name));
    ck_assert_int_eq(parse_event(name, &e, NULL), -ENOENT);
}
END_TEST

START_TEST(event_modes)
{
    struct parse_event e;

    ck_assert_int_eq(parse_event("cycles:u", &e, NULL), 0);
    ck_assert_uint_eq(e.event.modes, 1 << PVPERF_MODE_USER);
    ck_assert_int_eq(parse_event("cycles:hk", &e, NULL), 0);
    ck_assert_uint_eq(e.event.modes,
                      1 << PVPERF_MODE_KERNEL | 1 << PVPERF_MODE_HYPERVISOR);
    ck_assert_str_eq(e.name, "cycles:hk");
    ck_assert_int_eq(parse_event("timer:i", &e, NULL), 0);
    ck_assert_uint_eq(e.event.modes, 1 << PVPERF_MODE_IDLE);
    ck_refused(parse_event("cycles:ux", &e, &err), -EINVAL, "'x'");
    ck_refused(parse_event("cycles:", &e, &err), -EINVAL, "no mode");
    ck_refused(parse_event("cycles:u:k", &e, &err), -EINVAL, "':'");
}
END_TEST

START_TEST(event_raw)
{
    struct parse_event e;
    char name[64];

    ck_assert_int_eq(parse_event("r1a8:k", &e, NULL), 0);
    ck_assert_uint_eq(e.event.type, PVPERF_EVENT_RAW);
    ck_assert_uint_eq(e.event.config, 0x1a8);
    parse_event_name(&e.event, name, sizeof(name));
    ck_assert_str_eq(name, "r1a8");
    ck_assert_int_eq(parse_event("rffffffffffffffff", &e, NULL), 0);
    ck_assert_uint_eq(e.event.config, UINT64_MAX);
    ck_refused(parse_event("r10000000000000000", &e, &err), -ENOENT, "no event");
    ck_refused(parse_event("r", &e, &err), -ENOENT, "no event");
    ck_refused(parse_event("r-1", &e, &err), -ENOENT, "no event");
    ck_refused(parse_event("r12g", &e, &err), -ENOENT, "no event");
}
END_TEST

START_TEST(event_unknown)
{
    struct parse_event e;
    char longest[200];

    ck_refused(parse_event("cycels", &e, &err), -ENOENT, "did you mean 'cycles'");
    ck_refused(parse_event("instr", &e, &err), -ENOENT, "'instructions'");
    ck_refused(parse_event("zzz", &e, &err), -ENOENT, "pvperf list events");
    ck_refused(parse_event("", &e, &err), -ENOENT, "no event");
    ck_refused(parse_event(":u", &e, &err), -ENOENT, "no event");
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ck_refused(parse_event(longest, &e, &err), -EINVAL, "too long");
}
END_TEST

/* Outputs are untouched on failure. */
START_TEST(failure_touches_nothing)
{
    struct parse_event e = {.name = "before"};
    struct parse_file f = {.path = "before"};
    uint64_t n = 42;
    uint8_t small = 42;

    ck_assert_int_lt(parse_event("cycles:x", &e, NULL), 0);
    ck_assert_str_eq(e.name, "before");
    ck_assert_int_lt(parse_file("nothing", 0, &f, NULL), 0);
    ck_assert_str_eq(f.path, "before");
    ck_assert_int_lt(parse_number("x", "n", 0, 9, &n, NULL), 0);
    ck_assert_int_lt(parse_duration("x", &n, NULL), 0);
    ck_assert_uint_eq(n, 42);
    ck_assert_int_lt(parse_ring_pages("3", &small, NULL), 0);
    ck_assert_int_lt(parse_modes("user,x", &small, NULL), 0);
    ck_assert_uint_eq(small, 42);
}
END_TEST

START_TEST(mode_lists)
{
    uint8_t m;

    ck_assert_int_eq(parse_modes("user", &m, NULL), 0);
    ck_assert_uint_eq(m, 1);
    ck_assert_int_eq(parse_modes("kernel,hypervisor", &m, NULL), 0);
    ck_assert_uint_eq(m, 6);
    ck_assert_int_eq(parse_modes("u,i,xen", &m, NULL), 0);
    ck_assert_uint_eq(m, 13);
    ck_refused(parse_modes("users", &m, &err), -EINVAL, "'users'");
    ck_refused(parse_modes("", &m, &err), -EINVAL, "no mode");
    ck_refused(parse_modes("user,", &m, &err), -EINVAL, "no mode");
    ck_refused(parse_modes("user,,idle", &m, &err), -EINVAL, "no mode");
}
END_TEST

/* ---- numbers ---- */

START_TEST(numbers)
{
    uint64_t n;

    ck_assert_int_eq(parse_number("999", "f", 1, 10000, &n, NULL), 0);
    ck_assert_uint_eq(n, 999);
    ck_assert_int_eq(parse_number("10k", "f", 1, 10000, &n, NULL), 0);
    ck_assert_uint_eq(n, 10000);
    ck_assert_int_eq(parse_number("2M", "p", 1, UINT64_MAX, &n, NULL), 0);
    ck_assert_uint_eq(n, 2000000);
    ck_assert_int_eq(parse_number("3G", "p", 1, UINT64_MAX, &n, NULL), 0);
    ck_assert_uint_eq(n, 3000000000u);
    ck_refused(parse_number("0", "frequency", 1, 9, &n, &err), -ERANGE, "frequency");
    ck_refused(parse_number("10", "f", 1, 9, &n, &err), -ERANGE, "from 1 to 9");
    ck_refused(parse_number("18446744073709551616", "f", 0, UINT64_MAX, &n, &err),
               -ERANGE, "out of range");
    ck_refused(parse_number("99999999999G", "f", 0, UINT64_MAX, &n, &err), -ERANGE,
               "out of range");
    ck_refused(parse_number("-1", "f", 0, 9, &n, &err), -EINVAL, "no whole number");
    ck_refused(parse_number("1.5", "f", 0, 9, &n, &err), -EINVAL, "no whole number");
    ck_refused(parse_number("1kk", "f", 0, 9, &n, &err), -EINVAL, "no whole number");
    ck_refused(parse_number("", "f", 0, 9, &n, &err), -EINVAL, "no whole number");
    ck_refused(parse_number(" 1", "f", 0, 9, &n, &err), -EINVAL, "no whole number");
}
END_TEST

START_TEST(durations)
{
    static const struct {
        const char *spec;
        uint64_t ns;
    } good[] = {
        {"10", 10000000000},  {"0.5", 500000000},      {".25", 250000000},
        {"1s", 1000000000},   {"1.5s", 1500000000},    {"500ms", 500000000},
        {"2m", 120000000000}, {"1.5h", 5400000000000},
    };
    static const char *const bad[] = {"", ".", "x", "1x", "-1", "1e3", "1.2.3", "s"};
    uint64_t ns;
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_int_eq(parse_duration(good[i].spec, &ns, NULL), 0);
        ck_assert_uint_eq(ns, good[i].ns);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_refused(parse_duration(bad[i], &ns, &err), -EINVAL, "duration");
    ck_refused(parse_duration("0", &ns, &err), -ERANGE, "too short");
    ck_refused(parse_duration("0.0", &ns, &err), -ERANGE, "too short");
    ck_refused(parse_duration("9999999999", &ns, &err), -ERANGE, "too long");
    ck_refused(parse_duration("18446744073709551615h", &ns, &err), -EINVAL, "duration");
}
END_TEST

START_TEST(ring_sizes)
{
    uint8_t order;

    ck_assert_int_eq(parse_ring_pages("1", &order, NULL), 0);
    ck_assert_uint_eq(order, 0);
    ck_assert_int_eq(parse_ring_pages("16", &order, NULL), 0);
    ck_assert_uint_eq(order, 4);
    ck_assert_int_eq(parse_ring_pages("256", &order, NULL), 0);
    ck_assert_uint_eq(order, PVPERF_MAX_RING_ORDER);
    ck_refused(parse_ring_pages("3", &order, &err), -EINVAL, "give 2 or 4");
    ck_refused(parse_ring_pages("0", &order, &err), -ERANGE, "from 1 to 256");
    ck_refused(parse_ring_pages("512", &order, &err), -ERANGE, "from 1 to 256");
}
END_TEST

/* ---- files, UUIDs ---- */

START_TEST(files)
{
    struct parse_file f;

    ck_assert_int_eq(parse_file("web=/srv/vmlinux", 0, &f, NULL), 0);
    ck_assert_str_eq(f.domain, "web");
    ck_assert_str_eq(f.path, "/srv/vmlinux");
    ck_assert_int_eq(parse_file("web=/a=b", 0, &f, NULL), 0);
    ck_assert_str_eq(f.path, "/a=b");
    ck_assert_int_eq(parse_file("3=/bin/x@0x555555554000", 1, &f, NULL), 0);
    ck_assert_str_eq(f.path, "/bin/x");
    ck_assert_uint_eq(f.base, 0x555555554000);
    ck_assert_int_eq(parse_file("3=/bin/x@7f00", 1, &f, NULL), 0);
    ck_assert_uint_eq(f.base, 0x7f00);
    /* No base: the '@' belongs to the name. */
    ck_assert_int_eq(parse_file("3=/bin/x@home", 1, &f, NULL), 0);
    ck_assert_str_eq(f.path, "/bin/x@home");
    ck_assert_uint_eq(f.base, 0);
    ck_assert_int_eq(parse_file("3=/bin/x@7f00", 0, &f, NULL), 0);
    ck_assert_str_eq(f.path, "/bin/x@7f00");
    ck_refused(parse_file("web", 0, &f, &err), -EINVAL, "DOMAIN=FILE");
    ck_refused(parse_file("=x", 0, &f, &err), -EINVAL, "DOMAIN=FILE");
    ck_refused(parse_file("web=", 1, &f, &err), -EINVAL, "[@BASE]");
}
END_TEST

START_TEST(files_too_long)
{
    struct parse_file f;
    char spec[3000];

    memset(spec, 'd', sizeof(spec));
    strcpy(spec + 1000, "=/x");
    ck_refused(parse_file(spec, 1, &f, &err), -ENAMETOOLONG, "too long");
    memset(spec, '/', sizeof(spec));
    spec[0] = 'd';
    spec[1] = '=';
    spec[sizeof(spec) - 1] = '\0';
    ck_refused(parse_file(spec, 1, &f, &err), -ENAMETOOLONG, "too long");
}
END_TEST

START_TEST(uuids)
{
    uint8_t u[16] = {0};

    ck_assert_int_eq(parse_uuid("00112233-4455-6677-8899-AAbbccddeeff", u), 0);
    ck_assert_uint_eq(u[1], 0x11);
    ck_assert_uint_eq(u[10], 0xaa);
    ck_assert_uint_eq(u[15], 0xff);
    ck_assert_int_lt(parse_uuid("00112233-4455-6677-8899-aabbccddeef", u), 0);
    ck_assert_int_lt(parse_uuid("00112233-4455-6677-8899-aabbccddeeff0", u), 0);
    ck_assert_int_lt(parse_uuid("001122334455-6677-8899-aabbccddeeff", u), 0);
    ck_assert_int_lt(parse_uuid("0011223g-4455-6677-8899-aabbccddeeff", u), 0);
    ck_assert_int_lt(parse_uuid("", u), 0);
}
END_TEST

/* ---- domains ---- */

static const struct parse_domain host[] = {
    {0, {0}, "Domain-0"}, {3, {0xaa, 0xbb}, "web"}, {7, {0xcc}, "db"},
    {8, {0xdd}, "twin"},  {9, {0xee}, "twin"},      {12, {0x12}, "7"},
    {13, {0x13}, ""},
};
#define NR_HOST (sizeof(host) / sizeof(host[0]))

static int find(const char *spec, size_t *index, struct pvperf_err *err)
{
    return parse_domain(spec, host, NR_HOST, "run 'pvperf list domains'", index, err);
}

START_TEST(domains_found)
{
    size_t i;

    ck_assert_int_eq(find("web", &i, NULL), 0);
    ck_assert_uint_eq(i, 1);
    ck_assert_int_eq(find("3", &i, NULL), 0);
    ck_assert_uint_eq(i, 1);
    ck_assert_int_eq(find("aabb0000-0000-0000-0000-000000000000", &i, NULL), 0);
    ck_assert_uint_eq(i, 1);
    ck_assert_int_eq(find("0", &i, NULL), 0);
    ck_assert_uint_eq(i, 0);
    ck_assert_int_eq(find("Domain-0", &i, NULL), 0);
    ck_assert_uint_eq(i, 0);
}
END_TEST

START_TEST(domains_not_found)
{
    size_t i = 42;

    ck_refused(find("wen", &i, &err), -ESRCH, "did you mean 'web'");
    ck_refused(find("4711", &i, &err), -ESRCH, "pvperf list domains");
    ck_refused(find("65536", &i, &err), -ESRCH, "'65536'");
    ck_refused(find("18446744073709551619", &i, &err), -ESRCH, "no domain");
    ck_refused(find("-1", &i, &err), -ESRCH, "no domain");
    ck_refused(find("ffffffff-0000-0000-0000-000000000000", &i, &err), -ESRCH,
               "no domain");
    ck_assert_uint_eq(i, 42);
    ck_assert_int_eq(parse_domain("0", NULL, 0, "", &i, NULL), -ESRCH);
}
END_TEST

START_TEST(domains_ambiguous)
{
    size_t i = 42;

    ck_refused(find("twin", &i, &err), -ENOTUNIQ, "ids 8 and 9");
    ck_refused(find("7", &i, &err), -ENOTUNIQ, "UUID"); /* an id and a name */
    ck_assert_uint_eq(i, 42);
}
END_TEST

START_TEST(words)
{
    const char *list = "a,bc,d";
    char word[4];

    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), 1);
    ck_assert_str_eq(word, "a");
    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), 1);
    ck_assert_str_eq(word, "bc");
    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), 1);
    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), 0);
    list = "abcd";
    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), -EINVAL);
    list = ",a";
    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), -EINVAL);
    list = "a,";
    ck_assert_int_eq(parse_word(&list, word, sizeof(word)), -EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_parse");
    TCase *tc = tcase_create("parse");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, event_names);
    tcase_add_test(tc, event_names_go_round);
    tcase_add_test(tc, event_modes);
    tcase_add_test(tc, event_raw);
    tcase_add_test(tc, event_unknown);
    tcase_add_test(tc, failure_touches_nothing);
    tcase_add_test(tc, mode_lists);
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, durations);
    tcase_add_test(tc, ring_sizes);
    tcase_add_test(tc, files);
    tcase_add_test(tc, files_too_long);
    tcase_add_test(tc, uuids);
    tcase_add_test(tc, domains_found);
    tcase_add_test(tc, domains_not_found);
    tcase_add_test(tc, domains_ambiguous);
    tcase_add_test(tc, words);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
