#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# variants: release debug
# Generated hypercalls at the real Xen, from dom0 and from a guest.
. ./lib.sh

for seed in 1 2 3; do
    need "5000 generated calls from dom0, seed $seed" /payload/bin/hcfuzz 5000 $seed
    tee $LOGS/calls.log <$LOGS/check.log | sed 's/^/  # /'
done
check "some of them were valid" grep -q " ok$" $LOGS/calls.log
mkdir -p /run/guest-hostile
cat >/run/guest-hostile/init.sh <<'GUEST'
#!/bin/sh
insmod ./xen-privcmd.ko 2>&1
./hcfuzz 10000 7
GUEST
chmod 755 /run/guest-hostile/init.sh
need "a guest starts" domu_create hostile mem=128 -- /run/guest-hostile/init.sh \
    /payload/bin/hcfuzz /rig/modules/xen-privcmd.ko
need "10000 generated calls from a guest" domu_wait hostile "hcfuzz: 10000 calls done" 120
domu_console hostile | grep hcfuzz: | sed 's/^/  # /'
check "not one of a guest's calls but query succeeded" sh -c \
    "! domu_console hostile | grep -q 'hcfuzz: .* ok'"
need "pvperf works afterwards: the daemon starts" daemon_start
need "a session after all that" pvperf record -q -a -e timer -F 500 --duration 2 -o $OUT/after.data
check "every overflow is in the file or lost" counts_add_up $OUT/after.data
daemon_stop
finish
