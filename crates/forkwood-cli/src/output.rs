//! Printing: the only place that writes to stdout and stderr.

mod pager;

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use forkwood::core::json::ObjectWriter;
use forkwood_view::sanitise;

use crate::args::{Color, Globals};
use crate::error::{CliError, Result};
use crate::json;
use crate::style::{self, paint};

/// Columns that lines are cut to where there is no terminal to ask.
const COLUMNS: usize = 120;

/// Where a command prints.
pub(crate) struct Output {
    sink: BufWriter<AutoStream<Box<dyn Write>>>,
    errors: AutoStream<Box<dyn Write>>,
    choice: ColorChoice,
    pager: Option<pager::Pager>,
    may_page: bool,
    quiet: bool,
    json: bool,
    terminal: Option<usize>,
}

impl Output {
    /// Looks at what stdout is.
    pub(crate) fn new(globals: &Globals) -> Output {
        let is_terminal = io::stdout().is_terminal();
        // JSON has no colours, and what it holds must not be taken for any.
        let choice = match globals.json {
            true => ColorChoice::AlwaysAnsi,
            false => choice(globals.color, AutoStream::choice(&io::stdout())),
        };
        let width = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Output {
            sink: BufWriter::new(AutoStream::new(Box::new(io::stdout()), choice)),
            errors: stderr(globals.color),
            choice,
            pager: None,
            may_page: is_terminal && !globals.no_pager && !globals.json,
            quiet: globals.quiet,
            json: globals.json,
            terminal: is_terminal.then(width).flatten(),
        }
    }

    /// Sends what follows through a pager, on a terminal.
    pub(crate) fn page(&mut self) {
        if !self.may_page || self.pager.is_some() {
            return;
        }
        if let Some((pager, input)) = pager::start() {
            self.sink = BufWriter::new(AutoStream::new(input, self.choice));
            self.pager = Some(pager);
        }
    }

    /// The columns that a line may take.
    pub(crate) fn columns(&self) -> usize {
        self.terminal.unwrap_or(COLUMNS)
    }

    /// Prints a line for people. Whatever comes from a session in it must be safe already.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> Result {
        self.bytes(line.as_ref().as_bytes())?;
        self.bytes(b"\n")
    }

    /// Prints one JSON value on one line.
    pub(crate) fn json(&mut self, value: impl AsRef<str>) -> Result {
        self.piece(value.as_ref())?;
        self.bytes(b"\n")
    }

    /// Prints a part of a JSON value; the last one goes to [`Output::json`].
    pub(crate) fn piece(&mut self, part: &str) -> Result {
        self.bytes(json::safe(part).as_bytes())
    }

    /// Prints bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result {
        self.sink.write_all(bytes).map_err(|error| CliError::output(&error))
    }

    /// Makes sure that what was printed can be read.
    pub(crate) fn flush(&mut self) -> Result {
        self.sink.flush().map_err(|error| CliError::output(&error))
    }

    /// Tells something beside the data, on stderr.
    pub(crate) fn note(&mut self, note: impl AsRef<str>) {
        if !self.quiet {
            let note = sanitise::lines(note.as_ref()).into_owned();
            say(&mut self.errors, style::HINT, "note", &note);
        }
    }

    /// Tells something that must not be missed, on stderr, even where notes are not wanted.
    #[cfg(feature = "agent")]
    pub(crate) fn warn(&mut self, warning: impl AsRef<str>) {
        let warning = sanitise::lines(warning.as_ref()).into_owned();
        say(&mut self.errors, style::WARN, "warning", &warning);
    }

    /// Confirms what was done, on stderr; JSON tells it already.
    pub(crate) fn done(&mut self, message: impl AsRef<str>) {
        if !self.quiet && !self.json {
            let message = sanitise::lines(message.as_ref()).into_owned();
            let _ = writeln!(self.errors, "{message}");
        }
    }

    /// Tells people a line beside the data, on stderr, in a style. Whatever comes from a session
    /// in it must be safe already.
    #[cfg(feature = "agent")]
    pub(crate) fn aside(&mut self, style: anstyle::Style, line: impl std::fmt::Display) {
        if !self.quiet && !self.json {
            let _ = writeln!(self.errors, "{}", paint(style, line));
        }
    }

    /// Asks a question on stderr, where somebody can answer.
    pub(crate) fn ask(&mut self, question: &str) -> Option<String> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        let _ = write!(self.errors, "{} ", sanitise::line(question));
        let _ = self.errors.flush();
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok()?;
        Some(answer.trim().to_owned())
    }

    /// Writes out what is left, and waits for the pager.
    pub(crate) fn finish(&mut self) -> Result {
        let flushed = self.flush();
        let Some(pager) = self.pager.take() else { return flushed };
        // The pager sees the end of its input when this is dropped.
        self.sink = BufWriter::new(AutoStream::new(Box::new(io::sink()), ColorChoice::Never));
        pager.wait();
        // Whoever leaves a pager has seen enough: no error.
        match flushed {
            Err(error) if error.kind != "broken_pipe" => Err(error),
            _ => Ok(()),
        }
    }
}

/// Tells an error on stderr.
pub(crate) fn report(error: &CliError, color: Color, as_json: bool) {
    // A reader that went away does not want to hear of it.
    if error.kind == "broken_pipe" {
        return;
    }
    let mut errors = stderr(color);
    if as_json {
        let mut message = error.message.clone();
        for cause in &error.causes {
            message.push_str(": ");
            message.push_str(cause);
        }
        let mut out = ObjectWriter::new();
        out.str("kind", error.kind).str("message", &message);
        match &error.hint {
            Some(hint) => out.str("hint", hint),
            None => out.raw("hint", "null"),
        };
        out.raw("retryable", if error.retryable { "true" } else { "false" });
        let _ = writeln!(errors, "{}", json::safe(&out.finish()));
        return;
    }
    say(&mut errors, style::BAD, "error", &sanitise::lines(&error.message));
    for cause in &error.causes {
        say(&mut errors, style::BAD, "  cause", &sanitise::lines(cause));
    }
    if let Some(hint) = &error.hint {
        say(&mut errors, style::HINT, "hint", &sanitise::lines(hint));
    }
}

/// Tells a hint on stderr.
pub(crate) fn hint(hint: &str) {
    say(&mut stderr(Color::Auto), style::HINT, "hint", hint);
}

/// Nothing is left to be done where stderr is gone.
fn say(errors: &mut dyn Write, style: anstyle::Style, word: &str, text: &str) {
    let _ = writeln!(errors, "{}: {text}", paint(style, word));
}

fn stderr(color: Color) -> AutoStream<Box<dyn Write>> {
    let choice = choice(color, AutoStream::choice(&io::stderr()));
    AutoStream::new(Box::new(io::stderr()), choice)
}

/// The switch beats NO_COLOR, which beats looking for a terminal.
fn choice(color: Color, auto: ColorChoice) -> ColorChoice {
    match color {
        Color::Auto => auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
}
