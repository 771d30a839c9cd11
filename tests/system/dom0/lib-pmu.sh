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

# in_function FILE FUNCTION TEST NUMBER: samples in it
in_function() {
    if_count=$(samples "$1" | awk -v f="$2" '$8 == f { n++ } END { print n + 0 }')
    echo "$if_count samples in $2"
    [ "$if_count" "$3" "$4" ]
}

# turns EVENT...: more events than counters. The raw event counts instructions,
# too, so that the estimates of the first two must agree.
turns() {
    tn_events=instructions:u,rc0:u
    for tn_event in "$@"; do
        tn_events=$tn_events,$tn_event:u
    done
    need "count more events than there are counters" sh -c \
        "pvperf stat --json -d shares -e $tn_events --duration 2 >$OUT/turns.json"
    check "and as a table" sh -c "pvperf stat -d shares -e $tn_events --duration 1 >$OUT/stat.txt"
    check "the table marks estimates" grep -q '~' $OUT/stat.txt
    sed 's/^/  # /' $OUT/stat.txt
    check "two events that count the same agree" turns_agree
    turns_agree | sed 's/^/  # /'
    need "sample more events than there are counters" record $OUT/turns.data -c 400009 \
        $(echo "$tn_events" | sed 's/^/-e /; s/,/ -e /g')
    check "every overflow of them is there" counts_add_up $OUT/turns.data
    pvperf report -i $OUT/turns.data >$OUT/turns.txt
    check "the report says for how much of the time" grep -q "had a counter" $OUT/turns.txt
    grep "had a counter" $OUT/turns.txt | head -n 3 | sed 's/^/  # /'
}

# Both had a counter for a part of the time, and within a tenth the same count.
turns_agree() {
    sed -n 's/.*"event": "\([^"]*\)", "count": \([0-9]*\), "time_ns": \([0-9]*\), "counted_ns": \([0-9]*\)}/\1 \2 \3 \4/p' \
        $OUT/turns.json | awk '
        $4 < $3 { part++ }
        { n[$1] = $4 ? $2 * $3 / $4 : 0; share[$1] = $3 ? $4 / $3 : 0 }
        END {
            r = n["instructions:u"] / (n["rc0:u"] + 0.001)
            printf "%d of %d events took turns; instructions %.0f, rc0 %.0f in %.2f of the time\n",
                part, NR, n["instructions:u"], n["rc0:u"], share["rc0:u"]
            exit !(part && share["rc0:u"] > 0.1 && r > 0.9 && r < 1.1)
        }'
}

# A period that would have the CPU do nothing else.
throttled() {
    need "a period that is far too short" record $OUT/throttle.data -e instructions:u -c 1000
    check "it is throttled to about 10000 samples a second" count_is $OUT/throttle.data recorded -lt 30000
    check "what that saved is counted" count_is $OUT/throttle.data throttled -gt 100000
    check "every overflow of it is there" counts_add_up $OUT/throttle.data
    pvperf report -i $OUT/throttle.data >$OUT/throttle.txt
    check "the report says so" grep -q "too short for this host" $OUT/throttle.txt
    check "and the shares are right" two_shares $OUT/throttle.data
}

chains() {
    need "record call chains" record $OUT/chains.data -g -e instructions -c 200003
    check "every overflow with a chain is there" counts_add_up $OUT/chains.data
    pvperf flamegraph -o - -i $OUT/chains.data >$OUT/folded.txt
    check "functions have their callers" grep -q 'main;.*seventy' $OUT/folded.txt
}

# Who has the counters keeps them, and the other is told.
held_by_xenoprof() {
    xenoprof "$(domu_id shares)" c0 1000003 >$OUT/xenoprof.txt 2>&1 &
    holder=$!
    tries=100
    until grep -q -e running -e 'No such device' $OUT/xenoprof.txt 2>/dev/null ||
        [ $tries -eq 0 ]; do
        tries=$((tries - 1))
        usleep 100000
    done
    if grep -q 'No such device' $OUT/xenoprof.txt; then
        echo "  # Xen's xenoprof does not know this processor"
        return
    fi
    check "xenoprof has the counters" grep -q running $OUT/xenoprof.txt
    refuse "pvperf is refused meanwhile" 1 "xenoprof" record $OUT/x.data -e instructions
    pvperf doctor >$OUT/doctor-held.txt
    check "doctor says that xenoprof has them" grep -q "xenoprof" $OUT/doctor-held.txt
    kill $holder
    wait $holder
    record $OUT/busy.data -e instructions -c 1000003 --duration 4 &
    holder=$!
    need "pvperf has the counters" recording $OUT/busy.data
    refuse "xenoprof is refused meanwhile" 1 "busy" \
        xenoprof "$(domu_id shares)" c0 1000003
    wait $holder
}

# pmu_tests NAME EVENT...: the events are those that the PMU has beside
# instructions, enough to be more than its counters.
pmu_tests() {
    need "the daemon starts" daemon_start
    pvperf doctor >$OUT/doctor.txt
    check "doctor knows the PMU" grep -q "PMU: $1, held by nobody" $OUT/doctor.txt
    shift
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
    # The way back to a guest, with interrupts off: restore_all_guest().
    if grep -q "interrupts: NMI" $OUT/doctor.txt; then
        check "code with interrupts off is seen" in_function $OUT/xen.data _stextentry -gt 0
    else
        check "code with interrupts off is not seen" in_function $OUT/xen.data _stextentry -eq 0
    fi

    # The same events, one counted with half the other's period.
    need "record two counters" record $OUT/two.data \
        -e instructions:u -e branches:u -c 100003
    check "instructions and branches are different counts" ratio_is $OUT/two.data 2 50
    need "record by frequency" record $OUT/freq.data -e cycles:u -F 1000
    check "every overflow of it is in the file or lost" counts_add_up $OUT/freq.data
    # The CPU is the domain's most of the time; the first periods are short.
    check "about a thousand samples a second" count_is $OUT/freq.data recorded -gt 1600
    check "and not more" count_is $OUT/freq.data recorded -lt 2600

    held_by_xenoprof
    record $OUT/held.data -e instructions -c 100003 --duration 6 &
    holder=$!
    need "a session holds a counter" recording $OUT/held.data
    pvperf doctor >$OUT/doctor.txt
    wait $holder
    check "doctor says who holds the PMU" grep -q "PMU: .*held by pvperf" $OUT/doctor.txt
    pvperf doctor >$OUT/doctor.txt
    check "and that it was given back" grep -q "held by nobody" $OUT/doctor.txt
    turns "$@"
    throttled
    chains
    refuse "a period that is too short" 1 "period" \
        record $OUT/x.data -e instructions -c 10
    daemon_stop
    finish
}
