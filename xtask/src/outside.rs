//! The product stands on its own: no file of it points to the folder of reference
//! cases that lies beside the work tree. Tests and scripts may look there.

use crate::tree::Tree;
use crate::violation::Violation;

// In two pieces, so that this file does not break its own rule.
const PLACES: &[&str] = &[concat!("../sha", "red"), concat!("/work/sha", "red")];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files().iter().filter(|file| !may_look(&file.path)) {
        for (number, line) in file.lines() {
            let place = PLACES.iter().find(|place| contains(line, place.as_bytes()));
            if let Some(place) = place {
                let message = format!("`{place}` is not part of the product: say it without");
                found.push(Violation::new(&file.path, number, message));
            }
        }
    }
    found
}

fn may_look(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or(path);
    let first = path.split('/').next().unwrap_or(path);
    name == "tests.rs"
        || parts.any(|folder| folder == "tests")
        || matches!(first, "scripts" | ".ci")
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests;
