/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects of each kind, the map of a host, and captures that name them. */
#include <errno.h>

#include "capture_help.h"

static struct pvperf_err err;

static const char *const xen_names[] = {"do_xen_one", "do_xen_two", NULL};
static const char *const program_names[] = {"seventy", "thirty", NULL};

static const char map[] = "ffffffff81000000 T startup_64\n"
                          "ffffffff81000000 T _text\n"
                          "ffffffff81000040 D not_code\n"
                          "ffffffff81000100 T do_idle\n"
                          "ffffffff81000200 t schedule_idle\n"
                          "ffffffffc0200000 t mod_function\t[mod]\n";

static struct pvperf_object *load_text(const char *text, enum pvperf_object_kind kind)
{
    struct pvperf_object *o;

    ck_assert_msg(pvperf_object_load_buffer(text, strlen(text), "x/System.map", kind, &o,
                                            &err) == 0,
                  "%s", err.text);
    return o;
}

static int refuse(const void *data, size_t len, enum pvperf_object_kind kind)
{
    struct pvperf_object *o = NULL;
    int rc;

    err.text[0] = '\0';
    rc = pvperf_object_load_buffer(data, len, "x", kind, &o, &err);
    ck_assert_int_lt(rc, 0);
    ck_assert_uint_gt(strlen(err.text), 0);
    ck_assert_ptr_null(strchr(err.text, '\n'));
    ck_assert_ptr_null(o);
    return rc;
}

START_TEST(text)
{
    struct pvperf_object *o = load_text(map, PVPERF_OBJECT_KERNEL);
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    uint64_t start;

    ck_assert_int_eq(info->source, PVPERF_SYMS_TEXT);
    ck_assert(!info->elf);
    ck_assert_str_eq(info->name, "System.map");
    ck_assert_uint_eq(info->nr_symbols, 4);
    ck_assert_uint_eq(info->nr_ranges, 2);
    ck_assert_str_eq(pvperf_object_lookup(o, 0xffffffff81000000, &start), "startup_64");
    ck_assert_str_eq(pvperf_object_lookup(o, 0xffffffff810001ff, &start), "do_idle");
    ck_assert_uint_eq(start, 0xffffffff81000100);
    ck_assert_str_eq(pvperf_object_lookup(o, 0xffffffff81000200, NULL), "schedule_idle");
    ck_assert_str_eq(pvperf_object_lookup(o, 0xffffffffc0200010, NULL), "mod_function");
    ck_assert_ptr_null(pvperf_object_lookup(o, 0xffffffff80ffffff, NULL));
    ck_assert_ptr_null(pvperf_object_lookup(o, 0xffffffff90000000, NULL));
    ck_assert_ptr_null(pvperf_object_lookup(o, 0, NULL));
    ck_assert_int_eq(pvperf_object_find(o, "do_idle", &start), 0);
    ck_assert_int_eq(pvperf_object_find(o, "not_code", &start), -ENOENT);
    pvperf_object_put(o);
}
END_TEST

START_TEST(text_of_xen)
{
    struct pvperf_object *o = load_text("0xffff82d040200000 T _start\n"
                                        "0xffff82d040200100 t schedule.c#schedule\n",
                                        PVPERF_OBJECT_XEN);

    ck_assert_str_eq(pvperf_object_lookup(o, 0xffff82d040200104, NULL), "schedule");
    pvperf_object_put(o);
}
END_TEST

START_TEST(bad_text)
{
    static const char zeros[] = "0000000000000000 T a\n0000000000000000 t b\n";
    static const char placeholder[] = "ffffffffffffffff B The real System.map is in "
                                      "the linux-image-<version>-dbg package\n";
    static const char prose[] = "Dear reader,\nthis is no list of symbols.\n";

    ck_assert_int_eq(refuse(zeros, sizeof(zeros) - 1, PVPERF_OBJECT_KERNEL), -ENODATA);
    ck_assert_ptr_nonnull(strstr(err.text, "kptr_restrict"));
    ck_assert_int_eq(refuse(placeholder, sizeof(placeholder) - 1, PVPERF_OBJECT_KERNEL),
                     -ENODATA);
    ck_assert_int_eq(refuse(prose, sizeof(prose) - 1, PVPERF_OBJECT_KERNEL), -ENOEXEC);
    ck_assert_int_eq(refuse("", 0, PVPERF_OBJECT_KERNEL), -ENOEXEC);
    ck_assert_int_eq(refuse(map, sizeof(map) - 1, PVPERF_OBJECT_PROGRAM), -ENOEXEC);
}
END_TEST

START_TEST(elf)
{
    const struct pvperf_object_info *info;
    struct pvperf_object *o;
    const char *name;
    uint64_t start, len, one;

    help_object(help_path("xen-syms"), "0xffff82d040200000", "-static", xen_names);
    o = help_load(help_path("xen-syms"), PVPERF_OBJECT_XEN);
    info = pvperf_object_get_info(o);
    ck_assert_int_eq(info->source, PVPERF_SYMS_SYMTAB);
    ck_assert(info->elf && !info->relocatable);
    ck_assert_uint_eq(info->build_id_len, 20);
    ck_assert_uint_eq(info->nr_ranges, 1);
    ck_assert_int_eq(pvperf_object_find(o, "do_xen_one", &one), 0);
    ck_assert_str_eq(pvperf_object_lookup(o, one + 31, &start), "do_xen_one");
    ck_assert_uint_eq(start, one);
    ck_assert_str_eq(pvperf_object_lookup(o, one + 32, NULL), "do_xen_two");
    ck_assert_int_eq(pvperf_object_symbol(o, 0, &name, &start, &len), 0);
    ck_assert_uint_ge(start, info->ranges[0].start);
    ck_assert_int_eq(pvperf_object_symbol(o, 99, &name, &start, &len), -ENOENT);
    pvperf_object_put(o);

    /* A kernel's code is in the upper half. */
    help_object(help_path("low"), "0x401000", "-static", program_names);
    ck_assert_int_eq(pvperf_object_load(help_path("low"), PVPERF_OBJECT_KERNEL, &o, &err),
                     -ENOEXEC);
    ck_assert_int_eq(pvperf_object_load(help_path("none"), PVPERF_OBJECT_XEN, &o, &err),
                     -ENOENT);
    ck_assert_int_eq(pvperf_object_load(help_dir, PVPERF_OBJECT_XEN, &o, &err), -ENOEXEC);
}
END_TEST

START_TEST(pie_and_stripped)
{
    struct pvperf_object *o;
    uint64_t a;

    help_object(help_path("pie"), "0x1000", "-pie", program_names);
    o = help_load(help_path("pie"), PVPERF_OBJECT_PROGRAM);
    ck_assert(pvperf_object_get_info(o)->relocatable);
    ck_assert_int_eq(pvperf_object_find(o, "thirty", &a), 0);
    ck_assert_uint_lt(a, 0x10000);
    pvperf_object_put(o);

    help_object(help_path("so"), "0x1000", "-shared -s", program_names);
    o = help_load(help_path("so"), PVPERF_OBJECT_PROGRAM);
    ck_assert_int_eq(pvperf_object_get_info(o)->source, PVPERF_SYMS_DYNSYM);
    ck_assert_int_eq(pvperf_object_find(o, "seventy", &a), 0);
    pvperf_object_put(o);

    help_object(help_path("bare"), "0x401000", "-static -s", program_names);
    ck_assert_int_eq(
        pvperf_object_load(help_path("bare"), PVPERF_OBJECT_PROGRAM, &o, &err), -ENODATA);
    ck_assert_ptr_nonnull(strstr(err.text, "strip"));
}
END_TEST

/* Any byte of an ELF file may be wrong. */
START_TEST(damaged_elf)
{
    struct pvperf_object *o;
    unsigned int seed = 99, round, i;
    size_t len, cut;
    char *data, *copy;

    help_object(help_path("ok"), "0xffffffff81000000", "-static", xen_names);
    data = help_read(help_path("ok"), &len);
    for (cut = 0; cut < len; cut += 1 + cut / 50) {
        copy = malloc(cut ? cut : 1);
        memcpy(copy, data, cut);
        if (!pvperf_object_load_buffer(copy, cut, "x", PVPERF_OBJECT_KERNEL, &o, NULL))
            pvperf_object_put(o);
        free(copy);
    }
    copy = malloc(len);
    for (round = 0; round < 600; round++) {
        memcpy(copy, data, len);
        for (i = 0; i < 1 + round % 4; i++) {
            size_t at;

            seed = seed * 1103515245 + 12345;
            /* Mostly headers: at the beginning and at the end. */
            at = (seed >> 8) % 600;
            copy[seed & 64 ? at : len - 1 - at] = (char)(seed >> 3);
        }
        if (!pvperf_object_load_buffer(
                copy, len, "x", round & 1 ? PVPERF_OBJECT_KERNEL : PVPERF_OBJECT_PROGRAM,
                &o, NULL)) {
            pvperf_object_lookup(o, 0xffffffff81000010, NULL);
            pvperf_object_put(o);
        }
    }
    free(copy);
    free(data);
}
END_TEST

static struct pvperf_location look(struct pvperf_symbols *s, uint16_t domid,
                                   unsigned int mode, uint64_t pt_base, uint64_t address)
{
    struct pvperf_location loc;

    pvperf_symbols_lookup(s, domid, mode, pt_base, address, &loc);
    return loc;
}

START_TEST(host)
{
    struct pvperf_object *xen =
        load_text("ffff82d040200000 T xen_code\n", PVPERF_OBJECT_XEN);
    struct pvperf_object *kernel = load_text(map, PVPERF_OBJECT_KERNEL), *program, *other;
    struct pvperf_location loc;
    struct pvperf_symbols *s;
    struct pvperf_missing m;
    uint64_t a;

    help_object(help_path("program"), "0x401000", "-static", program_names);
    help_object(help_path("other"), "0x401000", "-static", xen_names);
    program = help_load(help_path("program"), PVPERF_OBJECT_PROGRAM);
    other = help_load(help_path("other"), PVPERF_OBJECT_PROGRAM);
    ck_assert_int_eq(pvperf_object_find(program, "thirty", &a), 0);
    ck_assert_int_eq(pvperf_symbols_new(&s), 0);
    ck_assert_int_eq(pvperf_symbols_add(s, 0, 0, 0, xen), 0);
    ck_assert_int_eq(pvperf_symbols_add(s, 1, 0, 0, kernel), 0);
    ck_assert_int_eq(pvperf_symbols_add(s, 2, 0x1000000, 0, kernel), 0);
    ck_assert_int_eq(pvperf_symbols_add(s, 1, 0, 0, program), 0);
    ck_assert_int_eq(pvperf_symbols_add(s, 1, 0, 0x5000, other), 0);
    ck_assert_int_eq(pvperf_symbols_add(s, 1, 0x10000000, 0, program), 0);
    pvperf_object_put(xen);
    pvperf_object_put(kernel);
    pvperf_object_put(program);
    pvperf_object_put(other);

    loc = look(s, 7, PVPERF_MODE_HYPERVISOR, 0, 0xffff82d040200010);
    ck_assert_str_eq(loc.symbol, "xen_code");
    ck_assert_uint_eq(loc.offset, 0x10);
    ck_assert(loc.known);
    loc = look(s, PVPERF_DOMID_IDLE, PVPERF_MODE_IDLE, 0, 0xffff82d040200000);
    ck_assert_str_eq(loc.symbol, "xen_code");
    loc = look(s, 1, PVPERF_MODE_KERNEL, 0, 0xffffffff81000100);
    ck_assert_str_eq(loc.symbol, "do_idle");
    /* Another domain, moved by KASLR. */
    loc = look(s, 2, PVPERF_MODE_KERNEL, 0, 0xffffffff82000104);
    ck_assert_str_eq(loc.symbol, "do_idle");
    ck_assert_uint_eq(loc.offset, 4);
    loc = look(s, 1, PVPERF_MODE_USER, 0x9000, a);
    ck_assert_str_eq(loc.symbol, "thirty");
    ck_assert_str_eq(loc.object, "program");
    loc = look(s, 1, PVPERF_MODE_USER, 0x5000, a);
    ck_assert_str_eq(loc.symbol, "do_xen_two");
    loc = look(s, 1, PVPERF_MODE_USER, 0x9000, a + 0x10000000);
    ck_assert_str_eq(loc.symbol, "thirty");
    ck_assert_uint_eq(pvperf_symbols_nr_missing(s), 0);

    /* User addresses are not looked for in the kernel, and so on. */
    loc = look(s, 3, PVPERF_MODE_KERNEL, 0, 0xffffffff81000100);
    ck_assert_str_eq(loc.symbol, "[unknown]");
    ck_assert_str_eq(loc.object, "[unknown]");
    loc = look(s, 1, PVPERF_MODE_USER, 0, 0xffffffff81000100);
    ck_assert(!loc.known);
    loc = look(s, 1, PVPERF_MODE_USER, 0, 0xffffffff81000101);
    loc = look(s, 1, PVPERF_MODE_HYPERVISOR, 0, 5);
    ck_assert_uint_eq(pvperf_symbols_nr_missing(s), 3);
    ck_assert_int_eq(pvperf_symbols_get_missing(s, 0, &m), 0);
    ck_assert_uint_eq(m.domid, 1);
    ck_assert_uint_eq(m.mode, PVPERF_MODE_USER);
    ck_assert_uint_eq(m.count, 2);
    ck_assert_uint_eq(m.address, 0xffffffff81000100);
    ck_assert_ptr_nonnull(strstr(m.hint, "library"));
    ck_assert_int_eq(pvperf_symbols_get_missing(s, 2, &m), 0);
    ck_assert_uint_eq(m.domid, 3);
    ck_assert_ptr_nonnull(strstr(m.hint, "vmlinuz"));
    ck_assert_int_eq(pvperf_symbols_get_missing(s, 3, &m), -ENOENT);
    pvperf_symbols_free(s);
}
END_TEST

static unsigned int warnings;
static char warning[512];

static void warn(void *arg, const char *line)
{
    (void)arg;
    warnings++;
    snprintf(warning, sizeof(warning), "%s", line);
}

START_TEST(of_capture)
{
    struct pvperf_capture_info info = help_info(1);
    struct pvperf_object *xen, *program;
    struct pvperf_capture_writer *w;
    struct pvperf_capture_reader *r;
    struct pvperf_location loc;
    struct pvperf_symbols *s;
    uint64_t a;

    help_object(help_path("xen-syms"), "0xffff82d040200000", "-static", xen_names);
    help_object(help_path("app"), "0x1000", "-pie", program_names);
    xen = help_load(help_path("xen-syms"), PVPERF_OBJECT_XEN);
    program = help_load(help_path("app"), PVPERF_OBJECT_PROGRAM);
    ck_assert_int_eq(pvperf_object_find(program, "thirty", &a), 0);
    ck_assert_int_eq(pvperf_capture_create(help_path("c.data"), &info, &w, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_file(w, 0, 0, 0, xen, &err), 0);
    ck_assert_int_eq(pvperf_capture_add_file(w, 4, 0x555500000000, 0, program, &err), 0);
    ck_assert_int_eq(pvperf_capture_finish(w, &err), 0);
    pvperf_object_put(xen);
    pvperf_object_put(program);

    ck_assert_int_eq(pvperf_capture_open(help_path("c.data"), &r, &err), 0);
    ck_assert_int_eq(pvperf_capture_scan(r, &err), 0);
    ck_assert_int_eq(pvperf_symbols_new(&s), 0);
    ck_assert_int_eq(pvperf_symbols_add_capture(s, r, warn, NULL), 0);
    loc = look(s, 4, PVPERF_MODE_USER, 0, 0x555500000000 + a + 5);
    ck_assert_str_eq(loc.symbol, "thirty");
    ck_assert_uint_eq(loc.offset, 5);
    ck_assert_uint_eq(warnings, 0);
    pvperf_symbols_free(s);

    /* Another build under the old name is not taken for the old one. */
    help_object(help_path("app"), "0x1000", "-pie", xen_names);
    unlink(help_path("xen-syms"));
    ck_assert_int_eq(pvperf_symbols_new(&s), 0);
    ck_assert_int_eq(pvperf_symbols_add_capture(s, r, warn, NULL), 2);
    ck_assert_uint_eq(warnings, 2);
    ck_assert_ptr_nonnull(strstr(warning, "build-id"));
    loc = look(s, 4, PVPERF_MODE_USER, 0, 0x555500000000 + a + 5);
    ck_assert(!loc.known);
    pvperf_symbols_free(s);
    pvperf_capture_close(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbols");
    TCase *tc = tcase_create("symbols");
    SRunner *runner;
    int failed;

    help_make_dir();
    atexit(help_remove);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, text);
    tcase_add_test(tc, text_of_xen);
    tcase_add_test(tc, bad_text);
    tcase_add_test(tc, elf);
    tcase_add_test(tc, pie_and_stripped);
    tcase_add_test(tc, damaged_elf);
    tcase_add_test(tc, host);
    tcase_add_test(tc, of_capture);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
