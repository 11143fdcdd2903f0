//! What is wrong with a configuration, and where.

use std::fmt;

/// Whether a configuration can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It can, but somebody may be surprised.
    Warning,
    /// It cannot.
    Error,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether it stops the load.
    pub severity: Severity,
    /// The kind, stable across versions.
    pub kind: &'static str,
    /// Where, as `session.dimensions[1]`; empty for the file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What, for people.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, path, message, .. } = self;
        if path.is_empty() {
            return write!(to, "line {line}: {message}");
        }
        write!(to, "line {line}: {path}: {message}")
    }
}
