//! Rust source is ASCII: what a reader sees is what the compiler gets, and no
//! editor, font or look-alike letter stands between. Other text is written `\u{...}`.

use crate::tree::Tree;
use crate::violation::Violation;

/// Files that may hold other text, and why.
const ALLOWED: &[(&str, &str)] = &[(
    "crates/forkwood/examples/s07.rs",
    "prints the Chinese output of a published chapter, letter for letter",
)];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files() {
        let allowed = ALLOWED.iter().any(|(path, _)| *path == file.path);
        if file.extension() != "rs" || allowed {
            continue;
        }
        for (number, line) in file.lines() {
            if let Some(message) = describe(line) {
                found.push(Violation::new(&file.path, number, message));
            }
        }
    }
    found
}

fn describe(line: &[u8]) -> Option<String> {
    if line.is_ascii() {
        return None;
    }
    let Ok(text) = str::from_utf8(line) else {
        return Some("not UTF-8".to_owned());
    };
    let (before, letter) = text.char_indices().find(|(_, letter)| !letter.is_ascii())?;
    Some(format!("column {}: not ASCII, write \\u{{{:x}}}", before + 1, u32::from(letter)))
}

#[cfg(test)]
mod tests;
