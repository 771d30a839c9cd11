/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capture_help.h: samples, captures and object files for the tests of the
 * upper half of libpvperf.  The object files are real: the compiler makes
 * them, linked to where Xen, a kernel and programs lie.
 */
#ifndef CAPTURE_HELP_H
#define CAPTURE_HELP_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pvperf/capture.h>
#include <pvperf/symbols.h>

#define XEN_BASE 0xffff82d040200000ull
#define KERNEL_BASE 0xffffffff81000000ull
#define PROGRAM_BASE 0x401000ull

/* One directory for each test program, gone when it ends. */
static char help_dir[64];
static pid_t help_owner;

__attribute__((unused)) static const char *help_path(const char *name)
{
    static char paths[8][160];
    static unsigned int next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", help_dir, name);
    return path;
}

__attribute__((unused)) static void help_remove(void)
{
    char command[128];

    /* check runs each test in a child that ends by exit(), too. */
    if (!help_dir[0] || getpid() != help_owner)
        return;
    snprintf(command, sizeof(command), "rm -rf '%s'", help_dir);
    if (system(command))
        fprintf(stderr, "cannot remove %s\n", help_dir);
}

__attribute__((unused)) static void help_make_dir(void)
{
    const char *tmp = getenv("TMPDIR");

    help_owner = getpid();
    snprintf(help_dir, sizeof(help_dir), "%.40s/pvperf-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(help_dir)) {
        perror("mkdtemp");
        exit(1);
    }
}

__attribute__((unused)) static void help_write(const char *path, const void *data,
                                               size_t len)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
}

__attribute__((unused)) static char *help_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "r");
    struct stat st;
    char *data;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fstat(fileno(f), &st), 0);
    data = malloc((size_t)st.st_size + 1);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(fread(data, 1, (size_t)st.st_size, f), (size_t)st.st_size);
    data[st.st_size] = '\0';
    fclose(f);
    *len = (size_t)st.st_size;
    return data;
}

/* Output of a command, to free(); its status must be 0. */
__attribute__((unused)) static char *help_run(const char *command)
{
    size_t len = 0, max = 1 << 20;
    char *out = malloc(max);
    FILE *f = popen(command, "r");

    ck_assert_ptr_nonnull(f);
    len = fread(out, 1, max - 1, f);
    out[len] = '\0';
    ck_assert_msg(pclose(f) == 0, "failed: %s\n%s", command, out);
    return out;
}

/* Functions of 32 bytes each, in the order of @names, linked to @base. */
__attribute__((unused)) static void help_object(const char *path, const char *base,
                                                const char *flags,
                                                const char *const *names)
{
    char command[1024];
    FILE *f = fopen(help_path("object.s"), "w");

    ck_assert_ptr_nonnull(f);
    fprintf(f, ".text\n.globl _start\n_start:\n");
    for (; *names; names++)
        fprintf(f,
                ".balign 32\n.globl %s\n.type %s,@function\n%s:\n.fill 31,1,0x90\n"
                "ret\n.size %s,.-%s\n",
                *names, *names, *names, *names, *names);
    fprintf(f, ".section .note.GNU-stack,\"\",@progbits\n");
    fclose(f);
    snprintf(command, sizeof(command),
             "%s -nostdlib -Wl,--build-id=sha1 "
             "-Wl,-Ttext=%s %s -o %s %s/object.s 2>&1",
             getenv("CC") ? getenv("CC") : "gcc", base, flags, path, help_dir);
    free(help_run(command));
}

__attribute__((unused)) static struct pvperf_object *
help_load(const char *path, enum pvperf_object_kind kind)
{
    struct pvperf_object *o = NULL;
    struct pvperf_err err = {""};

    ck_assert_msg(pvperf_object_load(path, kind, &o, &err) == 0, "%s", err.text);
    return o;
}

__attribute__((unused)) static struct pvperf_capture_info help_info(unsigned int events)
{
    struct pvperf_capture_info info = {
        .nr_events = events,
        .nr_pcpus = 4,
        .abi_major = 1,
        .max_stack = 16,
        .session_flags = PVPERF_SESSION_FLAG_CALLCHAIN,
        .start_time = 1000000000,
        .start_realtime = 1700000000000000000ull,
        .hostname = "testhost",
        .xen_version = "4.17.5",
        .os_release = "6.1.0",
        .arch = "x86_64",
        .tool_version = "0.1.0",
        .command = "pvperf record -a",
    };
    unsigned int i;

    for (i = 0; i < events; i++) {
        info.events[i].type = i ? PVPERF_EVENT_GENERIC : PVPERF_EVENT_TIMER;
        info.events[i].config = i ? PVPERF_GENERIC_INSTRUCTIONS : 0;
        info.events[i].flags = i ? 0 : PVPERF_EVENT_FLAG_FREQ;
        info.events[i].rate = i ? 100000 : 1000;
        info.events[i].modes = PVPERF_MODE_MASK_ALL;
        snprintf(info.event_names[i], sizeof(info.event_names[i]), "%s",
                 i ? "instructions" : "timer");
    }
    return info;
}

__attribute__((unused)) static struct pvperf_sample
help_sample(uint64_t time, uint16_t domid, unsigned int mode, uint64_t ip)
{
    struct pvperf_sample s;

    memset(&s, 0, sizeof(s));
    s.time = time;
    s.domid = domid;
    s.mode = (uint8_t)mode;
    s.ip = ip;
    s.period = 1000000;
    return s;
}

#endif
