/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols within kernel images: tables as the kernel's build lays them
 * out, in each order that it has had, and (if one is at hand, or named by
 * PVPERF_TEST_KERNEL) a real vmlinuz.
 */
#include <errno.h>
#include <glob.h>

#include "capture_help.h"
#include "object_private.h"

enum layout { BEFORE, BEFORE_WITH_SEQS, AFTER };

#define NR 700
#define BASE 0xffffffff81000000ull

struct image {
    uint8_t data[1 << 17];
    size_t len;
};

static void put(struct image *im, const void *data, size_t len)
{
    ck_assert_uint_le(im->len + len, sizeof(im->data));
    memcpy(im->data + im->len, data, len);
    im->len += len;
}

static void align(struct image *im)
{
    while (im->len % 8)
        put(im, "", 1);
}

static uint64_t address_of(unsigned int i)
{
    return BASE + 16 * i;
}

/* Names "Tfunction_<i>": token 128 is "function_", other bytes are letters. */
static void put_names(struct image *im, uint32_t markers[], unsigned int *nr_markers)
{
    size_t start = im->len;
    unsigned int i;

    *nr_markers = 0;
    for (i = 0; i < NR; i++) {
        uint8_t name[1200];
        char number[16];
        size_t n = 2, digits;

        if (i % 256 == 0)
            markers[(*nr_markers)++] = (uint32_t)(im->len - start);
        digits = (size_t)snprintf(number, sizeof(number), "%u", i);
        name[n++] = 'T';
        name[n++] = 128;
        memcpy(name + n, number, digits);
        n += digits;
        if (i == 5) { /* one that needs two bytes of length */
            memset(name + n, 'x', 200);
            n += 200;
        }
        if (n - 2 < 128) {
            name[1] = (uint8_t)(n - 2);
            put(im, name + 1, n - 1);
        } else {
            name[0] = (uint8_t)(0x80 | ((n - 2) & 0x7f));
            name[1] = (uint8_t)((n - 2) >> 7);
            put(im, name, n);
        }
    }
    align(im);
}

static void put_tokens(struct image *im)
{
    uint16_t index[256];
    size_t start = im->len;
    unsigned int i;

    for (i = 0; i < 256; i++) {
        char text[16] = {(char)(i >= 32 && i < 127 ? i : '_'), 0};

        if (i < 32)
            snprintf(text, sizeof(text), "tok%u_", i);
        if (i == 128)
            strcpy(text, "function_");
        index[i] = (uint16_t)(im->len - start);
        put(im, text, strlen(text) + 1);
    }
    align(im);
    put(im, index, sizeof(index));
    align(im);
}

static void put_offsets(struct image *im, bool percpu)
{
    uint64_t base = BASE;
    unsigned int i;

    for (i = 0; i < NR; i++) {
        uint32_t off = (uint32_t)(address_of(i) - BASE);

        off = percpu ? (uint32_t)(-1 - (int32_t)off) : off;
        put(im, &off, sizeof(off));
    }
    align(im);
    put(im, &base, sizeof(base));
}

static void build(struct image *im, enum layout layout, bool percpu)
{
    uint32_t markers[8], nr = NR;
    uint8_t seqs[3 * NR];
    unsigned int nr_markers;

    memset(im, 0, sizeof(*im));
    memset(seqs, 0x5a, sizeof(seqs));
    /* What looks like the table of tokens and is none. */
    put(im, "\0\0\0\0000\0001\0002\0003\0004\0005\0006\0007\0008\0009\0", 24);
    align(im);
    if (layout != AFTER)
        put_offsets(im, percpu);
    align(im);
    put(im, &nr, sizeof(nr));
    align(im);
    put_names(im, markers, &nr_markers);
    put(im, markers, nr_markers * sizeof(*markers));
    align(im);
    if (layout == BEFORE_WITH_SEQS)
        put(im, seqs, sizeof(seqs));
    align(im);
    put_tokens(im);
    if (layout == AFTER)
        put_offsets(im, percpu);
    put(im, "the rest of the image..", 24);
}

static struct image image;

static void check_decoded(struct pvperf_object *o)
{
    char want[32];
    unsigned int i;
    uint64_t a;

    pvp_object_sort(o);
    ck_assert_uint_eq(o->info.nr_symbols, NR);
    for (i = 0; i < NR; i++) {
        if (i == 5)
            continue;
        snprintf(want, sizeof(want), "function_%u", i);
        ck_assert_int_eq(pvperf_object_find(o, want, &a), 0);
        ck_assert_uint_eq(a, address_of(i));
    }
    ck_assert_uint_eq(strlen(o->names + o->symbols[5].name), strlen("function_5") + 200);
}

START_TEST(layouts)
{
    enum layout layout;
    int percpu;

    for (layout = BEFORE; layout <= AFTER; layout++) {
        for (percpu = 0; percpu < 2; percpu++) {
            struct pvperf_object *o = pvp_object_new("x", PVPERF_OBJECT_KERNEL);

            build(&image, layout, percpu);
            ck_assert_int_eq(pvp_object_read_kallsyms(o, image.data, image.len), 0);
            check_decoded(o);
            pvperf_object_put(o);
        }
    }
}
END_TEST

START_TEST(none)
{
    struct pvperf_object *o = pvp_object_new("x", PVPERF_OBJECT_KERNEL);

    ck_assert_int_eq(pvp_object_read_kallsyms(o, (const uint8_t *)"", 0), -ENOENT);
    memset(image.data, 0, sizeof(image.data));
    ck_assert_int_eq(pvp_object_read_kallsyms(o, image.data, sizeof(image.data)),
                     -ENOENT);
    pvperf_object_put(o);
}
END_TEST

/* Cut or changed, the tables may be refused but never read beyond. */
START_TEST(damaged)
{
    unsigned int seed = 7, round, i;
    size_t cut;

    build(&image, BEFORE_WITH_SEQS, true);
    for (cut = 0; cut < image.len; cut += 97) {
        struct pvperf_object *o = pvp_object_new("x", PVPERF_OBJECT_KERNEL);
        uint8_t *copy = malloc(cut ? cut : 1);

        memcpy(copy, image.data, cut);
        pvp_object_read_kallsyms(o, copy, cut);
        free(copy);
        pvperf_object_put(o);
    }
    for (round = 0; round < 300; round++) {
        struct pvperf_object *o = pvp_object_new("x", PVPERF_OBJECT_KERNEL);
        uint8_t *copy;

        build(&image, round % 3, round & 1);
        copy = malloc(image.len);
        memcpy(copy, image.data, image.len);
        for (i = 0; i < 1 + round % 3; i++) {
            seed = seed * 1103515245 + 12345;
            copy[(seed >> 8) % image.len] = (uint8_t)(seed >> 3);
        }
        pvp_object_read_kallsyms(o, copy, image.len);
        pvp_object_sort(o);
        free(copy);
        pvperf_object_put(o);
    }
}
END_TEST

/* In an ELF file without symbol table, as the kernel's image is stripped. */
START_TEST(in_elf)
{
    const struct pvperf_object_info *info;
    struct pvperf_object *o, *elf;
    struct pvperf_err err;
    char command[600];
    FILE *f;

    build(&image, AFTER, false);
    help_write(help_path("tables"), image.data, image.len);
    f = fopen(help_path("k.s"), "w");
    fprintf(f,
            ".text\n.globl _start\n_start:.fill 16384,1,0x90\n.section .rodata\n"
            ".balign 8\n.incbin \"%s/tables\"\n"
            ".section .note.GNU-stack,\"\",@progbits\n",
            help_dir);
    fclose(f);
    snprintf(command, sizeof(command),
             "gcc -nostdlib -static -s -Wl,--build-id=sha1 "
             "-Wl,-Ttext=0xffffffff81000000 -o %s/vmlinux %s/k.s 2>&1",
             help_dir, help_dir);
    free(help_run(command));
    o = help_load(help_path("vmlinux"), PVPERF_OBJECT_KERNEL);
    info = pvperf_object_get_info(o);
    ck_assert_int_eq(info->source, PVPERF_SYMS_KALLSYMS);
    ck_assert_uint_eq(info->nr_symbols, NR);
    ck_assert_uint_eq(info->build_id_len, 20);
    ck_assert(!info->elf);
    ck_assert_str_eq(pvperf_object_lookup(o, BASE + 16 * 77 + 3, NULL), "function_77");

    /* Exported, it is the same in a form that others can read. */
    ck_assert_msg(pvperf_object_export_elf(o, help_path("out.elf"), &elf, &err) == 0,
                  "%s", err.text);
    info = pvperf_object_get_info(elf);
    ck_assert_int_eq(info->source, PVPERF_SYMS_SYMTAB);
    ck_assert(info->elf);
    ck_assert_uint_eq(info->nr_symbols, NR);
    ck_assert_mem_eq(info->build_id, pvperf_object_get_info(o)->build_id, 20);
    ck_assert_str_eq(pvperf_object_lookup(elf, BASE + 16 * 77 + 3, NULL), "function_77");
    pvperf_object_put(elf);
    pvperf_object_put(o);
}
END_TEST

/* A bzImage around an ELF file, packed with each packer. */
START_TEST(packed)
{
    static const char *const packers[] = {
        "gzip -n -c",
        "xz --check=crc32 -c",
        "zstd -q -22 --ultra -c",
    };
    uint8_t *boot = calloc(1, 1 << 20);
    struct pvperf_object *o;
    struct pvperf_err err;
    char command[256];
    size_t len, i;
    char *payload;

    build(&image, BEFORE, true);
    help_write(help_path("tables"), image.data, image.len);
    snprintf(command, sizeof(command),
             "cd %s && printf '.text\\n.globl _start\\n_start:"
             ".fill 16384,1,0x90\\n.section .rodata\\n.balign 8\\n.incbin \"tables\"\\n' "
             ">k.s",
             help_dir);
    free(help_run(command));
    snprintf(command, sizeof(command),
             "cd %s && gcc -nostdlib -static -s "
             "-Wl,-Ttext=0xffffffff81000000 -Wl,-z,noexecstack -o elf k.s 2>&1",
             help_dir);
    free(help_run(command));
    for (i = 0; i < 3; i++) {
        uint32_t offset = 64, length;

        snprintf(command, sizeof(command), "cd %s && %s <elf >packed", help_dir,
                 packers[i]);
        free(help_run(command));
        payload = help_read(help_path("packed"), &len);
        memset(boot, 0, 1 << 20);
        boot[0x1f1] = 1;
        memcpy(boot + 0x202, "HdrS", 4);
        boot[0x206] = 0x0f;
        boot[0x207] = 0x02;
        length = (uint32_t)len;
        memcpy(boot + 0x248, &offset, 4);
        memcpy(boot + 0x24c, &length, 4);
        ck_assert_uint_lt(len, (1 << 20) - 1088);
        memcpy(boot + 1024 + 64, payload, len);
        ck_assert_msg(pvperf_object_load_buffer(boot, 1088 + len, "vmlinuz",
                                                PVPERF_OBJECT_KERNEL, &o, &err) == 0,
                      "%s: %s", packers[i], err.text);
        ck_assert_uint_eq(pvperf_object_get_info(o)->nr_symbols, NR);
        pvperf_object_put(o);
        /* Cut, it is refused. */
        ck_assert_int_eq(pvperf_object_load_buffer(boot, 1000 + len, "vmlinuz",
                                                   PVPERF_OBJECT_KERNEL, &o, &err),
                         -ENOEXEC);
        memset(boot + 1200, 0x11, len / 2);
        ck_assert_int_lt(pvperf_object_load_buffer(boot, 1088 + len, "vmlinuz",
                                                   PVPERF_OBJECT_KERNEL, &o, &err),
                         0);
        free(payload);
    }
    memcpy(boot + 1088, "\x02!L\x18", 4);
    ck_assert_int_eq(pvperf_object_load_buffer(boot, 1088 + len, "vmlinuz",
                                               PVPERF_OBJECT_KERNEL, &o, &err),
                     -ENOEXEC);
    ck_assert_ptr_nonnull(strstr(err.text, "packed"));
    free(boot);
}
END_TEST

/* ---- a real one ---- */

static char real_kernel[512];

static bool find_real_kernel(void)
{
    const char *given = getenv("PVPERF_TEST_KERNEL"), *home = getenv("HOME");
    char pattern[400];
    glob_t found;

    if (given) {
        snprintf(real_kernel, sizeof(real_kernel), "%s", given);
        return true;
    }
    snprintf(pattern, sizeof(pattern), "%s/.cache/pvperf/images/*/vmlinuz",
             home ? home : "");
    if (glob(pattern, 0, NULL, &found) && glob("/boot/vmlinuz-*", 0, NULL, &found))
        return false;
    snprintf(real_kernel, sizeof(real_kernel), "%s", found.gl_pathv[0]);
    globfree(&found);
    return access(real_kernel, R_OK) == 0;
}

START_TEST(real)
{
    static const char *const known[] = {
        "do_idle",          "schedule",  "ksys_read", "start_kernel",
        "xen_start_kernel", "vfs_write", "vfs_read",  "do_syscall_64",
    };
    struct pvperf_object *o = help_load(real_kernel, PVPERF_OBJECT_KERNEL);
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    uint64_t a, start, len, before = 0;
    const char *name;
    size_t i, c;

    ck_assert_uint_gt(info->nr_symbols, 20000);
    ck_assert_uint_eq(info->build_id_len, 20);
    for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
        ck_assert_msg(pvperf_object_find(o, known[i], &a) == 0, "%s", known[i]);
        ck_assert_str_eq(pvperf_object_lookup(o, a + 1, &start), known[i]);
        ck_assert_uint_eq(start, a);
    }
    for (i = 0; i < info->nr_symbols; i++) {
        ck_assert_int_eq(pvperf_object_symbol(o, i, &name, &start, &len), 0);
        ck_assert_uint_gt(start, before);
        ck_assert_uint_ge(start, 0xffffffff80000000ull);
        before = start;
        for (c = 0; name[c]; c++)
            ck_assert_msg(name[c] > 32 && name[c] < 127, "%s", name);
        ck_assert_uint_gt(c, 0);
    }
    pvperf_object_put(o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kallsyms");
    TCase *tc = tcase_create("kallsyms");
    SRunner *runner;
    int failed;

    help_make_dir();
    atexit(help_remove);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, layouts);
    tcase_add_test(tc, none);
    tcase_add_test(tc, damaged);
    tcase_add_test(tc, in_elf);
    tcase_add_test(tc, packed);
    /* Unpacking 60 MB takes valgrind minutes. */
    if (!(getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "vgpreload")) &&
        find_real_kernel())
        tcase_add_test(tc, real);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
