#!/usr/bin/env bash
# Runs cargo with the kernel engine if this machine can build it, otherwise without it.
#   scripts/cargo.sh COMMAND [ARGUMENT...]   a command that takes --features, on the workspace or the package joulepath
#   scripts/cargo.sh --lacks                 prints what this machine lacks for the kernel engine; nothing if it lacks nothing
set -euo pipefail

say() { printf 'cargo.sh: %s\n' "$*" >&2; }

# True if a program that reads and writes files with libelf, as libbpf does, compiles and links. Checking for the libraries is not
# enough: Debian 13's static libelf needs further libraries that are missing.
links_libelf() {
    printf '#include <gelf.h>\n#include <zlib.h>\nint main(void) { return elf_update(elf_begin(0, ELF_C_READ, 0), ELF_C_NULL) != !zlibVersion(); }\n' |
        cc -x c - -o "$scratch/probe" -lelf -lz 2>/dev/null
}

# True if clang has the BPF target and the relocations that the controllers use. Some builds of clang have neither.
compiles_bpf() {
    printf 'struct s { int a; } __attribute__((preserve_access_index));\nint f(struct s *s) { return s->a; }\n' |
        "${CLANG:-clang}" -target bpf -mcpu=v3 -O2 -g -x c -c - -o "$scratch/probe.o" 2>/dev/null
}

# Prints in a few words what is missing for the kernel engine; nothing if it can be built.
lacks() {
    if [[ $(uname -s) != Linux ]]; then
        echo 'it is for Linux'
    elif ! command -v "${CLANG:-clang}" >/dev/null; then
        echo 'no clang'
    elif ! compiles_bpf; then
        echo 'clang does not compile for BPF'
    elif ! command -v "${PKG_CONFIG:-pkg-config}" >/dev/null; then
        echo 'no pkg-config'
    elif ! links_libelf; then
        echo 'a program with libelf and zlib does not link'
    fi
}

scratch=$(mktemp -d)
lacking=$(lacks)
rm -r -- "$scratch"
if [[ ${1-} == --lacks ]]; then
    printf '%s' "$lacking"
    exit
fi
if [[ -n $lacking ]]; then
    say "WITHOUT the kernel engine: $lacking"
    exec cargo "$@"
fi
say 'with the kernel engine'
exec cargo "$1" --features joulepath/kernel "${@:2}"
