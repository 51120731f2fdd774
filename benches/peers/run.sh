#!/usr/bin/env bash
# Run a peer workload pinned to one core; print one line of JSON per run.
#   ./run.sh W1|W2|W3 [--engine ns2|ns3|all] [--repeat N] [--scale F]
# CPU=n in the environment chooses the core (default 0).
set -euo pipefail
export LC_ALL=C

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

usage() {
    echo "usage: run.sh W1|W2|W3 [--engine ns2|ns3|all] [--repeat N] [--scale F]" >&2
    exit 2
}

workload=${1-}
case $workload in
W1 | W2 | W3) shift ;;
*) usage ;;
esac
engine=all repeat=1 scale=1
while (($#)); do
    (($# >= 2)) || usage
    case $1 in
    --engine) engine=$2 ;;
    --repeat) repeat=$2 ;;
    --scale) scale=$2 ;;
    *) usage ;;
    esac
    shift 2
done
[[ $repeat =~ ^[1-9][0-9]*$ ]] || usage
[[ $scale =~ ^([0-9]+\.?[0-9]*|\.[0-9]+)$ && $scale =~ [1-9] ]] || usage
case $engine in
ns2 | ns3) engines=("$engine") ;;
all) engines=(ns2 ns3) ;;
*) usage ;;
esac

pin=()
if taskset -c "${CPU:-0}" true 2>/dev/null; then
    pin=(taskset -c "${CPU:-0}")
fi

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# run ENGINE SCALE: sets $line (the peer's JSON) and $user (user CPU seconds).
run() {
    local -a cmd
    case $1 in
    ns2) cmd=(ns "$here/ns2/w.tcl" "$workload" -scale "$2") ;;
    ns3) cmd=("$here/ns3/w" "$workload" "--scale=$2") ;;
    esac
    local TIMEFORMAT=%3U
    { time "${pin[@]}" "${cmd[@]}" >"$scratch/out" 2>"$scratch/err"; } 2>"$scratch/time" || {
        cat "$scratch/err" >&2
        echo "run.sh: $1 $workload failed" >&2
        exit 1
    }
    line=$(grep '^{' "$scratch/out")
    user=$(tail -n 1 "$scratch/time")
}

for e in "${engines[@]}"; do
    if [[ $e == ns2 ]]; then
        command -v ns >/dev/null || { echo "run.sh: ns-2 missing; run build.sh" >&2; exit 1; }
    elif [[ ! -x $here/ns3/w ]]; then
        echo "run.sh: $here/ns3/w missing; run build.sh" >&2
        exit 1
    fi

    # Start-up and topology set-up: a run of zero simulated seconds, best of three.
    setup=
    for _ in 1 2 3; do
        run "$e" 0
        setup=$(printf '%s\n' "$user" ${setup:+"$setup"} | sort -n | head -n 1)
    done

    for ((i = 1; i <= repeat; i++)); do
        run "$e" "$scale"
        hops=${line#*\"packet_hops\":}
        hops=${hops%%[!0-9]*}
        awk -v l="${line%\}}" -v h="$hops" -v u="$user" -v s="$setup" \
            -v f="$scale" -v i="$i" 'BEGIN {
                gross = u > 0 ? sprintf("%.0f", h / u) : "null"
                net = u > s ? sprintf("%.0f", h / (u - s)) : "null"
                printf "%s,\"scale\":%s,\"run\":%d,\"user_s\":%.3f,", l, f + 0, i, u
                printf "\"hops_per_s\":%s,\"setup_user_s\":%.3f,", gross, s
                printf "\"hops_per_s_net\":%s}\n", net
            }'
    done
done
