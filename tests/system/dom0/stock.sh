#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --xen stock
# A Xen without the patches.
. ./lib.sh

refuse "pvperfd or the client says what is missing" 1 "this Xen has no pvperf|patch" sh -c "
    pvperfd >/dev/null 2>&1 & sleep 1
    exec pvperf record -e timer -a --duration 1 -o $OUT/x.data"
pvperf doctor >$OUT/doctor.txt 2>&1
check "doctor fails" [ $? -eq 1 ]
check "doctor says what is missing" grep -qi "no pvperf" $OUT/doctor.txt
finish
