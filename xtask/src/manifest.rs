//! The few facts of a `Cargo.toml` that the rules look at.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tree::{File, Tree};
use crate::violation::Violation;

/// A crate's manifest.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A normal or build dependency; those for tests alone are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package, where the manifest gives it another name than the package's.
    pub(crate) package: String,
    pub(crate) line: usize,
}

impl Manifest {
    /// The manifests of the workspace's crates: `crates/*`, `bindings/*` and this one.
    pub(crate) fn files(tree: &Tree) -> impl Iterator<Item = &File> {
        tree.files().iter().filter(|file| {
            let parts: Vec<&str> = file.path.split('/').collect();
            matches!(parts[..], ["crates" | "bindings", _, "Cargo.toml"] | ["xtask", "Cargo.toml"])
        })
    }

    pub(crate) fn parse(file: &File) -> Result<Self, Violation> {
        let text =
            str::from_utf8(&file.bytes).map_err(|_| Violation::new(&file.path, 1, "not UTF-8"))?;
        let root = DeTable::parse(text).map_err(|error| {
            let line = line_of(text, error.span());
            Violation::new(&file.path, line, error.message())
        })?;
        let root = root.get_ref();
        let package = table(root, "package");
        let field = |key| package.and_then(|package| string(package, key)).map(str::to_owned);
        let mut dependencies = Vec::new();
        collect(text, root, &mut dependencies);
        for target in table(root, "target").into_iter().flat_map(DeTable::values) {
            if let DeValue::Table(target) = target.get_ref() {
                collect(text, target, &mut dependencies);
            }
        }
        Ok(Self {
            path: file.path.clone(),
            name: field("name").unwrap_or_default(),
            description: field("description"),
            dependencies,
        })
    }

    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

fn collect(text: &str, root: &DeTable<'_>, into: &mut Vec<Dependency>) {
    let sections = ["dependencies", "build-dependencies"];
    for section in sections.iter().filter_map(|key| table(root, key)) {
        for (key, value) in section {
            let renamed = match value.get_ref() {
                DeValue::Table(details) => string(details, "package"),
                _ => None,
            };
            into.push(Dependency {
                package: renamed.unwrap_or(key.get_ref()).to_owned(),
                line: line_of(text, Some(key.span())),
            });
        }
    }
}

fn value<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeValue<'i>> {
    table.get(key).map(Spanned::get_ref)
}

fn table<'a, 'i>(parent: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    match value(parent, key)? {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn string<'a>(parent: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    match value(parent, key)? {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start);
    let before = text.as_bytes().iter().take(start);
    1 + before.filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests;
