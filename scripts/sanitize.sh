#!/usr/bin/env bash
# Runs the tests of unsafe code under tools that see undefined behaviour and data races, and says which ran.
#   scripts/sanitize.sh [TOOL...]   miri, address, valgrind; all if none is named
#
#   miri       Rust without C: the circular list, the lists and the barrier of the parallel engine, with data races
#              (ThreadSanitizer would need a standard library built for it, which takes longer than everything else)
#   address    AddressSanitizer in Rust and C: controllers, hosted and commanded ones too
#   valgrind   memcheck: controllers, on machines without a nightly toolchain
# Debug builds trap on undefined behaviour in C (crates/controllers/build.rs).
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly TARGET=target/sanitize
host=$(rustc -vV | sed -n 's/^host: //p')
readonly host
ran=() skipped=() failed=()

say() { printf 'sanitize: %s\n' "$*" >&2; }

nightly() { [[ -e $(rustc +nightly --print sysroot 2>/dev/null)/$1 ]]; }

# check NAME COMMAND...: runs it and records the outcome.
check() {
    say "$1"
    if "${@:2}"; then ran+=("$1"); else failed+=("$1"); fi
}

miri() {
    if ! cargo +nightly miri --version >/dev/null 2>&1; then
        skipped+=('miri (rustup toolchain install nightly --component miri,rust-src)')
        return
    fi
    # Tests of the barrier sleep, which needs the host's clock.
    local -x MIRIFLAGS='-Zmiri-strict-provenance -Zmiri-disable-isolation'
    local command=(cargo +nightly miri test --locked --target-dir "$TARGET/miri")
    check 'miri: circular list' "${command[@]}" -p joulepath-link --lib -- circular
    check 'miri: lists and barrier' "${command[@]}" -p joulepath-packet --lib -- parallel::shared parallel::barrier
}

address() {
    if ! nightly "lib/rustlib/$host/lib/librustc-nightly_rt.asan.a"; then
        skipped+=('address (rustup toolchain install nightly)')
        return
    fi
    # Tables of adopted and hosted controllers are never freed.
    local -x ASAN_OPTIONS=detect_leaks=0
    local -x RUSTFLAGS='-Zsanitizer=address -Cforce-frame-pointers=yes' CC=clang CFLAGS='-fsanitize=address -g'
    check 'address: controllers' cargo +nightly test --locked --target "$host" --target-dir "$TARGET/address" \
        -p joulepath-controllers --lib --test controllers
}

valgrind() {
    if nightly "lib/rustlib/$host/lib/librustc-nightly_rt.asan.a"; then
        skipped+=('valgrind (the sanitizers see more)')
        return
    fi
    if ! type -P valgrind >/dev/null; then
        skipped+=('valgrind (scripts/setup.sh test)')
        return
    fi
    local runner=${host^^}
    local -x "CARGO_TARGET_${runner//-/_}_RUNNER=valgrind --quiet --error-exitcode=9" PROPTEST_CASES=${PROPTEST_CASES:-8}
    check 'valgrind: controllers' cargo test --locked -p joulepath-controllers --lib --test controllers
}

(($#)) || set -- miri address valgrind
for tool in "$@"; do
    case $tool in
    miri | address | valgrind) "$tool" ;;
    *)
        echo 'usage: scripts/sanitize.sh [miri|address|valgrind]...' >&2
        exit 2
        ;;
    esac
done

for name in "${ran[@]}"; do say "passed: $name"; done
for name in "${skipped[@]}"; do say "SKIPPED: $name"; done
for name in "${failed[@]}"; do say "FAILED: $name"; done
# A machine without any of the tools has checked nothing.
((${#failed[@]} == 0 && ${#ran[@]} > 0))
