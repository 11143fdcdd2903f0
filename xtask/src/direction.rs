//! Crates depend downwards only, as ARCHITECTURE.md draws them. What a crate may
//! reach through another it may also name itself. Test dependencies are free.

use std::collections::BTreeSet;

use crate::manifest::{Dependency, Manifest};
use crate::tree::Tree;
use crate::violation::Violation;

/// The arrows of the picture: a crate, and those straight below it.
const ARROWS: &[(&str, &[&str])] = &[
    ("forkwood-core", &[]),
    ("forkwood-storage", &["forkwood-core"]),
    ("forkwood-conformance", &["forkwood-storage"]),
    ("forkwood-postgres", &["forkwood-storage"]),
    ("forkwood-jetstream", &["forkwood-storage"]),
    ("forkwood", &["forkwood-storage"]),
    ("forkwood-context", &["forkwood-core"]),
    ("forkwood-formats", &["forkwood"]),
    ("forkwood-search", &["forkwood"]),
    ("forkwood-routing", &["forkwood", "forkwood-agent", "forkwood-formats"]),
    ("forkwood-agent", &["forkwood", "forkwood-context"]),
    ("forkwood-view", &["forkwood-core"]),
    ("forkwood-cli", INNER),
    ("forkwood-tui", INNER),
    ("forkwood-server", INNER),
    ("forkwood-python", INNER),
    ("xtask", &[]),
];

/// What the outermost crates may build on. They are programs: nothing builds on them.
const INNER: &[&str] = &[
    "forkwood",
    "forkwood-agent",
    "forkwood-context",
    "forkwood-formats",
    "forkwood-jetstream",
    "forkwood-postgres",
    "forkwood-routing",
    "forkwood-search",
    "forkwood-view",
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut manifests = Vec::new();
    for file in Manifest::files(tree) {
        match Manifest::parse(file) {
            Ok(manifest) => manifests.push(manifest),
            Err(violation) => found.push(violation),
        }
    }
    let own: BTreeSet<&str> = manifests.iter().map(|m| m.name.as_str()).collect();
    for manifest in &manifests {
        let Some(allowed) = below(&manifest.name) else {
            let message = format!(
                "crate `{}` is not in the picture: add it to ARCHITECTURE.md and to \
                 xtask/src/direction.rs",
                manifest.name
            );
            found.push(Violation::new(&manifest.path, 1, message));
            continue;
        };
        let wrong = |dependency: &&Dependency| {
            let package = dependency.package.as_str();
            let ours = own.contains(package) || below(package).is_some();
            ours && !allowed.contains(package)
        };
        for dependency in manifest.dependencies.iter().filter(wrong) {
            let message = format!(
                "`{}` may not depend on `{}`: arrows go down only (ARCHITECTURE.md)",
                manifest.name, dependency.package
            );
            found.push(Violation::new(&manifest.path, dependency.line, message));
        }
    }
    found
}

/// Every crate that can be reached from `name`, without itself; `None` for a stranger.
fn below(name: &str) -> Option<BTreeSet<&'static str>> {
    let arrows = |name: &str| ARROWS.iter().find(|(from, _)| *from == name);
    let mut todo: Vec<&'static str> = arrows(name)?.1.to_vec();
    let mut reached = BTreeSet::new();
    while let Some(next) = todo.pop() {
        if reached.insert(next) {
            todo.extend(arrows(next).into_iter().flat_map(|(_, to)| to.iter()));
        }
    }
    Some(reached)
}

#[cfg(test)]
mod tests;
