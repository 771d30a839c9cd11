#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --icount 1 --smp 2 --cpu Nehalem,+rdrand
# Counts by domain on Intel's architectural PMU.
. ./lib-counts.sh

counts_tests
