# SPDX-License-Identifier: GPL-2.0-only
# A profile of everything, by instructions and by NMI, of which the host's part
# knows the truth: `. ./lib-truth.sh`, then `truth_tests`.

. ./lib.sh

# sees FILE FUNCTION: Xen's code that runs with interrupts off. The way back to
# a guest is restore_all_guest(), whose other name _stextentry perf prefers, too.
sees() {
    samples "$1" | awk -v f="$2" '$6 == "hypervisor" && $8 == f { n++ }
        END { print n + 0, "samples in", f; exit !n }'
}

truth_tests() {
    need "the daemon starts" daemon_start
    pvperf doctor >$OUT/doctor.txt
    check "doctor says that counters interrupt by NMI" grep -q "interrupts: NMI" $OUT/doctor.txt
    need "a domain runs the workload" guest mix mem=128 -- /work/truthmix
    need "the workload runs" domu_wait mix "truthmix: running"
    need "record" pvperf record -q -a -e instructions -c 20011 --duration 4 -m 64 \
        --program mix=$WORK/truthmix -o $OUT/truth.data
    check "every overflow is in the file or counted as lost" counts_add_up $OUT/truth.data
    check "nothing was lost" count_is $OUT/truth.data lost -eq 0
    check "code with interrupts off is seen" sees $OUT/truth.data _stextentry
    sees $OUT/truth.data _stextentry | sed 's/^/  # /'
    pvperf script --fields mode,ip,period -i $OUT/truth.data >$OUT/samples.txt
    need "take the files with symbols" take_objects $OUT/truth.data
    cp $WORK/truthmix $OUT/
    daemon_stop
    finish
}
