#!/usr/bin/env bash
# Functions for both checks of the package, inside the bare Debian of scripts/test-package.sh.
set -euo pipefail

export UNIT=/usr/lib/systemd/system/joulepathd.service
# Folder for the output of this check.
export NOTES=${NOTES-/package}
export LOG=$NOTES/daemon.log

say() { printf '  %s\n' "$*" >&2; }

fail() {
    say "FAILED: $*"
    [[ ! -e $LOG ]] || sed 's/^/    daemon: /' "$LOG" >&2
    [[ ! -d /run/systemd/system ]] || systemctl status --no-pager --full joulepathd >&2 || true
    exit 1
}

trap 'say "the check stops at line $LINENO"' ERR

# expect WORDS COMMAND...: fails with WORDS if the command fails.
expect() {
    local words=$1
    shift
    "$@" >"$NOTES/said" 2>&1 || {
        sed 's/^/    /' "$NOTES/said" >&2
        fail "$words"
    }
    say "$words"
}

# Waits for 20 s until the command succeeds.
soon() {
    local try
    for ((try = 0; try < 200; try++)); do
        "$@" && return
        sleep 0.1
    done
    return 1
}

# All files except those that package management, systemd and this test write.
files() {
    local others=(-path /package -o -path /tmp -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /run/systemd)
    find / /run -xdev \( "${others[@]}" \) -prune -o -printf '%p %y %m %U %G %l\n' | sort -u
    find /etc /run /var/lib -xdev \( "${others[@]}" \) -prune -o -type f -print0 | sort -z | xargs -0r sha256sum
}

kernel() {
    ip mptcp endpoint show
    ip mptcp limits show
    # Some files are not readable. The lists of controllers depend on modules, which belong to the whole machine.
    { grep -rs '' /proc/sys/net/mptcp /proc/sys/net/ipv4 /proc/sys/net/core || true; } | grep -v '/tcp_a[a-z]*_congestion_control:' | sort
}

# The two radios of the shipped configuration, and an endpoint of another program.
machine() {
    ip link set lo up
    local place=1 name
    for name in wlan0 wwan0; do
        ip link add "$name" type veth peer name "far-$name"
        ip address add "192.0.2.$((place * 16 + 1))/28" dev "$name"
        ip link set "$name" up
        ip link set "far-$name" up
        ip route add default dev "$name" metric "$((place * 100))"
        place=$((place + 1))
    done
    ip mptcp limits set subflows 3 add_addr_accepted 1
    ip mptcp endpoint add 198.51.100.7 dev lo id 77 signal
}

# Starts a connection from wlan0's address, which has no other path.
traffic_begins() {
    rm -f "$NOTES/stop"
    perl /package/traffic.pl "$NOTES/beats" "$NOTES/stop" >>"$LOG" 2>&1 &
    traffic=$!
    soon test -s "$NOTES/beats" || fail 'a connection carries data'
}
has_grown() { (($(stat -c %s "$NOTES/beats") > $1)); }
traffic_goes_on() { soon has_grown $(($(stat -c %s "$NOTES/beats") + 1)); }
traffic_ends() {
    touch "$NOTES/stop"
    wait "$traffic"
}

endpoint_is_there() { [[ $(ip mptcp endpoint show) == *'192.0.2.17 id '* ]]; }
endpoint_is_gone() { ! endpoint_is_there; }

same_kernel() {
    kernel | diff "$NOTES/kernel.before" - >&2 || fail "$1"
    say "$1"
}

same_files() {
    files | diff "$NOTES/files.before" - >&2 || fail "$1"
    say "$1"
}
