#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Nobody drains: losses are counted, announced and shown.
. ./lib.sh

need "the daemon starts" daemon_start
need "a domain starts" guest work mem=128 -- /work/shares
need "it works" domu_wait work "shares: running"

# One page holds 170 samples at most; stop the daemon for two seconds of 5000.
pvperf record -d work -e timer -F 5000 -m 1 --duration 8 -o $OUT/full.data >$LOGS/full.log 2>&1 &
recorder=$!
need "the recording begins" recording $OUT/full.data
kill -STOP $DAEMON
sleep 2
kill -CONT $DAEMON
wait $recorder
check "the recording ends well" [ $? -eq 0 ]
check "losses are printed" grep -qi "lost" $LOGS/full.log
check "there were losses" count_is $OUT/full.data lost -gt 2000
check "recorded + lost + filtered = overflows" counts_add_up $OUT/full.data
announced() {
    in_file=$(pvperf report --lost -i $OUT/full.data | awk '{ sum += $1 } END { print sum + 0 }')
    echo "announced $in_file, counted $(count_of $OUT/full.data lost)"
    [ "$in_file" -eq "$(count_of $OUT/full.data lost)" ]
}
check "the file announces each loss where it happened" announced
check "the report says so" sh -c "pvperf report -i $OUT/full.data | grep -qi lost"
daemon_stop
finish
