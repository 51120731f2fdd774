#!/usr/bin/env bash
# Installs what is missing on a Debian or Ubuntu machine, and nothing else. Silent when nothing is.
#   scripts/setup.sh demo    a C compiler, make, a Rust at least as new as Cargo.toml asks for
#   scripts/setup.sh build   that of demo, and for the kernel engine: clang, pkg-config, libelf, zlib. Goes on without them if it must
#   scripts/setup.sh test    that of build, and iproute2, strace, util-linux, valgrind, python3 with venv
#   scripts/setup.sh lint    that of build, and rustfmt, clippy, clang-format, shellcheck, git, python3 with venv, cargo-deny
#   scripts/setup.sh kernels that of build, and QEMU, busybox, kmod, xz to boot other kernels
#   scripts/setup.sh package that of build, and dpkg-dev, cargo-deb
#   scripts/setup.sh static  that of build, and Rust's standard library for musl, of both architectures
#   scripts/setup.sh release that of package and of static, objcopy, python3 with venv, cargo-cyclonedx
#   scripts/setup.sh bare    that of package, and mmdebstrap, to try the package in a bare Debian
#   scripts/setup.sh fresh   that of demo, git and mmdebstrap, to try a fresh clone in a bare Debian
#   scripts/setup.sh mutants that of build, and git, prlimit, python3, cargo-mutants
#   scripts/setup.sh upstream that of build, and what the kernel's own MPTCP selftests call
set -euo pipefail

readonly RUST_VERSION=1.95.0       # installed where Rust is missing or too old; the version that this tree is checked with
readonly STATIC_TARGETS=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
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

# want COMMAND PACKAGE...: the packages, unless the command is there.
want() {
    have "$1" || packages+=("${@:2}")
}

# Compiler, linker and the C library's headers: gcc alone does not pull in the last.
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

# install_packages PACKAGE...: these, and those that are wanted already.
install_packages() {
    packages+=("$@")
    ((${#packages[@]})) || return 0
    have apt-get || die "no apt-get here; install with your package manager: ${packages[*]}"
    say "installing ${packages[*]}"
    as_root apt-get -qq update || return
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${packages[@]}" >/dev/null || return
    packages=()
}

# Whether the distribution offers the package; being named by others does not count.
offered() {
    local candidate
    candidate=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p')
    [[ -n $candidate && $candidate != '(none)' ]]
}

# The oldest Rust that the workspace builds with.
oldest_rust() {
    sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/Cargo.toml"
}

# Whether cargo is there and at least as new as $1.
cargo_suffices() {
    local version
    version=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) && [[ -n $version ]] || return 1
    [[ $(printf '%s\n%s\n' "$1" "$version" | sort -V | head -n 1) == "$1" ]]
}

# The official installer, checked against its published sum.
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
    say "cargo is in ${CARGO_HOME:-$HOME/.cargo}/bin; make finds it there, your shell wants it in PATH"
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
        rustup default "$RUST_VERSION" >&2
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

# install_cargo_command NAME VERSION: `cargo NAME`, unless there is one. It runs for seconds and is built for minutes, the more so with
# the link-time optimisation that its own profile asks for: here it is built fast.
install_cargo_command() {
    cargo "$1" --version >/dev/null 2>&1 && return
    say "building cargo-$1 $2 (some minutes, once)"
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        cargo install --quiet --locked "cargo-$1" --version "$2" >&2
}

# What scripts/cargo.sh asks for. The build goes on without the kernel engine if these packages cannot be installed: cargo.sh says
# in one line what is missing. Tests on a machine for tests (CI) are stricter: scripts/test.sh.
install_kernel_engine() {
    have apt-get && [[ -n $("$here/cargo.sh" --lacks) ]] || return 0
    # In a shell of its own, which a failure may end.
    (install_packages clang pkg-config libelf-dev zlib1g-dev) ||
        say 'the packages for the kernel engine could not be installed; going on without it'
}

# An interpreter that can make virtual environments: scripts/python.sh fills one.
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
    # What tests of the kernel say that they need: scripts/house.py compares.
    want ip iproute2
    want tc iproute2
    want ss iproute2
    want strace strace
    want setpriv util-linux
    want unshare util-linux
    want valgrind valgrind # scripts/instructions.py
    want_python
    setup_build
}

setup_kernels() {
    want qemu-system-x86_64 qemu-system-x86
    want busybox busybox-static
    want depmod kmod
    want xz xz-utils
    setup_build
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
    local target sysroot
    sysroot=$(rustc --print sysroot)
    for target in "${STATIC_TARGETS[@]}"; do
        [[ ! -d $sysroot/lib/rustlib/$target ]] || continue
        have rustup || die "Rust's standard library for $target is missing, and there is no rustup that installs it"
        say "installing Rust's standard library for $target"
        rustup target add "$target" >&2
    done
}

setup_release() {
    want objcopy binutils
    want_python
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
demo | build | test | lint | kernels | package | static | release | bare | fresh | mutants | upstream) "setup_$1" ;;
*)
    echo "usage: scripts/setup.sh demo|build|test|lint|kernels|package|static|release|bare|fresh|mutants|upstream" >&2
    exit 2
    ;;
esac
