/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_abi.c: sizes and offsets that the public header promises: the same for
 * every caller, 64-bit fields at multiples of eight, no hidden padding.
 */
#include <check.h>
#include <stddef.h>
#include <stdint.h>

#include <public/pvperf.h>

#define FIELD(t, f, off, len)                                 \
    do {                                                      \
        ck_assert_uint_eq(offsetof(struct t, f), (off));      \
        ck_assert_uint_eq(sizeof(((struct t *)0)->f), (len)); \
    } while (0)

START_TEST(sizes)
{
    ck_assert_uint_eq(sizeof(struct pvperf_query), 80);
    ck_assert_uint_eq(sizeof(struct pvperf_event), 24);
    ck_assert_uint_eq(sizeof(struct pvperf_session_create), 24 + 8 * 24);
    ck_assert_uint_eq(sizeof(struct pvperf_session), 8);
    ck_assert_uint_eq(sizeof(struct pvperf_counts), 64);
    ck_assert_uint_eq(sizeof(struct pvperf_session_info), 40 + 8 * 24 + 8 * 64);
    ck_assert_uint_eq(sizeof(struct pvperf_session_domain), 16);
    ck_assert_uint_eq(sizeof(struct pvperf_ring_info), 56);
    ck_assert_uint_eq(sizeof(struct pvperf_ring), 320);
    ck_assert_uint_eq(sizeof(struct pvperf_rec), 8);
    ck_assert_uint_eq(sizeof(struct pvperf_rec_sample), 24);
    ck_assert_uint_eq(sizeof(struct pvperf_chain), 8);
    ck_assert_uint_eq(sizeof(struct pvperf_rec_context), 32);
    ck_assert_uint_eq(sizeof(struct pvperf_rec_lost), 32);
}
END_TEST

START_TEST(operations)
{
    FIELD(pvperf_query, abi_major, 0, 2);
    FIELD(pvperf_query, abi_minor, 2, 2);
    FIELD(pvperf_query, backend, 4, 1);
    FIELD(pvperf_query, pmu_owner, 5, 1);
    FIELD(pvperf_query, sessions, 6, 1);
    FIELD(pvperf_query, privileged, 7, 1);
    FIELD(pvperf_query, nr_counters, 8, 2);
    FIELD(pvperf_query, nr_pcpus, 14, 2);
    FIELD(pvperf_query, generic_events, 16, 4);
    FIELD(pvperf_query, max_rate, 20, 4);
    FIELD(pvperf_query, now, 24, 8);
    FIELD(pvperf_query, text_start, 32, 8);
    FIELD(pvperf_query, ring_bytes_max, 56, 8);
    FIELD(pvperf_query, flags, 64, 4);
    FIELD(pvperf_event, type, 0, 2);
    FIELD(pvperf_event, flags, 2, 1);
    FIELD(pvperf_event, modes, 3, 1);
    FIELD(pvperf_event, reserved, 4, 4);
    FIELD(pvperf_event, config, 8, 8);
    FIELD(pvperf_event, rate, 16, 8);
    FIELD(pvperf_session_create, flags, 4, 1);
    FIELD(pvperf_session_create, ring_order, 5, 1);
    FIELD(pvperf_session_create, max_stack, 6, 1);
    FIELD(pvperf_session_create, cookie, 8, 8);
    FIELD(pvperf_session_create, session, 16, 4);
    FIELD(pvperf_session_create, events, 24, 192);
    FIELD(pvperf_session_info, cookie, 8, 8);
    FIELD(pvperf_session_info, start_time, 16, 8);
    FIELD(pvperf_session_info, nr_rings, 28, 4);
    FIELD(pvperf_session_info, ring_changes, 32, 8);
    FIELD(pvperf_session_info, events, 40, 192);
    FIELD(pvperf_session_info, counts, 232, 512);
    FIELD(pvperf_counts, throttled, 32, 8);
    FIELD(pvperf_counts, time_enabled, 40, 8);
    FIELD(pvperf_counts, time_running, 48, 8);
    FIELD(pvperf_counts_read, nr, 8, 4);
    FIELD(pvperf_counts_read, entry, 16, 8 * 160);
    FIELD(pvperf_vcpu_counts, flags, 4, 4);
    FIELD(pvperf_vcpu_counts, handle, 8, 16);
    FIELD(pvperf_vcpu_counts, time, 24, 8);
    FIELD(pvperf_vcpu_counts, count, 32, 64);
    FIELD(pvperf_vcpu_counts, counted, 96, 64);
    FIELD(pvperf_session_domain, domid, 4, 2);
    FIELD(pvperf_session_domain, next_vcpu, 8, 4);
    FIELD(pvperf_ring_info, domid, 8, 2);
    FIELD(pvperf_ring_info, header_frame, 16, 8);
    FIELD(pvperf_ring_info, data_frame, 24, 8);
    FIELD(pvperf_ring_info, serial, 32, 8);
    FIELD(pvperf_ring_info, handle, 40, 16);
}
END_TEST

START_TEST(ring_page)
{
    FIELD(pvperf_ring, magic, 0, 4);
    FIELD(pvperf_ring, abi_major, 4, 2);
    FIELD(pvperf_ring, abi_minor, 6, 2);
    FIELD(pvperf_ring, session, 8, 4);
    FIELD(pvperf_ring, data_size, 12, 4);
    FIELD(pvperf_ring, serial, 16, 8);
    FIELD(pvperf_ring, domid, 24, 2);
    FIELD(pvperf_ring, vcpu, 26, 2);
    FIELD(pvperf_ring, flags, 28, 4);
    FIELD(pvperf_ring, head, 64, 8);
    FIELD(pvperf_ring, recorded, 128, 64);
    FIELD(pvperf_ring, lost, 192, 64);
    FIELD(pvperf_ring, tail, 256, 8);
    /* head and tail are not neighbours in a cache line */
    ck_assert_uint_ne(offsetof(struct pvperf_ring, head) / 64,
                      offsetof(struct pvperf_ring, tail) / 64);
    ck_assert_uint_eq(PVPERF_RING_MAGIC, 0x66727650);
    ck_assert_mem_eq(&(uint32_t){PVPERF_RING_MAGIC}, "Pvrf", 4);
}
END_TEST

START_TEST(records)
{
    FIELD(pvperf_rec, type, 0, 1);
    FIELD(pvperf_rec, words, 1, 1);
    FIELD(pvperf_rec, event, 2, 1);
    FIELD(pvperf_rec, mode, 3, 1);
    FIELD(pvperf_rec, pcpu, 4, 2);
    FIELD(pvperf_rec, flags, 6, 2);
    FIELD(pvperf_rec_sample, time, 8, 8);
    FIELD(pvperf_rec_sample, ip, 16, 8);
    FIELD(pvperf_rec_context, domid, 8, 2);
    FIELD(pvperf_rec_context, vcpu, 10, 2);
    FIELD(pvperf_rec_context, pt_base, 16, 8);
    FIELD(pvperf_rec_context, tag, 24, 8);
    FIELD(pvperf_rec_lost, count, 8, 8);
    FIELD(pvperf_rec_lost, time_first, 16, 8);
    FIELD(pvperf_rec_lost, time_last, 24, 8);
    FIELD(pvperf_chain, nr_xen, 0, 2);
    FIELD(pvperf_chain, flags, 6, 2);
    /* the longest sample fits its length field */
    ck_assert_uint_le(3 + 1 + 1 + PVPERF_MAX_STACK, 255);
}
END_TEST

START_TEST(numbers)
{
    ck_assert_int_eq(__HYPERVISOR_pvperf_op, 43);
    ck_assert_int_eq(VIRQ_PVPERF, 14);
    ck_assert_int_eq(PVPERF_ABI_MAJOR, 1);
    ck_assert_int_eq(PVPERF_OP_query, 0);
    ck_assert_int_eq(PVPERF_OP_session_create, 16);
    ck_assert_int_eq(PVPERF_OP_session_destroy, 17);
    ck_assert_int_eq(PVPERF_OP_session_start, 18);
    ck_assert_int_eq(PVPERF_OP_session_stop, 19);
    ck_assert_int_eq(PVPERF_OP_session_info, 20);
    ck_assert_int_eq(PVPERF_OP_session_add_domain, 21);
    ck_assert_int_eq(PVPERF_OP_session_del_domain, 22);
    ck_assert_int_eq(PVPERF_OP_ring_info, 23);
    ck_assert_int_eq(PVPERF_OP_ring_release, 24);
    ck_assert_int_eq(PVPERF_DOMID_IDLE, 0x7fff);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("abi");
    TCase *t = tcase_create("layout");
    SRunner *r;
    int failed;

    tcase_add_test(t, sizes);
    tcase_add_test(t, operations);
    tcase_add_test(t, ring_page);
    tcase_add_test(t, records);
    tcase_add_test(t, numbers);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
