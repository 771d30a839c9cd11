#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --truth --icount 1 --smp 1 --cpu Nehalem,+rdrand --xen-args pvperf=nmi
# A profile against the exact histogram of the same run, Intel's architectural PMU.
. ./lib-truth.sh

truth_tests
