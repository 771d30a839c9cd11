// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words and numbers for people, and what a host can sample.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "text.h"

static const char *const commands[] = {"record", "report", "script", "list", NULL};

START_TEST(distances)
{
    ck_assert_uint_eq(text_distance("", ""), 0);
    ck_assert_uint_eq(text_distance("abc", "abc"), 0);
    ck_assert_uint_eq(text_distance("abc", ""), 3);
    ck_assert_uint_eq(text_distance("abc", "abd"), 1);
    ck_assert_uint_eq(text_distance("abc", "acb"), 1);
    ck_assert_uint_eq(text_distance("abc", "ab"), 1);
    ck_assert_uint_eq(text_distance("recrod", "record"), 1);
    ck_assert_uint_eq(text_distance("kitten", "sitting"), 3);
}
END_TEST

START_TEST(suggestions)
{
    ck_assert_str_eq(text_suggest("recrod", commands), "record");
    ck_assert_str_eq(text_suggest("reprot", commands), "report");
    ck_assert_str_eq(text_suggest("scr", commands), "script");
    ck_assert_str_eq(text_suggest("lists", commands), "list");
    ck_assert_ptr_null(text_suggest("zzzzzz", commands));
    ck_assert_ptr_null(text_suggest("", commands));
    ck_assert_ptr_null(text_suggest("x", commands));
}
END_TEST

/* Longer than the tables of the distance. */
START_TEST(long_words)
{
    char word[500];

    memset(word, 'r', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    ck_assert_ptr_null(text_suggest(word, commands));
}
END_TEST

#define ck_text(function, value, expected) \
    do {                                   \
        char buf[64];                      \
        function(value, buf, sizeof(buf)); \
        ck_assert_str_eq(buf, expected);   \
    } while (0)

START_TEST(numbers)
{
    ck_text(text_bytes, 0, "0 bytes");
    ck_text(text_bytes, 1023, "1023 bytes");
    ck_text(text_bytes, 1024, "1.0 KiB");
    ck_text(text_bytes, 1048575, "1.0 MiB");
    ck_text(text_bytes, 3ull << 30, "3.0 GiB");
    ck_text(text_count, 0, "0");
    ck_text(text_count, 999, "999");
    ck_text(text_count, 1000, "1,000");
    ck_text(text_count, UINT64_MAX, "18,446,744,073,709,551,615");
    ck_text(text_duration, 400000000, "0.40 s");
    ck_text(text_duration, 12345678901, "12.3 s");
    ck_text(text_duration, 123000000000, "2 min 03 s");
    ck_text(text_duration, 3720000000000, "1 h 02 min");
}
END_TEST

START_TEST(small_buffers)
{
    char buf[4];

    text_count(1234567, buf, sizeof(buf));
    ck_assert_uint_lt(strlen(buf), sizeof(buf));
    ck_assert_int_eq(text_copy(buf, "abc", sizeof(buf)), 0);
    ck_assert_str_eq(buf, "abc");
    ck_assert_int_eq(text_copy(buf, "abcd", sizeof(buf)), -1);
    ck_assert_str_eq(buf, "abc");
    text_json("\"\"\"\"", buf, sizeof(buf));
    ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(hostile_names)
{
    char name[] = "a\033[31mb\n", buf[64];

    text_clean(name);
    ck_assert_str_eq(name, "a?[31mb?");
    text_json("a\"b\\c\n", buf, sizeof(buf));
    ck_assert_str_eq(buf, "a\\\"b\\\\c\\u000a");
    text_word("two words\t", buf, sizeof(buf));
    ck_assert_str_eq(buf, "two_words_");
    text_word("", buf, sizeof(buf));
    ck_assert_str_eq(buf, "-");
}
END_TEST

START_TEST(uuid_text)
{
    static const uint8_t uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    char buf[37];

    text_uuid(uuid, buf);
    ck_assert_str_eq(buf, "00112233-4455-6677-8899-aabbccddeeff");
}
END_TEST

/* ---- events of a host ---- */

static const struct pvperf_event cycles = {.type = PVPERF_EVENT_GENERIC,
                                           .config = PVPERF_GENERIC_CYCLES};
static const struct pvperf_event timer = {.type = PVPERF_EVENT_TIMER};

START_TEST(events_without_pmu)
{
    struct pvperf_query q = {.max_rate = 10000};
    struct pvperf_err err;

    ck_assert_int_eq(events_check(&q, &timer, "timer", &err), 0);
    ck_assert_int_eq(events_check(&q, &cycles, "cycles", &err), -ENODEV);
    ck_assert_ptr_nonnull(strstr(err.text, "-e timer"));
}
END_TEST

START_TEST(events_of_a_pmu)
{
    struct pvperf_query q = {.backend = PVPERF_BACKEND_INTEL,
                             .generic_events = 1u << PVPERF_GENERIC_CYCLES};
    struct pvperf_event misses = {.type = PVPERF_EVENT_GENERIC,
                                  .config = PVPERF_GENERIC_CACHE_MISSES};
    struct pvperf_event raw = {.type = PVPERF_EVENT_RAW, .config = 0xc0};
    struct pvperf_err err;

    ck_assert_int_eq(events_check(&q, &cycles, "cycles", &err), 0);
    ck_assert_int_eq(events_check(&q, &raw, "rc0", &err), 0);
    ck_assert_int_eq(events_check(&q, &misses, "cache-misses", &err), -ENOENT);
    q.pmu_owner = PVPERF_OWNER_PVPERF;
    ck_assert_int_eq(events_check(&q, &cycles, "cycles", &err), 0);
    q.pmu_owner = PVPERF_OWNER_VPMU;
    ck_assert_int_eq(events_check(&q, &cycles, "cycles", &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "without vpmu"));
    ck_assert_int_eq(events_check(&q, &timer, "timer", &err), 0);
}
END_TEST

START_TEST(rates)
{
    struct pvperf_query q = {.max_rate = 10000};
    struct pvperf_event e = timer;
    struct pvperf_err err;

    ck_assert_int_eq(events_set_freq(&q, 10000, &e, &err), 0);
    ck_assert_uint_eq(e.rate, 10000);
    ck_assert_uint_eq(e.flags, PVPERF_EVENT_FLAG_FREQ);
    ck_assert_int_eq(events_set_freq(&q, 10001, &e, &err), -ERANGE);
    ck_assert_ptr_nonnull(strstr(err.text, "10000"));
    ck_assert_int_eq(events_set_period(&q, 99999, &e, &err), -ERANGE);
    ck_assert_uint_eq(e.rate, 10000);
    ck_assert_int_eq(events_set_period(&q, 100000, &e, &err), 0);
    ck_assert_uint_eq(e.flags, 0);
    e = cycles;
    ck_assert_int_eq(events_set_period(&q, 999, &e, &err), -ERANGE);
    ck_assert_int_eq(events_set_period(&q, 1000, &e, &err), 0);
    ck_assert_uint_eq(e.rate, 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_text");
    TCase *tc = tcase_create("text");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, distances);
    tcase_add_test(tc, suggestions);
    tcase_add_test(tc, long_words);
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, small_buffers);
    tcase_add_test(tc, hostile_names);
    tcase_add_test(tc, uuid_text);
    tcase_add_test(tc, events_without_pmu);
    tcase_add_test(tc, events_of_a_pmu);
    tcase_add_test(tc, rates);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
