//! What the fuzz targets of foreign files check, over their seeds and changed seeds.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

use std::path::Path;

#[path = "../../../fuzz/checks/foreign.rs"]
mod foreign;
#[path = "../../../fuzz/checks/picoclaw.rs"]
mod picoclaw;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Every seed, and seeds that were cut, changed and put together, by repeatable numbers.
fn replay(target: &str, check: impl Fn(&[u8]), rounds: usize) {
    let full = std::env::var_os("FORKWOOD_TEST_FULL").is_some();
    let seeds = seeds(target);
    seeds.iter().for_each(|seed| check(seed));
    let mut state = 88_172_645_463_325_252u64;
    let mut roll = |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % sides.max(1) as u64) as usize
    };
    for _ in 0..if full { rounds * 200 } else { rounds } {
        let mut data = seeds[roll(seeds.len())].clone();
        for _ in 0..=roll(4) {
            let at = roll(data.len());
            match roll(5) {
                0 => data.truncate(at),
                1 if !data.is_empty() => data[at] = roll(256) as u8,
                2 if !data.is_empty() => data[at] ^= 1 << roll(8),
                3 => {
                    let other = &seeds[roll(seeds.len())];
                    let from = roll(other.len());
                    let piece = &other[from..other.len().min(from + roll(40))];
                    data.splice(at..at, piece.iter().copied());
                }
                _ => {
                    let end = data.len().min(at + roll(40));
                    let piece = data[at.min(end)..end].to_vec();
                    data.splice(at..at, piece);
                }
            }
        }
        check(&data);
    }
}

#[test]
fn claude_code() {
    let name = "00000001-0000-4000-8000-000000000001.jsonl";
    replay("claude_code", |data| foreign::check(name, data), 300);
}

#[test]
fn codex() {
    let name = "rollout-2026-03-01T09-00-00-01990001-0000-7000-8000-000000000001.jsonl";
    replay("codex", |data| foreign::check(name, data), 300);
}

#[test]
fn picoclaw() {
    replay("picoclaw", picoclaw::check, 300);
}
