#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rig: --xen-args pvperf=off
# A Xen that has pvperf and was not told to use it.
. ./lib.sh

refuse "pvperfd or the client says how to enable it" 1 "pvperf=on" sh -c "
    pvperfd >/dev/null 2>&1 & sleep 1
    exec pvperf record -e timer -a --duration 1 -o $OUT/x.data"
pvperf doctor >$OUT/doctor.txt 2>&1
check "doctor fails" [ $? -eq 1 ]
check "doctor says how to enable it" grep -q "pvperf=on" $OUT/doctor.txt
finish
