//! Reading nodes, and noting what is wrong with them.

use super::node::{Kind, Member, Node, Source};
use super::problem::{Problem, Severity};

/// Reads nodes as what they should be, and notes where they are not.
pub(super) struct Reader<'p, 't> {
    pub(super) source: &'p Source<'t>,
    pub(super) problems: &'p mut Vec<Problem>,
}

/// A table; one that is absent or null has no members.
pub(super) struct Table<'n> {
    members: &'n [Member],
}

impl<'n> Table<'n> {
    /// A member, whatever the case of its name; the last of several, as in Go.
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        let fits = |member: &&Member| member.name.eq_ignore_ascii_case(name);
        self.members.iter().rev().find(fits).map(|member| &member.value)
    }

    pub(super) fn members(&self) -> &'n [Member] {
        self.members
    }
}

impl Reader<'_, '_> {
    pub(super) fn warn(&mut self, kind: &'static str, path: &str, at: usize, message: &str) {
        self.note(Severity::Warning, kind, path, at, message.to_owned());
    }

    pub(super) fn error(&mut self, kind: &'static str, path: &str, at: usize, message: String) {
        self.note(Severity::Error, kind, path, at, message);
    }

    fn note(
        &mut self,
        severity: Severity,
        kind: &'static str,
        path: &str,
        at: usize,
        message: String,
    ) {
        let line = self.source.line(at);
        self.problems.push(Problem { severity, kind, path: path.to_owned(), line, message });
    }

    fn wrong(&mut self, node: &Node, path: &str, wanted: &str) {
        let message = format!("should be {wanted}, is {}", node.kind.name());
        self.error("wrong_type", path, node.at, message);
    }

    /// A table whose problems are noted elsewhere.
    pub(super) fn quiet_table<'n>(&self, node: Option<&'n Node>) -> Table<'n> {
        match node.map(|node| &node.kind) {
            Some(Kind::Table(members)) => Table { members },
            _ => Table { members: &[] },
        }
    }

    pub(super) fn table<'n>(&mut self, node: Option<&'n Node>, path: &str) -> Table<'n> {
        let Some(node) = node else { return Table { members: &[] } };
        let members: &[Member] = match &node.kind {
            Kind::Table(members) => members,
            Kind::Null => &[],
            _ => {
                self.wrong(node, path, "a table");
                &[]
            }
        };
        for (at, member) in members.iter().enumerate() {
            let later = members.get(at + 1..).unwrap_or_default();
            if later.iter().any(|other| other.name == member.name) {
                let path = join(path, &member.name);
                self.warn("repeated_key", &path, member.at, "is there again below, which counts");
            }
        }
        Table { members }
    }

    pub(super) fn list<'n>(&mut self, node: Option<&'n Node>, path: &str) -> &'n [Node] {
        let Some(node) = node else { return &[] };
        match &node.kind {
            Kind::List(items) => items,
            Kind::Null => &[],
            _ => {
                self.wrong(node, path, "a list");
                &[]
            }
        }
    }

    pub(super) fn text(&mut self, node: Option<&Node>, path: &str) -> String {
        let Some(node) = node else { return String::new() };
        match &node.kind {
            Kind::Text(text) => return text.clone(),
            Kind::Null => {}
            _ => self.wrong(node, path, "a string (in quotes)"),
        }
        String::new()
    }

    pub(super) fn flag(&mut self, node: Option<&Node>, path: &str) -> Option<bool> {
        let node = node?;
        match &node.kind {
            Kind::Bool(flag) => return Some(*flag),
            Kind::Null => {}
            _ => self.wrong(node, path, "true or false"),
        }
        None
    }

    /// Names what is not known where only routing stands. PicoClaw passes over it in silence.
    pub(super) fn known(&mut self, table: &Table<'_>, path: &str, names: &[&str]) {
        for member in table.members {
            if !names.iter().any(|name| name.eq_ignore_ascii_case(&member.name)) {
                let message = format!("is not known here; known are {}", names.join(", "));
                self.warn("unknown_key", &join(path, &member.name), member.at, &message);
            }
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
