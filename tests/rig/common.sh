# SPDX-License-Identifier: GPL-2.0-only
# Shared by the rig's host side scripts (bash). Source it, do not run it.

RIG_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RIG_TOP=$(cd "$RIG_DIR/../.." && pwd)
RIG_CACHE=${PVPERF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pvperf}
RIG_XEN_UPSTREAM=4.17.5
RIG_XEN_SOURCE=4.17.5+72-g01140da4e8-1
RIG_XEN_UTILS=xen-utils-4.17

rig_die() {
    echo "rig: $*" >&2
    exit 1
}

# Standard output carries a result (a path), so progress goes to stderr.
rig_say() {
    echo "rig: $*" >&2
}

# rig_lock NAME: hold the cache's lock NAME until this process ends, so that
# two callers do not build the same thing twice.
rig_lock() {
    mkdir -p "$RIG_CACHE/locks"
    exec 9>"$RIG_CACHE/locks/$1"
    if ! flock -n 9; then
        rig_say "waiting for another build of $1"
        flock 9
    fi
}

# rig_hash_tree DIR: one hash of all file names and contents under DIR.
rig_hash_tree() {
    (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z |
        xargs -0 -r sha256sum) | sha256sum | cut -d' ' -f1
}

# rig_prune KIND COUNT: keep the COUNT entries of the cache used last. The
# entry in use has just been touched, so it is never among the removed.
rig_prune() {
    local old
    ls -1dt "$RIG_CACHE/$1"/*/ 2>/dev/null | tail -n +"$(($2 + 1))" |
        while read -r old; do
            rm -rf "$old"
        done
}
