# SPDX-License-Identifier: GPL-2.0-only
# What the system tests share; busybox ash, in dom0: `. ./lib.sh`.
# Tests print "ok - name" or "not ok - name" and go on; `finish` ends them.

. /rig/lib.sh
PATH=/payload/bin:$PATH
OUT=/out
LOGS=$OUT/logs
WORK=/payload/workloads
mkdir -p $OUT $LOGS
FAILED=0

ok() {
    echo "ok - $*"
}

not_ok() {
    echo "not ok - $*"
    FAILED=1
}

# check NAME COMMAND...: the command must succeed; its output goes to a log.
check() {
    check_name=$1
    shift
    if "$@" >$LOGS/check.log 2>&1; then
        ok "$check_name"
    else
        not_ok "$check_name"
        sed 's/^/  # /' $LOGS/check.log | tail -n 20
        return 1
    fi
}

# need NAME COMMAND...: as check, but the test cannot go on without it.
need() {
    check "$@" || finish
}

finish() {
    [ ! -s $LOGS/pvperfd.log ] || [ $FAILED -eq 0 ] || sed 's/^/  # pvperfd: /' $LOGS/pvperfd.log
    exit $FAILED
}

# refuse NAME STATUS PATTERN COMMAND...: the command must end with that status
# and say one line on stderr that matches.
refuse() {
    rf_name=$1 rf_status=$2 rf_pattern=$3
    shift 3
    "$@" >$LOGS/refuse.out 2>$LOGS/refuse.err
    rf_got=$?
    if [ $rf_got -eq "$rf_status" ] && [ "$(wc -l <$LOGS/refuse.err)" -eq 1 ] &&
        grep -qiE -e "$rf_pattern" $LOGS/refuse.err; then
        ok "$rf_name: $(cat $LOGS/refuse.err)"
    else
        not_ok "$rf_name"
        echo "  # status $rf_got (wanted $rf_status), wanted one line like '$rf_pattern', got:"
        sed 's/^/  # /' $LOGS/refuse.err
    fi
}

# Start pvperfd and wait until it answers.
daemon_start() {
    mkdir -p /run/pvperf
    pvperfd >>$LOGS/pvperfd.log 2>&1 &
    DAEMON=$!
    tries=50
    until pvperf list domains >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ $tries -eq 0 ] || ! kill -0 $DAEMON 2>/dev/null; then
            echo "pvperfd does not answer:"
            cat $LOGS/pvperfd.log
            return 1
        fi
        usleep 100000
    done
}

# recording FILE: wait until samples arrive in it; symbols are read before.
recording() {
    tries=300
    until [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt 20000 ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        usleep 100000
    done
}

daemon_stop() {
    kill $DAEMON 2>/dev/null
    wait $DAEMON 2>/dev/null
}

# guest NAME OPTIONS... -- COMMAND: a domU that runs the command, which may use
# the programs of the workloads.
guest() {
    guest_name=$1 guest_options=''
    shift
    while [ "$1" != -- ]; do
        guest_options="$guest_options $1"
        shift
    done
    shift
    mkdir -p /run/guest-"$guest_name"
    printf '#!/bin/sh\nexec %s\n' "$*" >/run/guest-"$guest_name"/init.sh
    chmod 755 /run/guest-"$guest_name"/init.sh
    # shellcheck disable=SC2086 # options are words
    domu_create "$guest_name" $guest_options -- /run/guest-"$guest_name"/init.sh "$WORK"/*
}

# count_of FILE KEY: a count of the capture, all events together: overflows,
# recorded, lost or filtered.
count_of() {
    pvperf report --counts -i "$1" | awk -v want="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) col = i; next }
        { sum += $col }
        END { print sum + 0 }'
}

# count_is FILE KEY TEST VALUE: e.g. count_is x.data lost -eq 0
count_is() {
    ci_count=$(count_of "$1" "$2")
    echo "$2: $ci_count"
    [ "$ci_count" "$3" "$4" ]
}

# The samples of a capture, one line each without their chains:
# time domain vcpu pcpu event mode ip symbol object
samples() {
    pvperf script --fields time,domain,vcpu,cpu,event,mode,ip,symbol,object -i "$1"
}

# take_objects FILE: the files with symbols that it names go to /out/symfs, so
# that reports can be made on another machine.
take_objects() {
    for to_file in $(pvperf report --objects -i "$1"); do
        mkdir -p "$OUT/symfs${to_file%/*}"
        cp "$to_file" "$OUT/symfs$to_file" || return 1
    done
}

# counts_add_up FILE: what the file holds and what was lost is what there was.
counts_add_up() {
    ca_over=$(count_of "$1" overflows) ca_rec=$(count_of "$1" recorded)
    ca_lost=$(count_of "$1" lost) ca_filt=$(count_of "$1" filtered)
    ca_have=$(samples "$1" | wc -l)
    echo "overflows $ca_over = recorded $ca_rec + lost $ca_lost + filtered $ca_filt; in file $ca_have"
    [ "$ca_over" -gt 0 ] && [ "$ca_over" -eq $((ca_rec + ca_lost + ca_filt)) ] &&
        [ "$ca_have" -eq "$ca_rec" ]
}

# xenstat_ns NAME: CPU time that Xen has charged to the domain, in ns.
xenstat_ns() {
    pvperf list domains --json | tr '{' '\n' |
        sed -n "s/.*\"name\": *\"$1\".*\"cpu_time\": *\([0-9]*\).*/\1/p"
}
