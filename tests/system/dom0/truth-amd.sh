#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --truth --icount 1 --smp 1 --cpu phenom,+rdrand --xen-args pvperf=nmi
# A profile against the exact histogram of the same run, AMD's K7 counters.
. ./lib-truth.sh

truth_tests
