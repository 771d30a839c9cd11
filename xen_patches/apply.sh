#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Put pvperf into a Xen source tree.
#   apply.sh SRC VERSION    SRC: the top of the tree; VERSION: as in 4.17.5
set -eu

here=$(cd "$(dirname "$0")" && pwd)

die() {
    echo "apply.sh: $*" >&2
    exit 1
}

[ $# -eq 2 ] || die "wrong arguments; use apply.sh SRC VERSION"
src=$1
version=$2
series=$here/series-$version

[ -f "$src/xen/Kconfig" ] ||
    die "$src is not the top of a Xen source tree; unpack one there first"
[ -f "$series/series" ] ||
    die "no series for Xen $version; there is one for:$(
        for s in "$here"/series-*/series; do
            s=${s%/series}
            printf ' %s' "${s##*/series-}"
        done)"
[ ! -e "$src/xen/include/public/pvperf.h" ] ||
    die "$src has pvperf already; unpack a fresh tree"
command -v patch >/dev/null || die "there is no patch program; install patch"

# All or nothing: try the series on a copy of the files that it changes.
try=$(mktemp -d) || die "cannot make a temporary directory; look at TMPDIR"
trap 'rm -rf "$try"' EXIT
trap 'exit 1' HUP INT TERM

while read -r name; do
    sed -n 's,^--- a/,,p' "$series/$name"
done <"$series/series" | sort -u >"$try/files"

mkdir "$try/tree"
while read -r file; do
    [ -f "$src/$file" ] ||
        die "$src has no $file; it is not Xen $version"
    mkdir -p "$try/tree/$(dirname "$file")"
    cp -p "$src/$file" "$try/tree/$file"
done <"$try/files"

while read -r name; do
    patch -d "$try/tree" -p1 -s -f -F 0 -i "$series/$name" >"$try/log" 2>&1 ||
        die "$name does not apply: $(grep -m 1 -i 'fail' "$try/log" ||
            tail -n 1 "$try/log"); take the Xen $version that README.md names"
done <"$series/series"

while read -r file; do
    cp "$try/tree/$file" "$src/$file"
done <"$try/files"
cp -R "$here/xen/." "$src/xen/"
