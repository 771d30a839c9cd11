#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --icount 1 --smp 1 --cpu Nehalem,+rdrand --xen-args "watchdog watchdog_timeout=60"
# The same counters by NMI, beside Xen's watchdog, which has one of them.
. ./lib-pmu.sh

pmu_tests "Intel, 4 counters of 48 bits and 3 fixed" \
    branches branch-misses cache-references cache-misses
