#!/usr/bin/env bash
# Installs the Debian package in a virtual machine with WiFi, a modem and a network manager, and runs a new user's steps in it.
#   scripts/test-vm.sh [OPTION...] [FILE.deb]     this package; default: builds one with the profile `dev`
# Options:
#   --network NAME     networkmanager (default), networkd or ifupdown
#   --timeout SECONDS  limit for the boot and the steps
#   --shell            no steps: a root shell on the socket target/vm/shell (socat -,raw,echo=0,escape=0x1d UNIX:target/vm/shell), with this
#                      folder in /here; `bash /here/scripts/vm/steps.sh` runs the steps, `poweroff -f` ends the machine
# The machine is Debian 13 with its own kernel under QEMU without KVM. Its radios are mac80211_hwsim's; access points, cell and servers are
# in namespaces of the same kernel (scripts/vm/world.sh). Its disk is a snapshot, so nothing of a run stays. Needs no root where user
# namespaces are allowed. Disk and kernel are kept in target/vm. Takes some minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=${here%/*}
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
readonly work=${CARGO_TARGET_DIR:-$root/target}/vm
readonly DEBIAN=trixie
readonly PACKAGES=systemd-sysv,udev,dbus,sudo,kmod,iproute2,iputils-ping,curl,busybox,nftables,network-manager,wpasupplicant,ifupdown,dhcpcd-base,hostapd,dnsmasq-base,iw,rfkill,wireless-regdb,libelf1t64,zlib1g
# shellcheck source=scripts/kernels/debian.sh
. "$here/kernels/debian.sh"
# shellcheck source=scripts/bare.sh
. "$here/bare.sh"

network=networkmanager
timeout_s=1500
shell=
deb=

parse() {
    while (($#)); do
        case $1 in
        --network)
            network=${2-}
            [[ $network =~ ^(networkmanager|networkd|ifupdown)$ ]] || usage
            shift
            ;;
        --timeout)
            timeout_s=${2?}
            shift
            ;;
        --shell) shell=1 ;;
        -*) usage ;;
        *) deb=$(realpath -e -- "$1") ;;
        esac
        shift
    done
}

# Runs a command that may set owners of files.
as_owner() {
    if ((EUID == 0)); then
        "$@"
    else
        unshare --map-root-user --map-auto "$@"
    fi
}

kernel() {
    local release
    [[ ! -e $work/kernel/release ]] || return 0
    refresh_lists
    release=$(newest_release amd64 "$DEBIAN")
    [[ -n $release ]] || die "$DEBIAN offers no linux-image-amd64"
    fetch "$release" "$work/kernel"
}

# The disk: Debian's packages and the kernel's modules.
disk() {
    local tar tree=$work/tree
    [[ ! -e $work/disk ]] || return 0
    tar=$(SUITE=$DEBIAN archive vm "$PACKAGES")
    as_owner rm -rf --one-file-system -- "$tree"
    mkdir -p -- "$tree"
    # shellcheck disable=SC2016 # the inner shell's
    as_owner bash -euc 'tar -xf "$1" -C "$2"; cp -r "$3" "$2/usr/lib/"; mke2fs -q -t ext4 -d "$2" "$4.draft" 3G; rm -rf "$2"' - \
        "$tar" "$tree" "$work/kernel/lib/modules" "$work/disk"
    mv -- "$work/disk.draft" "$work/disk"
}

# The initramfs with the disk's driver, and the archive that it unpacks onto the disk: the package and the steps.
pack() {
    local tree=$work/initramfs payload=$work/payload
    rm -rf -- "$tree" "$payload"
    mkdir -p "$tree"/{bin,dev,proc,root} "$payload"/{test,etc/systemd/system/multi-user.target.wants}
    cp -- "$(command -v busybox)" "$tree/bin/busybox"
    cp -- "$here/vm/init.sh" "$tree/init"
    copy_modules "$work/kernel" "$tree/modules" virtio_blk ext4
    pack_initramfs "$tree" "$work/kernel/initramfs"
    cp -- "$deb" "$payload/test/joulepath.deb"
    cp -- "$here"/vm/*.sh "$payload/test/"
    cp -- "$here/vm/steps.service" "$payload/etc/systemd/system/"
    ln -s ../steps.service "$payload/etc/systemd/system/multi-user.target.wants/"
    tar --owner=0 --group=0 -cf "$work/payload.tar" -C "$payload" .
}

# The units of the other network managers do not start.
units() {
    case $network in
    networkmanager) echo systemd.mask=networking.service ;;
    networkd) echo systemd.mask=NetworkManager.service systemd.mask=networking.service systemd.wants=systemd-networkd.service ;;
    ifupdown) echo systemd.mask=NetworkManager.service ;;
    esac
}

# Boots the machine with a kernel's arguments and options of QEMU.
machine() {
    boot "$work/kernel" "$1" 1G "net.ifnames=0 test.network=$network $(units) $2" \
        -drive "file=$work/disk,format=raw,if=virtio,snapshot=on" -drive "file=$work/payload.tar,format=raw,if=virtio,readonly=on" "${@:3}"
}

# A shell in place of the steps, on serial line 3.
by_hand() {
    say "the machine's shell: socat -,raw,echo=0,escape=0x1d UNIX:$work/shell"
    machine 0 'test.shell systemd.debug_shell=/dev/ttyS3 systemd.mount-extra=here:/here:9p:trans=virtio,ro' \
        -serial "unix:$work/shell,server=on,wait=off" -virtfs "local,path=$root,mount_tag=here,security_model=none,readonly=on"
}

main() {
    local status=0 began
    parse "$@"
    "$here/setup.sh" vm
    mkdir -p -- "$work"
    exec 9>"$work/lock"
    flock 9 # one at a time
    [[ -n $deb ]] || deb=$(realpath -e -- "$("$here/package.sh" dev)")
    kernel
    disk
    pack
    say "booting Linux $(<"$work/kernel/release") with $network"
    began=$SECONDS
    if [[ $shell ]]; then
        by_hand
        return
    fi
    machine "$timeout_s" '' | tee "$work/said" || status=${PIPESTATUS[0]}
    say "$((SECONDS - began)) s"
    # The last line is printed only if the steps reach their end; it must agree with the lines above it.
    [[ $(tail -n 1 "$work/said") == "vm: $(grep -c '^ok ' "$work/said" || true) passed, $(grep -c '^FAILED ' "$work/said" || true) failed, "* ]] ||
        die "the steps did not reach their end; see $work/said and $work/kernel/console.log"
    return "$status"
}

main "$@"
