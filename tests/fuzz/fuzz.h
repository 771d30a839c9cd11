/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz.h: the entry point of each target. */
#ifndef PVPERF_FUZZ_H
#define PVPERF_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* PVPERF_FUZZ_H */
