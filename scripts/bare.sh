#!/usr/bin/env bash
# What makes a bare Debian: sourced by test-package.sh and test-wheel.sh. It is this machine's release (SUITE=trixie: another one), made
# by mmdebstrap and kept in target/bare.
set -euo pipefail

BARE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)/target/bare
readonly BARE

suite() {
    local VERSION_CODENAME=
    # shellcheck source=/dev/null
    . /etc/os-release
    printf '%s' "${SUITE:-${VERSION_CODENAME:-bookworm}}"
}

# archive NAME PACKAGES: the bare Debian with these packages, as a tar file; kept, because it takes a minute.
archive() {
    local tar=$BARE/$1.tar
    if [[ ! -e $tar ]]; then
        printf 'making a bare Debian: %s with %s\n' "$(suite)" "$2" >&2
        mkdir -p -- "$BARE"
        mmdebstrap --quiet --format=tar --variant=apt --include="$2" "$(suite)" "$tar.draft" >&2
        mv -- "$tar.draft" "$tar"
    fi
    printf '%s' "$tar"
}
