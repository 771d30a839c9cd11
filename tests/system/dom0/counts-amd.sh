#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --pmu --icount 1 --smp 2 --cpu phenom,+rdrand
# Counts by domain on AMD's K7 counters.
. ./lib-counts.sh

counts_tests
