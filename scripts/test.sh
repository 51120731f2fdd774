#!/usr/bin/env bash
# All tests; says at the end how many were not even compiled because this machine cannot build the kernel engine.
#   scripts/test.sh [ARGUMENT...]   arguments of `cargo test`
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# Tests behind the features `bpf` and `kernel`.
readonly WITH_KERNEL_ENGINE=(crates/kernel/tests/kernel/cc crates/lab/tests/kernel/engine crates/lab/src/engine crates/joulepath/tests/kernel)

# Not the benchmarks: a library that only they need takes longer to compile than many of the tests. Not the Python package: only an
# interpreter can load it, and its tests are Python's.
readonly PACKAGES=(--workspace --exclude joulepath-benches --exclude joulepath-python)

# Property tests draw the same cases in each run, so that a run judges the change and not the draw. Others:
# PROPTEST_RNG_SEED=$RANDOM PROPTEST_CASES=5000 scripts/test.sh
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED-1}

status=0
scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-fail-fast --tests "$@" || status=$?
scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-fail-fast --doc "$@" || status=$?

lacking=$(scripts/cargo.sh --lacks)
if [[ -n $lacking ]]; then
    count=$(grep -rhE '^ *#\[test(\(.*\))?\]' "${WITH_KERNEL_ENGINE[@]}" | wc -l)
    printf '\ntest.sh: %d tests of the kernel engine were NOT compiled: %s; scripts/setup.sh test installs it\n' "$count" "$lacking" >&2
    case ${CI-} in
    '' | 0 | false) ;;
    *) exit 1 ;; # a machine for tests compiles all of them
    esac
fi

# With arguments only some tests are meant.
(($#)) || scripts/python.sh test || status=$?

# What the packet engine costs is a part of what it does.
(($#)) || scripts/instructions.py || status=$?
exit "$status"
