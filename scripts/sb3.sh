#!/usr/bin/env bash
# Tests the environments of the Python package with stable-baselines3: its `check_env`, and a few hundred steps of its PPO.
#   scripts/sb3.sh [ARGUMENT...]   arguments of pytest; run scripts/python.sh test first, which builds the package
# It needs PyTorch. PyPI has the CUDA build, which takes gigabytes, so the script uses the distribution's python3-torch for CPUs. It unpacks
# the packages into target/sb3: nothing is installed on the machine, and root is not needed. If python3-torch is not available, the script
# prints the reason and succeeds, so that a machine without network can run the other tests.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly HERE=target/sb3
readonly DEBIAN=$HERE/debian
readonly MODULES=usr/lib/python3/dist-packages
readonly PYTHON=target/python/bin/python
readonly TEST=python/tests/test_sb3.py
# The last stable-baselines3 that supports the PyTorch of Debian 12, which does not support NumPy 2.
readonly PINNED=(stable-baselines3==2.4.1 numpy==1.26.4)
# From the distribution, because the modules of target/python need NumPy 2 or are missing.
readonly WANTED=(python3-torch python3-astunparse python3-pandas python3-pandas-lib python3-tz)
readonly LINKED=(torch astunparse pandas pytz)
# Dependencies of these that are not needed here: other Python modules, data of map projections, tests.
readonly UNUSED='^(python3-.*|.*-data|.*-common|fonts-.*|libtorch-test)$'

say() { printf 'sb3.sh: %s\n' "$*" >&2; }

# not_here REASON...: exits without running the tests.
not_here() {
    say "NOT RUN: stable-baselines3's check_env and PPO: $*"
    exit 0
}

# python3-torch and the packages that apt would install with it.
packages() {
    apt-get --simulate --no-install-recommends install "${WANTED[@]}" 2>/dev/null |
        sed -n 's/^Inst \([^ ]*\) .*/\1/p'
}

# True if the distribution offers python3-torch. Root may refresh the lists first.
is_offered() {
    packages | grep -qx python3-torch && return
    ((EUID == 0)) || return 1
    apt-get -qq update 2>/dev/null || return 1
    packages | grep -qx python3-torch
}

unpack() {
    local names file
    mapfile -t names < <(packages | grep -vE "$UNUSED" || true; printf '%s\n' "${WANTED[@]}")
    say "unpacking PyTorch, ${#names[@]} packages, into $DEBIAN"
    mkdir -p -- "$HERE/archives" "$DEBIAN"
    (cd -- "$HERE/archives" && apt-get -qq download "${names[@]}" 2>/dev/null) || return 1
    for file in "$HERE"/archives/*.deb; do
        dpkg-deb --extract "$file" "$DEBIAN" || return 1
    done
    rm -rf -- "$HERE/archives"
}

# Installs stable-baselines3 together with the modules of the distribution that target/python lacks.
install_modules() {
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --only-binary=:all: --no-deps --target "$HERE/modules" "${PINNED[@]}" || return 1
    local module
    for module in "${LINKED[@]}"; do
        ln -s -- "$PWD/$DEBIAN/$MODULES/$module" "$HERE/modules/$module"
    done
}

prepare() {
    [[ ! -e $HERE/installed.txt || $(<"$HERE/installed.txt") != "${PINNED[*]}" ]] || return 0
    [[ -x $PYTHON ]] || not_here 'scripts/python.sh test comes first'
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || not_here 'no apt-get, which brings PyTorch for processors'
    is_offered || not_here 'the distribution offers no python3-torch, or its lists are missing: apt-get update'
    rm -rf -- "$HERE"
    unpack || not_here 'the packages of python3-torch cannot be fetched'
    local built
    built=$("$PYTHON" -c 'import sys; print("cpython-%d%d" % sys.version_info[:2])')
    compgen -G "$DEBIAN/$MODULES/torch/_C.$built*.so" >/dev/null || not_here "the distribution's PyTorch is not for $built"
    install_modules || not_here "pip cannot fetch ${PINNED[*]}"
    printf '%s' "${PINNED[*]}" >"$HERE/installed.txt"
}

prepare
libraries=$(find "$PWD/$DEBIAN" -name '*.so.*' -not -path '*/python3/*' -printf '%h\n' | sort -u | paste -sd :)
PYTHONPATH=$HERE/modules LD_LIBRARY_PATH=$libraries "$PYTHON" -m pytest "$TEST" "$@"
