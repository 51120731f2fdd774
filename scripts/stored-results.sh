#!/usr/bin/env bash
# Compares the results of short runs with results/hashes.txt, as `make test` does.
#   scripts/stored-results.sh            fails if a result differs, and names it
#   scripts/stored-results.sh --accept   stores the results of now
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

case ${1-} in
'') ;;
--accept) export JOULEPATH_ACCEPT_RESULTS=1 ;;
*)
    echo 'usage: scripts/stored-results.sh [--accept]' >&2
    exit 2
    ;;
esac

scripts/cargo.sh test --quiet --workspace --exclude joulepath-benches --exclude joulepath-python --locked --test study
if [[ -n ${JOULEPATH_ACCEPT_RESULTS-} ]]; then
    git --no-pager diff --stat -- results/hashes.txt
    python3 scripts/made.py carry <(git show HEAD:results/hashes.txt)
    echo 'stored-results.sh: now write what differs, by how much and why under *Changed results* in CHANGELOG.md' >&2
fi
