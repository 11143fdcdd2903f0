#!/usr/bin/env bash
# Type-checks the crates for Windows, where nothing has to be linked or run. Takes the
# first way that this machine allows, and says which:
#
#   1. a Windows target that is installed;
#   2. the standard library checked from its source, which Debian packages for many
#      versions of Rust as rust-src (kept in $FORKWOOD_TOOLS: the system stays as it is);
#   3. no Windows library at all: the portable code, on this system.
#
# Nothing is fetched but from Debian's mirror: `rustup target add x86_64-pc-windows-msvc`
# is for a person to run, where its server may be asked.
#
# Arguments go to cargo check. FORKWOOD_WINDOWS_CHECK=target|source|portable names a way.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"

TARGETS=(x86_64-pc-windows-msvc x86_64-pc-windows-gnu)
SUITES=(trixie-backports unstable) # those of Debian that carry a recent rust-src
# The program is checked without its agent: what asks models brings crates of TLS. Features are
# of all crates named here, so that the one of forkwood-context is asked for again.
crates=(-p forkwood-core -p forkwood-storage -p forkwood -p forkwood-context
    -p forkwood-formats -p forkwood-view -p forkwood-cli
    --no-default-features --features forkwood-context/default)
way=${FORKWOOD_WINDOWS_CHECK:-any}
output=${CARGO_TARGET_DIR:-$root/target}

allowed() { [ "$way" = any ] || [ "$way" = "$1" ]; }

installed_target() {
    local target library
    for target in "${TARGETS[@]}"; do
        library=$(rustc --print target-libdir --target "$target")
        if compgen -G "$library/libstd-*" > /dev/null; then
            printf '%s\n' "$target"
            return 0
        fi
    done
    return 1
}

check_target() {
    note "way: the installed target $1"
    cargo check "${crates[@]}" --target "$1" "${@:2}"
}

# Prints the folder `library` of the sources of this very version of Rust.
std_source() {
    local version source
    version=$(rust_version)
    for source in "$(rustc --print sysroot)/lib/rustlib/src/rust/library" \
        "/usr/src/rustc-$version/library" "$tools/rust-src-$version/library"; do
        if [ -f "$source/std/Cargo.toml" ]; then
            printf '%s\n' "$source"
            return 0
        fi
    done
    fetch_std_source "$version" >&2 || return 1
    printf '%s\n' "$tools/rust-src-$version/library"
}

# Debian's package of the sources, by apt with lists and settings of its own, from the
# mirror that this machine already uses. apt checks the signature.
fetch_std_source() {
    local version=$1 mirror suite work found
    have apt-get && have dpkg-deb || return 1
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -E '/debian/?$' | head -n 1)
    [ -n "$mirror" ] || return 1
    work=$(mktemp -d)
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    chmod -R a+rX "$work"
    for suite in "${SUITES[@]}"; do
        printf 'deb %s %s main\n' "$mirror" "$suite" > "$work/sources.list"
        local own=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache"
            -o APT::Sandbox::User=root -o Acquire::Languages=none
            -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
        timeout 120 apt-get -qq "${own[@]}" update || continue
        found=$(apt-cache "${own[@]}" madison rust-src |
            awk -v wanted="$version" '{ split($3, part, "+"); if (part[1] == wanted) print $3 }' |
            head -n 1)
        [ -n "$found" ] || continue
        note "fetching rust-src $found, once, into $tools"
        (cd "$work" && timeout 300 apt-get -qq "${own[@]}" download "rust-src=$found") || continue
        mkdir -p "$work/tree" "$tools"
        dpkg-deb --fsys-tarfile "$work"/rust-src_*.deb |
            tar -x -C "$work/tree" "./usr/src/rustc-$version/library" || continue
        rm -rf "$tools/rust-src-$version"
        mv "$work/tree/usr/src/rustc-$version" "$tools/rust-src-$version" || continue
        rm -rf "$work"
        return 0
    done
    rm -rf "$work"
    return 1
}

# cargo builds the library as part of the check. That is an unstable option, so the
# stable compiler is told to allow it, and the source's place is told to cargo rather
# than put into the toolchain. MSVC is the target that needs no tool beside rustc.
check_source() {
    note "way: the standard library from its source, $1"
    RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$1 CARGO_TARGET_DIR=$output/windows \
        cargo check -Zbuild-std=std,panic_abort --target x86_64-pc-windows-msvc \
        "${crates[@]}" "${@:2}"
}

check_portable() {
    note "way: NOT for Windows: its standard library cannot be had here;" \
        "the portable code is checked on this system"
    CARGO_TARGET_DIR=$output/portable RUSTFLAGS="${RUSTFLAGS:-} --cfg forkwood_portable" \
        cargo check "${crates[@]}" "$@"
}

if allowed target && target=$(installed_target); then
    check_target "$target" "$@"
elif allowed source && source=$(std_source); then
    check_source "$source" "$@"
elif allowed portable; then
    check_portable "$@"
else
    die "the way '$way' cannot be taken here"
fi
