#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Build Debian's QEMU with our patches (an emulated PMU for x86 under TCG) and
# print the cache directory that holds it: qemu-system-x86_64, build.log. The
# firmware is that of Debian's packages seabios and qemu-system-data.
#   build-qemu.sh
set -euo pipefail
. "$(dirname "$0")/common.sh"

patches=$RIG_DIR/qemu
upstream='1:7.2+dfsg-7+deb12u'
# Optional features are off; what the rig needs is built all the same.
options=(--target-list=x86_64-softmmu --without-default-features --enable-tcg
    --enable-system --disable-user --disable-tools --disable-docs
    --enable-fdt=system --disable-werror --meson=/usr/bin/meson
    --firmwarepath=/usr/share/qemu:/usr/share/seabios)

# Debian's security updates are of one release; the patches apply to all.
source_version() {
    apt-cache showsrc --only-source qemu 2>/dev/null |
        awk -v up="$upstream" '$1 == "Version:" && index($2, up) == 1 { print $2 }' |
        sort -V | tail -n 1
}

qemu_key() {
    {
        echo "$version" "${options[@]}"
        rig_hash_tree "$patches"
        gcc --version | head -n 1
        cat "$RIG_DIR/build-qemu.sh"
    } | sha256sum | cut -c1-16
}

fetch_source() {
    local dir=$RIG_CACHE/qemu-source/${version#*:}
    local tmp=$RIG_CACHE/qemu-source/tmp.$$
    if [ ! -d "$dir" ]; then
        mkdir -p "$tmp"
        (cd "$tmp" && apt-get -qq source --only-source --download-only \
            "qemu=$version") >&2 ||
            rig_die "cannot download source package qemu=$version; run tests/rig/deps.sh check"
        mv "$tmp" "$dir"
    fi
    echo "$dir"
}

apply_patches() {
    local name
    while read -r name; do
        patch -d "$1" -p1 -F0 --no-backup-if-mismatch <"$patches/patches/$name" ||
            return 1
    done < <(grep -v '^#' "$patches/series")
}

build() {
    local src=$1/src dsc
    dsc=$(echo "$(fetch_source)"/*.dsc)
    dpkg-source --no-check -x "$dsc" "$src" || return 1
    apply_patches "$src" || return 1
    mkdir "$1/build"
    # Meson wants Debian's Python, whatever else comes first in PATH.
    (cd "$1/build" && PATH=/usr/bin:/bin nice ../src/configure "${options[@]}" &&
        PATH=/usr/bin:/bin nice ninja -j2 qemu-system-x86_64)
}

version=$(source_version)
[ -n "$version" ] ||
    rig_die "no source package qemu ${upstream}* is known to apt; run tests/rig/deps.sh check"
key=$(qemu_key)
out=$RIG_CACHE/qemu/$key
mkdir -p "$RIG_CACHE/qemu"
if [ ! -d "$out" ]; then
    rig_lock "qemu-$key"
fi
if [ ! -d "$out" ]; then
    for tool in meson ninja pkg-config; do
        command -v "$tool" >/dev/null ||
            rig_die "$tool is missing; run tests/rig/deps.sh check"
    done
    tmp=$(mktemp -d "$RIG_CACHE/qemu/.tmp.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    rig_say "building QEMU $version with the emulated PMU, six to fifteen minutes"
    if ! build "$tmp" >"$tmp/build.log" 2>&1; then
        cp "$tmp/build.log" "$RIG_CACHE/qemu-failed.log"
        grep -m 5 -E 'ERROR|error:|FAILED|hunk' "$tmp/build.log" >&2 || true
        rig_die "building QEMU failed; see $RIG_CACHE/qemu-failed.log"
    fi
    mkdir "$tmp/out"
    strip -o "$tmp/out/qemu-system-x86_64" "$tmp/build/qemu-system-x86_64"
    cp "$tmp/build.log" "$tmp/out/"
    mv "$tmp/out" "$out"
fi
touch "$out"
rig_prune qemu 3
echo "$out"
