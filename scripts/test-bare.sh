#!/usr/bin/env bash
# Runs a new user's first steps from a fresh clone of HEAD in bare Debians with only git, make and ca-certificates. Needs root.
#   scripts/test-bare.sh [SUITE...]   in these Debians; default: bookworm and trixie
#   scripts/test-bare.sh --one        in one of the two, chosen by the commit's hash
# `make demo` must write its report. Then the script installs the packages of `make test` and builds the eBPF programs and their loader.
# The bare Debian uses this machine's Rust (read-only in /opt/rust, because not every machine can reach rustup's server, so installing Rust
# is NOT tested), its downloaded crates, and its network settings for package registries. It uses none of its packages.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=${here%/*}
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
readonly SUITES=(bookworm trixie)
readonly PACKAGES=git,make,ca-certificates
readonly TIMEOUT=2400 # seconds for each Debian
readonly CERTIFICATES=/etc/ssl/certs/ca-certificates.crt
# shellcheck source=scripts/bare.sh
. "$here/bare.sh"

clean() {
    [[ -z ${bare-} ]] || rm -rf --one-file-system -- "$bare"
}

# This machine's network settings for the registries, as arguments of `env`: proxies, certificates, cargo's settings.
network_variables() {
    local name
    for name in $(compgen -e); do
        case $name in
        *_proxy | *_PROXY | SSL_CERT_FILE | SSL_CERT_DIR | CARGO_HTTP_* | CARGO_NET_* | CARGO_REGISTRIES_*)
            printf '%s=%s\0' "$name" "${!name}"
            ;;
        esac
    done
}

# The network settings that are files in the bare Debian.
lend_network() {
    local file
    cp --dereference -- /etc/resolv.conf "$bare/etc/resolv.conf"
    cp --dereference -- "$CERTIFICATES" "$bare$CERTIFICATES"
    # mmdebstrap copies apt's configuration only in part: add the proxies and the checks that this machine turns off.
    apt-config dump | grep -E '^Acquire::((https?|ftp)::|Check-|Retries)' >"$bare/etc/apt/apt.conf.d/99outer" || true
    for file in config.toml config; do
        [[ ! -e $cargo_home/$file ]] || cp -- "$cargo_home/$file" "$bare/root/.cargo/$file"
    done
}

# Copies the downloaded crates. Cargo unpacks them in the bare Debian, where their build scripts may write.
lend_crates() {
    local folder
    mkdir -p -- "$bare/root/.cargo/registry"
    for folder in cache index; do
        [[ ! -d $cargo_home/registry/$folder ]] || cp -r -- "$cargo_home/registry/$folder" "$bare/root/.cargo/registry/"
    done
}

# enter COMMAND...: runs a command in the bare Debian with this machine's network. All processes end with the command.
enter() {
    local variables
    mapfile -d '' -t variables < <(network_variables)
    # shellcheck disable=SC2016 # the inner shell's
    timeout --kill-after=10 "$TIMEOUT" unshare --mount --pid --uts --ipc --fork --kill-child \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        CARGO_TERM_COLOR=never "${variables[@]}" \
        bash -euc '
            mount -t proc none "$0/proc"
            mount -t devpts none "$0/dev/pts"
            mount --bind "$1" "$0/opt/rust"
            mount -o remount,bind,ro "$0/opt/rust"
            exec chroot "$0" "${@:2}"
        ' "$bare" "$sysroot" "$@" </dev/null
}

# try SUITE: runs the steps of a new user in that Debian.
try() {
    local tar began=$SECONDS
    tar=$(SUITE=$1 archive "fresh-$1" "$PACKAGES")
    clean
    bare=$(mktemp -d -- "$BARE/root.XXXXXX")
    tar -xf "$tar" -C "$bare"
    mkdir -p -- "$bare/opt/rust" "$bare/root/.cargo"
    ln -s -- /opt/rust/bin/{cargo,rustc,rustdoc} "$bare/usr/local/bin/"
    lend_network
    lend_crates
    git clone --quiet --depth 1 "file://$root" "$bare/root/joulepath"
    say "$1: make demo, in $(git -C "$bare/root/joulepath" log -1 --format=%h)"
    enter bash -euc 'cd /root/joulepath; time make demo; test -s joulepath-report/home-wifi-lte.html' ||
        die "$1: \`make demo\` failed on a bare Debian"
    say "$1: the packages of \`make test\`"
    # shellcheck disable=SC2016 # the inner shell's
    enter bash -euc '
        cd /root/joulepath
        scripts/setup.sh test
        lacking=$(scripts/cargo.sh --lacks)
        [[ -z $lacking ]] || { echo "the kernel engine cannot be built: $lacking"; exit 1; }
        time cargo build --quiet --locked --package joulepath-kernel --features bpf
    ' || die "$1: scripts/setup.sh test does not install everything that \`make test\` needs"
    say "$1: the demo runs and the kernel engine can be built, after $((SECONDS - began)) s"
}

((EUID == 0)) || die 'needs root'
trap clean EXIT
case ${1-} in
--one)
    hash=$(git -C "$root" rev-parse HEAD)
    set -- "${SUITES[$((16#${hash: -1} % ${#SUITES[@]}))]}"
    ;;
'') set -- "${SUITES[@]}" ;;
esac
readonly cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
readonly sysroot
[[ -z $(git -C "$root" status --porcelain) ]] || say 'uncommitted changes are not tested'
for suite; do
    try "$suite"
done
