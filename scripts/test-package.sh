#!/usr/bin/env bash
# Installs the Debian package in a bare Debian, runs a new user's steps, and purges it: the machine must be as before. Needs root.
#   scripts/test-package.sh [FILE.deb]     this package; default: builds one with the profile `dev`
# The bare Debian is this machine's release (SUITE=trixie: another release), made by mmdebstrap and kept in target/bare. It runs in its own
# namespaces: mounts, processes and the network end with them. The test runs once without init, as in a container
# (scripts/package/by-hand.sh), and once under systemd (booted.sh).
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
# Packages on any Debian with systemd; iproute2 lists the kernel's endpoints.
readonly PACKAGES=systemd,iproute2
readonly TIMEOUT=300 # seconds for each of the two
# shellcheck source=scripts/bare.sh
. "$here/bare.sh"

# The folder of the unified control group hierarchy, which systemd needs.
unified() {
    local folder
    for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [[ -e $folder/cgroup.procs && -e $folder/cgroup.controllers ]] && printf '%s' "$folder" && return
    done
    die 'there is no cgroup2 here to boot systemd in'
}

clean() {
    [[ -z ${bare-} ]] || rm -rf --one-file-system -- "$bare"
    [[ -z ${group-} || ! -d $group ]] || find "$group" -depth -type d -exec rmdir -- {} +
}

# enter COMMAND...: runs a command as process 1 in its own namespaces, with the bare Debian as root file system. The program keeps its
# state where process 1 sees it. When process 1 ends, all processes end.
enter() {
    bare=$(mktemp -d -- "$BARE/root.XXXXXX")
    group=$(unified)/joulepath-bare.$$
    mkdir -- "$group"
    tar -xf "$tar" -C "$bare"
    cp -- "$deb" "$bare/joulepath.deb"
    cp -r -- "$here/package" "$bare/package"
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        # shellcheck disable=SC2016 # the inner shell's
        exec timeout --kill-after=10 "$TIMEOUT" unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child \
            env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
            bash -euc '
                mount --bind "$0" "$0"
                cd "$0"
                mount -t proc none proc
                pivot_root . mnt
                exec chroot . bash -euc "umount -l /mnt; exec \"\$0\" \"\$@\"" "$@"
            ' "$bare" "$@"
    ) </dev/null
}

((EUID == 0)) || die 'needs root'
deb=${1-}
[[ -n $deb ]] || deb=$("$here/package.sh" dev)
deb=$(realpath -e -- "$deb")
tar=$(archive "$(suite)" "$PACKAGES")
trap clean EXIT

say 'without systemd'
enter bash /package/by-hand.sh
clean
say 'under systemd'
status=0
enter bash /package/boot.sh || status=$?
# The output of the check is in a file there, because process 1 is systemd.
cat -- "$bare/said" >&2 || true
if ((status != 0)) || [[ $(cat -- "$bare/result") != success ]]; then
    die "the check under systemd failed: exit code $status"
fi
say "$(basename -- "$deb") installs, runs and purges"
