#!/usr/bin/env bash
# Builds the files of a release in target/dist: a wheel for any Linux with glibc 2.28 (manylinux), the Debian package, static binaries
# for x86_64 and aarch64, debug information of the packaged program, a software bill of materials (CycloneDX), the playground as one page,
# and checksums.
#   scripts/release.sh [release|dev]   cargo's profile; default: release
#   scripts/release.sh --check         only checks that all files contain the same version
#   scripts/release.sh --version       prints it
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/messages.sh
. scripts/messages.sh
readonly dist=target/dist
readonly ZIG=0.15.2 # version of PyPI's ziglang, a compiler and linker for old versions of glibc

# The version of [workspace.package].
version() {
    sed -n '/^\[workspace\.package\]/,/^\[/ s/^version = "\(.*\)"$/\1/p' Cargo.toml
}

# Checks that all files contain the version of Cargo.toml.
check_versions() {
    local version=$1 other failed=0
    while read -r other; do
        [[ $other == "$version" ]] || { say "Cargo.toml: a workspace crate has version $other, not $version" && failed=1; }
    done < <(sed -n 's/^joulepath[a-z-]* = { path = .* version = "\([^"]*\)".*/\1/p' Cargo.toml)
    grep -qx "version: $version" CITATION.cff || { say "CITATION.cff has no line \`version: $version\`" && failed=1; }
    grep -qx "## $version" CHANGELOG.md || { say "CHANGELOG.md has no section \`## $version\`" && failed=1; }
    grep -qx '## Unreleased' CHANGELOG.md || { say "CHANGELOG.md has no section \`## Unreleased\`" && failed=1; }
    return "$failed"
}

# Prints the bill of materials of the packaged program: its crates with all features. The wheel contains its own. cargo-cyclonedx writes
# a file into every crate of the workspace, with the path of this folder in the references.
materials() {
    local file=joulepath-materials
    cargo cyclonedx --quiet --format json --features kernel --manifest-path crates/joulepath/Cargo.toml --override-filename "$file"
    sed "s|path+file://$PWD/|path+file:///|g" "crates/joulepath/$file.json"
    rm -- crates/*/"$file.json"
}

main() {
    local profile=${1:-release} version folder file
    version=$(version)
    [[ -n $version ]] || die 'Cargo.toml has no version'
    [[ $profile != --version ]] || { echo "$version" && return; }
    check_versions "$version"
    case $profile in
    --check) return ;;
    release) folder=target/release ;;
    dev) folder=target/debug ;;
    *) die 'usage: scripts/release.sh [release|dev] | --check | --version' ;;
    esac

    rm -rf -- "$dist"
    mkdir -p -- "$dist"
    scripts/python.sh wheel --manylinux "$ZIG" "$profile"
    cp -- target/wheels/manylinux/*.whl "$dist"
    scripts/package.sh "$profile"
    cp -- target/debian/joulepath_"$version"-*.deb "$dist"
    objcopy --only-keep-debug "$folder/joulepath" "$dist/joulepath-$version-$(uname -m).debug"
    chmod 644 "$dist/joulepath-$version-$(uname -m).debug"
    scripts/static.sh "$profile"
    for file in target/static/joulepath-*; do
        cp -- "$file" "$dist/joulepath-$version-${file##*/joulepath-}-linux-static"
    done
    materials >"$dist/joulepath-$version.cdx.json"
    scripts/web.py
    # Without the version: links lead to the file of the latest release.
    cp -- target/web/index.html "$dist/joulepath-playground.html"
    (cd -- "$dist" && sha256sum -- * >SHA256SUMS)
    say "$version is in $dist:"
    ls -l -- "$dist" >&2
}

main "$@"
