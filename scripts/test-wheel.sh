#!/usr/bin/env bash
# Installs the Python package like a new user and runs the first steps of the guide. Needs root for the bare Debian.
#   scripts/test-wheel.sh [FILE.whl]       this wheel; default: builds one with the profile `dev`
# Three environments: a bare Debian with Python and without compilers, the same with a C compiler, and a fresh virtual environment on this
# machine, in which the package is built from source. The bare Debians have no network, so dependencies are downloaded before.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=${here%/*}
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
readonly TIMEOUT=600 # seconds for each environment
# shellcheck source=scripts/bare.sh
. "$here/bare.sh"

clean() {
    [[ -z ${bare-} ]] || rm -rf --one-file-system -- "$bare"
    [[ -z ${fresh-} ]] || rm -rf -- "$fresh"
}

# unpack TAR: unpacks a bare Debian into a new folder.
unpack() {
    [[ -z ${bare-} ]] || rm -rf --one-file-system -- "$bare"
    bare=$(mktemp -d -- "$BARE/root.XXXXXX")
    tar -xf "$1" -C "$bare"
}

# enter COMMAND...: runs a command in the bare Debian, without network. All processes end with it.
enter() {
    # shellcheck disable=SC2016 # the inner shell's
    timeout --kill-after=10 "$TIMEOUT" unshare --mount --pid --net --uts --ipc --fork --kill-child \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root MPLBACKEND=agg \
        bash -euc 'mount -t proc none "$0/proc"; exec chroot "$0" "$@"' "$bare" "$@" </dev/null
}

# Downloads the dependencies of the wheel, in the versions of the tests.
download() {
    local version
    version=$(enter python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    mkdir -p -- "$root/target/wheelhouse"
    python3 -m pip download --quiet --disable-pip-version-check --dest "$root/target/wheelhouse" --only-binary=:all: \
        --python-version "$version" --constraint "$root/python/requirements.txt" "${wheel}[gym,plot]"
}

# try WORDS...: runs the new user's steps in a fresh virtual environment in the bare Debian.
try() {
    mkdir -- "$bare/given"
    cp -- "$root"/target/wheelhouse/*.whl "$here/wheel/new_user.py" "$bare/given"
    enter python3 -m venv /fresh
    enter /fresh/bin/python -m pip install --quiet --disable-pip-version-check --no-index --find-links /given \
        'joulepath[gym,plot]'
    enter /fresh/bin/python /given/new_user.py "$@"
}

# Builds the package from this tree in a fresh virtual environment; pip fetches maturin.
from_source() {
    fresh=$(mktemp -d)
    python3 -m venv "$fresh"
    "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check \
        --config-settings=build-args='--profile dev' --constraint "$root/python/requirements.txt" "${root}[gym,plot]"
    (cd -- "$fresh" && MPLBACKEND=agg bin/python "$here/wheel/new_user.py" with-compiler)
}

((EUID == 0)) || die 'needs root'
trap clean EXIT
wheel=${1-}
[[ -n $wheel ]] || wheel=$("$here/python.sh" wheel dev)
wheel=$(realpath -e -- "$wheel")

say "$(basename -- "$wheel") without a compiler"
tar=$(archive "$(suite)-python" python3-venv)
unpack "$tar"
rm -rf -- "$root/target/wheelhouse"
download
try without-compiler
say 'with a C compiler'
tar=$(archive "$(suite)-python-cc" python3-venv,gcc,libc6-dev)
unpack "$tar"
try with-compiler
say 'from the sources, in a fresh virtual environment'
from_source
say 'the package installs and the first steps of the guide work'
