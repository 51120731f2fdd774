#!/usr/bin/env bash
# Functions that make a bare Debian, sourced by test-package.sh and test-wheel.sh. mmdebstrap makes it from this machine's release
# (SUITE=trixie: another release) and keeps it in target/bare.
set -euo pipefail

BARE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)/target/bare
readonly BARE

suite() {
    local VERSION_CODENAME=
    # shellcheck source=/dev/null
    . /etc/os-release
    printf '%s' "${SUITE:-${VERSION_CODENAME:-bookworm}}"
}

# archive NAME PACKAGES: prints the path of a tar file with the bare Debian and these packages. It is kept, because it takes a minute.
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
