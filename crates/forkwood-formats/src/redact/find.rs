//! Secrets in a text.

use std::ops::Range;

use memchr::memmem;

use super::Rule;
use super::rules::{HOME, NAMED, compiled, rules};

/// A secret in a text.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Which rule found it.
    pub rule: &'static Rule,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
}

/// Words that stand where a secret would.
const STAND_INS: &[&str] =
    &["example", "xxxx", "your", "placeholder", "redacted", "changeme", "....", "----", "dummy"];

/// The secrets in a text, in order; none lies in another.
pub fn find(text: &str) -> Vec<Hit> {
    find_under(text, None)
}

/// The same for a value under a name.
pub(super) fn find_under(text: &str, name: Option<&str>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    if text.len() < 6 {
        return hits;
    }
    if let Some(rule) = name.and_then(|name| named(name, text)) {
        return vec![Hit { rule, range: 0..text.len() }];
    }
    for (rule, regex) in compiled() {
        let may = |word: &&str| memmem::find(text.as_bytes(), word.as_bytes()).is_some();
        if !rule.words.iter().any(may) {
            continue;
        }
        for found in regex.captures_iter(text) {
            let Some(secret) = found.name("s").or_else(|| found.get(0)) else { continue };
            if is_secret(rule, secret.as_str()) {
                hits.push(Hit { rule, range: secret.range() });
            }
        }
    }
    // What starts first and is longest has a place; the sort keeps the order of the rules.
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut end = 0;
    hits.retain(|hit| {
        let free = hit.range.start >= end;
        if free {
            end = hit.range.end;
        }
        free
    });
    hits
}

fn is_secret(rule: &Rule, text: &str) -> bool {
    if rule.id == HOME {
        // Folders that every machine has, and names that stand for one.
        let user = text.rsplit(['/', '\\']).next().unwrap_or_default();
        return !["Shared", "Public", "Default", "user", "username", "runner"].contains(&user);
    }
    if rule.entropy > 0.0 && !looks_random(text, rule.entropy) {
        return false;
    }
    !(rule.id.starts_with("aws") && text.ends_with("EXAMPLE")
        || rule.id == "url-password" && is_stand_in(text))
}

/// The rule of a value whose name alone says that it is secret.
fn named(name: &str, value: &str) -> Option<&'static Rule> {
    let lower = name.to_ascii_lowercase().replace(['-', '_'], "");
    let secret = ["apikey", "accesskey", "privatekey", "secret", "token", "password", "passwd"];
    let says = secret.iter().any(|word| lower.ends_with(word)) || lower == "authorization";
    let plain = |c: char| c.is_ascii_graphic();
    if !says || !(16..=512).contains(&value.len()) || !value.chars().all(plain) {
        return None;
    }
    let rule = rules().iter().find(|rule| rule.id == NAMED)?;
    looks_random(value, rule.entropy).then_some(rule)
}

fn is_stand_in(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    STAND_INS.iter().any(|word| lower.contains(word))
}

/// Whether a text is no word, path or name: it holds a digit and a letter, and each of its
/// characters tells so many bits.
fn looks_random(text: &str, entropy: f64) -> bool {
    let has = |what: fn(&u8) -> bool| text.as_bytes().iter().any(what);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_stand_in(text)
        && bits(text.as_bytes()) >= entropy
}

/// The bits that each byte of a text tells (Shannon).
fn bits(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let len = bytes.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / len;
            -share * share.log2()
        })
        .sum()
}
