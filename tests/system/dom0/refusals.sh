#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each thing that cannot be done is refused with one line that helps.
. ./lib.sh

refuse "no daemon" 1 "pvperfd.*(start|run)" pvperf record -d 0 -o $OUT/x.data --duration 1
need "the daemon starts" daemon_start

refuse "unknown domain" 1 "nobody-here" pvperf record -d nobody-here -o $OUT/x.data
refuse "unknown domain id" 1 "4711" pvperf record -d 4711 -o $OUT/x.data
need "a domain starts" guest gone mem=128 -- /work/shares
id=$(domu_id gone)
domu_destroy gone
refuse "dead domain" 1 "$id" pvperf record -d "$id" -o $OUT/x.data
refuse "unknown event" 2 "cycels.*cycles|event" pvperf record -e cycels -o $OUT/x.data
refuse "an event that needs a PMU" 1 "PMU.*timer" pvperf record -e cycles -o $OUT/x.data
refuse "frequency too high" 1 "10000" pvperf record -e timer -F 2000000 -o $OUT/x.data
refuse "frequency of zero" 2 "frequency|-F" pvperf record -e timer -F 0 -o $OUT/x.data
refuse "unwritable output" 1 "/no/such/dir" pvperf record -e timer -o /no/such/dir/x.data --duration 1
refuse "no such capture" 1 "/no/such.data" pvperf report -i /no/such.data
refuse "unknown subcommand" 2 "recrod.*record" pvperf recrod
check "no file was left by what was refused" [ ! -e $OUT/x.data ]

adduser -D -H nobody-else >/dev/null 2>&1 || echo "nobody-else:x:1234:1234::/:/bin/sh" >>/etc/passwd
chmod 755 /payload /payload/bin
refuse "no privilege" 1 "permission|root" su nobody-else -s /bin/sh -c \
    "exec /payload/bin/pvperf record -e timer -o /tmp/x.data --duration 1"

# A second daemon.
refuse "a second daemon" 1 "another|already|running" timeout 5 pvperfd

# A disk that is full: what was written stays a valid capture.
mkdir -p /run/small
mount -t tmpfs -o size=256k tmpfs /run/small
refuse "a full disk" 1 "space" pvperf record -q -a -e timer -F 5000 --duration 20 -o /run/small/x.data
check "keeps what it had" sh -c "[ \$(pvperf script -i /run/small/x.data 2>/dev/null | grep -c .) -gt 500 ]"
umount /run/small

# Captures that lie.
need "a capture to spoil" pvperf record -q -a -e timer -F 500 --duration 2 -o $OUT/good.data
whole=$(pvperf script -i $OUT/good.data | grep -c .)
size=$(stat -c %s $OUT/good.data)
head -c $((size / 2)) $OUT/good.data >$OUT/cut.data
refuse "a capture cut in half" 1 "cut.data.*(trunc|cut|ends)" pvperf report -i $OUT/cut.data
check "still shows its first half" sh -c \
    "n=\$(pvperf script -i $OUT/cut.data 2>/dev/null | grep -c .); [ \$n -gt $((whole / 4)) ] && [ \$n -lt $whole ]"
cp $OUT/good.data $OUT/noise.data
dd if=/dev/urandom of=$OUT/noise.data bs=1 seek=$((size / 2)) count=4000 conv=notrunc 2>/dev/null
refuse "a capture with noise in it" 1 "noise.data.*(damage|noise|corrupt)" pvperf report -i $OUT/noise.data
check "still shows what stands before the noise" sh -c \
    "[ \$(pvperf script -i $OUT/noise.data 2>/dev/null | grep -c .) -gt $((whole / 4)) ]"
dd if=/dev/urandom of=$OUT/junk.data bs=1k count=64 2>/dev/null
refuse "no capture at all" 1 "junk.data" pvperf report -i $OUT/junk.data
daemon_stop
finish
