//! The pager: `$FORKWOOD_PAGER`, else `$PAGER`, else `less -FRX`.

use std::io::Write;
use std::process::{Child, Command, Stdio};

/// A pager that runs.
pub(super) struct Pager(Child);

/// Starts the pager. `None` where there is none, or none is wanted.
pub(super) fn start() -> Option<(Pager, Box<dyn Write>)> {
    let words = words(["FORKWOOD_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok()));
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    // Without these a plain `less` stays on a short page and shows colours as their codes.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn().ok()?;
    let input = child.stdin.take()?;
    Some((Pager(child), Box::new(input)))
}

/// The words of a pager command; none for a pager that would do nothing.
fn words(set: Option<String>) -> Vec<String> {
    let command = set.unwrap_or_else(|| "less -FRX".to_owned());
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if words == ["cat"] { Vec::new() } else { words }
}

impl Pager {
    /// Waits until the reader has seen enough.
    pub(super) fn wait(mut self) {
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_pager_is_split_into_words() {
        let check = |set: Option<&str>, expect: &[&str]| {
            assert_eq!(words(set.map(str::to_owned)), expect, "{set:?}");
        };
        check(None, &["less", "-FRX"]);
        check(Some("more"), &["more"]);
        check(Some("less -S"), &["less", "-S"]);
        check(Some(""), &[]);
        check(Some("cat"), &[]);
    }
}
