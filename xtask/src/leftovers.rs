//! No unfinished code, no debugging aid, no test that does not run.

use crate::tree::Tree;
use crate::violation::Violation;

// In two pieces, so that this file does not break its own rule.
const BANNED: &[(&str, &str)] = &[
    (concat!("to", "do!("), "unfinished code"),
    (concat!("unimpl", "emented!("), "unfinished code"),
    (concat!("d", "bg!("), "a debugging aid"),
    (
        concat!("#[ign", "ore"),
        "a test that does not run: make it bounded, or gate it by an environment variable",
    ),
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files().iter().filter(|file| file.extension() == "rs") {
        for (number, line) in file.lines() {
            let line = String::from_utf8_lossy(line);
            for (text, reason) in BANNED {
                if stands_alone(&line, text) {
                    found.push(Violation::new(&file.path, number, format!("`{text}`: {reason}")));
                }
            }
        }
    }
    found
}

/// Whether `text` is in the line other than as the end of a longer name.
fn stands_alone(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests;
