#!/usr/bin/env bash
# Installs missing packages on a Debian or Ubuntu machine. Silent if none is missing.
#   scripts/setup.sh demo    a C compiler, make, and at least the Rust version of Cargo.toml
#   scripts/setup.sh build   as demo, and for the kernel engine clang, pkg-config, libelf, zlib; continues if they are not available
#   scripts/setup.sh test    as build, and iproute2, strace, util-linux, dbus-daemon, valgrind, python3 with venv
#   scripts/setup.sh lint    as build, and rustfmt, clippy, clang-format, shellcheck, git, python3 with venv, cargo-deny
#   scripts/setup.sh kernels as build, and QEMU, busybox, kmod, xz to boot other kernels
#   scripts/setup.sh vm      as package, and QEMU, busybox, kmod, xz, mmdebstrap, mke2fs to boot a whole Debian
#   scripts/setup.sh package as build, and dpkg-dev, cargo-deb
#   scripts/setup.sh static  as build, and Rust's standard library for musl on both architectures
#   scripts/setup.sh web     as demo, and clang, python3, and Rust's standard library for WebAssembly
#   scripts/setup.sh browser as web, and Chromium, to test pages in it
#   scripts/setup.sh release as package and static, and objcopy, python3 with venv, cargo-cyclonedx
#   scripts/setup.sh bare    as package, and mmdebstrap, to test the package in a bare Debian
#   scripts/setup.sh fresh   as demo, and git and mmdebstrap, to test a fresh clone in a bare Debian
#   scripts/setup.sh mutants as build, and git, prlimit, python3, cargo-mutants
#   scripts/setup.sh upstream as build, and the programs that the kernel's own MPTCP selftests call
set -euo pipefail

readonly RUST_VERSION=1.95.0       # installed if Rust is missing or too old; this tree is tested with it
readonly STATIC_TARGETS=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
readonly WEB_TARGET=wasm32-unknown-unknown
readonly CARGO_DENY_VERSION=0.20.2
readonly CARGO_DEB_VERSION=3.8.0
readonly CARGO_CYCLONEDX_VERSION=0.5.9
readonly CARGO_MUTANTS_VERSION=27.1.0

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly root=${here%/*}
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
packages=()

say() { printf 'setup: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# want COMMAND PACKAGE...: adds the packages unless the command exists.
want() {
    have "$1" || packages+=("${@:2}")
}

# True if compiler, linker and the headers of the C library work: gcc alone does not install the headers.
links_c() {
    local scratch status=0
    scratch=$(mktemp -d)
    printf '#include <stdio.h>\nint main(void) { return puts(""); }\n' >"$scratch/probe.c"
    cc "$scratch/probe.c" -o "$scratch/probe" 2>/dev/null || status=1
    rm -r -- "$scratch"
    return "$status"
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        die "needs root to install packages: run as root, install sudo, or install yourself: ${packages[*]}"
    fi
}

# install_packages PACKAGE...: installs these and all packages added before.
install_packages() {
    packages+=("$@")
    ((${#packages[@]})) || return 0
    have apt-get || die "no apt-get here; install with your package manager: ${packages[*]}"
    say "installing ${packages[*]}"
    as_root apt-get -qq update || return
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${packages[@]}" >/dev/null || return
    packages=()
}

# True if the distribution offers the package; being a dependency of others is not enough.
offered() {
    local candidate
    candidate=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p')
    [[ -n $candidate && $candidate != '(none)' ]]
}

# The oldest Rust that builds the workspace.
oldest_rust() {
    sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/Cargo.toml"
}

# True if cargo exists and is at least version $1.
cargo_suffices() {
    local version
    version=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) && [[ -n $version ]] || return 1
    [[ $(printf '%s\n%s\n' "$1" "$version" | sort -V | head -n 1) == "$1" ]]
}

# Runs the official installer after checking its published checksum.
run_rustup_init() {
    local url scratch
    url=https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu/rustup-init
    scratch=$(mktemp -d)
    curl --proto '=https' --tlsv1.2 -sSf --retry 3 -o "$scratch/rustup-init" "$url"
    curl --proto '=https' --tlsv1.2 -sSf --retry 3 -o "$scratch/sum" "$url.sha256"
    printf '%s %s\n' "$(cut -d ' ' -f 1 "$scratch/sum")" "$scratch/rustup-init" | sha256sum --check --quiet >&2
    chmod +x "$scratch/rustup-init"
    "$scratch/rustup-init" -y -q --no-modify-path --profile minimal --component rustfmt,clippy \
        --default-toolchain "$RUST_VERSION" >/dev/null
    rm -r -- "$scratch"
    say "cargo is in ${CARGO_HOME:-$HOME/.cargo}/bin; make finds it there; for your shell add it to PATH"
}

install_rust() {
    local oldest
    oldest=$(oldest_rust)
    [[ -n $oldest ]] || die "Cargo.toml names no rust-version"
    cargo_suffices "$oldest" && return

    say "Rust $oldest or newer is missing; installing $RUST_VERSION through rustup"
    have rustup || { offered rustup && packages+=(rustup); } || want curl curl
    install_packages
    if have rustup; then
        rustup toolchain install "$RUST_VERSION" --profile minimal --component rustfmt,clippy >&2
        # The user's default stays.
        if rustup default >/dev/null 2>&1; then
            rustup override set "$RUST_VERSION" --path "$root" >&2
        else
            rustup default "$RUST_VERSION" >&2
        fi
    else
        run_rustup_init
    fi
    cargo_suffices "$oldest" || die "cargo is still older than $oldest: $(cargo --version 2>&1 || true)"
}

install_rust_components() {
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && return
    if have rustup; then
        say "installing rustfmt and clippy"
        rustup component add rustfmt clippy >&2
    else
        packages=(rustfmt rust-clippy)
        install_packages
    fi
}

# install_rust_targets TARGET...: installs Rust's standard library for them.
install_rust_targets() {
    local target sysroot
    sysroot=$(rustc --print sysroot)
    for target in "$@"; do
        [[ ! -d $sysroot/lib/rustlib/$target ]] || continue
        have rustup || die "Rust's standard library for $target is missing, and there is no rustup that installs it"
        say "installing Rust's standard library for $target"
        rustup target add "$target" >&2
    done
}

# install_cargo_command NAME VERSION: builds `cargo NAME` unless it exists. It runs for seconds, so it is built fast, without the
# link-time optimisation of its own profile, which takes minutes.
install_cargo_command() {
    cargo "$1" --version >/dev/null 2>&1 && return
    say "building cargo-$1 $2 (some minutes, once)"
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        cargo install --quiet --locked "cargo-$1" --version "$2" >&2
}

# Installs what scripts/cargo.sh needs. If that fails, the build continues without the kernel engine, and cargo.sh prints in one line
# what is missing. On a test machine (CI) scripts/test.sh is stricter.
install_kernel_engine() {
    have apt-get && [[ -n $("$here/cargo.sh" --lacks) ]] || return 0
    # In a subshell, which a failure may end.
    (install_packages clang pkg-config libelf-dev zlib1g-dev) ||
        say 'the packages for the kernel engine could not be installed; continuing without it'
}

# A Python that can make the virtual environment of scripts/python.sh.
want_python() {
    want python3 python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
}

setup_demo() {
    links_c || packages+=(gcc libc6-dev)
    want make make
    [[ -e /etc/ssl/certs/ca-certificates.crt ]] || packages+=(ca-certificates)
    install_packages
    install_rust
}

setup_build() {
    setup_demo
    install_kernel_engine # asks the compiler
}

setup_test() {
    # Programs that the kernel tests need; scripts/house.py checks that none is missing.
    want ip iproute2
    want tc iproute2
    want ss iproute2
    want nft nftables
    want strace strace
    want setpriv util-linux
    want unshare util-linux
    want dbus-daemon dbus-daemon
    want tshark tshark
    want dumpcap wireshark-common
    want nsenter util-linux
    want openssl openssl
    want gtlsserver ngtcp2-server
    want gtlsclient ngtcp2-client
    want valgrind valgrind # scripts/instructions.py
    want_python
    setup_build
}

want_kernels() {
    want qemu-system-x86_64 qemu-system-x86
    want busybox busybox-static
    want depmod kmod
    want xz xz-utils
}

setup_kernels() {
    want_kernels
    setup_build
}

setup_vm() {
    want_kernels
    want mmdebstrap mmdebstrap
    want mke2fs e2fsprogs
    want unshare util-linux
    setup_package
}

setup_upstream() {
    want xz xz-utils
    want jq jq
    want ip iproute2
    want ps procps
    want ping iputils-ping
    want iptables iptables
    want nft nftables
    want ethtool ethtool
    setup_build
}

setup_package() {
    want dpkg-shlibdeps dpkg-dev
    setup_build
    install_cargo_command deb "$CARGO_DEB_VERSION"
}

setup_static() {
    want readelf binutils
    want clang clang
    setup_build
    install_rust_targets "${STATIC_TARGETS[@]}"
}

setup_web() {
    want clang clang
    want_python
    setup_demo
    install_rust_targets "$WEB_TARGET"
}

setup_browser() {
    have chromium || have chromium-browser || have google-chrome || packages+=(chromium)
    setup_web
}

setup_release() {
    want objcopy binutils
    setup_web
    setup_static
    setup_package
    install_cargo_command cyclonedx "$CARGO_CYCLONEDX_VERSION"
}

setup_bare() {
    want mmdebstrap mmdebstrap
    want unshare util-linux
    setup_package
}

setup_fresh() {
    want mmdebstrap mmdebstrap
    want unshare util-linux
    want git git
    setup_demo
}

setup_lint() {
    want clang-format clang-format
    want shellcheck shellcheck
    want git git # cargo-deny fetches the advisories with it
    want_python # scripts/house.py, scripts/python.sh
    setup_build
    install_rust_components
    install_cargo_command deny "$CARGO_DENY_VERSION"
}

setup_mutants() {
    want git git
    want prlimit util-linux
    want_python
    setup_build
    install_cargo_command mutants "$CARGO_MUTANTS_VERSION"
}

case ${1-} in
demo | build | test | lint | kernels | vm | package | static | web | browser | release | bare | fresh | mutants | upstream) "setup_$1" ;;
*)
    echo "usage: scripts/setup.sh demo|build|test|lint|kernels|vm|package|static|web|browser|release|bare|fresh|mutants|upstream" >&2
    exit 2
    ;;
esac
