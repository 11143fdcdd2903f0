//! Lines that are commands.

use crate::error::{CliError, Result};

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Something said to the model.
    Say(String),
    Help,
    Tree,
    Rewind {
        entry: String,
        summary: bool,
        past_compaction: bool,
    },
    Fork(Option<String>),
    /// The words behind it: which of them name an entry, only the session knows.
    Label(Vec<String>),
    Compact(Option<String>),
    Model(Option<String>),
    Thinking(Option<String>),
    Resume(Option<String>),
    Export(Option<String>),
    Cost,
    Quit,
}

/// Reads a line.
pub(super) fn parse(line: &str) -> Result<Command> {
    let Some(rest) = line.trim_start().strip_prefix('/') else {
        return Ok(Command::Say(line.to_owned()));
    };
    if rest.starts_with('/') {
        return Ok(Command::Say(rest.to_owned()));
    }
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rest = rest.trim();
    let argument = (!rest.is_empty()).then(|| rest.to_owned());
    let none = |command: Command| match &argument {
        None => Ok(command),
        Some(_) => Err(wrong(format!("/{name} takes nothing behind it"))),
    };
    match name {
        "help" | "?" => none(Command::Help),
        "tree" => none(Command::Tree),
        "cost" => none(Command::Cost),
        "quit" | "exit" => none(Command::Quit),
        "rewind" => rewind(rest),
        "label" if rest.is_empty() => Err(wrong("/label [ENTRY] LABEL, or /label --clear [ENTRY]")),
        "label" => Ok(Command::Label(rest.split_whitespace().map(str::to_owned).collect())),
        "fork" => Ok(Command::Fork(argument)),
        "compact" => Ok(Command::Compact(argument)),
        "model" => Ok(Command::Model(argument)),
        "thinking" => Ok(Command::Thinking(argument)),
        "resume" => Ok(Command::Resume(argument)),
        "export" => Ok(Command::Export(argument)),
        _ => Err(wrong(format!("there is no command /{name}"))),
    }
}

fn rewind(rest: &str) -> Result<Command> {
    let (mut entry, mut summary, mut past_compaction) = (None, false, false);
    for word in rest.split_whitespace() {
        match word {
            "--summary" => summary = true,
            "--past-compaction" => past_compaction = true,
            _ if entry.is_none() && !word.starts_with("--") => entry = Some(word.to_owned()),
            _ => return Err(wrong("/rewind ENTRY [--summary] [--past-compaction]")),
        }
    }
    match entry {
        Some(entry) => Ok(Command::Rewind { entry, summary, past_compaction }),
        None => Err(wrong("where to? /rewind ENTRY [--summary] [--past-compaction]")),
    }
}

fn wrong(what: impl Into<String>) -> CliError {
    CliError::usage(what).hint("/help tells the commands; a message that starts with / takes two")
}

#[cfg(test)]
mod tests {
    use super::{Command, parse};

    #[test]
    fn lines_are_messages_or_commands() {
        assert_eq!(parse("hi /there").unwrap(), Command::Say("hi /there".into()));
        assert_eq!(parse("//etc is a folder").unwrap(), Command::Say("/etc is a folder".into()));
        assert_eq!(parse("/quit ").unwrap(), Command::Quit);
        assert_eq!(
            parse("/compact the plans").unwrap(),
            Command::Compact(Some("the plans".into()))
        );
        let rewind = |past_compaction| Command::Rewind {
            entry: "e1".into(),
            summary: true,
            past_compaction,
        };
        assert_eq!(parse("/rewind --summary e1").unwrap(), rewind(false));
        assert_eq!(parse("/rewind e1 --past-compaction --summary").unwrap(), rewind(true));
        for wrong in ["/rewind", "/rewind a b", "/rewind --all", "/tree x", "/label", "/nothing"] {
            assert_eq!(parse(wrong).unwrap_err().kind, "usage", "{wrong}");
        }
    }
}
