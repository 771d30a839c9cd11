# SPDX-License-Identifier: GPL-2.0-only
# Helpers for test scripts that run in dom0: `. /rig/lib.sh`.
# busybox ash. Each helper prints one line and returns non-zero when it fails.

RIG_RUN=/run/rig
RIG_CONSOLE=/var/log/xen/console
RIG_KERNEL=/boot/vmlinux-$(uname -r)

rig_fail() {
    echo "rig: $*" >&2
    return 1
}

# The part of the initramfs that all domUs share: busybox and init.
rig_base_initramfs() {
    [ ! -s $RIG_RUN/base.cpio ] || return 0
    mkdir -p $RIG_RUN/base/bin $RIG_RUN/base/proc $RIG_RUN/base/sys \
        $RIG_RUN/base/dev $RIG_RUN/base/tmp $RIG_RUN/base/run $RIG_RUN/base/work
    cp /bin/busybox $RIG_RUN/base/bin/busybox
    cp /rig/domu-init $RIG_RUN/base/init
    chmod 755 $RIG_RUN/base/init
    (cd $RIG_RUN/base && find . | cpio -o -H newc) \
        >$RIG_RUN/base.cpio.new 2>/dev/null ||
        rig_fail "cannot write $RIG_RUN/base.cpio.new; is dom0 out of memory?" || return 1
    mv $RIG_RUN/base.cpio.new $RIG_RUN/base.cpio
}

# rig_initramfs NAME FILE...: the base with the files in /work behind it.
rig_initramfs() {
    rig_name=$1
    shift
    rig_base_initramfs || return 1
    rm -rf "$RIG_RUN/$rig_name.files"
    mkdir -p "$RIG_RUN/$rig_name.files/work"
    [ $# -eq 0 ] || cp -r "$@" "$RIG_RUN/$rig_name.files/work/" || return 1
    {
        cat $RIG_RUN/base.cpio
        (cd "$RIG_RUN/$rig_name.files" && find . | cpio -o -H newc 2>/dev/null)
    } >"$RIG_RUN/$rig_name.cpio"
    rm -rf "$RIG_RUN/$rig_name.files"
}

# rig_only_init NAME FILE: an initramfs with nothing but this program and a
# console for it.
rig_only_init() {
    rm -rf "$RIG_RUN/$1.files"
    mkdir -p "$RIG_RUN/$1.files/dev"
    mknod "$RIG_RUN/$1.files/dev/console" c 5 1
    cp "$2" "$RIG_RUN/$1.files/init" || return 1
    (cd "$RIG_RUN/$1.files" && find . | cpio -o -H newc 2>/dev/null) >"$RIG_RUN/$1.cpio"
    rm -rf "$RIG_RUN/$1.files"
}

# domu_create NAME [mem=MB] [vcpus=N] [cpus=LIST] [extra="KERNEL ARGS"] [-- FILE...]
#                  [init=FILE] [paused]
# Start a PV domain. The files (and directories) land in /work in the guest;
# an executable /work/init.sh is run by its init, else the guest idles.
# init: this is the guest's only program. paused: until `xl unpause`.
domu_create() {
    dc_name=$1 dc_mem=192 dc_vcpus=1 dc_cpus='' dc_extra='' dc_init='' dc_paused=''
    [ -n "$dc_name" ] || rig_fail "domu_create: give the domain a name" || return 1
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        mem=*) dc_mem=${1#*=} ;;
        vcpus=*) dc_vcpus=${1#*=} ;;
        cpus=*) dc_cpus=${1#*=} ;;
        extra=*) dc_extra=${1#*=} ;;
        init=*) dc_init=${1#*=} ;;
        paused) dc_paused=-p ;;
        --) shift; break ;;
        *) rig_fail "domu_create: unknown option '$1'; see /rig/lib.sh"; return 1 ;;
        esac
        shift
    done
    mkdir -p $RIG_RUN
    if [ -n "$dc_init" ]; then
        rig_only_init "$dc_name" "$dc_init"
    else
        rig_initramfs "$dc_name" "$@"
    fi || return 1
    domu_rotate_log "$dc_name"
    {
        echo "name = \"$dc_name\""
        echo "type = \"pv\""
        echo "kernel = \"$RIG_KERNEL\""
        echo "ramdisk = \"$RIG_RUN/$dc_name.cpio\""
        echo "memory = $dc_mem"
        echo "vcpus = $dc_vcpus"
        [ -z "$dc_cpus" ] || echo "cpus = \"$dc_cpus\""
        echo "cmdline = \"console=hvc0 quiet nokaslr tsc=unstable rig.name=$dc_name $dc_extra\""
        echo "on_poweroff = \"destroy\""
        echo "on_reboot = \"destroy\""
        echo "on_crash = \"destroy\""
    } >"$RIG_RUN/$dc_name.cfg"
    xl create -q $dc_paused "$RIG_RUN/$dc_name.cfg" ||
        rig_fail "xl could not create $dc_name; its message is above"
}

# A second domain of the same name gets a fresh log, or domu_wait would find
# the words of the first one.
domu_rotate_log() {
    [ -e "$RIG_CONSOLE/guest-$1.log" ] || return 0
    dr_n=1
    while [ -e "$RIG_CONSOLE/guest-$1.$dr_n.log" ]; do
        dr_n=$((dr_n + 1))
    done
    mv "$RIG_CONSOLE/guest-$1.log" "$RIG_CONSOLE/guest-$1.$dr_n.log"
}

# domu_wait NAME TEXT [SECONDS]: until the guest's console shows TEXT.
domu_wait() {
    dw_end=$(($(date +%s) + ${3:-180}))
    until grep -qF -e "$2" "$RIG_CONSOLE/guest-$1.log" 2>/dev/null; do
        if [ "$(date +%s)" -ge $dw_end ]; then
            rig_fail "$1 did not print '$2' within ${3:-180} s; see guest-$1.log"
            return 1
        fi
        usleep 200000
    done
}

# domu_console NAME: what the guest has printed so far.
domu_console() {
    cat "$RIG_CONSOLE/guest-$1.log"
}

# domu_id NAME: its domain id.
domu_id() {
    xl domid "$1" 2>/dev/null || rig_fail "no domain is called $1"
}

# domu_destroy NAME: and wait until it is gone.
domu_destroy() {
    xl destroy "$1" || rig_fail "xl could not destroy $1" || return 1
    dd_tries=100
    while xl domid "$1" >/dev/null 2>&1; do
        dd_tries=$((dd_tries - 1))
        [ $dd_tries -gt 0 ] || rig_fail "$1 does not go away" || return 1
        usleep 100000
    done
}
