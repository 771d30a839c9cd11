#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# variants: release debug
# rig: --icount 3 --smp 1
# A workload whose shares are known, profiled through the whole chain: its two
# functions, its kernel and Xen by name, and its time against Xen's own account.
# With instruction counting time is work done, however busy the machine is.
. ./lib.sh

need "the daemon starts" daemon_start
need "a domain runs the workload" guest shares -- /work/shares
need "the workload runs" domu_wait shares "shares: running"

account() {
    echo "$(xenstat_ns shares) $(cut -d' ' -f1 /proc/uptime)"
}
before=$(account)
need "record for 20 s" pvperf record -q -d shares -e timer -F 997 --duration 20 \
    --program shares=$WORK/shares -o $OUT/shares.data
after=$(account)

check "every overflow is in the file or counted as lost" counts_add_up $OUT/shares.data
samples $OUT/shares.data >$OUT/shares.txt
pvperf report -i $OUT/shares.data >$OUT/report.txt

# Of n samples in the two functions, seventy() has a binomial share: its
# standard deviation is sqrt(0.7 * 0.3 / n). Four of them, and a half percent
# for the frame of the functions, which is not 7 : 3.
known_shares() {
    awk '{ if ($8 == "seventy") a++; else if ($8 == "thirty") b++ }
        END {
            n = a + b
            if (n < 5000) { print "only " n + 0 " samples in the two"; exit 1 }
            share = a / n
            off = share > 0.7 ? share - 0.7 : 0.7 - share
            over = off > 0.005 ? off - 0.005 : 0
            printf "share %.4f of %d samples\n", share, n
            exit !(over * over <= 16 * 0.21 / n) # busybox awk has no sqrt()
        }' $OUT/shares.txt
}
check "seventy() has 70 % of the two within the binomial bound" known_shares
known_shares | sed 's/^/  # /'

# What Xen charged the domain and what the sampler saw of it are the same time,
# but for what the domain ran before and after the 20 seconds; 2 % for the rest.
seen=$(pvperf script --fields period -i $OUT/shares.data | awk '{ ns += $1 } END { print ns / 1e9 }')
same_time() {
    echo "$before $after $seen" | awk '{
        charged = ($3 - $1) / 1e9; outside = $4 - $2 - 20; seen = $5
        printf "charged %.2f s, seen %.2f s, not recording for %.2f s\n", charged, seen, outside
        exit !(seen <= 1.02 * charged && seen >= 0.98 * charged - outside) }'
}
check "the samples make up the CPU time that Xen charged" same_time
same_time | sed 's/^/  # /'

one_mode() {
    awk -v mode="$1" '$6 == mode && $8 !~ /^\[unknown\]/ { print $8 }' $OUT/shares.txt |
        sort | uniq -c | sort -rn | head -n 5 >$LOGS/mode.txt
    cat $LOGS/mode.txt
    [ -s $LOGS/mode.txt ]
}
check "kernel samples have the names of kernel functions" one_mode kernel
check "hypervisor samples have the names of Xen's functions" one_mode hypervisor
check "no sample is of another domain" awk '$2 != "shares" { exit 1 }' $OUT/shares.txt
check "the report names both functions" sh -c "grep -q seventy $OUT/report.txt && grep -q thirty $OUT/report.txt"
check "perf's samples carry the guest's page-table base" sh -c \
    "pvperf script --fields mode,pt -i $OUT/shares.data | awk '\$1 == \"user\" && \$2 != \"0x0\" { n++ } END { exit !n }'"
take_objects $OUT/shares.data
daemon_stop
finish
