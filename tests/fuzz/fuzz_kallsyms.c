/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_kallsyms.c: the tables within a kernel image, bare: as an ELF file or
 * packed, a fuzzer would not find its way to them.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "object_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pvperf_object *o = pvp_object_new("fuzz", PVPERF_OBJECT_KERNEL);
    uint64_t start, len, before = 0;
    const char *name;
    size_t i;

    if (!o)
        abort();
    if (!pvp_object_read_kallsyms(o, data, size)) {
        pvp_object_sort(o);
        for (i = 0; i < o->info.nr_symbols; i++) {
            if (pvperf_object_symbol(o, i, &name, &start, &len) ||
                (i && start <= before) || strlen(name) > PVP_NAME_MAX)
                __builtin_trap();
            before = start;
        }
    }
    pvperf_object_put(o);
    return 0;
}
