//! A source file has at most 500 lines: past that it is two files.

use crate::tree::Tree;
use crate::violation::Violation;

const LIMIT: usize = 500;
const SOURCES: &[&str] = &["rs", "ts", "tsx", "py", "sh"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files() {
        let lines = file.lines().count();
        if SOURCES.contains(&file.extension()) && lines > LIMIT {
            let message = format!("{lines} lines, at most {LIMIT} are allowed: split the file");
            found.push(Violation::new(&file.path, LIMIT + 1, message));
        }
    }
    found
}

#[cfg(test)]
mod tests;
