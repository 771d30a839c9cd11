#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Build the patched hypervisor and print the cache directory that holds it:
# xen (multiboot image), xen-syms, xen-syms.small (without debug information,
# as dom0 gets it), config, build.log.
#   build-xen.sh release|debug|stock     stock: Debian's Xen without our patches
set -euo pipefail
. "$(dirname "$0")/common.sh"

flavour=${1:-release}
fragments=("$RIG_DIR/xen.config")
case $flavour in
release) ;;
debug) fragments+=("$RIG_DIR/xen-debug.config") ;;
stock) fragments=("$RIG_DIR/xen-stock.config") ;;
*) rig_die "build-xen.sh: unknown flavour '$flavour'; use release, debug or stock" ;;
esac

patches=$RIG_TOP/xen_patches
[ "$flavour" = stock ] || [ -e "$patches/apply.sh" ] ||
    rig_die "$patches/apply.sh is missing; use a complete checkout"

xen_key() {
    {
        echo "$RIG_XEN_SOURCE"
        [ "$flavour" = stock ] || rig_hash_tree "$patches"
        cat "${fragments[@]}"
        gcc --version | head -n 1
        cat "$RIG_DIR/build-xen.sh"
    } | sha256sum | cut -c1-16
}

fetch_source() {
    local dir=$RIG_CACHE/xen-source/$RIG_XEN_SOURCE tmp=$RIG_CACHE/xen-source/tmp.$$
    if [ ! -d "$dir" ]; then
        mkdir -p "$tmp"
        (cd "$tmp" && apt-get -qq source --only-source --download-only \
            "xen=$RIG_XEN_SOURCE") >&2 ||
            rig_die "cannot download source package xen=$RIG_XEN_SOURCE; run tests/rig/deps.sh"
        mv "$tmp" "$dir"
    fi
    echo "$dir"
}

build() {
    local src=$1/src dsc
    dsc=$(echo "$(fetch_source)"/*.dsc)
    dpkg-source --no-check -x "$dsc" "$src" || return 1
    if [ "$flavour" != stock ]; then
        sh "$patches/apply.sh" "$src" "$RIG_XEN_UPSTREAM" || return 1
    fi
    cp "$src/xen/arch/x86/configs/x86_64_defconfig" "$1/defconfig" || return 1
    cat "${fragments[@]}" >>"$1/defconfig"
    cp "$1/defconfig" "$src/xen/arch/x86/configs/x86_64_defconfig"
    # XEN_BUILD_DATE and friends: the same input gives the same banner.
    export XEN_BUILD_DATE=pvperf XEN_BUILD_TIME=$flavour XEN_WHOAMI=pvperf \
        XEN_DOMAIN=rig XEN_BUILD_HOST=rig
    nice make -C "$src/xen" defconfig && nice make -C "$src/xen" -j2
}

# Kconfig drops a symbol it does not know without a word: look.
check_config() {
    local line
    cat "${fragments[@]}" | grep '^CONFIG_' | while read -r line; do
        grep -qx "$line" "$1" ||
            rig_die "$line did not get into Xen's configuration; see xen_patches' Kconfig"
    done
}

key=$flavour-$(xen_key)
out=$RIG_CACHE/xen/$key
mkdir -p "$RIG_CACHE/xen"
if [ ! -d "$out" ]; then
    rig_lock "xen-$key"
fi
if [ ! -d "$out" ]; then
    tmp=$(mktemp -d "$RIG_CACHE/xen/.tmp.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    rig_say "building Xen $RIG_XEN_SOURCE ($flavour), about two minutes"
    if ! build "$tmp" >"$tmp/build.log" 2>&1; then
        cp "$tmp/build.log" "$RIG_CACHE/xen-$flavour-failed.log"
        grep -m 5 -E 'error:|Error |FAILED|rig:' "$tmp/build.log" >&2 || true
        rig_die "building Xen failed; see $RIG_CACHE/xen-$flavour-failed.log"
    fi
    check_config "$tmp/src/xen/.config"
    mkdir "$tmp/out"
    cp "$tmp/src/xen/xen" "$tmp/src/xen/xen-syms" "$tmp/build.log" "$tmp/out/"
    cp "$tmp/src/xen/.config" "$tmp/out/config"
    strip --strip-debug -o "$tmp/out/xen-syms.small" "$tmp/out/xen-syms"
    mv "$tmp/out" "$out"
fi
touch "$out"
rig_prune xen 6
echo "$out"
