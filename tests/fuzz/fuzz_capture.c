/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_capture.c: a capture file that was truncated, damaged, or never one. */
#include <stdlib.h>
#include <string.h>

#include <pvperf/capture.h>
#include "fuzz.h"

static uint64_t sum;

static void read_all(struct pvperf_capture_reader *r)
{
    static struct pvperf_capture_rec rec;
    struct pvperf_err err;

    while (pvperf_capture_next(r, &rec, &err) == 1) {
        const struct pvperf_sample *s = &rec.u.sample;

        if (rec.type == PVPERF_CAPTURE_SAMPLE) {
            unsigned int n = (unsigned int)s->nr_xen + s->nr_kernel + s->nr_user;

            if (n > PVPERF_MAX_STACK || s->event >= PVPERF_MAX_EVENTS)
                __builtin_trap();
            for (unsigned int i = 0; i < n; i++)
                sum += s->chain[i];
        } else if (rec.type == PVPERF_CAPTURE_DOMAIN) {
            sum += strlen(rec.u.domain.name);
        } else if (rec.type == PVPERF_CAPTURE_OBJECT) {
            sum += strlen(rec.u.object.path);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pvperf_capture_reader *r;
    struct pvperf_err err;
    uint8_t *copy = malloc(size ? size : 1); /* so that overreads show */

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    if (pvperf_capture_open_buffer(copy, size, &r, &err)) {
        free(copy);
        return 0;
    }
    read_all(r);
    pvperf_capture_rewind(r);
    pvperf_capture_scan(r, &err);
    sum += pvperf_capture_get_summary(r)->samples;
    sum += strlen(pvperf_capture_get_info(r)->command);
    for (size_t i = 0; i < pvperf_capture_nr_domains(r); i++)
        sum += strlen(pvperf_capture_get_domain(r, i)->name);
    for (size_t i = 0; i < pvperf_capture_nr_objects(r); i++)
        sum += strlen(pvperf_capture_get_object(r, i)->path);
    sum += pvperf_capture_find_domain(r, 5) != NULL;
    if (!pvperf_capture_sort(r, &err)) {
        pvperf_capture_rewind(r);
        read_all(r);
    }
    pvperf_capture_close(r);
    free(copy);
    return 0;
}
