#!/bin/busybox sh
# shellcheck shell=dash
# The checks of `make test-kernels` in each guest, one line per check. Exit code 0 if all pass.
#   check.sh supported   every controller loads, and a transfer over two paths works
#   check.sh refused     this kernel is too old for controllers, and joulepath says so
#   check.sh daemon      only the checks of the daemon
#   check.sh programs    only the checks of programs on MPTCP by BPF
# Each but the last also checks that the daemon manages two cables: it needs no eBPF.

failed=0

# check CODE NAME COMMAND...: checks the exit code of the command. Prints its output if the check fails.
check() {
    expected=$1 name=$2
    shift 2
    "$@" >/tmp/said 2>&1
    code=$?
    if [ "$code" -eq "$expected" ]; then
        echo "  ok      $name"
    else
        echo "  FAILED  $name: exit code $code instead of $expected"
        sed 's/^/          /' /tmp/said
        failed=1
    fi
}

# The controllers of this program that the kernel does not have. The second column of the list is the name in the kernel.
ours() { joulepath cc list | sed -n 's/^.* \(jp_[a-z0-9]*\) .*/\1/p' | grep -vx jp_cubic; }

# The kernel removes a controller some milliseconds after the command.
# shellcheck disable=SC2317 # `check` calls it
none_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        grep -q jp_ /proc/sys/net/ipv4/tcp_available_congestion_control || return 0
        sleep 1
    done
    return 1
}

# The engine checks the timing of its links last, after subflows and traffic. Under QEMU's emulation the links are late.
# shellcheck disable=SC2317 # `check` calls it
transfer() {
    if joulepath compare quick --engine kernel --policies 'mptcp,mptcp[cc=olia]' --seeds 1 >/tmp/transfer 2>&1; then
        cat /tmp/transfer
        return 0
    fi
    grep '^error:' /tmp/transfer
    [ "$(grep -c '^error:' /tmp/transfer)" -eq 2 ] && [ "$(grep -c '^error:.* the emulated links were .* ms late' /tmp/transfer)" -eq 2 ]
}

supported() {
    check 0 'doctor' joulepath doctor
    controllers=$(ours)
    check 0 'controllers are listed' test -n "$controllers"
    for controller in $controllers; do
        check 0 "load $controller" joulepath cc load "$controller"
        check 0 "$controller is offered" grep -qw "$controller" /proc/sys/net/ipv4/tcp_available_congestion_control
    done
    check 0 'unload them' joulepath cc unload --all
    check 0 'none is left' none_left
    check 0 'transfer over two paths' transfer
    sed 's/^/          /' /tmp/said
}

# Number of connections that have asked for MPTCP.
# shellcheck disable=SC2317 # `check` calls it
asked() { awk '/^MPTcpExt:/ { if (!n) for (i = 2; i <= NF; i++) { if ($i == "MPCapableSYNTX") n = i } else print $n }' /proc/net/netstat; }
# asks COMMAND...: the command asks for MPTCP. busybox is static: no preloaded library reaches it. Nothing listens at port 1.
# shellcheck disable=SC2317 # `check` calls it
asks() {
    before=$(asked)
    "$@"
    [ "$(asked)" -gt "$before" ]
}
GET='busybox wget -q -O - http://127.0.0.1:1/'
# shellcheck disable=SC2317 # `check` calls them
asks_not() { ! asks "$@"; }
# shellcheck disable=SC2317
no_group() { [ -z "$(find /sys/fs/cgroup -name 'joulepath-run-*')" ]; }
# shellcheck disable=SC2317
says_bpf() { joulepath run --dry-run -- busybox >/tmp/plan && cat /tmp/plan && grep -q 'the kernel, by BPF' /tmp/plan; }

programs() {
    # shellcheck disable=SC2086
    {
        check 0 'run --dry-run names BPF' says_bpf
        check 0 'a static program asks for TCP' asks_not $GET
        check 0 'by run it asks for MPTCP' asks joulepath run -- $GET
        check 0 'its exit code is passed on' sh -c 'joulepath run -- sh -c "exit 7"; [ $? -eq 7 ]'
        check 0 'its control group is removed' soon no_group
        printf 'intent = "frugal"\n[[mptcp]]\nall = true\n' >/programs.toml
        joulepath live --config /programs.toml --programs 2>/tmp/programs &
        holder=$!
        check 0 'with [[mptcp]] every program asks for MPTCP' soon asks $GET
        kill -TERM "$holder"
        check 0 'it ends by SIGTERM' wait "$holder"
        check 0 'then the program asks for TCP' asks_not $GET
        sed 's/^/          /' /tmp/programs
    }
}

# Two cables with both ends on this machine, each with an address and a default route.
# shellcheck disable=SC2317 # `check` calls it
cables() {
    for k in 0 1; do
        ip link add "c$k" type veth || return 1 # the kernel calls the other end veth$k
        ip link set "veth$k" up
        ip link set "c$k" up
        ip address add "198.18.$k.2/24" dev "c$k"
        ip route add default via "198.18.$k.1" dev "c$k" metric "$((100 + k))" || return 1
    done
    mkdir -p /var/lib
    cat >/live.toml <<'END'
intent = "interactive"
sample = "200 ms"
allow = ["c*"]
[[interface]]
name = "c0"
cost = 1
energy = "wifi-huang2012"
[[interface]]
name = "c1"
cost = 2
energy = "lte-huang2012"
END
}

# soon COMMAND...: succeeds if the command succeeds within 20 tries. Under emulation each command takes seconds.
# shellcheck disable=SC2317 # `check` calls it
soon() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        "$@" && return 0
        sleep 1
    done
    return 1
}

# A dry run lists the endpoints that are missing in the kernel's table.
# shellcheck disable=SC2317 # `check` calls them
lacks_both() {
    joulepath live --config /live.toml --dry-run >/tmp/dry && cat /tmp/dry
    [ "$(grep -c '^- add the endpoint ' /tmp/dry)" -eq 2 ]
}
# shellcheck disable=SC2317
lacks_none() {
    joulepath live --config /live.toml --dry-run >/tmp/dry && cat /tmp/dry
    ! grep '^- add the endpoint ' /tmp/dry
}
# shellcheck disable=SC2317
answers() { joulepath status --json >/tmp/status && grep -q '"role": *"regular"' /tmp/status && grep -q '"role": *"backup"' /tmp/status; }
# shellcheck disable=SC2317
put_back() { joulepath live --undo 2>&1 | tee /tmp/undone && grep -q "$1" /tmp/undone; }

begin() {
    joulepath live --config /live.toml 2>>/tmp/daemon &
    pid=$!
}

daemon() {
    check 0 'two cables' cables
    check 0 'live --dry-run lists the changes' lacks_both
    begin
    check 0 'the daemon responds' soon answers
    check 0 'its endpoints are in the table' lacks_none
    check 0 'status' joulepath status
    sed 's/^/          /' /tmp/said
    kill -KILL "$pid"
    wait "$pid"
    check 0 'the endpoints survive SIGKILL' lacks_none
    check 0 'live --undo removes them' put_back 'were put back'
    check 0 'none is left in the table' lacks_both
    begin
    check 0 'the daemon starts again' soon answers
    kill -TERM "$pid"
    check 0 'it ends by SIGTERM' wait "$pid"
    check 0 'it has restored everything' lacks_both
    check 0 'nothing is left to undo' put_back 'nothing was left'
    sed 's/^/          /' /tmp/daemon
}

refused() {
    check 3 'doctor reports what is missing' joulepath doctor
    check 0 'doctor names a kernel that works' sh -c 'joulepath doctor | grep "or newer"'
    check 3 'cc load refuses' joulepath cc load lia
    check 3 'compare refuses' joulepath compare quick --engine kernel --policies mptcp --seeds 1
    check 0 'nothing is left' none_left
}

echo "Linux $(uname -r): $1"
case $1 in
supported)
    supported
    programs
    ;;
programs) programs && exit "$failed" ;;
refused) refused ;;
daemon) ;; # nothing else
esac
daemon
exit "$failed"
