/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_profile.c: captures of any bytes, sorted, added up and drawn.  The
 * objects they name are not opened: their paths are the input's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pvperf/capture.h>
#include <pvperf/flamegraph.h>
#include <pvperf/profile.h>

#include "fuzz.h"

static void draw(struct pvperf_capture_reader *r)
{
    struct pvperf_profile_options options = {
        .event = -1,
        .stacks = true,
        .max_entries = 64,
    };
    struct pvperf_report_options report = {
        .info = pvperf_capture_get_info(r),
        .summary = pvperf_capture_get_summary(r),
        .capture = "fuzz",
    };
    struct pvperf_symbols *symbols;
    struct pvperf_profile *profile;
    FILE *out = fopen("/dev/null", "w");

    if (!out || pvperf_symbols_new(&symbols))
        abort();
    if (pvperf_profile_new(symbols, &options, &profile))
        abort();
    pvperf_profile_add_capture(profile, r, NULL);
    if (pvperf_profile_report(profile, out, &report) ||
        pvperf_flamegraph_svg(profile, out, NULL) ||
        pvperf_flamegraph_folded(profile, out, NULL))
        abort();
    pvperf_profile_free(profile);
    pvperf_symbols_free(symbols);
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pvperf_capture_reader *r;
    struct pvperf_capture_rec *rec;
    struct pvperf_err err;
    uint64_t samples;

    if (pvperf_capture_open_buffer(data, size, &r, &err))
        return 0;
    rec = malloc(sizeof(*rec));
    if (!rec)
        abort();
    pvperf_capture_scan(r, &err);
    samples = pvperf_capture_get_summary(r)->samples;
    draw(r);
    if (pvperf_capture_sort(r, &err))
        abort();
    while (pvperf_capture_next(r, rec, &err) == 1)
        samples -= rec->type == PVPERF_CAPTURE_SAMPLE;
    /* Sorted or not, it is the same samples. */
    if (samples)
        abort();
    free(rec);
    pvperf_capture_close(r);
    return 0;
}
