# SPDX-License-Identifier: GPL-2.0-only
# The tests of hardware counters, the same for every PMU: `. ./lib-pmu.sh`,
# then `pmu_tests NAME` with what pvperf doctor must say of it.

. ./lib.sh

# two_shares FILE: seventy() has 70 % of the samples in the two functions, as
# in shares.sh: four standard deviations of the binomial share, half a percent
# for the frame of the functions.
two_shares() {
    samples "$1" | awk '{ if ($8 == "seventy") a++; else if ($8 == "thirty") b++ }
        END {
            n = a + b
            if (n < 1000) { print "only " n + 0 " samples in the two"; exit 1 }
            share = a / n
            off = share > 0.7 ? share - 0.7 : 0.7 - share
            over = off > 0.005 ? off - 0.005 : 0
            printf "share %.4f of %d samples\n", share, n
            exit !(over * over <= 16 * 0.21 / n)
        }'
}

# modes_are FILE MODE...: no sample is of another mode.
modes_are() {
    ma_file=$1
    shift
    samples "$ma_file" | awk -v wanted=" $* " '
        index(wanted, " " $6 " ") == 0 { print; bad = 1 }
        END { exit bad || NR == 0 }'
}

# record FILE OPTIONS...: two seconds of the domain.
record() {
    rec_file=$1
    shift
    pvperf record -q -d shares --program shares=$WORK/shares --duration 2 -o "$rec_file" "$@"
}

# ratio_is FILE LOW HIGH: recorded samples of the first event to the second's.
ratio_is() {
    pvperf report --counts -i "$1" | awk -v low="$2" -v high="$3" '
        NR > 1 { n[NR - 1] = $3 }
        END { r = n[1] / n[2]; print r; exit !(n[2] > 100 && r >= low && r <= high) }'
}

pmu_tests() {
    need "the daemon starts" daemon_start
    pvperf doctor >$OUT/doctor.txt
    check "doctor knows the PMU" grep -q "PMU: $1, held by nobody" $OUT/doctor.txt
    sed 's/^/  # /' $OUT/doctor.txt | grep PMU
    need "a domain runs the workload" guest shares mem=128 -- /work/shares
    need "the workload runs" domu_wait shares "shares: running"

    need "record by period" record $OUT/period.data -e instructions:u -c 400009
    check "every overflow is in the file or counted as lost" counts_add_up $OUT/period.data
    check "seventy() has 70 % of the two within the binomial bound" two_shares $OUT/period.data
    two_shares $OUT/period.data | sed 's/^/  # /'
    check "only user mode was asked for" modes_are $OUT/period.data user

    need "record Xen's part" record $OUT/xen.data -e instructions:h -c 20011
    check "only hypervisor mode was asked for" modes_are $OUT/xen.data hypervisor
    check "every overflow is in the file or filtered" counts_add_up $OUT/xen.data

    # The same events, one counted with half the other's period.
    need "record two counters" record $OUT/two.data \
        -e instructions:u -e branches:u -c 100003
    check "instructions and branches are different counts" ratio_is $OUT/two.data 2 50
    need "record by frequency" record $OUT/freq.data -e cycles:u -F 1000
    check "every overflow of it is in the file or lost" counts_add_up $OUT/freq.data
    # The CPU is the domain's most of the time; the first periods are short.
    check "about a thousand samples a second" count_is $OUT/freq.data recorded -gt 1600
    check "and not more" count_is $OUT/freq.data recorded -lt 2600

    record $OUT/held.data -e instructions -c 100003 --duration 6 &
    holder=$!
    need "a session holds a counter" recording $OUT/held.data
    pvperf doctor >$OUT/doctor.txt
    wait $holder
    check "doctor says who holds the PMU" grep -q "PMU: .*held by pvperf" $OUT/doctor.txt
    pvperf doctor >$OUT/doctor.txt
    check "and that it was given back" grep -q "held by nobody" $OUT/doctor.txt
    refuse "a period that is too short" 1 "period" \
        record $OUT/x.data -e instructions -c 10
    daemon_stop
    finish
}
