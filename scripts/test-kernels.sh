#!/usr/bin/env bash
# Boots stock Debian kernels under QEMU and tests joulepath in them.
#   scripts/test-kernels.sh                               builds joulepath and runs scripts/kernels/check.sh in every kernel
#   scripts/test-kernels.sh --kernel 6.1 --run COMMAND    runs a shell command in one kernel; prints its output, returns its exit code
# Options:
#   --kernel VERSION   a kernel from the list below; may be repeated; default: all
#   --run COMMAND      run this instead of the check
#   --file PATH        copy this file to the guest's / (a program must be static); may be repeated
#   --binary PATH      use this joulepath instead of building one; '-': none
#   --timeout SECONDS  limit for a boot and its command
# The guest has root, 2 CPUs, only lo, the commands of busybox, and MPTCP, TUN, veth and netem. Files are kept in target/kernels.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=${here%/*}
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
readonly work=${CARGO_TARGET_DIR:-$root/target}/kernels
# shellcheck source=scripts/kernels/debian.sh
. "$here/kernels/debian.sh"

# The Debian releases of each kernel; of several, the one with the newest. The cloud flavour is small, because it supports only virtual
# machines.
declare -rA SUITES=([6.1]=bookworm [6.12]=trixie [newest]='trixie-backports testing')
readonly FLAVOUR=cloud-amd64
readonly ALL_KERNELS=(6.1 6.12 newest)
# The expected result of each kernel.
declare -rA EXPECTED=([6.1]=refused [6.12]=supported [newest]=supported)
# Modules to load if they exist; the check reports what is missing. A machine loads the last two when connections are listed.
readonly MODULES=(tun veth sch_netem tcp_bbr tcp_diag mptcp_diag)
readonly MEMORY=768M

kernels=()
files=()
command=
binary=
timeout_s=600

parse() {
    while (($#)); do
        case $1 in
        --kernel)
            [[ -n ${2-} && -n ${SUITES[$2]-} ]] || die "--kernel is one of: ${ALL_KERNELS[*]}"
            kernels+=("$2")
            ;;
        --run) command=${2?} ;;
        --file) files+=("$(realpath -e -- "${2?}")") ;;
        --binary) binary=${2?} ;;
        --timeout) timeout_s=${2?} ;;
        *) usage ;;
        esac
        shift 2
    done
    ((${#kernels[@]})) || kernels=("${ALL_KERNELS[@]}")
}

# Downloads a kernel unless it is there. The newest is replaced when Debian has a newer one.
provide() {
    local kernel=$1 suites release
    [[ ! -e $work/$kernel/release || $kernel == newest ]] || return 0
    read -ra suites <<<"${SUITES[$kernel]}"
    refresh_lists
    release=$(newest_release "$FLAVOUR" "${suites[@]}")
    [[ -n $release ]] || die "${SUITES[$kernel]} offers no linux-image-$FLAVOUR"
    [[ -e $work/$kernel/release && $(<"$work/$kernel/release") == "$release" ]] || fetch "$release" "$work/$kernel"
}

# --- the guest -------------------------------------------------------------------------------------------------------

build_binary() {
    say "building joulepath"
    "$here/cargo.sh" build --release --locked --package joulepath >&2
    binary=${CARGO_TARGET_DIR:-$root/target}/release/joulepath
}

# Copies the shared libraries of a program and its loader to the same paths in the guest.
copy_libraries() {
    local library
    { ldd -- "$1" || true; } | grep -oE '/[^ ]+' | while read -r library; do
        install -D -m 755 -- "$library" "$2$library"
    done
}

# Packs the initramfs of the guest: busybox, modules, the requested files, and the command.
pack() {
    local kernel=$1 tree=$work/tree
    rm -rf -- "$tree"
    mkdir -p "$tree"/{bin,dev,proc,sys,run,tmp,etc}
    cp -- "$(command -v busybox)" "$tree/bin/busybox"
    cp -- "$here/kernels/init.sh" "$tree/init"
    cp -- "$here/kernels/check.sh" "$tree/check.sh"
    printf '%s\n' "${command:-exec sh /check.sh ${EXPECTED[$kernel]}}" >"$tree/command"
    copy_modules "$work/$kernel" "$tree/modules" "${MODULES[@]}"
    if ((${#files[@]})); then
        cp -r -- "${files[@]}" "$tree/"
    fi
    if [[ $binary != - ]]; then
        cp -- "$binary" "$tree/bin/joulepath"
        strip -- "$tree/bin/joulepath"
        copy_libraries "$binary" "$tree"
    fi
    pack_initramfs "$tree" "$work/$kernel/initramfs"
}

# --- the test --------------------------------------------------------------------------------------------------------

main() {
    local kernel status started worst=0 rows=()
    parse "$@"
    "$here/setup.sh" kernels
    mkdir -p "$work"
    exec 9>"$work/lock"
    flock 9 # one at a time
    for kernel in "${kernels[@]}"; do
        provide "$kernel"
    done
    [[ -n $binary ]] || build_binary
    for kernel in "${kernels[@]}"; do
        say "booting Linux $(<"$work/$kernel/release")"
        started=$SECONDS
        pack "$kernel"
        status=0 # bash does not stop at errors from here on
        boot "$work/$kernel" "$timeout_s" "$MEMORY" '' || status=$?
        ((status == 0)) || worst=$status
        rows+=("$(printf '%-6s %-28s %-12s %4d s' "$kernel" "$(<"$work/$kernel/release")" \
            "$( ((status)) && echo "exit code $status" || echo ok)" $((SECONDS - started)))")
    done
    printf '%s\n' "${rows[@]}" >&2
    return "$worst"
}

main "$@"
