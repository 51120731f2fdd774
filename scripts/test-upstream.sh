#!/usr/bin/env bash
# Runs the kernel's own MPTCP selftests with the default congestion controller and with each of ours as the default of all new namespaces.
# A check that passes with the default must pass with ours.
#   scripts/test-upstream.sh                       all controllers that this kernel accepts, all scripts
#   scripts/test-upstream.sh --quick               three controllers, and the quick half of mptcp_join.sh
#   scripts/test-upstream.sh --controllers lia,dts only these
# Options:
#   --binary PATH      use this joulepath instead of target/release/joulepath
# Needs root and the packages of `scripts/setup.sh upstream`. At the end, also after Ctrl-C and SIGKILL, the script restores the machine's
# default and unloads the controllers. Sources, programs and logs are kept in target/upstream.
#
# Two selftests are left out: userspace_pm.sh fails on some kernels by itself, and simult_flows.sh measures netem. The groups of
# mptcp_join.sh that shape links are left out if the kernel has no netem; the report says so.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=${here%/*}
# shellcheck source=scripts/messages.sh
. "$here/messages.sh"
readonly work=${CARGO_TARGET_DIR:-$root/target}/upstream
# Kernel tests that change state of all namespaces take the same lock: crates/testbed/src/turn.rs.
readonly LOCK=/run/joulepath-tests.machine

readonly QUICK=(lia balia wvegas) # coupled by loss, coupled by loss and RTT, coupled by delay
readonly TRIES=3                  # a check that fails only because the machine is busy passes in one of them
readonly JOB_TIMEOUT_S=1800       # as in the selftests

binary=$root/target/release/joulepath
chosen=()
quick=false

parse() {
    while (($#)); do
        case $1 in
        --quick) quick=true ;;
        --controllers) IFS=, read -ra chosen <<<"${2?}" && shift ;;
        --binary) binary=$(realpath -e -- "${2?}") && shift ;;
        *) usage ;;
        esac
        shift
    done
}

# --- the selftests ---------------------------------------------------------------------------------------------------

# The distribution's kernel source closest to the running kernel: the newest that is not newer than it, otherwise the oldest.
nearest_source() {
    local running
    running=$(uname -r | grep -oE '^[0-9]+\.[0-9]+')
    apt-cache search --names-only '^linux-source-[0-9]+\.[0-9]+$' | sed 's/^linux-source-\([0-9.]*\) .*/\1/' | sort -V |
        awk -v running="$running" '
            function number(text, parts) { split(text, parts, "."); return parts[1] * 1000 + parts[2] }
            NR == 1 || number($1) <= number(running) { nearest = $1 }
            END { print nearest }'
}

# Unpacks the selftests of a version and the files for their headers, and builds them.
build_selftests() {
    local version=$1 tree=$work/linux-$1 source=linux-source-$1 architecture
    case $(uname -m) in
    x86_64) architecture=x86 ;;
    aarch64) architecture=arm64 ;;
    *) architecture=$(uname -m) ;;
    esac
    [[ -e $tree/built ]] && return
    say "downloading $source (150 MB) and building its selftests"
    rm -rf -- "$tree" "$work"/*.deb
    mkdir -p -- "$tree"
    (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$source")
    dpkg-deb --fsys-tarfile "$work/$source"_*.deb | tar -xO "./usr/src/$source.tar.xz" | xz -dc |
        tar -x -C "$tree" --strip-components 1 "$source"/{Makefile,scripts,include,"arch/$architecture",tools/include,tools/testing/selftests}
    rm -- "$work"/*.deb
    {
        make -s -C "$tree" headers &&
            make -s -C "$tree/tools/testing/selftests/net/mptcp" KHDR_INCLUDES="-isystem $tree/usr/include"
    } >"$work/build.log" 2>&1 || die "the selftests do not build: $work/build.log"
    touch -- "$tree/built"
}

has_netem() {
    unshare --net sh -c 'ip link set lo up && tc qdisc add dev lo root netem delay 1ms' 2>/dev/null
}

# The jobs that run at the same time, one per line: name, script, arguments. mptcp_join.sh mostly waits.
jobs_of_controller() {
    echo 'pm_netlink pm_netlink.sh'
    echo 'diag diag.sh'
    echo 'mptcp_sockopt mptcp_sockopt.sh'
    # Without these options loss, delay and offloads are random.
    if $netem; then
        echo 'mptcp_connect mptcp_connect.sh -d 5 -l 0.1% -r 0 -e tso'
    else
        echo 'mptcp_connect mptcp_connect.sh -d 0 -l 0% -r 0 -e tso'
    fi
    echo 'mptcp_join-1 mptcp_join.sh -fes'
    if $quick; then
        return
    fi
    echo 'mptcp_join-2 mptcp_join.sh -tr'
    echo 'mptcp_join-3 mptcp_join.sh -a64'
    echo 'mptcp_join-4 mptcp_join.sh -Mb'
    echo 'mptcp_join-5 mptcp_join.sh -pkSd'
    echo 'mptcp_join-6 mptcp_join.sh -mzuI'
    if $netem; then
        echo 'mptcp_join-7 mptcp_join.sh -lF'
    fi
}

# Runs a job and appends to its log. Its processes and namespace names end with the job, and with this script however it ends: they are in
# a process namespace whose first process is killed then.
start_job() {
    local log=$1
    shift
    # shellcheck disable=SC2016 # expanded inside
    (cd -- "$selftests" && exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc --net bash -c '
        mkdir -p /run/netns && mount -t tmpfs none /run/netns
        timeout "$@"
        exit "$?"' _ "$JOB_TIMEOUT_S" "./$1" "${@:2}") >>"$log" 2>&1 </dev/null {guard}>&- {lock}>&- &
}

# checks passed|failed|skipped LOG: the checks of a job with this result. A check has passed if it passed in one try.
checks() {
    local how=$1 log=$2
    awk -v how="$how" '
        /^(not )?ok [0-9]+ - / {
            passed = /^ok / && !/# (SKIP|IGNORE)/
            skipped = /# SKIP/
            sub(/^(not )?ok [0-9]+ - /, ""); sub(/ *#.*/, "")
            if (!($0 in best)) best[$0] = "failed"
            if (passed) best[$0] = "passed"; else if (skipped) best[$0] = "skipped"
        }
        END { for (check in best) if (best[check] == how) print check }' "$log" | sort
}

# The checks that a job should have passed and did not: those that passed with the default. With the default: all that were not skipped.
lacking() {
    local name=$1 into=$2
    if [[ $into == "$reference" ]]; then
        checks failed "$into/$name.log"
    else
        comm -23 <(checks passed "$reference/$name.log") <(checks passed "$into/$name.log")
    fi
}

# The known reason why a check cannot pass with a controller, if any.
excuse() {
    local controller=$1 check=$2
    case "$controller $check" in
    'dctcp mptcp_sockopt: sockopt v'[46])
        echo 'IP_TOS reads back with the ECT bits that the kernel sets for every controller that needs ECN'
        ;;
    esac
}

# Runs all jobs at the same time, with logs in a folder. Then repeats jobs with missing checks one by one.
run_jobs() {
    local into=$1 jobs=() job words pids=() try
    mapfile -t jobs < <(jobs_of_controller)
    rm -rf -- "$into"
    mkdir -p -- "$into"
    for job in "${jobs[@]}"; do
        read -ra words <<<"$job"
        start_job "$into/${words[0]}.log" "${words[@]:1}"
        pids+=($!)
    done
    wait "${pids[@]}" || true # results are in the logs
    for ((try = 2; try <= TRIES; try++)); do
        for job in "${jobs[@]}"; do
            read -ra words <<<"$job"
            [[ -n $(lacking "${words[0]}" "$into") ]] || continue
            start_job "$into/${words[0]}.log" "${words[@]:1}"
            wait $! || true
        done
    done
}

# --- controllers -----------------------------------------------------------------------------------------------------

in_kernel() { tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control | grep -qx "$1"; }

default_of_machine() { cat /proc/sys/net/ipv4/tcp_congestion_control; }

# Restores the machine when the script that started it ends in any way, which closes its stdin. It runs in a separate session, so that
# Ctrl-C does not reach it. It reads the name of each controller before it is loaded, and an empty line after it is unloaded.
guard() {
    local line loaded=
    while read -r line; do
        loaded=$line
    done
    [[ -n $loaded ]] || return 0
    if [[ $(default_of_machine) == jp_* ]]; then
        "$binary" cc default --restore >/dev/null || say 'run: joulepath cc default --restore'
    fi
    if in_kernel "jp_$loaded"; then
        "$binary" cc unload "$loaded" >/dev/null || say "run: joulepath cc unload $loaded"
    fi
    say "the default is $(default_of_machine) again"
}

# Makes one of our controllers the default of all new namespaces.
make_default() {
    local name=$1
    echo "$name" >&"$guard"
    "$binary" cc load "$name" >>"$work/cc.log" 2>&1 {guard}>&- {lock}>&- || return 1
    "$binary" cc default "$name" >>"$work/cc.log" 2>&1 {guard}>&- {lock}>&- || return 1
    [[ $(unshare --net cat /proc/sys/net/ipv4/tcp_congestion_control) == "jp_$name" ]] ||
        die "new namespaces do not get jp_$name: is this the machine's initial network namespace?"
}

# Unloads it. The kernel releases it after the last socket.
take_out() {
    local name=$1 deadline=$((SECONDS + 120))
    {
        "$binary" cc default --restore && "$binary" cc unload "$name"
    } >>"$work/cc.log" 2>&1 {guard}>&- {lock}>&- || die "cannot take out $name: $work/cc.log"
    while in_kernel "jp_$name"; do
        ((SECONDS < deadline)) || die "jp_$name is still registered two minutes after its last test"
        sleep 1
    done
    echo >&"$guard"
}

# Our controllers that are not built into the kernel.
controllers() {
    "$binary" cc list --json | jq -r '.[] | select(.built_in | not) | .name'
}

# --- the report ------------------------------------------------------------------------------------------------------

# passed/failed/skipped of a script, from the logs of all its jobs.
cell() {
    local into=$1 script=$2 how log counts=()
    for how in passed failed skipped; do
        counts+=("$(for log in "$into/$script"*.log; do checks "$how" "$log"; done | wc -l)")
    done
    printf '%s/%s/%s' "${counts[@]}"
}

row() {
    local name=$1 into=$2 verdict=$3 script
    printf '%-10s' "$name"
    for script in "${SCRIPTS[@]}"; do
        printf ' %14s' "$(cell "$into" "$script")"
    done
    printf '   %s\n' "$verdict"
}

main() {
    local version controller controllers differences difference reason worst=0 began reference netem selftests before
    readonly SCRIPTS=(pm_netlink diag mptcp_sockopt mptcp_connect mptcp_join)
    parse "$@"
    ((EUID == 0)) || die 'needs root'
    "$here/setup.sh" upstream
    [[ -x $binary ]] || die "there is no $binary: make build"
    mkdir -p -- "$work"
    version=$(nearest_source)
    [[ -n $version ]] || die 'apt offers no linux-source-VERSION: run this on Debian, after apt-get update'
    build_selftests "$version"
    selftests=$work/linux-$version/tools/testing/selftests/net/mptcp
    reference=$work/logs/default
    netem=true
    has_netem || netem=false

    before=$(default_of_machine)
    [[ $before != jp_* ]] || die "$before is this machine's default: joulepath cc default --restore"
    mapfile -t controllers < <(if ((${#chosen[@]})); then printf '%s\n' "${chosen[@]}"; else controllers; fi)
    ! $quick || ((${#chosen[@]})) || controllers=("${QUICK[@]}")
    say "selftests of Linux $version on $(uname -r); the default is $before; then ${#controllers[@]} controllers: ${controllers[*]}"
    $netem || say 'LEFT OUT: the groups -l and -F of mptcp_join.sh, and delay and loss in mptcp_connect.sh: this kernel has no netem'
    say "about $( ($quick && echo 2) || echo 4) minutes each, $(((${#controllers[@]} + 1) * $( ($quick && echo 2) || echo 4))) in all, on an idle machine"

    exec {lock}>"$LOCK"
    flock "$lock"
    exec {guard}> >(exec setsid bash "${BASH_SOURCE[0]}" --guard "$binary" {lock}>&-)
    guard_pid=$!
    trap 'kill $(jobs -p) 2>/dev/null || true; exec {guard}>&-; wait "$guard_pid"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    began=$SECONDS
    run_jobs "$reference"
    say "the default took $((SECONDS - began)) s"
    printf 'passed/failed/skipped\n%-10s' controller
    printf ' %14s' "${SCRIPTS[@]}"
    printf '   %s\n' 'different from the default'
    row "$before" "$reference" -
    for controller in "${controllers[@]}"; do
        if ! make_default "$controller"; then
            printf '%-10s does not load: %s\n' "$controller" "$work/cc.log"
            worst=1
            continue
        fi
        run_jobs "$work/logs/$controller"
        take_out "$controller"
        differences=$(for job in "$reference"/*.log; do lacking "$(basename "$job" .log)" "$work/logs/$controller"; done)
        row "$controller" "$work/logs/$controller" "$(grep -c . <<<"$differences" || true)"
        while read -r difference; do
            [[ -n $difference ]] || continue
            reason=$(excuse "$controller" "$difference")
            printf '    %s%s\n' "$difference" "${reason:+ (expected: $reason)}"
            [[ -n $reason ]] || worst=1
        done <<<"$differences"
    done
    say "logs: $work/logs"
    return "$worst"
}

if [[ ${1-} == --guard ]]; then
    binary=$2
    guard
else
    main "$@"
fi
