#!/usr/bin/env bash
# Runs all tests. Reports how many were not compiled because this machine cannot build the kernel engine.
#   scripts/test.sh [ARGUMENT...]   arguments of `cargo test`
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# Tests that need the features `bpf` and `kernel`.
readonly WITH_KERNEL_ENGINE=(crates/kernel/tests/kernel/cc crates/lab/tests/kernel/engine crates/lab/src/engine crates/joulepath/tests/kernel)

# Without the benchmarks, whose own library takes longer to compile than many of the tests, and without the Python package, which only an
# interpreter can load and whose tests are in Python.
readonly PACKAGES=(--workspace --exclude joulepath-benches --exclude joulepath-python)

# Property tests use the same cases in each run, so that a result depends on the change only. To test other cases:
# PROPTEST_RNG_SEED=$RANDOM PROPTEST_CASES=5000 scripts/test.sh
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED-1}

# Tests of the running kernel are in binaries of this name. They mostly wait, while the others compile and compute, so without arguments
# both run at the same time. Tests that need exact timing run last, alone.
readonly KERNEL_TESTS=kernel
readonly OTHER_TESTS='[!k]*'

status=0

# Runs tests of all packages. `status` records a failure.
run() {
    scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-fail-fast "$@" || status=$?
}

# The tests that compute: the other Rust tests, the Python tests, and the instruction counts of the packet engine.
computing_tests() {
    run --lib --bins --test "$OTHER_TESTS"
    run --doc
    scripts/python.sh test || status=$?
    scripts/instructions.py || status=$?
}

everything() {
    local said kernel_tests
    # The tests of the running kernel take the longest, so the others are compiled while they run.
    scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-run --quiet --test "$KERNEL_TESTS"
    said=$(mktemp)
    # A separate process group, so that all of it ends when this script is interrupted.
    JOULEPATH_TESTS=any-clock setsid scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-fail-fast --test "$KERNEL_TESTS" >"$said" 2>&1 &
    kernel_tests=$!
    # shellcheck disable=SC2064  # the values of now
    trap "kill -- -$kernel_tests 2>/dev/null || :; rm -f -- '$said'" EXIT
    # Wait until cargo has had the build lock once more, which it needs before it runs them.
    until grep --quiet Running "$said" || ! kill -0 "$kernel_tests" 2>/dev/null; do sleep 0.2; done
    # A test that does not compile ends the run here.
    scripts/cargo.sh test "${PACKAGES[@]}" --locked --no-run --quiet --tests
    computing_tests
    printf 'test.sh: waiting for the tests of the running kernel\n' >&2
    wait "$kernel_tests" || {
        status=$?
        # A status above 128 means a signal, which their output may not show.
        printf 'test.sh: the tests of the running kernel ended with status %d\n' "$status" >&2
    }
    JOULEPATH_TESTS=quiet-clock run --test "$KERNEL_TESTS"
    cat -- "$said"
}

# Arguments select tests.
if (($#)); then
    run --tests "$@"
    run --doc "$@"
else
    everything
fi

lacking=$(scripts/cargo.sh --lacks)
if [[ -n $lacking ]]; then
    count=$(grep -rhE '^ *#\[test(\(.*\))?\]' "${WITH_KERNEL_ENGINE[@]}" | wc -l)
    printf '\ntest.sh: %d tests of the kernel engine were NOT compiled: %s; run scripts/setup.sh test\n' "$count" "$lacking" >&2
    case ${CI-} in
    '' | 0 | false) ;;
    *) exit 1 ;; # a test machine must compile all tests
    esac
fi

exit "$status"
