//! Every crate says what it is: a README.md beside its manifest, and a description in it.

use crate::manifest::Manifest;
use crate::tree::Tree;
use crate::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in Manifest::files(tree) {
        let manifest = match Manifest::parse(file) {
            Ok(manifest) => manifest,
            Err(violation) => {
                found.push(violation);
                continue;
            }
        };
        let readme = format!("{}/README.md", manifest.folder());
        match tree.get(&readme) {
            None => found.push(Violation::new(&readme, 1, "missing: say what the crate is")),
            Some(file) if file.bytes.trim_ascii().is_empty() => {
                found.push(Violation::new(&readme, 1, "empty: say what the crate is"));
            }
            Some(_) => {}
        }
        if manifest.description.as_deref().is_none_or(|text| text.trim().is_empty()) {
            found.push(Violation::new(&file.path, 1, "[package] has no `description`"));
        }
    }
    found
}

#[cfg(test)]
mod tests;
