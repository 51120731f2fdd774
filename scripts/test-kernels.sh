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
readonly work=${CARGO_TARGET_DIR:-$root/target}/kernels

# The Debian release of each kernel. The cloud flavour is small, because it supports only virtual machines.
declare -rA SUITES=([6.1]=bookworm [6.12]=trixie)
readonly ALL_KERNELS=(6.1 6.12)
# The expected result of each kernel.
declare -rA EXPECTED=([6.1]=refused [6.12]=supported)
# Modules to load if they exist; the check reports what is missing. A machine loads the last two when connections are listed.
readonly MODULES=(tun veth sch_netem tcp_bbr tcp_diag mptcp_diag)
readonly MEMORY=768M

kernels=()
files=()
command=
binary=
timeout_s=600

say() { printf 'test-kernels: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}

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

# --- kernels ---------------------------------------------------------------------------------------------------------

# The lines of sources.list for the kernels: the machine's own Debian mirror, with the name of the release replaced.
sources() {
    local site kernel
    # shellcheck disable=SC2016  # apt-get expands it
    apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
        sed -nE 's/^([^ ]+) [a-z]+$/\1/p' | sort -u | while read -r site; do
        for kernel in "${kernels[@]}"; do
            echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site ${SUITES[$kernel]} main"
        done
    done
}

# Runs apt with a separate configuration, without reading or changing the machine's.
own_apt() {
    local tool=$1 directory=$work/apt
    shift
    "$tool" -qq -o Dir::Etc::sourcelist="$directory/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State="$directory/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$directory/cache" -o APT::Architecture=amd64 \
        -o APT::Architectures::=amd64 -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# The package with the newest kernel of a suite.
kernel_package() {
    own_apt apt-cache depends "linux-image-cloud-amd64/$1" 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*-cloud-amd64\)$/\1/p' | head -n 1
}

refresh_lists() {
    mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
    sources >"$work/apt/sources.list"
    [[ -s $work/apt/sources.list ]] || die "apt has no Debian mirror here (apt-get indextargets): run this on Debian"
    own_apt apt-get update >&2
}

# Downloads and unpacks a kernel to $work/VERSION. The file `release` in it marks it as complete.
fetch() {
    local kernel=$1 directory=$work/$1 package release
    package=$(kernel_package "${SUITES[$kernel]}")
    [[ -n $package ]] || die "${SUITES[$kernel]} offers no linux-image-cloud-amd64"
    say "downloading $package"
    rm -rf -- "$directory"
    mkdir -p "$directory"
    (cd "$directory" && own_apt apt-get download "$package")
    dpkg-deb --extract "$directory"/*.deb "$directory"
    rm -- "$directory"/*.deb
    release=${package#linux-image-}
    # Since Debian 13 the modules are in /usr/lib; depmod and modprobe look in /lib.
    [[ -e $directory/lib ]] || ln -s usr/lib "$directory/lib"
    find "$directory/lib/modules/" -name '*.ko.xz' -exec xz --decompress {} +
    depmod --basedir "$directory" "$release"
    echo "$release" >"$directory/release"
}

# Copies a kernel's modules and their dependencies to $2, numbered in the order of loading.
copy_modules() {
    local directory=$work/$1 into=$2 release module path number=100
    release=$(<"$directory/release")
    mkdir -p "$into"
    for module in "${MODULES[@]}"; do
        modprobe --dirname "$directory" --set-version "$release" --show-depends "$module" 2>/dev/null || true
    done | sed -n 's/^insmod \([^ ]*\) *$/\1/p' | awk '!seen[$0]++' | while read -r path; do
        cp -- "$path" "$into/$((number++))-${path##*/}"
    done
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
    copy_modules "$kernel" "$tree/modules"
    if ((${#files[@]})); then
        cp -r -- "${files[@]}" "$tree/"
    fi
    if [[ $binary != - ]]; then
        cp -- "$binary" "$tree/bin/joulepath"
        strip -- "$tree/bin/joulepath"
        copy_libraries "$binary" "$tree"
    fi
    (cd "$tree" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/$kernel/initramfs"
}

# Boots a guest, prints the output of the command and returns its exit code. 124: time limit. 125: the kernel did not run the command.
boot() {
    local kernel=$1 directory=$work/$1 release status
    release=$(<"$directory/release")
    : >"$directory/status"
    # Three serial lines: the kernel's console, the output of the command, its exit code.
    # Without cx16: QEMU 7.2 sometimes leaves garbage in EFLAGS after cmpxchg16b, which 6.12 uses, and the kernel panics.
    status=0
    timeout --foreground "$timeout_s" qemu-system-x86_64 -accel tcg -cpu max,-cx16 -smp 2 -m "$MEMORY" -nodefaults -no-user-config \
        -display none -no-reboot -kernel "$directory/boot/vmlinuz-$release" -initrd "$directory/initramfs" \
        -append 'console=ttyS0 panic=-1 quiet' -serial "file:$directory/console.log" -serial stdio \
        -serial "file:$directory/status" </dev/null || status=$?
    if ((status == 124)); then
        say "Linux $release: not done after $timeout_s s; see $directory/console.log"
        return 124
    fi
    status=$(tr -dc '0-9' <"$directory/status")
    if [[ -z $status ]]; then
        say "Linux $release did not run the command; its console said:"
        tail -n 20 -- "$directory/console.log" >&2
        return 125
    fi
    return "$status"
}

# --- the test --------------------------------------------------------------------------------------------------------

main() {
    local kernel status started worst=0 rows=() missing=()
    parse "$@"
    "$here/setup.sh" kernels
    mkdir -p "$work"
    exec 9>"$work/lock"
    flock 9 # one at a time
    for kernel in "${kernels[@]}"; do
        [[ -e $work/$kernel/release ]] || missing+=("$kernel")
    done
    ((${#missing[@]} == 0)) || refresh_lists
    for kernel in "${missing[@]}"; do
        fetch "$kernel"
    done
    [[ -n $binary ]] || build_binary
    for kernel in "${kernels[@]}"; do
        say "booting Linux $(<"$work/$kernel/release")"
        started=$SECONDS
        pack "$kernel"
        status=0 # bash does not stop at errors from here on
        boot "$kernel" || status=$?
        ((status == 0)) || worst=$status
        rows+=("$(printf '%-6s %-28s %-12s %4d s' "$kernel" "$(<"$work/$kernel/release")" \
            "$( ((status)) && echo "exit code $status" || echo ok)" $((SECONDS - started)))")
    done
    printf '%s\n' "${rows[@]}" >&2
    return "$worst"
}

main "$@"
