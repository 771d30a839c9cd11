/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Object files of any bytes, as each kind: ELF, packed kernel images, the
 * kernel's own tables, text.  The first byte says as what.
 */
#include <stdlib.h>
#include <string.h>

#include <pvperf/symbols.h>

#include "fuzz.h"
#include "object_private.h"

static void look(const struct pvperf_object *o)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    uint64_t start, len, before = 0;
    const char *name;
    size_t i;

    for (i = 0; i < info->nr_symbols; i++) {
        if (pvperf_object_symbol(o, i, &name, &start, &len))
            abort();
        if ((i && start <= before) || strlen(name) > PVP_NAME_MAX)
            abort();
        before = start;
        pvperf_object_lookup(o, start + len, NULL);
    }
    for (i = 0; i < info->nr_ranges; i++)
        pvperf_object_lookup(o, info->ranges[i].start + info->ranges[i].len - 1, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pvperf_object *o;
    struct pvperf_err err;

    if (!size)
        return 0;
    if (data[0] % 4 == 3) {
        o = pvp_object_new("fuzz", PVPERF_OBJECT_KERNEL);
        if (!o)
            abort();
        if (!pvp_object_read_kallsyms(o, data + 1, size - 1)) {
            pvp_object_sort(o);
            look(o);
        }
        pvperf_object_put(o);
        return 0;
    }
    if (!pvperf_object_load_buffer(data + 1, size - 1, "fuzz", data[0] % 4, &o, &err)) {
        look(o);
        pvperf_object_put(o);
    }
    return 0;
}
