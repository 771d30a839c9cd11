#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --icount 1 --smp 1 --cpu Nehalem,+rdrand --xen-args vpmu=on
# Xen's vPMU has the counters: pvperf says so, and samples by the timer.
. ./lib.sh

need "the daemon starts" daemon_start
pvperf doctor >$OUT/doctor.txt
check "doctor says who holds the PMU" grep -q "vPMU holds; boot Xen without vpmu" $OUT/doctor.txt
refuse "an event that needs a counter" 1 "boot Xen without vpmu" \
    pvperf record -e cycles -d 0 --duration 1 -o $OUT/x.data
refuse "counting" 1 "boot Xen without vpmu" pvperf stat -e cycles -d 0 --duration 1
check "the timer serves" pvperf record -q -e timer -a --duration 1 -o $OUT/timer.data
check "and has its samples" counts_add_up $OUT/timer.data
daemon_stop
finish
