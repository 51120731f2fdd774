#!/usr/bin/env bash
# Functions that download Debian's kernels and boot them under QEMU, sourced by test-kernels.sh and test-vm.sh. Both set `work`, the folder
# for files to keep, and source messages.sh.

# The releases that have the kernels: old, current, and the two that may have the newest.
readonly KERNEL_SUITES=(bookworm trixie trixie-backports testing)

# The lines of sources.list for the kernels: the machine's own Debian mirror, with the name of the release replaced.
sources() {
    local site suite
    # shellcheck disable=SC2016  # apt-get expands it
    apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
        sed -nE 's/^([^ ]+) [a-z]+$/\1/p' | sort -u | while read -r site; do
        for suite in "${KERNEL_SUITES[@]}"; do
            echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main"
        done
    done
}

# Runs apt with a separate configuration, without reading or changing the machine's.
own_apt() {
    local tool=$1 directory=${work:?}/apt
    shift
    "$tool" -qq -o Dir::Etc::sourcelist="$directory/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State="$directory/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$directory/cache" -o APT::Architecture=amd64 \
        -o APT::Architectures::=amd64 -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# Downloads the lists of packages, at most once a day.
refresh_lists() {
    [[ -z $(find "$work/apt/fresh" -mtime -1 2>/dev/null) ]] || return 0
    mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
    sources >"$work/apt/sources.list"
    [[ -s $work/apt/sources.list ]] || die "apt has no Debian mirror here (apt-get indextargets): run this on Debian"
    own_apt apt-get update >&2
    touch "$work/apt/fresh"
}

# newest_release FLAVOUR SUITE...: the newest kernel of these suites, as `uname -r` prints it.
newest_release() {
    local flavour=$1 suite
    for suite in "${@:2}"; do
        own_apt apt-cache depends "linux-image-$flavour/$suite" 2>/dev/null
    done | sed -n "s/^ *Depends: linux-image-\([0-9].*-$flavour\)\$/\1/p" | sort -V | tail -n 1
}

# The packages with the files of a kernel: one, or several since 7.3.
packages_of() {
    echo "linux-image-$1"
    own_apt apt-cache depends "linux-image-$1" | sed -n 's/^ *Depends: //p' | grep -xF -e "linux-base-$1" -e "linux-binary-$1" -e "linux-modules-$1" || true
}

# fetch RELEASE DIRECTORY: downloads and unpacks a kernel. The file `release` in it marks it as complete.
fetch() {
    local release=$1 directory=$2 packages package
    mapfile -t packages < <(packages_of "$release")
    say "downloading ${packages[*]}"
    rm -rf -- "$directory"
    mkdir -p "$directory"
    (cd "$directory" && own_apt apt-get download "${packages[@]}")
    for package in "$directory"/*.deb; do
        dpkg-deb --extract "$package" "$directory"
        rm -- "$package"
    done
    # Since Debian 13 the modules are in /usr/lib; depmod and modprobe look in /lib.
    [[ -e $directory/lib ]] || ln -s usr/lib "$directory/lib"
    # Since 7.3 the kernel is beside its modules.
    mkdir -p "$directory/boot"
    [[ -e $directory/boot/vmlinuz-$release ]] || ln -s "../lib/modules/$release/vmlinuz" "$directory/boot/vmlinuz-$release"
    depmod --basedir "$directory" "$release"
    echo "$release" >"$directory/release"
}

# copy_modules DIRECTORY INTO MODULE...: copies modules and their dependencies, numbered in the order of loading. busybox cannot unpack xz.
copy_modules() {
    local directory=$1 into=$2 release module path name number=100
    release=$(<"$directory/release")
    mkdir -p "$into"
    for module in "${@:3}"; do
        modprobe --dirname "$directory" --set-version "$release" --show-depends "$module" 2>/dev/null || true
    done | sed -n 's/^insmod \([^ ]*\) *$/\1/p' | awk '!seen[$0]++' | while read -r path; do
        name=$number-${path##*/}
        xz --decompress --stdout --force -- "$path" >"$into/${name%.xz}"
        number=$((number + 1))
    done
}

# Packs a folder into an initramfs.
pack_initramfs() {
    (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null) >"$2"
}

# boot DIRECTORY LIMIT MEMORY ARGUMENTS OPTION...: boots a kernel with the initramfs in its folder, the kernel's arguments, and options of
# QEMU. Prints the output of the guest's command and returns its exit code. 124: time limit. 125: the kernel did not run the command.
# Three serial lines: the kernel's console, the output of the command, its exit code.
boot() {
    local directory=$1 limit_s=$2 memory=$3 arguments=$4 release status=0
    release=$(<"$directory/release")
    : >"$directory/status"
    # Without cx16: QEMU 7.2 sometimes leaves garbage in EFLAGS after cmpxchg16b, which 6.12 uses, and the kernel panics.
    timeout --foreground "$limit_s" qemu-system-x86_64 -accel tcg -cpu max,-cx16 -smp 2 -m "$memory" -nodefaults -no-user-config \
        -display none -no-reboot -kernel "$directory/boot/vmlinuz-$release" -initrd "$directory/initramfs" \
        -append "console=ttyS0 panic=-1 quiet $arguments" -serial "file:$directory/console.log" -serial stdio \
        -serial "file:$directory/status" "${@:5}" </dev/null || status=$?
    if ((status == 124)); then
        say "Linux $release: not done after $limit_s s; see $directory/console.log"
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
