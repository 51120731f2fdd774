#!/usr/bin/env bash
# Messages of a script, which sources this file.

# A line that begins with the script's name.
say() {
    local name=${0##*/}
    printf '%s: %s\n' "${name%.sh}" "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# Prints the comment at the top of the script.
usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[1]}" >&2
    exit 2
}
