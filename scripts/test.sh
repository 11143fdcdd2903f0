#!/usr/bin/env bash
# The whole test suite, from nothing on a fresh Debian machine with Rust.
#
#   scripts/test.sh          what a developer runs before a commit
#   scripts/test.sh --ci     the same, with the lock file as it is and a bound on time
#   scripts/test.sh --full   with the long runs, and many more property cases
#
# Installs what is missing: Debian packages (Chromium among them), cargo-nextest and cargo-deny from
# crates.io, Pi and playwright-core from npm, claude-agent-sdk with Claude Code in it from PyPI (into
# $FORKWOOD_TOOLS, by default ~/.cache/forkwood-tools: once, a few minutes).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"

NEXTEST=0.9.125 # builds with our oldest Rust
DENY=0.20.2
TEST_LIMIT=2700 # seconds, in --ci

mode=default
case "${1:-}" in
    '') ;;
    --ci | --full) mode=${1#--} ;;
    *) die "unknown option: $1" "usage: scripts/test.sh [--ci|--full]" ;;
esac
[ $# -le 1 ] || die "one option at most" "usage: scripts/test.sh [--ci|--full]"

log=$(mktemp)
trap 'report_failure; rm -f "$log"' EXIT

cargo_flags=()
profile=default
built=release # the profile of the program in the last step
bound=()
case $mode in
    ci)
        export CARGO_INCREMENTAL=0 CARGO_TERM_PROGRESS_WHEN=never
        cargo_flags=(--locked)
        profile=ci
        built=dev # one build of the workspace is enough, in time and on the disk
        bound=(timeout --kill-after=10 "$TEST_LIMIT")
        ;;
    full)
        export FORKWOOD_TEST_FULL=1
        export PROPTEST_CASES="${PROPTEST_CASES:-4096}"
        ;;
esac

need_tool() { # NAME VERSION [CARGO INSTALL OPTIONS]
    local name=$1 version=$2
    shift 2
    if ! have "$name"; then
        note "building $name $version, once, into $tools"
        CARGO_TARGET_DIR="$tools/target" cargo install --locked --quiet --root "$tools" \
            --version "$version" "$@" "$name"
        rm -rf "$tools/target"
    fi
    note "$("$name" "${name#cargo-}" --version | head -n 1)"
}

need_npm() { # NAME FOLDER: what a lock file of interop/ names, from npm, once
    local from=$root/interop/$2 to=$tools/$1
    if ! cmp -s "$from/package-lock.json" "$to/package-lock.json" || [ ! -e "$to/done" ]; then
        note "installing $1, once, into $to"
        rm -rf "$to"
        mkdir -p "$to"
        cp "$from/package.json" "$from/package-lock.json" "$to"
        (cd "$to" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
        touch "$to/done"
    fi
    note "$1"
}

need_pip() { # NAME: what interop/python/NAME-requirements.txt names, from PyPI, once a Python
    local from=$root/interop/python/$1-requirements.txt to=$tools/$1 stamp
    stamp=$(python3 --version; cat "$from")
    if [ "$(cat "$to/done" 2> /dev/null)" != "$stamp" ]; then
        note "installing $1, once, into $to"
        rm -rf "$to"
        # The file names all there is to install, and nothing is built: no script of a package runs.
        python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
            --no-deps --only-binary :all: --root-user-action=ignore \
            --target "$to" -r "$from"
        printf '%s\n' "$stamp" > "$to/done"
    fi
    note "$1"
}

section "tools"
need_packages cc=gcc git=git npm=npm chromium=chromium python3=python3 pip3=python3-pip
need_rust
for part in fmt clippy; do
    cargo "$part" --version > /dev/null 2>&1 || die "cargo $part is missing" \
        "rustup component add rustfmt clippy, or apt-get install rustfmt rust-clippy"
done
need_tool cargo-nextest "$NEXTEST" --no-default-features --features default-no-update
need_tool cargo-deny "$DENY" --no-default-features
need_npm pi-0.73.1 pi/0.73.1
need_npm pi-1.6.0 pi/1.6.0
need_npm browser browser
need_pip claude
export FORKWOOD_TOOLS=$tools FORKWOOD_INTEROP=1

section "format"
cargo fmt --all --check

section "clippy"
cargo clippy "${cargo_flags[@]}" --workspace --all-targets -- -D warnings

section "house rules"
cargo xtask tidy

section "tests ($mode)"
color=auto
if [ -t 1 ]; then color=always; fi
"${bound[@]}" cargo nextest run "${cargo_flags[@]}" --workspace --profile "$profile" \
    --color "$color" 2>&1 | tee "$log"

section "documentation examples"
cargo test "${cargo_flags[@]}" --quiet --doc --workspace

section "licences, bans, sources"
cargo deny --log-level error check --hide-inclusion-graph licenses bans sources
# The advisory database is no package: it is used where somebody fetched it before
# (`cargo deny fetch db`), and never fetched by this script.
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-db*/*/" > /dev/null; then
    cargo deny --offline --log-level error check advisories
else
    note "advisories NOT checked: there is no advisory database on this machine"
fi

section "Windows type check"
"$root/scripts/windows-check.sh" "${cargo_flags[@]}"
rm -rf "${CARGO_TARGET_DIR:-$root/target}"/{windows,portable} # a check leaves nothing of use

section "README: from a checkout to a look"
home=$(mktemp -d)
trap 'report_failure; rm -rf "$log" "$home"' EXIT
# HOME decides whose sessions are shown; cargo and rustup keep theirs.
CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} \
    FORKWOOD_TOOLS=$tools FORKWOOD_PROFILE=$built HOME=$home scripts/run.sh | tail -n 25
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target} cargo install "${cargo_flags[@]}" --quiet \
    --profile "$built" --root "$home" --path crates/forkwood-cli
"$home/bin/forkwood" --version

section "result"
# The test runner's own closing line again, for whoever reads only the end.
sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -a 'Summary \[' | tail -n 1
note "all steps passed ($mode, $SECONDS s)"
