//! A parsed text that remembers where everything stood, so that what is found later has a line.

use super::problem::{Problem, Severity};

/// A text, and where its lines are.
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
}

/// A value and where it starts.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// What no setting is: a number, a date, or what lies too deep to be one. Named for errors.
    Other(&'static str),
}

/// A member of a table, in the order of the file.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) value: Node,
}

/// The depth of the deepest setting, and some. What lies below is not looked into, which also
/// bounds the recursion of both parsers.
pub(super) const DEEPEST: usize = 12;

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        // Editors of some systems put a byte order mark there.
        Self { text: text.strip_prefix('\u{feff}').unwrap_or(text) }
    }

    /// The line of an offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    /// A text that does not parse at all.
    pub(super) fn syntax(&self, at: usize, message: String) -> Problem {
        let (severity, path, line) = (Severity::Error, String::new(), self.line(at));
        Problem { severity, kind: "syntax", path, line, message }
    }
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Text(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
            Kind::Other(name) => name,
        }
    }
}
