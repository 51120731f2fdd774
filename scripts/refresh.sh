#!/usr/bin/env bash
# Runs every `$ joulepath …` of a page's console blocks again and writes what it says below it: numbers in pages are never typed.
#   scripts/refresh.sh PAGE [PROGRAM]     PROGRAM is target/release/joulepath if absent
set -euo pipefail

page=${1:?'which page? scripts/refresh.sh docs/beyond.md'}
program=$(realpath -- "${2:-target/release/joulepath}")
[[ -x $program ]] || { echo "refresh.sh: there is no $program: make build" >&2; exit 1; }

joulepath() { "$program" "$@"; }
export NO_COLOR=1

new=$(mktemp -- "$page.XXXXXX")
trap 'rm -f -- "$new"' EXIT
block=outside
while IFS= read -r line || [[ -n $line ]]; do
    case $block:$line in
        'outside:```console') block=inside; printf '%s\n' "$line" ;;
        inside:'$ joulepath '*)
            printf '%s\n' "$line"
            echo "refresh.sh: ${line#\$ }" >&2
            # The page is ours; quoting in it is the shell's. Empty input: the loop's own is the page.
            eval "${line#\$ }" --quiet </dev/null ;;
        inside:'```') block=outside; printf '%s\n' "$line" ;;
        inside:*) ;;
        *) printf '%s\n' "$line" ;;
    esac
done <"$page" >"$new"
chmod --reference="$page" -- "$new"
mv -- "$new" "$page"
