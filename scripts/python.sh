#!/usr/bin/env bash
# The Python package, in a virtual environment of its own in target/python.
#   scripts/python.sh test [ARGUMENT...]   build it in the profile of all tests, and run its tests; arguments of pytest
#   scripts/python.sh lint                 formats, lints and types
#   scripts/python.sh run SCRIPT [WORD...] runs a script that uses the package
#   scripts/python.sh docs                 the documentation as a site in target/site; a link that leads nowhere is an error
#   scripts/python.sh wheel [dev]          a wheel in target/wheels, fully optimised, or in the profile of all tests; prints its name
#   scripts/python.sh wheel --manylinux ZIG [release|dev]   for any Linux with glibc 2.28, linked by this version of ziglang
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly VENV=target/python
readonly PINNED=python/requirements.txt

say() { printf 'python.sh: %s\n' "$*" >&2; }

# The virtual environment, as the pinned versions want it; done again when they change.
environment() {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        say "python3 is older than 3.11: $(python3 --version)"
        exit 1
    }
    if ! cmp --silent "$PINNED" "$VENV/installed.txt"; then
        say "installing what $PINNED names into $VENV"
        python3 -m venv --clear "$VENV"
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$PINNED"
        cp -- "$PINNED" "$VENV/installed.txt"
    fi
}

# The package in that environment, from this tree. VIRTUAL_ENV tells maturin where.
develop() {
    VIRTUAL_ENV=$PWD/$VENV "$VENV/bin/maturin" develop --quiet --locked
}

run_tests() {
    environment
    develop
    local status=0
    "$VENV/bin/python" -m pytest "$@" || status=$?
    # With arguments only some tests are meant.
    (($#)) || scripts/sb3.sh || status=$?
    return "$status"
}

lint() {
    environment
    "$VENV/bin/ruff" format --quiet --check
    "$VENV/bin/ruff" check --quiet
    "$VENV/bin/mypy" --no-error-summary
}

run_script() {
    environment
    develop
    "$VENV/bin/python" "$@"
}

# The package is read, not run: it need not be built.
docs() {
    environment
    NO_MKDOCS_2_WARNING=1 "$VENV/bin/mkdocs" build --quiet --strict
}

wheel() {
    local options=() out=target/wheels${1:+/$1}
    environment
    if [[ ${1-} == --manylinux ]]; then
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "ziglang==$2"
        options=(--zig --compatibility manylinux_2_28)
        out=target/wheels/manylinux
        shift 2
    fi
    rm -rf -- "${out:?}"/*.whl
    PATH="$PWD/$VENV/bin:$PATH" "$VENV/bin/maturin" build --profile "${1:-release}" --locked --quiet --out "$out" "${options[@]}" >&2
    realpath -- "$out"/*.whl
}

case ${1-} in
test) run_tests "${@:2}" ;;
run) run_script "${@:2}" ;;
lint | docs) "$1" ;;
wheel) wheel "${@:2}" ;;
*)
    echo "usage: scripts/python.sh test [ARGUMENT...] | lint | run SCRIPT [WORD...] | docs | wheel [dev]" >&2
    exit 2
    ;;
esac
