#!/usr/bin/env bash
# Builds, tests and checks the Python package in a virtual environment in target/python.
#   scripts/python.sh test [ARGUMENT...]   builds it in the profile of the tests and runs its tests; arguments of pytest
#   scripts/python.sh lint                 checks formats, lints, types, the fit of the radios, and the workflows
#   scripts/python.sh run SCRIPT [WORD...] runs a script that uses the package
#   scripts/python.sh docs                 builds the documentation as a site in target/site; a broken link is an error
#   scripts/python.sh wheel [dev]          builds a wheel in target/wheels, optimised or in the profile of the tests; prints its path
#   scripts/python.sh wheel --manylinux ZIG [release|dev]   the same for any Linux with glibc 2.28, linked by this version of ziglang
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly VENV=target/python
readonly PINNED=python/requirements.txt
readonly TWINE=7.0.0 # checks what PyPI would refuse

say() { printf 'python.sh: %s\n' "$*" >&2; }

# Makes the virtual environment with the pinned versions; makes it again when they change.
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

# Installs the package from this tree. VIRTUAL_ENV tells maturin the environment.
develop() {
    VIRTUAL_ENV=$PWD/$VENV "$VENV/bin/maturin" develop --quiet --locked
}

run_tests() {
    environment
    develop
    local status=0
    "$VENV/bin/python" -m pytest "$@" || status=$?
    # Arguments select tests.
    (($#)) || scripts/sb3.sh || status=$?
    return "$status"
}

lint() {
    environment
    "$VENV/bin/ruff" format --quiet --check
    "$VENV/bin/ruff" check --quiet
    "$VENV/bin/mypy" --no-error-summary
    "$VENV/bin/check-jsonschema" --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
    "$VENV/bin/python" scripts/radios.py --check 2>/dev/null
}

run_script() {
    environment
    develop
    "$VENV/bin/python" "$@"
}

# mkdocs reads the sources of the package, so it need not be built. The program renders the papers' results. The site has the
# playground if `make web` has built it.
docs() {
    environment
    cargo build --quiet --locked --package joulepath --no-default-features
    "$VENV/bin/python" scripts/pages.py fill target/debug/joulepath
    if [[ -f target/web/index.html ]]; then
        mkdir -p target/docs/web
        cp -- target/web/index.html target/docs/web/
    else
        say 'the site is built WITHOUT the playground: make web builds it'
    fi
    NO_MKDOCS_2_WARNING=1 "$VENV/bin/mkdocs" build --strict
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
    # What PyPI refuses is found before an upload.
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "twine==$TWINE"
    "$VENV/bin/twine" check --strict "$out"/*.whl >&2
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
