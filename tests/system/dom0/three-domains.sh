#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Three domains in one session, two of them sharing a CPU: each sample belongs
# to the right one, and the shares of time are what the scheduler gave.
. ./lib.sh

need "the daemon starts" daemon_start
cp $WORK/shares /run/solo
for name in left right; do
    need "domain $name starts" guest $name cpus=1 mem=128 -- /work/shares
done
need "domain solo starts" guest solo mem=128 -- /work/mixed
for name in left right; do
    need "$name works" domu_wait $name "shares: running" 300
done
need "solo works" domu_wait solo "mixed: running" 300

need "record all three, by name, by id and by UUID" sh -c "pvperf record -q -F 997 -e timer \
    -d left -d \$(xl domid right) -d \$(xenstore-read /vm/\$(xenstore-read /local/domain/\$(xl domid solo)/vm | sed 's,/vm/,,')/uuid) \
    --program left=$WORK/shares --program right=$WORK/shares --program solo=$WORK/mixed \
    --duration 15 -o $OUT/three.data"
check "every overflow is in the file or counted as lost" counts_add_up $OUT/three.data
samples $OUT/three.data >$OUT/three.txt

check "there are samples of these three domains only" sh -c \
    "[ \"\$(awk '{ print \$2 }' $OUT/three.txt | sort -u | tr '\n' ' ')\" = 'left right solo ' ]"
check "no program's functions appear in another's domain" awk '
    $2 == "solo" && ($8 == "seventy" || $8 == "thirty") { exit 1 }
    $2 != "solo" && ($8 == "multiply" || $8 == "hash_text") { exit 1 }' $OUT/three.txt
check "the program of each domain is seen in it" awk '
    $8 == "seventy" { seen[$2] } $8 == "multiply" { seen[$2] }
    END { exit !(("left" in seen) && ("right" in seen) && ("solo" in seen)) }' $OUT/three.txt
# left and right burn one CPU and weigh the same: half of it each. The credit
# scheduler is fair over a second; allow a fifth.
check "the two that share a CPU got about the same" awk '
    $2 == "left" { l++ } $2 == "right" { r++ }
    END { print l, r; exit !(l > 0 && l < 1.5 * r && r < 1.5 * l) }' $OUT/three.txt
check "they ran on the CPU they are pinned to" awk '
    ($2 == "left" || $2 == "right") && $4 != 1 { exit 1 }' $OUT/three.txt
check "samples come in the order of time" sh -c "awk '{ print \$1 }' $OUT/three.txt | sort -c -n"

need "record everything" pvperf record -q -a -F 500 -e timer --duration 5 -o $OUT/all.data
check "every overflow of it is in the file or lost" counts_add_up $OUT/all.data
samples $OUT/all.data >$OUT/all.txt
check "dom0 and the three are in it" awk '{ d[$2] }
    END { exit !(("left" in d) && ("right" in d) && ("solo" in d) && ("Domain-0" in d)) }' $OUT/all.txt
check "nothing is filtered when all is asked for" count_is $OUT/all.data filtered -eq 0
# 500 a second for 5 s at the most. A machine that is busy with other work takes
# time away from the CPUs, so that there may be fewer.
check "both CPUs are sampled, at no more than their rate" awk '{ c[$4]++ }
    END { for (i in c) { n++; print i, c[i]; if (c[i] < 500 || c[i] > 2600) bad = 1 }
          exit bad || n != 2 }' $OUT/all.txt
daemon_stop
finish
