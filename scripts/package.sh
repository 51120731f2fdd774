#!/usr/bin/env bash
# Makes the Debian package of what was built: target/debian/joulepath_VERSION_ARCH.deb. Its path goes to stdout.
#   scripts/package.sh [release|dev]     the profile that cargo builds with; release if absent
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
# What crates/joulepath/Cargo.toml takes into the package besides files of the tree.
readonly stage=target/package

# The package has the daemon, and the daemon the kernel engine.
lacking=$(scripts/cargo.sh --lacks)
[[ -z $lacking ]] || {
    echo "package.sh: the daemon cannot be built here: $lacking" >&2
    exit 1
}
scripts/cargo.sh build --profile "$profile" --locked --package joulepath

rm -rf -- "$stage"
mkdir -p -- "$stage"
strip -o "$stage/joulepath" "$folder/joulepath"
"$stage/joulepath" man "$stage/man"
for shell in bash zsh fish; do
    "$stage/joulepath" completions "$shell" >"$stage/joulepath.$shell"
done

cargo deb --quiet --locked --no-build --no-strip --no-dbgsym --package joulepath --output target/debian
