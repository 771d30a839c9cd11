/* SPDX-License-Identifier: GPL-2.0-only */
/* The decoder against bytes made by hand, split at random, and against noise. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <pvperf/ring.h>

#define ROOM (1u << 20)

static uint8_t *bytes;
static size_t used;
static size_t ends[ROOM / 8]; /* where records end */
static size_t nr_ends;

static struct pvperf_decoder *decoder;
static const struct pvperf_event events[3] = {
    {.type = PVPERF_EVENT_TIMER,
     .flags = PVPERF_EVENT_FLAG_FREQ,
     .modes = 0xf,
     .rate = 4000},
    {.type = PVPERF_EVENT_GENERIC, .modes = 0xf, .rate = 100000},
    {.type = PVPERF_EVENT_TIMER, .modes = 0xf, .rate = 777},
};

/* What came out: the last, the number, and a sum over all. */
static struct pvperf_sample last;
static struct pvperf_lost last_lost;
static uint64_t nr_samples, nr_lost, digest;

static void mix(const void *p, size_t len)
{
    const uint8_t *b = p;
    size_t i;

    for (i = 0; i < len; i++)
        digest = (digest ^ b[i]) * 0x100000001b3ull;
}

static void on_sample(void *user, const struct pvperf_sample *s)
{
    size_t frames = (size_t)s->nr_xen + s->nr_kernel + s->nr_user;

    (void)user;
    ck_assert_uint_le(frames, PVPERF_MAX_STACK);
    ck_assert_uint_lt(s->event, 3);
    ck_assert_uint_lt(s->mode, PVPERF_MODES);
    last = *s;
    nr_samples++;
    mix(s, offsetof(struct pvperf_sample, chain) + frames * 8);
}

static void on_lost(void *user, const struct pvperf_lost *l)
{
    (void)user;
    last_lost = *l;
    nr_lost++;
    mix(&l->count, sizeof(l->count));
}

static const struct pvperf_decoder_ops ops = {on_sample, on_lost};

static void open_decoder(void)
{
    pvperf_decoder_free(decoder);
    ck_assert_int_eq(pvperf_decoder_new(&decoder, events, 3, 5, 1, &ops, NULL), 0);
    nr_samples = nr_lost = 0;
    digest = 0xcbf29ce484222325ull;
}

static void setup(void)
{
    bytes = calloc(1, ROOM);
    used = nr_ends = 0;
    decoder = NULL;
    open_decoder();
}

static void teardown(void)
{
    pvperf_decoder_free(decoder);
    free(bytes);
}

static void put(const void *rec, size_t len)
{
    ck_assert_uint_le(used + len, ROOM);
    ck_assert_uint_eq(len % 8, 0);
    memcpy(bytes + used, rec, len);
    bytes[used + 1] = (uint8_t)(len / 8);
    used += len;
    ends[nr_ends++] = used;
}

static void put_context(uint16_t domid, uint16_t vcpu, uint64_t pt_base, uint64_t tag)
{
    struct pvperf_rec_context rec = {.hdr = {.type = PVPERF_REC_CONTEXT},
                                     .domid = domid,
                                     .vcpu = vcpu,
                                     .pt_base = pt_base,
                                     .tag = tag};

    put(&rec, sizeof(rec));
}

static void put_lost(unsigned int event, uint64_t count)
{
    struct pvperf_rec_lost rec = {
        .hdr = {.type = PVPERF_REC_LOST, .event = (uint8_t)event, .pcpu = 3},
        .count = count,
        .time_first = 10,
        .time_last = 20};

    put(&rec, sizeof(rec));
}

struct full {
    struct pvperf_rec_sample rec;
    uint64_t more[2 + PVPERF_MAX_STACK];
};

static void put_sample(unsigned int event, unsigned int mode, unsigned int flags,
                       uint64_t ip, uint64_t period, struct pvperf_chain chain)
{
    struct full f = {.rec = {.hdr = {.type = PVPERF_REC_SAMPLE,
                                     .event = (uint8_t)event,
                                     .mode = (uint8_t)mode,
                                     .pcpu = 2,
                                     .flags = (uint16_t)flags},
                             .time = 1000 + ip,
                             .ip = ip}};
    size_t n = 0, i, frames = (size_t)chain.nr_xen + chain.nr_kernel + chain.nr_user;

    if (flags & PVPERF_SAMPLE_FLAG_PERIOD)
        f.more[n++] = period;
    if (flags & PVPERF_SAMPLE_FLAG_CHAIN) {
        memcpy(&f.more[n++], &chain, 8);
        for (i = 0; i < frames; i++)
            f.more[n++] = ip + i + 1;
    }
    put(&f, sizeof(f.rec) + n * 8);
}

static const struct pvperf_chain no_chain;

static int feed_all(void)
{
    return pvperf_decoder_feed(decoder, 0, bytes, used, NULL);
}

START_TEST(plain_sample)
{
    put_context(9, 4, 0x1234000, 77);
    put_sample(0, PVPERF_MODE_KERNEL, PVPERF_SAMPLE_FLAG_SKID, 0xffffffff81000000, 0,
               no_chain);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(nr_samples, 1);
    ck_assert_uint_eq(last.ip, 0xffffffff81000000);
    ck_assert_uint_eq(last.time, 0xffffffff81000000 + 1000);
    ck_assert_uint_eq(last.period, 250000); /* 1 s / 4000 */
    ck_assert_uint_eq(last.domid, 9);
    ck_assert_uint_eq(last.vcpu, 4);
    ck_assert_uint_eq(last.pcpu, 2);
    ck_assert_uint_eq(last.pt_base, 0x1234000);
    ck_assert_uint_eq(last.tag, 77);
    ck_assert_uint_eq(last.mode, PVPERF_MODE_KERNEL);
    ck_assert_uint_eq(last.flags, PVPERF_SAMPLE_FLAG_SKID);
    ck_assert_uint_eq(last.nr_xen + last.nr_kernel + last.nr_user, 0);
}
END_TEST

START_TEST(periods)
{
    put_context(9, 4, 0, 0);
    put_sample(1, 0, 0, 1, 0, no_chain);
    feed_all();
    ck_assert_uint_eq(last.period, 100000);
    used = nr_ends = 0;
    open_decoder();
    put_sample(1, 0, PVPERF_SAMPLE_FLAG_PERIOD, 1, 123456789, no_chain);
    put_sample(2, 0, 0, 2, 0, no_chain);
    feed_all();
    ck_assert_uint_eq(last.period, 777);
    ck_assert_uint_eq(nr_samples, 2);
}
END_TEST

START_TEST(chains)
{
    const struct pvperf_chain chain = {.nr_xen = 2, .nr_kernel = 3, .nr_user = 4};
    unsigned int i;

    put_sample(0, 2, PVPERF_SAMPLE_FLAG_CHAIN | PVPERF_SAMPLE_FLAG_PERIOD, 500, 9, chain);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(last.nr_xen, 2);
    ck_assert_uint_eq(last.nr_kernel, 3);
    ck_assert_uint_eq(last.nr_user, 4);
    ck_assert_uint_eq(last.period, 9);
    for (i = 0; i < 9; i++)
        ck_assert_uint_eq(last.chain[i], 501 + i);
}
END_TEST

START_TEST(longest_chain)
{
    const struct pvperf_chain chain = {.nr_user = PVPERF_MAX_STACK};

    put_sample(0, 0, PVPERF_SAMPLE_FLAG_CHAIN, 1, 0, chain);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(last.chain[PVPERF_MAX_STACK - 1], 1 + PVPERF_MAX_STACK);
}
END_TEST

START_TEST(before_the_first_context)
{
    struct pvperf_decoder_stats stats;

    put_sample(0, 0, 0, 1, 0, no_chain);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(last.domid, 5); /* the ring's */
    ck_assert_uint_eq(last.vcpu, 1);
    ck_assert_uint_eq(last.pt_base, 0);
    pvperf_decoder_stats(decoder, &stats);
    ck_assert_uint_eq(stats.no_context, 1);
}
END_TEST

START_TEST(lost_records)
{
    struct pvperf_decoder_stats stats;

    put_lost(2, 1000);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(nr_lost, 1);
    ck_assert_uint_eq(last_lost.count, 1000);
    ck_assert_uint_eq(last_lost.time_first, 10);
    ck_assert_uint_eq(last_lost.time_last, 20);
    ck_assert_uint_eq(last_lost.event, 2);
    ck_assert_uint_eq(last_lost.domid, 5);
    ck_assert_uint_eq(last_lost.pcpu, 3);
    pvperf_decoder_stats(decoder, &stats);
    ck_assert_uint_eq(stats.lost, 1000);
}
END_TEST

START_TEST(unknown_and_pad_are_skipped)
{
    struct pvperf_rec pad = {.type = PVPERF_REC_PAD}, odd[5] = {{.type = 200}};
    struct pvperf_decoder_stats stats;

    put(&pad, sizeof(pad));
    put(odd, sizeof(odd));
    put_sample(0, 0, 0, 1, 0, no_chain);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(nr_samples, 1);
    pvperf_decoder_stats(decoder, &stats);
    ck_assert_uint_eq(stats.unknown, 1);
}
END_TEST

/* A later minor version may make records longer. */
START_TEST(longer_records)
{
    uint8_t rec[64] = {PVPERF_REC_SAMPLE, 0, 1};

    put(rec, sizeof(rec));
    rec[0] = PVPERF_REC_CONTEXT;
    put(rec, sizeof(rec));
    rec[0] = PVPERF_REC_LOST;
    put(rec, sizeof(rec));
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(nr_samples, 1);
    ck_assert_uint_eq(nr_lost, 1);
}
END_TEST

/* Spoil one byte of the second of three samples; the third is lost with it. */
static void spoil(size_t offset, uint8_t value, unsigned int flags)
{
    const struct pvperf_chain chain = {.nr_user = 2};
    struct pvperf_decoder_stats stats;
    uint64_t bad = 0;
    size_t from;

    used = nr_ends = 0;
    open_decoder();
    put_context(9, 0, 0, 0);
    put_sample(0, 0, 0, 1, 0, no_chain);
    from = used;
    put_sample(0, 0, flags, 2, 0, chain);
    put_sample(0, 0, 0, 3, 0, no_chain);
    bytes[from + offset] = value;
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 0, bytes, used, &bad), -EBADMSG);
    ck_assert_uint_eq(bad, from);
    ck_assert_uint_eq(nr_samples, 1);
    pvperf_decoder_stats(decoder, &stats);
    ck_assert_uint_eq(stats.corrupt, used - from);
    /* The next feed is decoded again, without the old context. */
    ck_assert_int_eq(pvperf_decoder_feed(decoder, used, bytes + 32, 24, NULL), 0);
    ck_assert_uint_eq(nr_samples, 2);
    ck_assert_uint_eq(last.domid, 5);
}

START_TEST(corrupt_records)
{
    spoil(1, 0, 0);                            /* no length */
    spoil(1, 255, 0);                          /* beyond the end */
    spoil(1, 2, 0);                            /* too short for a sample */
    spoil(2, 3, 0);                            /* no such event */
    spoil(3, PVPERF_MODES, 0);                 /* no such mode */
    spoil(6, PVPERF_SAMPLE_FLAG_PERIOD, 0);    /* no room for the period */
    spoil(6, PVPERF_SAMPLE_FLAG_CHAIN, 0);     /* no room for the chain */
    spoil(24, 3, PVPERF_SAMPLE_FLAG_CHAIN);    /* more frames than room */
    spoil(25, 0xff, PVPERF_SAMPLE_FLAG_CHAIN); /* more than can be */
}
END_TEST

START_TEST(odd_feeds)
{
    uint64_t bad = 0;

    put_sample(0, 0, 0, 1, 0, no_chain);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 4, bytes, 24, &bad), -EBADMSG);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 0, bytes, 20, &bad), -EBADMSG);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, UINT64_MAX - 7, bytes, 24, &bad),
                     -EBADMSG);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 0, bytes, 0, &bad), 0);
    ck_assert_uint_eq(nr_samples, 0);
    ck_assert_int_eq(feed_all(), 0);
    ck_assert_uint_eq(nr_samples, 1);
}
END_TEST

START_TEST(duplicates_and_gaps)
{
    struct pvperf_decoder_stats stats;

    put_context(9, 0, 0, 0);
    put_sample(0, 0, 0, 1, 0, no_chain);
    put_sample(0, 0, 0, 2, 0, no_chain);
    put_sample(0, 0, 0, 3, 0, no_chain);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 800, bytes, 80, NULL), 0);
    ck_assert_uint_eq(nr_samples, 2);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 800, bytes, 80, NULL), 0);
    ck_assert_uint_eq(nr_samples, 2); /* all of it again: nothing */
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 800, bytes, used, NULL), 0);
    ck_assert_uint_eq(nr_samples, 3); /* only what is new */
    ck_assert_uint_eq(last.ip, 3);
    ck_assert_uint_eq(last.domid, 9);
    ck_assert_int_eq(pvperf_decoder_feed(decoder, 2000, bytes + 80, 24, NULL), 0);
    ck_assert_uint_eq(nr_samples, 4);
    ck_assert_uint_eq(last.domid, 5); /* whose context was in the gap, is not known */
    pvperf_decoder_stats(decoder, &stats);
    ck_assert_uint_eq(stats.duplicates, 160);
    ck_assert_uint_eq(stats.gaps, 2000 - 800 - used);
    ck_assert_uint_eq(stats.samples, 4);
}
END_TEST

static unsigned int seed = 42;

static unsigned int random_below(unsigned int n)
{
    return (unsigned int)rand_r(&seed) % n;
}

static void random_record(void)
{
    struct pvperf_chain chain = {.nr_xen = (uint16_t)random_below(20),
                                 .nr_kernel = (uint16_t)random_below(20),
                                 .nr_user = (uint16_t)random_below(24)};

    switch (random_below(8)) {
    case 0:
        put_context((uint16_t)random_below(100), (uint16_t)random_below(4), seed,
                    seed / 3);
        break;
    case 1:
        put_lost(random_below(3), random_below(1000));
        break;
    default:
        put_sample(random_below(3), random_below(4), random_below(8), seed, seed / 2,
                   chain);
        break;
    }
}

START_TEST(random_splits)
{
    uint64_t want, want_samples;
    size_t from, i;
    int round;

    while (used < ROOM - 4096)
        random_record();
    ck_assert_int_eq(feed_all(), 0);
    want = digest;
    want_samples = nr_samples;
    ck_assert_uint_gt(want_samples, 1000);
    for (round = 0; round < 50; round++) {
        open_decoder();
        from = 0;
        for (i = random_below(20); from < used;
             i += 1 + random_below(1u << (round % 10))) {
            size_t to = i < nr_ends ? ends[i] : used;
            /* Now and then a piece comes again. */
            size_t again = random_below(4) ? 0 : from - (from > 32 ? 32 : from);

            ck_assert_int_eq(pvperf_decoder_feed(decoder, again ? again : from,
                                                 bytes + (again ? again : from),
                                                 to - (again ? again : from), NULL),
                             0);
            from = to;
        }
        ck_assert_uint_eq(nr_samples, want_samples);
        ck_assert_uint_eq(digest, want);
    }
}
END_TEST

START_TEST(noise)
{
    struct pvperf_decoder_stats stats;
    uint64_t position = 0;
    size_t len, i;
    int round;

    for (round = 0; round < 20000; round++) {
        len = 8 * (1 + random_below(100));
        for (i = 0; i < len; i++)
            bytes[i] = (uint8_t)random_below(256);
        for (i = 0; i < len; i += 8) /* likely types and lengths */
            if (random_below(2)) {
                bytes[i] = (uint8_t)random_below(5);
                bytes[i + 1] = (uint8_t)random_below(12);
                bytes[i + 2] = (uint8_t)random_below(4);
                bytes[i + 3] = (uint8_t)random_below(5);
            }
        pvperf_decoder_feed(decoder, position, bytes, len, NULL);
        position += random_below(10) ? len : random_below(1000) * 4;
    }
    pvperf_decoder_stats(decoder, &stats);
    ck_assert_uint_eq(stats.samples, nr_samples);
    ck_assert_uint_gt(nr_samples, 100);
    ck_assert_uint_gt(stats.corrupt, 100);
}
END_TEST

START_TEST(bad_arguments)
{
    struct pvperf_decoder *d = NULL;

    ck_assert_int_eq(pvperf_decoder_new(&d, events, 0, 0, 0, &ops, NULL), -EINVAL);
    ck_assert_int_eq(pvperf_decoder_new(&d, events, 9, 0, 0, &ops, NULL), -EINVAL);
    ck_assert_ptr_null(d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_decoder");
    TCase *tc = tcase_create("decoder");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, plain_sample);
    tcase_add_test(tc, periods);
    tcase_add_test(tc, chains);
    tcase_add_test(tc, longest_chain);
    tcase_add_test(tc, before_the_first_context);
    tcase_add_test(tc, lost_records);
    tcase_add_test(tc, unknown_and_pad_are_skipped);
    tcase_add_test(tc, longer_records);
    tcase_add_test(tc, corrupt_records);
    tcase_add_test(tc, odd_feeds);
    tcase_add_test(tc, duplicates_and_gaps);
    tcase_add_test(tc, random_splits);
    tcase_add_test(tc, noise);
    tcase_add_test(tc, bad_arguments);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
