#!/usr/bin/env bash
# From nothing to a first look: builds forkwood, lists the sessions of this user and the
# samples in examples/, and says what to do next. Reads sessions where they lie and
# changes none. Needs Rust; installs a C linker if there is none.
#
# FORKWOOD_PROFILE=dev takes the build that the tests made, where time or disk is short.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
trap report_failure EXIT

SHOWN=10 # sessions of this user that are shown at first

section "build"
need_packages cc=gcc
need_rust
profile=${FORKWOOD_PROFILE:-release}
cargo build --profile "$profile" --package forkwood-cli
case $profile in dev) folder=debug ;; *) folder=$profile ;; esac
forkwood=${CARGO_TARGET_DIR:-$root/target}/$folder/forkwood
case $forkwood in /*) ;; *) forkwood=$root/$forkwood ;; esac
note "$("$forkwood" --version): $forkwood"

section "your own sessions"
# Where Pi keeps them. A fresh home has none, and that is fine.
listed=$(mktemp)
trap 'report_failure; rm -f "$listed"' EXIT
"$forkwood" list --from pi --json > "$listed" || note "Pi's folder could not be read to the end"
count=$(wc -l < "$listed")
if [ "$count" -gt 0 ]; then
    # By way of a file: cutting the output of a program short would end it.
    "$forkwood" list --from pi > "$listed" || true
    head -n "$SHOWN" "$listed"
    note "$count found, the first $SHOWN at most are shown"
else
    note "none found: Pi is not used here, or not yet"
fi

section "sample sessions"
"$forkwood" list --dir "$root/examples"

section "what to do next"
sample=examples/2026-11-12T09-14-22-481Z_01a1cf09-6791-7b7e-9d0a-3f6f1c2a8e54.jsonl
if have forkwood && [ "$(command -v forkwood)" -ef "$forkwood" ]; then
    name=forkwood
else
    name=$forkwood
fi
cat << END
A path to a session file works wherever an id does, so the samples can be looked at now:

    $name tree $sample
    $name context $sample

Your own Pi sessions, read in place:

    $name list --from pi
    $name tree PATH           the branches, the leaf, the labels
    $name context PATH        what a model would be sent

A new session of this folder:

    $name new
    $name append ID "a first message"

Every command explains itself with --help. To have forkwood on your PATH:

    cargo install --path crates/forkwood-cli
END
