//! `forkwood export`

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use forkwood::{ErrorKind, Session};
use forkwood_formats::export::{self, File, LossReport, Scope, Source, Target, What, Written};
use forkwood_view::{markdown, sanitise};

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::{entries, json, place, target};

mod html;

/// So many entries of a loss are named.
const NAMED: usize = 5;

/// What to write.
///
/// What the format cannot hold is told on stderr, with --json as JSON: on stdout where -o names a
/// file. Images and other large bytes stand in the file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    #[command(flatten)]
    how: How,
}

/// How to write a session.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: Format,

    /// The path to this entry, instead of to where the session stands
    #[arg(long, value_name = "ENTRY", conflicts_with = "all_branches")]
    at: Option<String>,

    /// Every branch, where the format has branches
    #[arg(long)]
    all_branches: bool,

    /// Where to write: a file, or a folder that is there, which gets files as the format's owner
    /// names them
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace files that are there
    #[arg(long)]
    force: bool,

    /// Take out keys, tokens, private keys, passwords and home folders; `check --secrets` tells
    /// where they are
    #[arg(long)]
    redact: bool,
}

impl How {
    /// The same, written to `out` where that is given.
    pub(crate) fn or_to(self, out: Option<PathBuf>) -> How {
        How { output: out.or(self.output), ..self }
    }
}

/// A format that sessions are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A session of Forkwood, which opens by its path
    Jsonl,
    /// One JSON document with all entries
    Json,
    /// A transcript for people
    Markdown,
    /// One page for a browser, with every branch, that needs no network
    Html,
    /// A session of Pi
    Pi,
    /// A session of my-pi-agent
    MyPiAgent,
    /// A session of Claude Code
    Claude,
    /// A rollout of Codex
    Codex,
    /// A conversation of PicoClaw, two files
    Picoclaw,
    /// A request to OpenAI's chat completions: what a model would be sent
    OpenaiChat,
    /// The same to OpenAI's responses
    OpenaiResponses,
    /// The same to Anthropic's messages
    Anthropic,
}

impl Format {
    fn target(self) -> Option<Target> {
        Some(match self {
            Format::Markdown | Format::Html => return None,
            Format::Jsonl => Target::Jsonl,
            Format::Json => Target::Json,
            Format::Pi => Target::Pi,
            Format::MyPiAgent => Target::MyPiAgent,
            Format::Claude => Target::Claude,
            Format::Codex => Target::Codex,
            Format::Picoclaw => Target::PicoClaw,
            Format::OpenaiChat => Target::OpenAiChat,
            Format::OpenaiResponses => Target::OpenAiResponses,
            Format::Anthropic => Target::Anthropic,
        })
    }
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open(ctx, &args.session).await?;
    write(ctx, &session, &args.how, false).await
}

/// Writes a session. `whole`: all of it where nothing else is asked for.
pub(crate) async fn write(
    ctx: &mut Ctx,
    session: &Session,
    how: &How,
    whole: bool,
) -> Result<Outcome> {
    let scope = match &how.at {
        Some(at) => Scope::At(entries::resolve(session, at).await?),
        None if whole || how.all_branches || how.to == Format::Html => Scope::AllBranches,
        None => Scope::Current,
    };
    let mut source = export::gather(session, &scope).await?;
    if how.redact {
        source.redact()?;
    }
    let written = match how.to.target() {
        Some(target) => export::write(source, target)?,
        None if how.to == Format::Html => html::write(source),
        None => as_markdown(source),
    };
    let losses = &written.losses;
    match &how.output {
        Some(output) => {
            let paths = put(ctx, output, &written.files, how.force)?;
            if ctx.json() {
                let mut out = json::object();
                let paths: Vec<String> = paths.iter().map(|path| json::path(Some(path))).collect();
                out.text("session", &session.facts().shown_id)
                    .array("paths", paths)
                    .raw("losses", &losses.to_json());
                ctx.out.json(out.finish())?;
                return Ok(Outcome::Done);
            }
            for path in &paths {
                ctx.out.done(format!("written to {}", path.display()));
            }
        }
        None => {
            let text = written.files.first().map_or("", |file| &file.text);
            match std::io::stdout().is_terminal() && how.to != Format::Markdown {
                true => ctx.out.piece(&json::safe(text))?,
                false => ctx.out.bytes(text.as_bytes())?,
            }
            ctx.out.flush()?;
            if written.files.len() > 1 {
                let count = written.files.len() - 1;
                ctx.out.note(format!("{count} more files belong to it; -o writes them too"));
            }
            if ctx.json() && !ctx.globals.quiet {
                // A reader that is gone is no reason to fail: the session is written.
                let _ = writeln!(std::io::stderr(), "{}", losses.to_json());
                return Ok(Outcome::Done);
            }
        }
    }
    tell(ctx, losses);
    Ok(Outcome::Done)
}

/// Tells people what was lost, a line a reason.
fn tell(ctx: &mut Ctx, losses: &LossReport) {
    for loss in losses.losses() {
        let mut line = format!("{} ({}): {}", loss.what.as_str(), loss.count, loss.why);
        let mut named: Vec<&str> =
            loss.entries.iter().take(NAMED).map(|entry| entry.as_str()).collect();
        if loss.entries.len() > NAMED {
            named.push("...");
        }
        if !named.is_empty() {
            line.push_str(&format!(" [{}]", named.join(", ")));
        }
        ctx.out.note(sanitise::line(&line));
    }
}

/// Writes files. Gives their paths.
fn put(ctx: &Ctx, output: &Path, files: &[File], force: bool) -> Result<Vec<PathBuf>> {
    let output = ctx.absolute(output);
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    let paths: Vec<PathBuf> = match output.is_dir() {
        true => files.iter().map(|file| below(&output, &file.name)).collect(),
        false => {
            // What belongs to it lies beside it, under its name.
            let stem =
                |name: &str| name.rsplit_once('.').map_or(name.len(), |(stem, _)| stem.len());
            let start = stem(&first.name);
            let rest = files[1..].iter().map(|file| {
                let mut path = output.with_extension("").into_os_string();
                path.push(file.name.get(start..).unwrap_or_default());
                PathBuf::from(path)
            });
            std::iter::once(output.clone()).chain(rest).collect()
        }
    };
    if !force && let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        let message = format!("{}: there is such a file already", there.display());
        return Err(CliError::new(ErrorKind::Exists, message).hint("--force replaces it"));
    }
    for (path, file) in paths.iter().zip(files) {
        place::put(path, file.text.as_bytes(), force)?;
    }
    Ok(paths)
}

/// A path below a folder. No part of a name leads out of it.
fn below(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.to_path_buf();
    path.extend(name.split('/').filter(|part| !part.is_empty() && *part != "." && *part != ".."));
    path
}

/// A transcript of the path, then of each other branch from where it leaves what was told.
fn as_markdown(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let labels = source.last_labels();
    let label = |id: &forkwood::EntryId| {
        let line = labels.get(id)?;
        source.entries.iter().find_map(|entry| match &entry.body {
            forkwood::Body::Label { label, .. } if entry.id == *line => label.clone(),
            _ => None,
        })
    };
    let mut text = markdown::title(source.title());
    let mut told = vec![false; source.entries.len()];
    let mut paths = vec![source.path()];
    if source.whole {
        paths.extend(source.tips().iter().map(|tip| source.path_to(Some(tip))));
    }
    let mut number = 1;
    for (at, path) in paths.into_iter().enumerate() {
        let new: Vec<usize> = path.iter().copied().filter(|place| !told[*place]).collect();
        let Some(first) = new.first() else { continue };
        if at > 0 {
            number += 1;
            let from = source.entries[*first].parent_id.as_ref();
            let from = from.and_then(|id| source.entries.iter().find(|entry| entry.id == *id));
            text.push_str(&markdown::branch(number, from));
        }
        new.iter().for_each(|place| told[*place] = true);
        text.push_str(&markdown::entries(new.iter().map(|place| &source.entries[*place]), label));
    }
    losses.session(What::Shape, 1, "a transcript is for people: nothing reads it back");
    let name = forkwood::SessionId::from_lossy(&source.id.to_string_lossy());
    Written { files: vec![File { name: format!("{name}.md"), text }], losses }
}
