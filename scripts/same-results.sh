#!/usr/bin/env bash
# Checks that two builds of the program give identical results, for changes that only make the packet engine faster.
#   scripts/same-results.sh OLD NEW [OPTION...]   two programs; options of `compare` replace --seeds 2 --duration '4 s' --set warm_up='1 s'
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

old=$(realpath -- "${1:?'which programs? scripts/same-results.sh OLD NEW'}")
new=$(realpath -- "${2:?'which programs? scripts/same-results.sh OLD NEW'}")
shift 2
options=("$@")
((${#options[@]})) || options=(--seeds 2 --duration '4 s' --set warm_up='1 s')

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# The result contains the commit of the program, which differs.
run() {
    "$2" compare "$3" --engine packet --json --quiet "${options[@]}" 2>"$folder/$1.err" | sed '/^ *"commit": /d' >"$folder/$1"
}

same=0 refused=0 differ=()
while read -r scenario; do
    codes=(0 0)
    run old "$old" "$scenario" || codes[0]=$?
    run new "$new" "$scenario" || codes[1]=$?
    if [[ ${codes[0]} != "${codes[1]}" ]] || ! cmp -s "$folder/old" "$folder/new"; then
        differ+=("$scenario")
        printf 'DIFFERS: %s (exit codes %s)\n' "$scenario" "${codes[*]}"
    elif ((codes[0])); then
        refused=$((refused + 1))
        printf 'refused by both: %s: %s\n' "$scenario" "$(head -n 1 "$folder/old.err")"
    else
        same=$((same + 1))
    fi
done < <(find scenarios -name '*.toml' | sort)
printf '%d scenarios: the same bytes; %d refused by both; %d differ\n' "$same" "$refused" "${#differ[@]}"
((${#differ[@]} == 0))
