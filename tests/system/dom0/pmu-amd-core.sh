#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --icount 1 --smp 1 --cpu EPYC,-smap,-smep,-monitor,-xsave
# AMD's six counters of the core extension, emulated.
. ./lib-pmu.sh

pmu_tests "AMD, 6 counters of 48 bits and 0 fixed" \
    cycles branches branch-misses cache-references cache-misses
