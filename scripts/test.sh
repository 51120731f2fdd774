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

# Tests of the running kernel are in binaries of this name. They wait most of the time, the others compile and compute: without
# arguments both run at once. What needs a quiet clock runs when everything else is done.
readonly KERNEL_TESTS=kernel
readonly OTHER_TESTS='[!k]*'

status=0

# Runs tests of all packages; `status` keeps whether one has failed.
run() {
    scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-fail-fast "$@" || status=$?
}

# What computes: the other Rust tests, Python's, and what the packet engine costs, which is a part of what it does.
computing_tests() {
    run --lib --bins --test "$OTHER_TESTS"
    run --doc
    scripts/python.sh test || status=$?
    scripts/instructions.py || status=$?
}

everything() {
    local said kernel_tests
    # The tests of the running kernel take the longest: the others are compiled while they run.
    scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-run --quiet --test "$KERNEL_TESTS"
    said=$(mktemp)
    # A group of its own, so that all of it ends when this script is interrupted.
    JOULEPATH_TESTS=any-clock setsid scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-fail-fast --test "$KERNEL_TESTS" >"$said" 2>&1 &
    kernel_tests=$!
    # shellcheck disable=SC2064  # the values of now
    trap "kill -- -$kernel_tests 2>/dev/null || :; rm -f -- '$said'" EXIT
    # Before they run, cargo must have the lock of the builds once more.
    until grep --quiet Running "$said" || ! kill -0 "$kernel_tests" 2>/dev/null; do sleep 0.2; done
    # A test that does not compile ends the run here.
    scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-run --quiet --tests
    computing_tests
    printf 'test.sh: waiting for the tests of the running kernel\n' >&2
    wait "$kernel_tests" || {
        status=$?
        # More than 128: a signal ended them, and what they printed may say nothing of it.
        printf 'test.sh: the tests of the running kernel ended with status %d\n' "$status" >&2
    }
    JOULEPATH_TESTS=quiet-clock run --test "$KERNEL_TESTS"
    cat -- "$said"
}

# With arguments only some tests are meant.
if (($#)); then
    run --tests "$@"
    run --doc "$@"
else
    everything
fi

lacking=$(scripts/cargo.sh --lacks)
if [[ -n $lacking ]]; then
    count=$(grep -rhE '^ *#\[test(\(.*\))?\]' "${WITH_KERNEL_ENGINE[@]}" | wc -l)
    printf '\ntest.sh: %d tests of the kernel engine were NOT compiled: %s; scripts/setup.sh test installs it\n' "$count" "$lacking" >&2
    case ${CI-} in
    '' | 0 | false) ;;
    *) exit 1 ;; # a machine for tests compiles all of them
    esac
fi

exit "$status"
