#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# One profiler at several periods; busybox ash, in dom0.
#   bench.sh PROFILER ARG...
# For each ARG a fresh guest does its work between two marks, and a profiler that
# samples starts and ends between them, too: a sample outside would be one that cost
# nothing. Waiting is by fixed sleeps, which are free when instructions make the
# time; polling would not cost the same each time. Lines on standard
# output: "run ARG SAMPLES BYTES LOST"; the marks are in the file that the emulator
# writes, two for each.
. /rig/lib.sh
PATH=/payload/bin:$PATH
export LD_LIBRARY_PATH=/payload/lib PERF_PAGER=cat HOME=/tmp
OUT=/out
mkdir -p $OUT /run/pvperf
profiler=$1
shift

die() {
    echo "bench: $*" >&2
    exit 1
}

# The emulator writes its totals down.
mark() {
    printf 'm' | dd of=/dev/port bs=1 seek=$((0x5c0)) conv=notrunc 2>/dev/null
}

# guest COMMAND: a domain that will run it, not yet.
guest() {
    rm -rf /run/bench
    mkdir -p /run/bench
    printf '#!/bin/sh\nexport LD_LIBRARY_PATH=/work/lib PERF_PAGER=cat HOME=/tmp\n%s\n' "$1" \
        >/run/bench/init.sh
    chmod 755 /run/bench/init.sh
    # shellcheck disable=SC2086 # a list
    domu_create bench mem=400 paused -- /run/bench/init.sh /payload/bin/work $2 ||
        die "no guest"
    # Xen clears the memory of the last guest when it has nothing else to do.
    sleep 5
}

work_is_done() {
    xl unpause bench
    domu_wait bench "DONE " 400 || die "the guest's work came to no end"
    domu_console bench | grep -q "DONE 0" || die "the guest's work failed"
}

end_guest() {
    domu_destroy bench
    rm -f /run/rig/bench.cpio
}

pvperf_record() {
    events=$1 period=$2
    guest "./work"
    mark
    # shellcheck disable=SC2086 # a list
    pvperf record -q -a $events -c "$period" -m 64 -o /tmp/bench.data &
    recorder=$!
    sleep 5
    pvperf doctor 2>/dev/null | grep -q 'held by pvperf' ||
        die "pvperf record has not started within 5 s"
    work_is_done
    kill -INT $recorder
    wait $recorder || die "pvperf record failed"
    mark
    pvperf report --counts -i /tmp/bench.data | awk -v period="$period" \
        -v bytes="$(stat -c %s /tmp/bench.data)" '
        NR > 1 { n += $2; lost += $4 }
        END { print "run", period, n, bytes, lost + 0 }'
    rm -f /tmp/bench.data
}

xenoprof_run() {
    guest "./work"
    mark
    xenoprof "$(domu_id bench)" c0 "$1" >/tmp/xenoprof.out &
    recorder=$!
    sleep 5
    grep -q running /tmp/xenoprof.out || die "xenoprof has not started within 5 s"
    work_is_done
    kill $recorder
    wait $recorder || die "xenoprof failed"
    mark
    awk -v period="$1" 'NR > 1 { print "run", period, $1 + $2, 0, $2 }' /tmp/xenoprof.out
}

# perf's own words: "Captured and wrote 1.234 MB FILE (5678 samples)"
perf_words() {
    sed -n 's/.*aptured and wrote \([0-9.]*\) MB .*(\([0-9]*\) samples).*/\2 \1/p' "$1" |
        awk -v period="$2" '{ print "run", period, $1, int($2 * 1048576), 0 }'
}

vpmu_self() {
    # The guest has no libraries but those that come along.
    guest "/work/lib/ld-linux-x86-64.so.2 --library-path /work/lib /work/bin/perf record -e instructions -c $1 -o /tmp/x ./work" "/payload/guest/bin /payload/lib"
    mark
    work_is_done
    mark
    perf_words /var/log/xen/console/guest-bench.log "$1"
}

vpmu_all() {
    [ "$(cat /sys/hypervisor/pmu/pmu_mode)" = all ] || echo all >/sys/hypervisor/pmu/pmu_mode ||
        die "vPMU has no mode all"
    guest "./work"
    mark
    perf record -a -e instructions -c "$1" -o /tmp/x >/tmp/perf.out 2>&1 &
    recorder=$!
    sleep 5
    work_is_done
    kill -INT $recorder
    wait $recorder
    mark
    perf_words /tmp/perf.out "$1"
    rm -f /tmp/x
}

case $profiler in
pvperf*)
    pvperfd >$OUT/pvperfd.log 2>&1 &
    sleep 1
    ;;
esac
for arg in "$@"; do
    case $profiler in
    pvperf) pvperf_record "-e instructions" "$arg" ;;
    pvperf6) pvperf_record "-e instructions -e rc0 -e cycles -e ref-cycles -e branches -e r13c" "$arg" ;;
    xenoprof) xenoprof_run "$arg" ;;
    vpmu-self) vpmu_self "$arg" ;;
    vpmu-all) vpmu_all "$arg" ;;
    *) die "no profiler $profiler" ;;
    esac
    end_guest
done
