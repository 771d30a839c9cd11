#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration, in dom0: profile a domU that knows nothing of it.
. ./lib.sh

say() {
    echo
    echo "==> $*"
}

run() {
    echo "dom0# $*"
    "$@" || exit 1
}

say "dom0 runs on a Xen with pvperf; the daemon starts"
daemon_start || exit 1
run pvperf doctor

say "An unmodified PV domain with a workload: Debian's kernel, no agent, no driver"
guest web mem=192 vcpus=1 -- /work/mixed || exit 1
domu_wait web "mixed: running" 120 || exit 1
run pvperf list domains

say "Profile Xen and all domains for 20 seconds"
run pvperf record -a -g -e timer -F 997 --duration 20 \
    --program web=/payload/workloads/mixed -o $OUT/demo.data

say "The report"
run pvperf report -i $OUT/demo.data
run pvperf flamegraph -i $OUT/demo.data -o $OUT/demo.svg
run pvperf flamegraph -i $OUT/demo.data -o $OUT/demo.html

take_objects $OUT/demo.data
daemon_stop
