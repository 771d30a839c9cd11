#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Domains that come and go while they are profiled.
. ./lib.sh

need "the daemon starts" daemon_start
need "a domain starts" guest victim mem=128 -- /work/shares
need "it works" domu_wait victim "shares: running"

pvperf record -d victim -e timer -F 997 --program victim=$WORK/shares -o $OUT/victim.data \
    >$LOGS/victim.log 2>&1 &
recorder=$!
need "the recording begins" recording $OUT/victim.data
sleep 1
need "the domain is destroyed" domu_destroy victim
# The only domain is gone: the recording ends by itself.
tries=100
while kill -0 $recorder 2>/dev/null && [ $tries -gt 0 ]; do
    tries=$((tries - 1))
    usleep 100000
done
check "the recording of a dead domain ends by itself" sh -c "! kill -0 $recorder 2>/dev/null"
wait $recorder
check "and ends well" [ $? -eq 0 ]
check "it says what happened" grep -qi "victim.*gone\|victim.*died\|victim.*destroyed" $LOGS/victim.log
check "its samples are kept" counts_add_up $OUT/victim.data
check "with their names" sh -c "pvperf script --fields symbol -i $OUT/victim.data | grep -q seventy"

# In a session for all, a domain is there from its first instruction.
pvperf record -q -a -e timer -F 997 -o $OUT/birth.data >$LOGS/birth.log 2>&1 &
recorder=$!
need "a recording of all begins" recording $OUT/birth.data
need "a domain starts while all is profiled" guest late mem=128 -- /work/shares
need "it works" domu_wait late "shares: running"
sleep 2
need "and is destroyed" domu_destroy late
sleep 1
kill -INT $recorder
wait $recorder
check "the recording ends well on an interrupt" [ $? -eq 0 ]
check "every overflow is in the file or lost" counts_add_up $OUT/birth.data
samples $OUT/birth.data >$OUT/birth.txt
check "the new domain is in it by its name, with its kernel" sh -c \
    "awk '\$2 == \"late\" && \$6 == \"kernel\"' $OUT/birth.txt | grep -q ."
check "all rings are given back" sh -c \
    "pvperf doctor --json | grep -q '\"ring_bytes_used\": *0\b'"
daemon_stop
finish
