/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* object_text.c: System.map and /proc/kallsyms: "address type name [module]". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object_private.h"

#define RANGE_GAP (16ull << 20)
#define RANGE_END 4096

/* Hexadecimal digits at @p, before @end: their number, 1 to 16; 0: none. */
static size_t parse_hex(const char *p, const char *end, uint64_t *value)
{
    size_t n = 0;

    *value = 0;
    for (; p + n < end && n < 17; n++) {
        char c = p[n];

        if (c >= '0' && c <= '9')
            *value = *value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    return n <= 16 ? n : 0;
}

/* 1: taken; 0: a symbol that is no code; -ENOEXEC: no such line. */
static int take_line(struct pvperf_object *o, const char *p, const char *end,
                     bool *nonzero)
{
    uint64_t address;
    const char *name;
    size_t n;
    char type;
    int rc;

    if (end - p > 2 && p[0] == '0' && p[1] == 'x') /* Xen's xen-syms.map */
        p += 2;
    n = parse_hex(p, end, &address);
    if (n < 8 || end - (p + n) < 4 || p[n] != ' ' || p[n + 2] != ' ')
        return -ENOEXEC;
    type = p[n + 1];
    name = p + n + 3;
    for (n = 0; name + n < end && name[n] > ' ' && name[n] != 127; n++)
        ;
    if (!n)
        return -ENOEXEC;
    if (address)
        *nonzero = true;
    /* Xen puts the source file before local names: "schedule.c#schedule". */
    if (o->info.kind == PVPERF_OBJECT_XEN) {
        const char *hash = memrchr(name, '#', n);

        if (hash && hash + 1 < name + n) {
            n -= (size_t)(hash + 1 - name);
            name = hash + 1;
        }
    }
    if (!strchr("tTwW", type) || !(address >> 63))
        return 0;
    rc = pvp_object_add(o, address, 0, type == 'T' ? 0 : type == 't' ? 2 : 1, name, n);
    return rc ? rc : 1;
}

static void add_ranges(struct pvperf_object *o)
{
    uint64_t start, last;
    size_t i;

    if (!o->info.nr_symbols)
        return;
    pvp_object_sort(o);
    start = last = o->symbols[0].start;
    for (i = 1; i <= o->info.nr_symbols; i++) {
        uint64_t next = i < o->info.nr_symbols ? o->symbols[i].start : UINT64_MAX;

        if (i == o->info.nr_symbols || next - last > RANGE_GAP) {
            uint64_t end = last + RANGE_END < last ? UINT64_MAX : last + RANGE_END;

            pvp_object_add_range(o, start, end - start, 0);
            start = next;
        }
        last = next;
    }
}

int pvp_object_read_text(struct pvperf_object *o, const char *text, size_t len,
                         struct pvperf_err *err)
{
    const char *p = text, *end = text + len;
    size_t lines = 0, bad = 0;
    bool nonzero = false;
    int rc;

    while (p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));

        rc = take_line(o, p, eol ? eol : end, &nonzero);
        if (rc == -ENOEXEC)
            bad++;
        else if (rc < 0)
            return pvperf_err_set(err, rc, "cannot take the symbols of %s: %s", o->path,
                                  strerror(-rc));
        lines++;
        /* The last line may be cut; noise has more that makes no sense. */
        if (bad > 1 + lines / 100)
            return -ENOEXEC;
        if (!eol)
            break;
        p = eol + 1;
    }
    if (!lines || bad == lines)
        return -ENOEXEC;
    if (!nonzero)
        return pvperf_err_set(err, -ENODATA,
                              "all addresses in %s are zero; copy it as "
                              "root, with kernel.kptr_restrict=0",
                              o->path);
    if (!o->info.nr_symbols)
        return pvperf_err_set(err, -ENODATA,
                              "%s names no code; give the System.map of "
                              "the running kernel",
                              o->path);
    o->info.source = PVPERF_SYMS_TEXT;
    add_ranges(o);
    return 0;
}
