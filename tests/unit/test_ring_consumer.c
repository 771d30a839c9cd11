/* SPDX-License-Identifier: GPL-2.0-only */
/* The consumer against rings made by hand, honest and hostile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <pvperf/ring.h>

#define ORDER 1u
#define SIZE (4096u << ORDER)

static struct pvperf_ring *header;
static uint8_t *data;
static struct pvperf_ring_info info;
static struct pvperf_consumer *consumer;

static void setup(void)
{
    header = aligned_alloc(4096, 4096);
    data = aligned_alloc(4096, SIZE);
    memset(header, 0, 4096);
    memset(data, 0xee, SIZE);
    info = (struct pvperf_ring_info){.session = 3,
                                     .index = 1,
                                     .domid = 7,
                                     .vcpu = 2,
                                     .data_order = ORDER,
                                     .serial = 99};
    header->magic = PVPERF_RING_MAGIC;
    header->abi_major = PVPERF_ABI_MAJOR;
    header->session = 3;
    header->data_size = SIZE;
    header->serial = 99;
    header->domid = 7;
    header->vcpu = 2;
    consumer = NULL;
}

static void teardown(void)
{
    pvperf_consumer_free(consumer);
    free(header);
    free(data);
}

static int open_ring(void)
{
    struct pvperf_err err = {{0}};
    int rc = pvperf_consumer_new(&consumer, header, data, &info, &err);

    ck_assert(rc == 0 || strlen(err.text) > 20);
    return rc;
}

/* A record of @words at position @at, filled so that it can be recognised. */
static void put(uint64_t at, unsigned int words)
{
    uint8_t *p = data + at % SIZE;
    struct pvperf_rec hdr = {.type = PVPERF_REC_SAMPLE, .words = (uint8_t)words};

    ck_assert(at % SIZE + words * 8 <= SIZE);
    memset(p, (int)words, words * 8);
    memcpy(p, &hdr, sizeof(hdr));
}

START_TEST(empty_ring)
{
    struct pvperf_span span;

    ck_assert_int_eq(open_ring(), 0);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), 0);
    ck_assert_uint_eq(pvperf_consumer_waiting(consumer), 0);
    ck_assert_int_eq(pvperf_consumer_dead(consumer), 0);
    header->flags = PVPERF_RING_FLAG_DEAD;
    ck_assert_int_eq(pvperf_consumer_dead(consumer), 1);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 8, &span), -EINVAL);
}
END_TEST

START_TEST(spans_and_tail)
{
    struct pvperf_span span;

    put(0, 3);
    put(24, 4);
    header->head = 56;
    ck_assert_int_eq(open_ring(), 0);
    ck_assert_uint_eq(pvperf_consumer_waiting(consumer), 56);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), 1);
    ck_assert_uint_eq(span.position, 0);
    ck_assert_uint_eq(span.len, 56);
    ck_assert_ptr_eq(span.bytes, data);
    ck_assert_uint_eq(header->tail, 0); /* only advance moves it */
    ck_assert_int_eq(pvperf_consumer_advance(consumer, 12), -EINVAL);
    ck_assert_int_eq(pvperf_consumer_advance(consumer, 64), -EINVAL);
    ck_assert_int_eq(pvperf_consumer_advance(consumer, 24), 0);
    ck_assert_uint_eq(header->tail, 24);
    ck_assert_int_eq(pvperf_consumer_advance(consumer, 40), -EINVAL);
    ck_assert_int_eq(pvperf_consumer_advance(consumer, 32), 0);
    ck_assert_uint_eq(header->tail, 56);
    ck_assert_uint_eq(pvperf_consumer_position(consumer), 56);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), 0);
}
END_TEST

START_TEST(two_spans_at_the_wrap)
{
    struct pvperf_span span;

    header->tail = 5 * SIZE - 32;
    header->head = 5 * SIZE + 24;
    put(header->tail, 4);
    put(5 * SIZE, 3);
    ck_assert_int_eq(open_ring(), 0);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 65536, &span), 1);
    ck_assert_uint_eq(span.len, 32);
    ck_assert_ptr_eq(span.bytes, data + SIZE - 32);
    ck_assert_int_eq(pvperf_consumer_advance(consumer, 32), 0);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 65536, &span), 1);
    ck_assert_uint_eq(span.len, 24);
    ck_assert_ptr_eq(span.bytes, data);
    ck_assert_uint_eq(span.position, 5 * SIZE);
}
END_TEST

START_TEST(cut_at_whole_records)
{
    struct pvperf_span span;
    uint64_t at = 0;

    while (at + 72 <= SIZE - 72) {
        put(at, 9);
        at += 72;
    }
    header->head = at;
    ck_assert_int_eq(open_ring(), 0);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, PVPERF_RECORD_MAX, &span), 1);
    ck_assert_uint_eq(span.len, PVPERF_RECORD_MAX / 72 * 72);
    /* Bytes that are no record go out as they are, in a bounded span. */
    data[1] = 0;
    ck_assert_int_eq(pvperf_consumer_peek(consumer, PVPERF_RECORD_MAX, &span), 1);
    ck_assert_uint_gt(span.len, 0);
    ck_assert_uint_le(span.len, PVPERF_RECORD_MAX);
    ck_assert_uint_eq(span.len % 8, 0);
}
END_TEST

START_TEST(full_ring)
{
    struct pvperf_span span;

    header->tail = 800;
    header->head = 800 + SIZE;
    ck_assert_int_eq(open_ring(), 0);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 2 * SIZE, &span), 1);
    ck_assert_uint_eq(span.len, SIZE - 800);
}
END_TEST

/* What Xen would never write. */
START_TEST(impossible_heads)
{
    static const uint64_t heads[] = {1,          12,        SIZE + 8, UINT64_MAX - 7,
                                     UINT64_MAX, 1ull << 63};
    struct pvperf_span span;
    size_t i;

    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        header->head = header->tail = 0;
        ck_assert_int_eq(open_ring(), 0);
        header->head = heads[i];
        ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), -EBADMSG);
        ck_assert_uint_eq(header->tail, 0);
        header->head = 0; /* too late: it is of no more use */
        ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), -EBADMSG);
        ck_assert_uint_eq(pvperf_consumer_waiting(consumer), 0);
        pvperf_consumer_free(consumer);
        consumer = NULL;
    }
}
END_TEST

START_TEST(head_that_goes_back)
{
    struct pvperf_span span;

    header->head = 64;
    ck_assert_int_eq(open_ring(), 0);
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), 1);
    header->head = 32;
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), -EBADMSG);
}
END_TEST

START_TEST(impossible_tails)
{
    static const uint64_t tails[] = {1, 4097, UINT64_MAX, 100000};
    size_t i;

    for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        header->head = 4096;
        header->tail = tails[i];
        ck_assert_int_eq(open_ring(), 0);
        ck_assert_uint_eq(header->tail, 4096);
        ck_assert_uint_eq(pvperf_consumer_position(consumer), 4096);
        pvperf_consumer_free(consumer);
        consumer = NULL;
    }
}
END_TEST

START_TEST(tail_is_never_read_again)
{
    struct pvperf_span span;

    header->head = 64;
    ck_assert_int_eq(open_ring(), 0);
    header->tail = 32;
    ck_assert_int_eq(pvperf_consumer_peek(consumer, 4096, &span), 1);
    ck_assert_uint_eq(span.position, 0);
    ck_assert_uint_eq(span.len, 64);
}
END_TEST

START_TEST(wrong_headers)
{
    struct pvperf_ring good = *header;

    header->magic++;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    header->abi_major++;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    header->session++;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    header->serial++;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    header->data_size *= 2;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    header->domid++;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    header->vcpu++;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    *header = good;
    info.data_order = PVPERF_MAX_RING_ORDER + 1;
    ck_assert_int_eq(open_ring(), -EBADMSG);
    ck_assert_ptr_null(consumer);
}
END_TEST

START_TEST(counts)
{
    uint64_t recorded[PVPERF_MAX_EVENTS], lost[PVPERF_MAX_EVENTS];

    header->recorded[0] = 5;
    header->lost[7] = 6;
    ck_assert_int_eq(open_ring(), 0);
    pvperf_consumer_counts(consumer, recorded, lost);
    ck_assert_uint_eq(recorded[0], 5);
    ck_assert_uint_eq(lost[7], 6);
    pvperf_consumer_counts(consumer, NULL, NULL);
}
END_TEST

/* A producer and a consumer at random: every byte comes once, in order. */
START_TEST(random_traffic)
{
    uint64_t head = 0, seen = 0;
    struct pvperf_span span;
    unsigned int seed = 1, i, words;

    ck_assert_int_eq(open_ring(), 0);
    for (i = 0; i < 200000; i++) {
        words = 1 + (unsigned int)rand_r(&seed) % 60;
        if (head % SIZE + words * 8 > SIZE)
            words = (unsigned int)(SIZE - head % SIZE) / 8;
        if (head + words * 8 - header->tail <= SIZE) {
            put(head, words);
            head += words * 8;
            header->head = head;
        }
        if (rand_r(&seed) % 8)
            continue;
        if (pvperf_consumer_peek(consumer, PVPERF_RECORD_MAX + seed % 3000, &span) != 1)
            continue;
        ck_assert_uint_eq(span.position, seen);
        for (size_t at = 0; at < span.len;) {
            const uint8_t *p = (const uint8_t *)span.bytes + at;

            ck_assert_uint_gt(p[1], 0);
            at += p[1] * 8u;
            ck_assert_uint_le(at, span.len);
        }
        seen += span.len;
        ck_assert_int_eq(pvperf_consumer_advance(consumer, span.len), 0);
    }
    ck_assert_uint_gt(seen, 100 * SIZE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_consumer");
    TCase *tc = tcase_create("consumer");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, empty_ring);
    tcase_add_test(tc, spans_and_tail);
    tcase_add_test(tc, two_spans_at_the_wrap);
    tcase_add_test(tc, cut_at_whole_records);
    tcase_add_test(tc, full_ring);
    tcase_add_test(tc, impossible_heads);
    tcase_add_test(tc, head_that_goes_back);
    tcase_add_test(tc, impossible_tails);
    tcase_add_test(tc, tail_is_never_read_again);
    tcase_add_test(tc, wrong_headers);
    tcase_add_test(tc, counts);
    tcase_add_test(tc, random_traffic);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
