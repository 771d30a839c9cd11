#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Install what the rig and the build need. Quick when all is there.
#   deps.sh [demo|check]    check adds what only the tests need
set -euo pipefail
. "$(dirname "$0")/common.sh"

mode=${1:-demo}
case $mode in
demo | check) ;;
*) rig_die "deps.sh: unknown mode '$mode'; use demo or check" ;;
esac

packages=(
    # building Xen
    gcc make flex bison python3 libelf-dev dpkg-dev patch xz-utils
    # building pvperf
    pkg-config libxen-dev libdw-dev libzstd-dev zlib1g-dev liblzma-dev
    libbz2-dev liblz4-dev libsystemd-dev
    # the machine, dom0 and the domUs
    qemu-system-x86 seabios "$RIG_XEN_UTILS" xen-utils-common xenstore-utils
    busybox-static cpio zstd kmod ca-certificates
    # reading captures
    linux-perf
)
if [ "$mode" = check ]; then
    packages+=(check valgrind clang libclang-rt-14-dev git clang-format shellcheck groff-base
        # building QEMU with the emulated PMU
        meson ninja-build libglib2.0-dev libpixman-1-dev libfdt-dev)
fi

apt_missing() {
    local p
    for p in "${packages[@]}"; do
        [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)" = "ii " ] ||
            echo "$p"
    done
}

have_xen_source() {
    apt-get --print-uris -qq source --only-source "xen=$RIG_XEN_SOURCE" \
        >/dev/null 2>&1
}

have_kernel() {
    apt-cache show linux-image-amd64 >/dev/null 2>&1
}

# The machine's own entry for Debian's main archive, once more for sources. The
# entry is copied with its options, as apt refuses two that do not agree.
add_source_entry() {
    local uri out=/etc/apt/sources.list.d/pvperf-deb-src
    uri=$(apt-get indextargets --format \
        '$(CREATED_BY) $(LABEL) $(COMPONENT) $(RELEASE) $(REPO_URI)' |
        awk '$1 == "Packages" && $2 == "Debian" && $3 == "main" &&
             $4 !~ /-(updates|backports|security)/ && !found++ { print $5 }')
    uri=${uri%/}
    [ -n "$uri" ] ||
        rig_die "no apt source for Debian's main archive found; add one to /etc/apt"
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        awk -v uri="$uri" '$1 == "deb" && $0 ~ / main/ &&
            (index($0, uri " ") || index($0, uri "/ ")) { $1 = "deb-src"; print }' \
            >"$out.list"
    cat_stanzas | awk -v uri="$uri" 'BEGIN { RS = ""; ORS = "\n\n" }
        index($0 "\n", uri "\n") || index($0 "\n", uri "/\n") {
            sub(/Types:[^\n]*/, "Types: deb-src"); print }' >"$out.sources"
    find "$out.list" "$out.sources" -empty -delete
    rig_say "source packages enabled in $out.*"
}

# All deb822 entries, an empty line between files.
cat_stanzas() {
    local file
    for file in /etc/apt/sources.list.d/*.sources; do
        [ "$file" = /etc/apt/sources.list.d/pvperf-deb-src.sources ] ||
            [ ! -e "$file" ] || { cat "$file"; echo; }
    done
}

[ "$(id -u)" = 0 ] || [ -z "$(apt_missing)" ] ||
    rig_die "packages are missing ($(apt_missing | xargs)); run as root to install them"

export DEBIAN_FRONTEND=noninteractive
missing=$(apt_missing)
if [ -n "$missing" ] || ! have_xen_source || ! have_kernel; then
    apt-get update -qq || rig_die "apt-get update failed; check the apt sources"
    if ! have_xen_source; then
        add_source_entry
        apt-get update -qq || rig_die "apt-get update failed; check the apt sources"
        have_xen_source ||
            rig_die "source package xen=$RIG_XEN_SOURCE is not to be had; check the deb-src entries"
    fi
fi
if [ -n "$missing" ]; then
    rig_say "installing" $missing
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
        rig_die "apt-get install failed; see its message above"
fi
