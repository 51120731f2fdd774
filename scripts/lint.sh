#!/usr/bin/env bash
# Runs all static checks. Stops at the first check that fails.
#   scripts/lint.sh [CHECK...]   all checks, or only these
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly LONG=650      # lines: a longer file needs a reason
readonly TOO_LONG=960  # lines: the limit
readonly WIDTH=110     # columns of Rust and C, comments and strings too

# Crates whose numbers appear in results. They give the same numbers on any machine and use no clock.
readonly DETERMINISTIC=(model link topology control fluid packet slotted report)

say() { printf 'lint: %s\n' "$*" >&2; }

# files PATTERN...: matching files of the tree, without vendored and built ones.
files() {
    local patterns=() pattern
    for pattern in "$@"; do
        patterns+=(-o -name "$pattern")
    done
    find .ci benches cc crates packaging python scripts -type d \( -name vendor -o -name target \) -prune \
        -o -type f \( "${patterns[@]:1}" \) -print | sort
}

rust_format() {
    cargo fmt --all --check
}

c_format() {
    local sources
    mapfile -t sources < <(files '*.h' '*.c')
    clang-format --dry-run -Werror "${sources[@]}"
}

shell() {
    local scripts
    mapfile -t scripts < <(files '*.sh' run prerm postrm)
    shellcheck "${scripts[@]}"
}

file_lengths() {
    local lines file failed=0
    while read -r lines file; do
        [[ $file == total ]] && continue
        if ((lines > TOO_LONG)); then
            say "$file has $lines lines, more than $TOO_LONG: split it"
            failed=1
        elif ((lines > LONG)); then
            say "$file has $lines lines, more than $LONG: can it be split?"
        fi
    done < <(files '*.rs' '*.h' '*.c' '*.py' '*.sh' '*.js' '*.css' '*.html' | xargs wc -l)
    return "$failed"
}

# Formatters do not wrap comments, strings and macros.
line_lengths() {
    local sources
    mapfile -t sources < <(files '*.rs' '*.c' '*.h')
    # Count characters, not bytes, in a locale that every machine has.
    if LC_ALL=C.UTF-8 grep -nE "^.{$((WIDTH + 1))}" "${sources[@]}" >&2; then
        say "these lines have more than $WIDTH columns"
        return 1
    fi
}

# All files contain the same version.
versions() {
    scripts/release.sh --check
}

# Floors of the crates, and circular dependencies between files.
house() {
    python3 scripts/house.py
}

clippy() {
    scripts/cargo.sh clippy --quiet --workspace --all-targets --locked -- -D warnings
}

# The program with the daemon and without eBPF, as scripts/static.sh builds it. No other check compiles it.
live_alone() {
    cargo clippy --quiet --package joulepath --features live --locked -- -D warnings
}

# The program that `make demo` builds.
demo_alone() {
    cargo clippy --quiet --package joulepath --no-default-features --locked -- -D warnings
}

# The line with which a crate denies the functions in clippy.toml; clippy does the rest. Tests may use the system's maths functions.
determinism() {
    local crate failed=0
    for crate in "${DETERMINISTIC[@]}"; do
        grep -qxF '#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]' "crates/$crate/src/lib.rs" || {
            say "crates/$crate/src/lib.rs does not deny what clippy.toml lists: copy the line from crates/model/src/lib.rs"
            failed=1
        }
    done
    return "$failed"
}

# Changed results have an entry in CHANGELOG.md, written with the change or after it.
changed_results() {
    local before=HEAD
    if git diff --quiet HEAD -- results/hashes.txt 2>/dev/null; then
        before=$(git log -1 --format=%H^ -- results/hashes.txt)
    fi
    # Stored for the first time, or this clone has no history.
    git cat-file -e "$before:results/hashes.txt" 2>/dev/null || return 0
    if git diff --quiet "$before" -- CHANGELOG.md; then
        say 'results/hashes.txt has changed, CHANGELOG.md has not: write an entry under *Changed results*'
        return 1
    fi
}

# The Python package: formats, lints, types.
python_package() {
    scripts/python.sh lint
}

# The site, with all links between its pages and into the repository.
site() {
    scripts/python.sh docs
}

# Measured tables are not in git's pages, and each part keeps within its budget of words.
pages() {
    python3 scripts/pages.py check
}

documentation() {
    RUSTDOCFLAGS='-D warnings' scripts/cargo.sh doc --quiet --no-deps --workspace --locked
}

dependencies() {
    cargo deny --locked --log-level error check --hide-inclusion-graph bans licenses sources
    if cargo deny --log-level off fetch db >/dev/null 2>&1; then
        cargo deny --locked --log-level error check --disable-fetch advisories
    else
        say 'SKIPPED: security advisories were NOT checked, their database cannot be fetched from here'
    fi
}

readonly CHECKS=(rust_format c_format shell file_lengths line_lengths house versions determinism changed_results clippy live_alone demo_alone python_package pages site documentation dependencies)

for check in "${@:-${CHECKS[@]}}"; do
    [[ " ${CHECKS[*]} " == *" $check "* ]] || {
        echo "usage: scripts/lint.sh [${CHECKS[*]}]" >&2
        exit 2
    }
    say "${check//_/ }"
    "$check"
done
say 'all good'
