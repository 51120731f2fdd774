#!/bin/busybox sh
# shellcheck shell=dash
# What `make test-kernels` does in each guest: one line for each check; exit code 0 if all went as it should.
#   check.sh supported   every controller loads, and a transfer over two paths goes through
#   check.sh refused     this kernel is too old, and joulepath says so instead of trying

failed=0

# check CODE NAME COMMAND...: whether the command ends with that exit code. What it said is shown if not.
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

# The controllers that this program has and the kernel does not: the second column of the list is their name in the kernel.
ours() { joulepath cc list | sed -n 's/^.* \(jp_[a-z0-9]*\) .*/\1/p' | grep -vx jp_cubic; }

# The kernel takes a controller out in its own time, some milliseconds after the command.
# shellcheck disable=SC2317 # `check` calls it
none_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        grep -q jp_ /proc/sys/net/ipv4/tcp_available_congestion_control || return 0
        sleep 1
    done
    return 1
}

# The engine judges last whether its links were in time, after subflows and traffic; under QEMU's emulation they are not.
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

refused() {
    check 3 'doctor says what is missing' joulepath doctor
    check 0 'and which kernel would do' sh -c 'joulepath doctor | grep "or newer"'
    check 3 'cc load refuses' joulepath cc load lia
    check 3 'compare refuses' joulepath compare quick --engine kernel --policies mptcp --seeds 1
    check 0 'nothing is left' none_left
}

echo "Linux $(uname -r): $1"
case $1 in
supported) supported ;;
refused) refused ;;
esac
exit "$failed"
