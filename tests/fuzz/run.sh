#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs one libFuzzer target, whose name is this file's: FUZZ_SECONDS (15), with
# the seeds in tests/fuzz/corpus and what earlier runs found in the build tree.
# Prints one line, or, after a crash, the whole report.
set -eu
here=$(dirname "$0")
name=$(basename "$0")
top=$(cd "$here/../.." && pwd)
found="$here/found/$name"
mkdir -p "$found"
longest=65536
[ "$name" = fuzz_hypercall ] && longest=8192
if "$here/bin/$name" -max_total_time="${FUZZ_SECONDS:-15}" -timeout=20 \
    -rss_limit_mb=2048 -max_len=$longest -print_final_stats=1 -print_pcs=0 \
    -artifact_prefix="$found." "$found" "$top/tests/fuzz/corpus/$name" \
    >"$found.log" 2>&1
then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log")
    cov=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$found.log" | tail -n 1)
    echo "$name: ${runs:-no} runs in ${FUZZ_SECONDS:-15} s, ${cov:-no} edges covered"
else
    status=$?
    grep -v '^\(#[0-9]*.\(NEW\|REDUCE\|pulse\)\|"\)' "$found.log" || true
    echo "$name: failed; the input is in $found.*" >&2
    exit "$status"
fi
