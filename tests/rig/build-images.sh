#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Build what dom0 and the domUs boot and print the cache directory that holds
# it: vmlinuz and vmlinux (the same kernel, packed and as ELF), kernel.release,
# dom0.cpio. All of it comes from Debian packages.
set -euo pipefail
. "$(dirname "$0")/common.sh"

XEN_BIN=/usr/lib/xen-${RIG_XEN_UTILS#xen-utils-}/bin
DOM0_MODULES=(xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xenfs
    virtio_pci virtio_blk virtio_console)
DOM0_TOOLS=("$XEN_BIN"/{xl,xenstored,xenconsoled,xen-init-dom0,xen-diag,xentop}
    /usr/bin/xenstore-{chmod,exists,list,ls,read,rm,watch,write})
# What pvperf's programs in a payload link with.
DOM0_LIBRARIES=(libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1
    libgcc_s.so.1 libstdc++.so.6 libelf.so.1 libdw.so.1 libz.so.1 liblzma.so.5
    libbz2.so.1.0 libzstd.so.1 liblz4.so.1 libsystemd.so.0 libcap.so.2
    libxencall.so.1 libxenforeignmemory.so.1 libxenevtchn.so.1 libxenstore.so.4
    libxentoollog.so.1 libxengnttab.so.1 libxenctrl.so.4.17)

kernel_package() {
    apt-cache depends linux-image-amd64 2>/dev/null |
        awk '/Depends: linux-image-6/ && !found++ { print $2 }'
}

kernel_version() {
    apt-cache show "$1" 2>/dev/null | awk '/^Version:/ && !found++ { print $2 }'
}

images_key() {
    {
        echo "$package $version"
        dpkg-query -W -f '${Package} ${Version}\n' "$RIG_XEN_UTILS" \
            busybox-static libc6 libxenstore4 libxenmisc4.17 libdw1 libelf1 \
            libsystemd0
        cat "$RIG_DIR/build-images.sh" "$RIG_DIR/unpack-kernel" "$RIG_DIR/dom0/init"
    } | sha256sum | cut -c1-16
}

# The kernel is unpacked into the cache, never installed on this machine.
unpack_package() {
    rig_say "unpacking $package $version"
    (cd "$1" && apt-get -qq download "$package=$version" 2>"$1/apt.log") ||
        { cat "$1/apt.log" >&2; rig_die "cannot download $package; run tests/rig/deps.sh"; }
    dpkg-deb -x "$1"/linux-image-*.deb "$1/kernel"
    depmod -b "$1/kernel" "$release"
}

# copy_into ROOT FILE: FILE and the libraries it needs, at the same paths.
copy_into() {
    local file
    for file in "$2" $(ldd "$2" 2>/dev/null | awk '/=> \// { print $3 } /^\t\/lib/ { print $1 }'); do
        [ -e "$1$file" ] || install -D "$(readlink -f "$file")" "$1$file"
    done
}

copy_libraries() {
    local name path
    for name in "${DOM0_LIBRARIES[@]}"; do
        path=$(ldconfig -p | awk -v n="$name" '$1 == n && /x86-64/ && !found++ { print $NF }')
        [ -n "$path" ] || rig_die "library $name is missing; run tests/rig/deps.sh"
        copy_into "$1" "$path"
    done
}

copy_modules() {
    local module path
    for module in "${DOM0_MODULES[@]}"; do
        modprobe -d "$2" -S "$release" --show-depends "$module" |
            awk '$1 == "insmod" { print $2 }'
    done | awk '!seen[$0]++' | while read -r path; do
        install -D -m 644 "$path" "$1/rig/modules/${path##*/}"
        echo "/rig/modules/${path##*/}" >>"$1/rig/modules.list"
    done
}

make_dom0_root() {
    local root=$1/root tool
    mkdir -p "$root"/{bin,sbin,etc/xen,proc,sys,dev,run,tmp,root,boot,rig,lib64} \
        "$root"/var/{lib/xenstored,lib/xen,log/xen/console} "$root"/usr/{bin,sbin,lib}
    ln -s ../run "$root/var/run"
    install -m 755 "$(command -v busybox)" "$root/bin/busybox"
    for tool in $(busybox --list | grep -vx busybox); do
        ln -s /bin/busybox "$root/bin/$tool"
    done
    for tool in "${DOM0_TOOLS[@]}"; do
        copy_into "$root" "$tool"
        [ "${tool%/*}" = /usr/bin ] || ln -s "$tool" "$root/usr/sbin/${tool##*/}"
    done
    copy_libraries "$root"
    copy_modules "$root" "$1/kernel"
    : >"$root/etc/xen/xl.conf"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    install -m 755 "$RIG_DIR/dom0/init" "$root/init"
    cp "$1/kernel/boot/vmlinuz-$release" "$1/kernel/boot/config-$release" "$root/boot/"
    cp "$1/out/vmlinux" "$root/boot/vmlinux-$release"
    (cd "$root" && find . -print0 | LC_ALL=C sort -z |
        cpio -0 -o -H newc -R 0:0 --quiet --reproducible) >"$1/out/dom0.cpio"
}

package=$(kernel_package)
[ -n "$package" ] || rig_die "linux-image-amd64 is unknown to apt; run tests/rig/deps.sh"
version=$(kernel_version "$package")
release=${package#linux-image-}
key=$(images_key)
out=$RIG_CACHE/images/$key
mkdir -p "$RIG_CACHE/images"
if [ ! -d "$out" ]; then
    rig_lock "images-$key"
fi
if [ ! -d "$out" ]; then
    tmp=$(mktemp -d "$RIG_CACHE/images/.tmp.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    mkdir "$tmp/out"
    unpack_package "$tmp"
    cp "$tmp/kernel/boot/vmlinuz-$release" "$tmp/out/vmlinuz"
    "$RIG_DIR/unpack-kernel" "$tmp/out/vmlinuz" "$tmp/out/vmlinux"
    echo "$release" >"$tmp/out/kernel.release"
    make_dom0_root "$tmp"
    mv "$tmp/out" "$out"
fi
touch "$out"
rig_prune images 3
echo "$out"
