#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Several clients, a client that is killed, a daemon that is killed.
. ./lib.sh

# shortest_period FILE: ns that a sample stands for
shortest_period() {
    pvperf script --fields period -i "$1" | sort -n | head -n 1
}

need "the daemon starts" daemon_start
need "a domain starts" guest work mem=128 -- /work/shares
need "it works" domu_wait work "shares: running"

# Two at once, with rates of their own.
pvperf record -q -d work -e timer -F 997 --duration 8 -o $OUT/first.data >$LOGS/first.log 2>&1 &
first=$!
pvperf record -q -a -e timer -F 101 --duration 6 -o $OUT/second.data >$LOGS/second.log 2>&1
check "the second client ends well" [ $? -eq 0 ]
wait $first
check "the first client ends well" [ $? -eq 0 ]
check "the first one's counts add up" counts_add_up $OUT/first.data
check "the second one's counts add up" counts_add_up $OUT/second.data
# A late CPU takes one sample for several periods, but not for a part of one.
check "each has its own rate" sh -c \
    "[ $(shortest_period $OUT/first.data) -eq $((1000000000 / 997)) ] &&
     [ $(shortest_period $OUT/second.data) -eq $((1000000000 / 101)) ]"

# A killed daemon, replaced: the session goes on, no sample is lost or doubled.
pvperf record -d work -e timer -F 997 --duration 12 -m 64 --program work=$WORK/shares \
    -o $OUT/survivor.data >$LOGS/survivor.log 2>&1 &
survivor=$!
need "the recording begins" recording $OUT/survivor.data
sleep 2
kill -KILL $DAEMON
wait $DAEMON 2>/dev/null
usleep 500000
need "a new daemon starts" daemon_start
wait $survivor
check "the client of a killed daemon ends well" [ $? -eq 0 ]
check "it says that it went on" grep -qi "resum\|reconnect" $LOGS/survivor.log
check "no sample was lost or doubled by it" counts_add_up $OUT/survivor.data
check "nothing overflowed meanwhile" count_is $OUT/survivor.data lost -eq 0
samples $OUT/survivor.data >$OUT/survivor.txt
check "there is no gap of half a second in it" awk '
    NR > 1 && $1 - last > 0.5 { print last, $1; exit 1 } { last = $1 }' $OUT/survivor.txt

# A killed daemon that stays away: the file keeps what there was.
pvperf record -q -d work -e timer -F 997 -o $OUT/orphan.data >$LOGS/orphan.log 2>&1 &
orphan=$!
need "another recording begins" recording $OUT/orphan.data
sleep 2
kill -KILL $DAEMON
wait $DAEMON 2>/dev/null
wait $orphan
check "a client whose daemon stays away fails" [ $? -ne 0 ]
check "with a line that says so" grep -qi "pvperfd" $LOGS/orphan.log
check "and its file can be read" sh -c "[ \$(pvperf script -i $OUT/orphan.data 2>/dev/null | grep -c .) -gt 1000 ]"

# A new daemon cleans up after the dead: its session is over after the grace.
need "a new daemon starts again" daemon_start
pvperf record -q -a -e timer -F 101 -o $OUT/killed.data >$LOGS/killed.log 2>&1 &
killed=$!
need "a third recording begins" recording $OUT/killed.data
sleep 1
kill -KILL $killed
wait $killed 2>/dev/null
check "a killed client's file can be read" sh -c "[ \$(pvperf script -i $OUT/killed.data 2>/dev/null | grep -c .) -gt 100 ]"
sleep 45
check "no session is left behind" sh -c "pvperf doctor --json | grep -q '\"sessions\": *0\b'"
daemon_stop
finish
