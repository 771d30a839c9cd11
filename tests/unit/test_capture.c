/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures: what is written is read again; damage costs only what it hit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "capture_help.h"

static struct pvperf_err err;

static struct pvperf_capture_writer *create(const char *path, unsigned int events)
{
    struct pvperf_capture_info info = help_info(events);
    struct pvperf_capture_writer *w = NULL;

    ck_assert_msg(pvperf_capture_create(path, &info, &w, &err) == 0, "%s", err.text);
    return w;
}

static struct pvperf_capture_reader *open_capture(const char *path)
{
    struct pvperf_capture_reader *r = NULL;

    ck_assert_msg(pvperf_capture_open(path, &r, &err) == 0, "%s", err.text);
    return r;
}

static struct pvperf_sample chain_sample(uint64_t time, uint16_t vcpu)
{
    struct pvperf_sample s = help_sample(time, 3, PVPERF_MODE_HYPERVISOR, XEN_BASE + 7);

    s.vcpu = vcpu;
    s.pcpu = 2;
    s.pt_base = 0x1234000;
    s.tag = 77;
    s.flags = PVPERF_SAMPLE_FLAG_SKID | PVPERF_SAMPLE_FLAG_CHAIN;
    s.nr_xen = 2;
    s.nr_kernel = 1;
    s.nr_user = 1;
    s.chain[0] = XEN_BASE + 40;
    s.chain[1] = XEN_BASE + 80;
    s.chain[2] = KERNEL_BASE + 40;
    s.chain[3] = PROGRAM_BASE + 40;
    return s;
}

static void add_domain(struct pvperf_capture_writer *w, uint16_t domid, const char *name)
{
    struct pvperf_capture_domain d = {.domid = domid, .nr_vcpus = 2};

    snprintf(d.name, sizeof(d.name), "%s", name);
    memset(d.handle, 0x40 + domid, sizeof(d.handle));
    ck_assert_int_eq(pvperf_capture_add_domain(w, &d, &err), 0);
}

static void write_samples(struct pvperf_capture_writer *w, unsigned int nr)
{
    unsigned int i;

    for (i = 0; i < nr; i++) {
        struct pvperf_sample s = chain_sample(2000000000ull + i * 1000, i % 3);

        ck_assert_msg(pvperf_capture_write_sample(w, &s, &err) == 0, "%s", err.text);
    }
}

static void write_small(const char *path)
{
    struct pvperf_capture_writer *w = create(path, 2);
    struct pvperf_lost lost = {
        .count = 42,
        .time_first = 5,
        .time_last = 9,
        .domid = 3,
        .vcpu = 1,
        .pcpu = 2,
        .event = 1,
    };
    struct pvperf_counts counts = {
        .overflows = 100, .recorded = 50, .lost = 42, .filtered = 8};

    add_domain(w, 3, "web server/1");
    write_samples(w, 10);
    ck_assert_int_eq(pvperf_capture_write_lost(w, &lost, &err), 0);
    ck_assert_int_eq(pvperf_capture_end_round(w, &err), 0);
    ck_assert_int_eq(pvperf_capture_set_counts(w, 0, &counts), 0);
    ck_assert_int_eq(pvperf_capture_set_counts(w, 1, &counts), 0);
    ck_assert_int_eq(pvperf_capture_set_counts(w, 2, &counts), -EINVAL);
    pvperf_capture_set_end(w, 3000000000ull);
    ck_assert_msg(pvperf_capture_finish(w, &err) == 0, "%s", err.text);
}

/* Counts of what next() delivers, and its last answer. */
static int count(struct pvperf_capture_reader *r, unsigned int seen[5])
{
    struct pvperf_capture_rec rec;
    int rc;

    memset(seen, 0, 5 * sizeof(*seen));
    while ((rc = pvperf_capture_next(r, &rec, &err)) == 1)
        seen[rec.type]++;
    return rc;
}

START_TEST(round_trip)
{
    const struct pvperf_capture_summary *sum;
    const struct pvperf_capture_domain *d;
    const struct pvperf_capture_info *info;
    struct pvperf_capture_reader *r;
    struct pvperf_capture_rec rec;
    struct pvperf_sample want;
    unsigned int seen[5];

    write_small(help_path("small.data"));
    r = open_capture(help_path("small.data"));
    info = pvperf_capture_get_info(r);
    ck_assert_uint_eq(info->nr_events, 2);
    ck_assert_str_eq(info->event_names[1], "instructions");
    ck_assert_uint_eq(info->events[1].rate, 100000);
    ck_assert_str_eq(info->hostname, "testhost");
    ck_assert_str_eq(info->command, "pvperf record -a");
    ck_assert_uint_eq(info->start_time, 1000000000);

    ck_assert_int_eq(pvperf_capture_scan(r, &err), 0);
    sum = pvperf_capture_get_summary(r);
    ck_assert_uint_eq(sum->samples, 10);
    ck_assert_uint_eq(sum->lost, 42);
    ck_assert_uint_eq(sum->first_time, 2000000000ull);
    ck_assert_uint_eq(sum->last_time, 2000009000ull);
    ck_assert_uint_eq(sum->end_time, 3000000000ull);
    ck_assert(sum->finished && !sum->truncated && !sum->damaged && sum->has_counts);
    ck_assert_uint_eq(sum->counts[1].filtered, 8);
    d = pvperf_capture_find_domain(r, 3);
    ck_assert_ptr_nonnull(d);
    ck_assert_str_eq(d->name, "web server/1");
    ck_assert_uint_eq(d->handle[5], 0x43);
    ck_assert_ptr_nonnull(pvperf_capture_find_domain(r, PVPERF_DOMID_IDLE));
    ck_assert_ptr_null(pvperf_capture_find_domain(r, 4));

    ck_assert_int_eq(count(r, seen), 0);
    ck_assert_uint_eq(seen[PVPERF_CAPTURE_SAMPLE], 10);
    ck_assert_uint_eq(seen[PVPERF_CAPTURE_LOST], 1);
    ck_assert_uint_eq(seen[PVPERF_CAPTURE_ROUND], 1);
    /* Reading twice counts once. */
    ck_assert_uint_eq(sum->samples, 10);

    pvperf_capture_rewind(r);
    do {
        ck_assert_int_eq(pvperf_capture_next(r, &rec, &err), 1);
    } while (rec.type != PVPERF_CAPTURE_SAMPLE);
    want = chain_sample(2000000000ull, 0);
    ck_assert_mem_eq(&rec.u.sample, &want, offsetof(struct pvperf_sample, chain[4]));
    do {
        ck_assert_int_eq(pvperf_capture_next(r, &rec, &err), 1);
    } while (rec.type != PVPERF_CAPTURE_LOST);
    ck_assert_uint_eq(rec.u.lost.count, 42);
    ck_assert_uint_eq(rec.u.lost.time_first, 5);
    ck_assert_uint_eq(rec.u.lost.time_last, 9);
    ck_assert_uint_eq(rec.u.lost.vcpu, 1);
    ck_assert_uint_eq(rec.u.lost.event, 1);
    pvperf_capture_close(r);
}
END_TEST

START_TEST(objects)
{
    struct pvperf_capture_writer *w = create(help_path("objects.data"), 1);
    struct pvperf_capture_object xen = {
        .kind = PVPERF_OBJECT_XEN,
        .domid = 5,
        .start = XEN_BASE,
        .len = 0x1000,
        .file_offset = 0x2000,
        .build_id_len = 20,
        .path = "/boot/xen-syms",
    };
    struct pvperf_capture_object program = {
        .kind = PVPERF_OBJECT_PROGRAM,
        .domid = 3,
        .start = 0x400000,
        .len = 0x1000,
        .pt_base = 0x99000,
        .bias = 0x300000,
        .path = "/usr/bin/x",
    };
    struct pvperf_capture_object bad = program;
    const struct pvperf_capture_object *o;
    struct pvperf_capture_reader *r;

    memset(xen.build_id, 0xab, sizeof(xen.build_id));
    ck_assert_int_eq(pvperf_capture_add_object(w, &xen, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_object(w, &xen, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_object(w, &program, &err), 0);
    bad.len = 0;
    ck_assert_int_eq(pvperf_capture_add_object(w, &bad, &err), -EINVAL);
    bad.len = 0x1000;
    bad.start = UINT64_MAX - 5;
    ck_assert_int_eq(pvperf_capture_add_object(w, &bad, &err), -EINVAL);
    write_samples(w, 3);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);

    r = open_capture(help_path("objects.data"));
    ck_assert_int_eq(pvperf_capture_scan(r, &err), 0);
    /* Xen is mapped into every process, but is one object. */
    ck_assert_uint_eq(pvperf_capture_nr_objects(r), 2);
    o = pvperf_capture_get_object(r, 0);
    ck_assert_str_eq(o->path, "/boot/xen-syms");
    ck_assert_uint_eq(o->domid, PVPERF_DOMID_IDLE);
    ck_assert_uint_eq(o->build_id_len, 20);
    ck_assert_uint_eq(o->build_id[19], 0xab);
    ck_assert_uint_eq(o->file_offset, 0x2000);
    o = pvperf_capture_get_object(r, 1);
    ck_assert_uint_eq(o->pt_base, 0x99000);
    ck_assert_uint_eq(o->bias, 0x300000);
    ck_assert_uint_eq(o->domid, 3);
    pvperf_capture_close(r);
}
END_TEST

START_TEST(sorted)
{
    struct pvperf_capture_writer *w = create(help_path("sorted.data"), 1);
    struct pvperf_capture_reader *r;
    struct pvperf_capture_rec rec;
    uint64_t last = 0;
    unsigned int i, n = 0;
    int rc;

    for (i = 0; i < 3000; i++) {
        /* Three rings, one after the other, in rounds of 30. */
        unsigned int round = i / 30, ring = i % 30 / 10, k = i % 10;
        struct pvperf_sample s =
            chain_sample(1000 + round * 100 + k * 10 + ring, (uint16_t)ring);

        ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
        if (i % 30 == 29)
            ck_assert_int_eq(pvperf_capture_end_round(w, &err), 0);
    }
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
    r = open_capture(help_path("sorted.data"));
    ck_assert_int_eq(pvperf_capture_sort(r, &err), 0);
    while ((rc = pvperf_capture_next(r, &rec, &err)) == 1) {
        if (rec.type != PVPERF_CAPTURE_SAMPLE)
            continue;
        ck_assert_uint_ge(rec.u.sample.time, last);
        last = rec.u.sample.time;
        n++;
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_eq(n, 3000);
    pvperf_capture_close(r);
}
END_TEST

/* A writer that is killed leaves what it had flushed. */
START_TEST(unfinished)
{
    struct pvperf_capture_writer *w = create(help_path("killed.data"), 1);
    struct pvperf_capture_reader *r;
    unsigned int seen[5];

    r = open_capture(help_path("killed.data"));
    ck_assert_int_eq(pvperf_capture_scan(r, &err), 0);
    ck_assert(!pvperf_capture_get_summary(r)->finished);
    pvperf_capture_close(r);

    write_samples(w, 5);
    ck_assert_int_eq(pvperf_capture_end_round(w, &err), 0);
    write_samples(w, 5);
    r = open_capture(help_path("killed.data"));
    ck_assert_int_eq(count(r, seen), 0);
    ck_assert_uint_eq(seen[PVPERF_CAPTURE_SAMPLE], 5);
    ck_assert(!pvperf_capture_get_summary(r)->finished);
    pvperf_capture_close(r);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
}
END_TEST

/* Cut anywhere: all that is whole, then one line. */
START_TEST(truncated)
{
    struct pvperf_capture_reader *r;
    unsigned int seen[5], before = 0;
    size_t len, cut;
    char *data;
    int rc;

    write_small(help_path("cut.data"));
    data = help_read(help_path("cut.data"), &len);
    for (cut = 0; cut < len; cut++) {
        /* An exact copy, so that a read beyond its end is seen. */
        char *copy = malloc(cut ? cut : 1);

        memcpy(copy, data, cut);
        err.text[0] = '\0';
        rc = pvperf_capture_open_buffer(copy, cut, &r, &err);
        if (rc) {
            ck_assert_int_eq(rc, -ENODATA);
            ck_assert_uint_gt(strlen(err.text), 0);
            free(copy);
            continue;
        }
        rc = count(r, seen);
        if (rc) {
            ck_assert_int_eq(rc, -ENODATA);
            ck_assert_ptr_nonnull(strstr(err.text, "cut off"));
            ck_assert(pvperf_capture_get_summary(r)->truncated);
            ck_assert_int_eq(pvperf_capture_scan(r, &err), -ENODATA);
            ck_assert_int_eq(pvperf_capture_sort(r, &err), 0);
        }
        ck_assert_uint_ge(seen[PVPERF_CAPTURE_SAMPLE], before);
        before = seen[PVPERF_CAPTURE_SAMPLE];
        pvperf_capture_close(r);
        free(copy);
    }
    ck_assert_uint_eq(before, 10);
    free(data);
}
END_TEST

START_TEST(truncated_file)
{
    struct pvperf_capture_reader *r;
    unsigned int seen[5];
    size_t len;

    write_small(help_path("half.data"));
    free(help_read(help_path("half.data"), &len));
    ck_assert_int_eq(truncate(help_path("half.data"), 3000), 0);
    ck_assert_uint_gt(len, 3000);
    r = open_capture(help_path("half.data"));
    ck_assert_int_eq(count(r, seen), -ENODATA);
    ck_assert_ptr_nonnull(strstr(err.text, "half.data"));
    ck_assert_uint_gt(seen[PVPERF_CAPTURE_SAMPLE], 0);
    ck_assert_uint_lt(seen[PVPERF_CAPTURE_SAMPLE], 10);
    pvperf_capture_close(r);
}
END_TEST

/* Noise in the middle: all before it, then a line with the offset. */
START_TEST(noise)
{
    struct pvperf_capture_reader *r;
    struct pvperf_capture_rec rec;
    uint64_t offset = 0;
    unsigned int seen[5];
    size_t len;
    char *data, number[32];
    int i;

    write_small(help_path("noise.data"));
    data = help_read(help_path("noise.data"), &len);
    ck_assert_int_eq(pvperf_capture_open_buffer(data, len, &r, &err), 0);
    for (i = 0; i < 5;) {
        ck_assert_int_eq(pvperf_capture_next(r, &rec, &err), 1);
        i += rec.type == PVPERF_CAPTURE_SAMPLE;
        offset = rec.offset;
    }
    pvperf_capture_close(r);
    memset(data + offset, 0xa5, 64);
    ck_assert_int_eq(pvperf_capture_open_buffer(data, len, &r, &err), 0);
    ck_assert_int_eq(count(r, seen), -EBADMSG);
    ck_assert_uint_eq(seen[PVPERF_CAPTURE_SAMPLE], 4);
    snprintf(number, sizeof(number), "byte %llu", (unsigned long long)offset);
    ck_assert_msg(strstr(err.text, number), "%s", err.text);
    ck_assert(pvperf_capture_get_summary(r)->damaged);
    /* Sorting tells as much. */
    ck_assert_int_eq(pvperf_capture_sort(r, &err), 0);
    ck_assert_int_eq(count(r, seen), -EBADMSG);
    ck_assert_uint_eq(seen[PVPERF_CAPTURE_SAMPLE], 4);
    pvperf_capture_close(r);
    free(data);
}
END_TEST

/* Any change of bytes may be refused, but must not be believed blindly. */
START_TEST(random_damage)
{
    struct pvperf_capture_reader *r;
    unsigned int seed = 4711, round, i, seen[5];
    size_t len;
    char *data, *copy;

    write_small(help_path("random.data"));
    data = help_read(help_path("random.data"), &len);
    copy = malloc(len);
    for (round = 0; round < 3000; round++) {
        memcpy(copy, data, len);
        for (i = 0; i < 1 + round % 8; i++) {
            seed = seed * 1103515245 + 12345;
            copy[(seed >> 8) % len] = (char)(seed >> 3);
        }
        if (pvperf_capture_open_buffer(copy, len, &r, NULL))
            continue;
        count(r, seen);
        ck_assert_int_le(pvperf_capture_sort(r, NULL), 0);
        count(r, seen);
        pvperf_capture_close(r);
    }
    free(copy);
    free(data);
}
END_TEST

START_TEST(not_ours)
{
    static const char words[] = "this is no capture at all, but a text";
    struct pvperf_capture_reader *r;
    size_t len;
    char *data;

    ck_assert_int_eq(pvperf_capture_open(help_path("none.data"), &r, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "none.data"));
    ck_assert_int_eq(pvperf_capture_open(help_dir, &r, &err), -EBADMSG);
    help_write(help_path("text.data"), words, sizeof(words));
    ck_assert_int_eq(pvperf_capture_open(help_path("text.data"), &r, &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "not a capture"));
    help_write(help_path("empty.data"), words, 0);
    ck_assert_int_eq(pvperf_capture_open(help_path("empty.data"), &r, &err), -ENODATA);

    /* Of perf's own, or of a later pvperf. */
    write_small(help_path("perf.data"));
    data = help_read(help_path("perf.data"), &len);
    memset(data + 56, 0, 16);
    ck_assert_int_eq(pvperf_capture_open_buffer(data, len, &r, &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "made by perf, not by pvperf"));
    free(data);
    data = help_read(help_path("perf.data"), &len);
    data[104 + 2 * 128 + 2 * 8 + 12] = 9;
    ck_assert_int_eq(pvperf_capture_open_buffer(data, len, &r, &err), -EPROTO);
    free(data);
}
END_TEST

START_TEST(bad_arguments)
{
    struct pvperf_capture_info info = help_info(1);
    struct pvperf_capture_writer *w;
    struct pvperf_sample s = chain_sample(1, 0);
    struct pvperf_lost lost = {.event = 3};

    info.nr_events = 0;
    ck_assert_int_eq(pvperf_capture_create(help_path("bad"), &info, &w, &err), -EINVAL);
    info.nr_events = PVPERF_MAX_EVENTS + 1;
    ck_assert_int_eq(pvperf_capture_create(help_path("bad"), &info, &w, &err), -EINVAL);
    info.nr_events = 1;
    ck_assert_int_eq(pvperf_capture_create(help_path("no/dir"), &info, &w, &err),
                     -ENOENT);
    ck_assert_int_eq(pvperf_capture_create("/dev/null", &info, &w, &err), -ESPIPE);
    w = create(help_path("bad"), 1);
    s.nr_xen = PVPERF_MAX_STACK;
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), -EINVAL);
    s.nr_xen = 2;
    s.event = 1;
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), -EINVAL);
    s.event = 0;
    s.domid = 0x8000;
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), -EINVAL);
    s.domid = 1;
    s.vcpu = 9000;
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), -EINVAL);
    s.vcpu = 8191;
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), 0);
    ck_assert_int_eq(pvperf_capture_write_lost(w, &lost, &err), -EINVAL);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
}
END_TEST

/* No room on the disk: one line, and what was written can be read. */
START_TEST(disk_full)
{
    struct pvperf_capture_writer *w = create(help_path("full.data"), 1);
    struct rlimit limit = {400000, RLIM_INFINITY}, old;
    struct pvperf_capture_reader *r;
    unsigned int seen[5], i;
    struct pvperf_sample s;
    int rc = 0;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit.rlim_max = old.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (i = 0; i < 100000 && !rc; i++) {
        s = chain_sample(1000 + i, 0);
        rc = pvperf_capture_write_sample(w, &s, &err);
    }
    ck_assert_int_eq(rc, -EFBIG);
    ck_assert_ptr_nonnull(strstr(err.text, "full.data"));
    ck_assert_ptr_null(strchr(err.text, '\n'));
    ck_assert_int_eq(pvperf_capture_write_sample(w, &s, &err), -EFBIG);
    ck_assert_int_eq(pvperf_capture_end_round(w, &err), -EFBIG);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), -EFBIG);

    r = open_capture(help_path("full.data"));
    ck_assert_int_eq(count(r, seen), 0);
    /* 400000 bytes hold this many samples of 152 bytes, and the head. */
    ck_assert_uint_gt(seen[PVPERF_CAPTURE_SAMPLE], 2500);
    ck_assert(pvperf_capture_get_summary(r)->finished);
    pvperf_capture_close(r);
}
END_TEST

START_TEST(renamed_domain)
{
    struct pvperf_capture_writer *w = create(help_path("renamed.data"), 1);
    struct pvperf_capture_reader *r;

    write_samples(w, 2); /* before it has a name */
    add_domain(w, 3, "first");
    add_domain(w, 3, "second");
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
    r = open_capture(help_path("renamed.data"));
    ck_assert_int_eq(pvperf_capture_scan(r, &err), 0);
    ck_assert_uint_eq(pvperf_capture_nr_domains(r), 2);
    ck_assert_str_eq(pvperf_capture_find_domain(r, 3)->name, "second");
    pvperf_capture_close(r);
}
END_TEST

/* Threads and processes must not meet. */
START_TEST(ids)
{
    ck_assert_int_eq(pvperf_capture_pid(3), 100003);
    ck_assert_int_eq(pvperf_capture_tid(3, 0), 100003);
    ck_assert_int_ne(pvperf_capture_tid(3, 1), pvperf_capture_tid(4, 1));
    ck_assert_int_gt(pvperf_capture_tid(0, 1), pvperf_capture_pid(PVPERF_DOMID_IDLE));
    ck_assert_int_lt(pvperf_capture_tid(PVPERF_DOMID_IDLE, 8191), 300000000);
    ck_assert_int_ne(pvperf_capture_tid(3, 8191), pvperf_capture_tid(4, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture");
    TCase *tc = tcase_create("capture");
    SRunner *runner;
    int failed;

    help_make_dir();
    atexit(help_remove);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, round_trip);
    tcase_add_test(tc, objects);
    tcase_add_test(tc, sorted);
    tcase_add_test(tc, unfinished);
    tcase_add_test(tc, truncated);
    tcase_add_test(tc, truncated_file);
    tcase_add_test(tc, noise);
    tcase_add_test(tc, random_damage);
    tcase_add_test(tc, not_ours);
    tcase_add_test(tc, bad_arguments);
    tcase_add_test(tc, disk_full);
    tcase_add_test(tc, renamed_domain);
    tcase_add_test(tc, ids);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
