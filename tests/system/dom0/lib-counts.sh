# SPDX-License-Identifier: GPL-2.0-only
# Counts of user instructions, which must be exact: `. ./lib-counts.sh`, then
# `counts_tests`. Each guest's only program retires a known number of them.

. ./lib.sh

EXACT=$(cat $WORK/exact.count)

# exact_guest NAME [OPTIONS...]: it does not run yet.
exact_guest() {
    eg_name=$1
    shift
    domu_create "$eg_name" mem=96 paused init=$WORK/exact "$@"
}

# counting FILE DOMAIN[,DOMAIN] OPTIONS...: count until told to stop.
counting() {
    cn_file=$1 cn_domains=$2
    shift 2
    pvperf stat --json -d "$cn_domains" "$@" >"$cn_file" 2>>$LOGS/stat.err &
    STAT=$!
    tries=100
    until pvperf list --json 2>/dev/null | grep -q '"events"' && session_runs; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        usleep 100000
    done
}

session_runs() {
    pvperf doctor 2>/dev/null | grep -q 'held by pvperf'
}

# done_counting NAME...: when all guests have done their work.
done_counting() {
    for dn_name in "$@"; do
        domu_wait "$dn_name" "EXACT DONE" 240 || return 1
    done
    # The last two instructions: to wait for ever.
    sleep 1
    kill -INT $STAT
    wait $STAT
}

# count_in FILE DOMAIN EVENT
count_in() {
    sed -n "s/.*\"domain\": \"$2\".*\"event\": \"$3\", \"count\": \([0-9]*\),.*/\1/p" "$1"
}

# exactly FILE DOMAIN: to the instruction.
exactly() {
    ex_got=$(count_in "$1" "$2" instructions:u)
    echo "$2 retired $EXACT instructions in user mode, counted: $ex_got"
    [ "$ex_got" = "$EXACT" ]
}

tell_exact() {
    exactly "$@" | sed 's/^/  # /'
}

# more_than FILE DOMAIN EVENT NUMBER
more_than() {
    mt_got=$(count_in "$1" "$2" "$3")
    echo "$2 $3: $mt_got"
    [ "${mt_got:-0}" -gt "$4" ]
}

alone() {
    need "a guest" exact_guest alone cpus=0
    need "count it" counting $OUT/alone.json alone \
        -e instructions:u,instructions:k,instructions:h,cycles:u
    xl unpause alone
    need "it does its work" done_counting alone
    check "alone: zero error" exactly $OUT/alone.json alone
    tell_exact $OUT/alone.json alone
    # Its kernel booted, and Xen worked for it.
    check "alone: the kernel's are counted apart" more_than $OUT/alone.json alone instructions:k 1000000
    check "alone: and Xen's" more_than $OUT/alone.json alone instructions:h 1000000
    # 3/2 cycles an instruction of user mode, in this emulator
    check "alone: another event is another count" more_than $OUT/alone.json alone cycles:u $((EXACT * 149 / 100))
    domu_destroy alone
}

# Two that share a CPU, while dom0 also samples everything.
together() {
    need "one guest" exact_guest one cpus=0
    need "another on the same CPU" exact_guest two cpus=0
    need "count both" counting $OUT/together.json one,two -e instructions:u
    pvperf record -q -a -e cycles -c 2000003 -o $OUT/together.data &
    recorder=$!
    usleep 500000
    xl unpause one
    xl unpause two
    need "both do their work" done_counting one two
    kill -INT $recorder
    wait $recorder
    check "together: zero error in the first" exactly $OUT/together.json one
    tell_exact $OUT/together.json one
    check "together: zero error in the second" exactly $OUT/together.json two
    tell_exact $OUT/together.json two
    check "together: the other session has its samples" counts_add_up $OUT/together.data
    domu_destroy one
    domu_destroy two
}

# From CPU to CPU, hundreds of times a second.
moving() {
    need "a guest that will move" exact_guest mover cpus=0
    need "count it" counting $OUT/moving.json mover -e instructions:u
    mover "$(domu_id mover)" 2000 >$OUT/moves &
    mover=$!
    xl unpause mover
    need "it does its work" done_counting mover
    kill $mover
    wait $mover
    check "it moved $(cat $OUT/moves) times" [ "$(cat $OUT/moves)" -gt 100 ]
    check "moving: zero error" exactly $OUT/moving.json mover
    tell_exact $OUT/moving.json mover
    domu_destroy mover
}

counts_tests() {
    need "the daemon starts" daemon_start
    alone
    together
    moving
    daemon_stop
    finish
}
