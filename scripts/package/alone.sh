#!/usr/bin/env bash
# Runs the daemon of a program with the shipped configuration, in its own network namespace and in a root file system without other files.
#   scripts/package/alone.sh PROGRAM
set -euo pipefail

if [[ ${2-} != inside ]]; then
    bare=$(mktemp -d)
    trap 'rm -rf --one-file-system -- "$bare"' EXIT
    mkdir -p -- "$bare"/{proc,run,var/lib,etc/joulepath}
    cp -- "$1" "$bare/joulepath"
    cp -- "${BASH_SOURCE[0]%/*}/../../packaging/live.toml" "$bare/etc/joulepath/"
    timeout --kill-after=10 60 unshare --mount --pid --net --ipc --fork --kill-child bash "${BASH_SOURCE[0]}" "$bare" inside
    exit
fi

bare=$1
export NOTES=$bare
# shellcheck source=scripts/package/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

mount --bind "$bare" "$bare"
mount -t proc none "$bare/proc"
mount -t proc none /proc
machine
kernel >"$bare/kernel.before"
chroot "$bare" /joulepath live --undo || fail 'live --undo has nothing to restore'
chroot "$bare" /joulepath live >>"$LOG" 2>&1 &
daemon=$!
soon endpoint_is_there || fail 'the daemon adds an endpoint'
chroot "$bare" /joulepath status >/dev/null || fail 'it reports its state'
# This program has no eBPF, so `doctor` loads nothing. The endpoint of the other program has an address that no interface has.
chroot "$bare" /joulepath doctor --json >"$NOTES/doctor" || true
grep -q '"detail": "2, 1 of them the daemon.s; 198.51.100.7 is not an address of this machine"' "$NOTES/doctor" ||
    fail "doctor reports the owner of each endpoint: $(cat -- "$NOTES/doctor")"
status=0
chroot "$bare" /joulepath lab quick -- true 2>"$NOTES/lab" || status=$?
[[ $status == 3 && $(cat -- "$NOTES/lab") == *'without the kernel engine'* ]] || fail 'a missing part is reported'
kill "$daemon"
wait "$daemon" || fail 'the daemon ends without an error'
same_kernel 'the daemon runs alone and restores everything'
