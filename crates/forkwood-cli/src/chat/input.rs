//! Lines that come in: from a line editor with history, or from a pipe.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use forkwood::ErrorKind;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::ctx::Ctx;
use crate::error::{CliError, Result};

const PROMPT: &str = "> ";
/// Lines that the history holds.
const HISTORY: usize = 1000;

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// What was typed is no text.
    Garbled,
    /// Nothing more comes.
    End,
}

/// Whether a person types and sees the answers.
pub(super) fn is_terminal(ctx: &Ctx) -> bool {
    !ctx.json() && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Reads in a thread of its own, one line when one is asked for: what comes next is left to the
/// terminal, which shows it in its place.
pub(super) struct Reader {
    ask: Sender<()>,
    lines: UnboundedReceiver<Result<Line>>,
    asked: bool,
}

impl Reader {
    /// Starts it.
    pub(super) fn start(terminal: bool) -> Result<Reader> {
        let (ask, asked) = channel();
        let (told, lines) = unbounded_channel();
        // It may wait for a line for ever, so nobody waits for it.
        std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || if terminal { edit(&asked, &told) } else { pipe(&asked, &told) })
            .map_err(|error| {
                CliError::new(ErrorKind::Io, format!("cannot start reading: {error}"))
            })?;
        Ok(Reader { ask, lines, asked: false })
    }

    /// The next line. Where this is dropped before it is there, the next call gives it.
    pub(super) async fn next(&mut self) -> Result<Line> {
        if !self.asked {
            self.asked = true;
            if self.ask.send(()).is_err() {
                return Ok(Line::End);
            }
        }
        let line = self.lines.recv().await;
        self.asked = false;
        line.unwrap_or(Ok(Line::End))
    }
}

fn pipe(asked: &Receiver<()>, told: &UnboundedSender<Result<Line>>) {
    while asked.recv().is_ok() {
        let mut bytes = Vec::new();
        let line = match std::io::stdin().lock().read_until(b'\n', &mut bytes) {
            Ok(0) => Ok(Line::End),
            Ok(_) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Line::Text(text.trim_end_matches(['\r', '\n']).to_owned())),
                Err(_) => Err(CliError::new(ErrorKind::Invalid, "stdin is not UTF-8")),
            },
            Err(error) => Err(CliError::new(ErrorKind::Io, format!("cannot read stdin: {error}"))),
        };
        if told.send(line).is_err() {
            return;
        }
    }
}

fn edit(asked: &Receiver<()>, told: &UnboundedSender<Result<Line>>) {
    let failed = |error: &ReadlineError| {
        CliError::new(ErrorKind::Io, format!("cannot read from the terminal: {error}"))
    };
    let config = Config::builder().max_history_size(HISTORY).map(|builder| builder.build());
    let mut editor = match config.and_then(DefaultEditor::with_config) {
        Ok(editor) => editor,
        Err(error) => {
            let _ = told.send(Err(failed(&error)));
            return;
        }
    };
    let history = history_file();
    if let Some(file) = &history {
        // There is none before the first chat.
        let _ = editor.load_history(file);
    }
    while asked.recv().is_ok() {
        let line = match editor.readline(PROMPT) {
            Ok(text) => {
                if !text.trim().is_empty() && editor.add_history_entry(&text).unwrap_or(false) {
                    keep(&mut editor, history.as_deref());
                }
                Ok(Line::Text(text))
            }
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            // A key of another encoding, or a cat on the keyboard, ends no talk.
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                Ok(Line::Garbled)
            }
            Err(error) => Err(failed(&error)),
        };
        if told.send(line).is_err() {
            return;
        }
    }
}

/// A history that cannot be kept is no reason to stop talking.
fn keep(editor: &mut DefaultEditor, file: Option<&std::path::Path>) {
    let Some(file) = file else { return };
    if let Some(folder) = file.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let _ = builder.create(folder);
    }
    let _ = editor.append_history(file);
}

/// `$XDG_STATE_HOME/forkwood/chat-history`, by default below `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let state = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_STATE_HOME" };
    let folder = std::env::var_os(state).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".local/state")))?;
    Some(folder.join("forkwood").join("chat-history"))
}
