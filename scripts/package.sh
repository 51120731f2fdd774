#!/usr/bin/env bash
# Builds the Debian package target/debian/joulepath_VERSION_ARCH.deb and prints its path.
#   scripts/package.sh [release|dev]     cargo's profile; default: release
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly profile=${1:-release}
case $profile in
release) folder=target/release ;;
dev) folder=target/debug ;;
*)
    echo 'usage: scripts/package.sh [release|dev]' >&2
    exit 2
    ;;
esac
# Built files that crates/joulepath/Cargo.toml adds to the package.
readonly stage=target/package

# The package contains the daemon, and the daemon contains the kernel engine.
lacking=$(scripts/cargo.sh --lacks)
[[ -z $lacking ]] || {
    echo "package.sh: the daemon cannot be built here: $lacking" >&2
    exit 1
}
scripts/cargo.sh build --profile "$profile" --locked --package joulepath

rm -rf -- "$stage"
mkdir -p -- "$stage"
strip -o "$stage/joulepath" "$folder/joulepath"
"$stage/joulepath" run --write-library "$stage/libjoulepath-mptcp.so"
"$stage/joulepath" man "$stage/man"
for shell in bash zsh fish; do
    "$stage/joulepath" completions "$shell" >"$stage/joulepath.$shell"
done

cargo deb --quiet --locked --no-build --no-strip --no-dbgsym --package joulepath --output target/debian
