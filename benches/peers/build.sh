#!/usr/bin/env bash
# Install the Debian packages of ns-2 and ns-3 and build the ns-3 programs: workloads (w)
# and cases of the cross-validation (v).
#   ./build.sh [--no-install]
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
packages=(ns2 libns3-dev g++ pkg-config)

install=1
case ${1-} in
'') ;;
--no-install) install=0 ;;
*)
    echo "usage: build.sh [--no-install]" >&2
    exit 2
    ;;
esac

if ((install)); then
    missing=()
    for p in "${packages[@]}"; do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)
        [[ $status == installed ]] || missing+=("$p")
    done
    if ((${#missing[@]})); then
        as_root=()
        if ((EUID != 0)); then
            as_root=(sudo)
        fi
        "${as_root[@]}" apt-get update
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}"
    fi
fi

# Only the -l flags: the .pc files also name GSL's and SQLite's development
# links, which the package does not depend on and these workloads do not use.
read -r -a libs <<<"$(pkg-config --libs-only-l \
    ns3-applications ns3-point-to-point ns3-internet ns3-traffic-control)"
for program in w v; do
    nice -n 10 "${CXX:-g++}" -std=c++17 -O3 -Wall -Wextra \
        "$here/ns3/$program.cc" -o "$here/ns3/$program" "${libs[@]}"
    echo "built $here/ns3/$program" >&2
done
