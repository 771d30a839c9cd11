#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --icount 1 --smp 1 --cpu phenom,+rdrand
# AMD's four counters of K7, emulated.
. ./lib-pmu.sh

pmu_tests "AMD, 4 counters of 48 bits and 0 fixed" \
    branches branch-misses cache-references
