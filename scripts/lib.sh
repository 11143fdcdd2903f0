# Shared by the scripts of this folder, which source it. Nothing runs on its own.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Tools that the scripts build for themselves, kept between runs and out of the way.
tools=${FORKWOOD_TOOLS:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/forkwood-tools}
PATH=$PATH:$HOME/.cargo/bin:$tools/bin
export PATH

# The step that runs, for the message when it fails.
step=start
started=$SECONDS

section() {
    if [ "$step" != start ]; then
        printf -- '---- %s: ok, %d s\n' "$step" $((SECONDS - started))
    fi
    step=$1
    started=$SECONDS
    printf '\n==== %s ====\n' "$step"
}

note() { printf -- '-- %s\n' "$*"; }

die() {
    printf 'error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf 'hint: %s\n' "$hint" >&2; done
    exit 1
}

report_failure() {
    local status=$?
    if [ "$status" -ne 0 ]; then
        printf '\nFAILED at: %s (exit %d)\n' "$step" "$status" >&2
    fi
}

have() { command -v "$1" > /dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        die "not root, and there is no sudo: cannot run $*" "run it yourself, then start again"
    fi
}

# need_packages COMMAND=PACKAGE...: installs the package where the command is missing.
need_packages() {
    local missing=() pair
    for pair in "$@"; do
        have "${pair%%=*}" || missing+=("${pair#*=}")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    have apt-get || die "missing: ${missing[*]}" "install them with the package manager of this system"
    note "installing ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# at_least FOUND WANTED: compares version numbers.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

rust_version() { rustc --version | cut -d ' ' -f 2 | cut -d - -f 1; }

need_rust() {
    local wanted found
    have cargo && have rustc || die "there is no Rust toolchain" \
        "install rustup from https://rustup.rs, then run: rustup default stable" \
        "or, where Debian's is new enough: apt-get install cargo"
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
    found=$(rust_version)
    at_least "$found" "$wanted" || die "Rust $found is too old: $wanted or later is needed" \
        "rustup update stable"
    note "Rust $found (needed: $wanted)"
}
