#!/usr/bin/env bash
# Builds joulepath without dependencies: target/static/joulepath-ARCH, linked statically with musl. It contains everything except what
# needs eBPF: the kernel engine, labs, `gap`, `live judge` and loading controllers, whose commands report this. Checks that the program is
# static, and as root that its daemon runs without any other file.
#   scripts/static.sh [release|dev] [ARCH...]     cargo's profile; x86_64 or aarch64. Default: release, both
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
cd -- "$here/.."
readonly ALL=(x86_64 aarch64)
readonly stage=target/static

# build ARCH: Rust's own musl and linker suffice. The C code needs no library, and clang compiles it for both architectures.
build() {
    local target=$1-unknown-linux-musl
    local variable=${target//-/_}
    env "CC_$variable=clang" "CARGO_TARGET_${variable^^}_LINKER=rust-lld" "CARGO_PROFILE_${profile^^}_STRIP=symbols" \
        cargo build --locked --profile "$profile" --target "$target" --package joulepath --features live
    mkdir -p -- "$stage"
    cp -- "target/$target/$folder/joulepath" "$stage/joulepath-$1"
}

# is_static FILE: true if it needs no interpreter and no library.
is_static() {
    ! readelf --wide --program-headers "$1" | grep -q INTERP && ! readelf --wide --dynamic "$1" | grep -q NEEDED
}

profile=release
case ${1-} in
release | dev) profile=$1 && shift ;;
esac
readonly profile
folder=$profile
[[ $profile != dev ]] || folder=debug
(($#)) || set -- "${ALL[@]}"

for arch; do
    [[ " ${ALL[*]} " == *" $arch "* ]] || die "ARCH is one of: ${ALL[*]}"
    build "$arch"
    program=$stage/joulepath-$arch
    is_static "$program" || die "$program is not static"
    if [[ $arch != "$(uname -m)" ]]; then
        say "$program is static; NOT run, this machine is $(uname -m)"
    elif ((EUID != 0)); then
        say "$program is static; its daemon was NOT run, which needs root"
    else
        "$here/package/alone.sh" "$program"
        say "$program is static, and its daemon runs alone"
    fi
done
