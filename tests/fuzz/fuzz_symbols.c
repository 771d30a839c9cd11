/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_symbols.c: files with symbols: ELF, kernel images, System.map. */
#include <stdlib.h>
#include <string.h>

#include <pvperf/symbols.h>
#include "fuzz.h"

static uint64_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum pvperf_object_kind kinds[] = {
        PVPERF_OBJECT_XEN, PVPERF_OBJECT_KERNEL, PVPERF_OBJECT_PROGRAM};
    const struct pvperf_object_info *info;
    struct pvperf_object *o;
    struct pvperf_err err;
    uint8_t *copy;

    if (size < 1)
        return 0;
    copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    if (pvperf_object_load_buffer(copy, size - 1, "fuzz", kinds[data[0] % 3], &o, &err)) {
        free(copy);
        return 0;
    }
    free(copy); /* not needed afterwards, says the header */
    info = pvperf_object_get_info(o);
    if (info->nr_ranges > PVPERF_OBJECT_RANGES ||
        info->build_id_len > PVPERF_BUILD_ID_MAX)
        __builtin_trap();
    for (size_t i = 0; i < info->nr_symbols && i < 10000; i++) {
        uint64_t start, len, at;
        const char *name;

        if (pvperf_object_symbol(o, i, &name, &start, &len))
            __builtin_trap();
        sum += strlen(name);
        name = pvperf_object_lookup(o, start, &at);
        if (name)
            sum += strlen(name) + at;
    }
    sum += pvperf_object_lookup(o, 0, NULL) != NULL;
    sum += pvperf_object_lookup(o, ~0ull, NULL) != NULL;
    pvperf_object_put(o);
    return 0;
}
