/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_hypercall.c: the same life, with decisions from a fuzzer. */
#include "fuzz.h"
#include "hypercall.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source src = {.bytes = data, .left = size};
    struct tally t = {0};

    hypercall_episode(&src, ~0ul, &t);
    return 0;
}
