#!/usr/bin/env bash
# cargo with the kernel engine, where this machine can build it, and without it elsewhere.
#   scripts/cargo.sh COMMAND [ARGUMENT...]   for commands that take --features, on the workspace or on the package joulepath
#   scripts/cargo.sh --lacks                 what building the kernel engine lacks here; nothing if it can be built
set -euo pipefail

say() { printf 'cargo.sh: %s\n' "$*" >&2; }

# What the kernel engine lacks here, in a few words; nothing if it can be built.
lacks() {
    if [[ $(uname -s) != Linux ]]; then
        echo 'it is for Linux'
    elif ! command -v clang >/dev/null; then
        echo 'no clang'
    elif [[ ! -e $(cc -print-file-name=libelf.a) || ! -e $(cc -print-file-name=libz.a) ]]; then
        echo 'no libelf and zlib to link statically'
    fi
}

lacking=$(lacks)
if [[ ${1-} == --lacks ]]; then
    printf '%s' "$lacking"
    exit
fi
if [[ -n $lacking ]]; then
    say "WITHOUT the kernel engine: $lacking"
    exec cargo "$@"
fi
say 'with the kernel engine'
# The distribution's directory of libraries: libbpf is linked with the static libelf and zlib in there.
libraries=$(realpath -- "$(cc -print-file-name=libelf.a)")
export LIBBPF_SYS_LIBRARY_PATH=${libraries%/*}
exec cargo "$1" --features joulepath/kernel "${@:2}"
