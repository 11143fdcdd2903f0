//! `forkwood migrate`

use std::path::{Path, PathBuf};

use forkwood::ErrorKind;
use forkwood_formats::picoclaw::{self, Folder, LEGACY_DIALECT, Migrated, Migration};
use forkwood_view::sanitise;

use crate::args::Tool;
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::style::{self, paint};
use crate::{foreign, json};

/// What to migrate.
///
/// Nothing is renamed before every file is rewritten and was read back; newer messages are never
/// overwritten; a run that fails takes back what it made. It can be stopped anywhere and run again.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The folder with the files; without it, those in every workspace of the tool
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Only PicoClaw has older files: one `.json` a session. Each becomes a `.jsonl` and a `.meta.json`, as \
PicoClaw would make them, and is kept as `.json.migrated`. PicoClaw must not be running.

Exit status 1: a file could not be read, or holds other messages than the newer ones; it stays as \
it is, and the next run tries again.";

pub(crate) fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    if let Some(other) = ctx.globals.from.filter(|tool| *tool != Tool::Picoclaw) {
        let message = format!("{}: only PicoClaw's older files are migrated", other.name());
        return Err(CliError::new(ErrorKind::Unsupported, message)
            .hint("files of Pi are brought to its newest version when they are first written to"));
    }
    if ctx.globals.dir.is_some() {
        return Err(CliError::usage("migrate takes the folder itself: forkwood migrate FOLDER"));
    }
    let folders = match (&args.folder, ctx.globals.from) {
        (Some(folder), _) => vec![given(ctx, folder)?],
        (None, Some(_)) => usual(ctx)?,
        (None, None) => {
            return Err(CliError::usage("say what to migrate: a folder, or --from picoclaw"));
        }
    };
    let mut all = Migration::default();
    for folder in folders {
        let done = picoclaw::migrate(&Folder::open(&folder))?;
        for one in &done.migrated {
            tell(ctx, one)?;
        }
        for (path, why) in &done.skipped {
            skipped(ctx, path, why)?;
        }
        all.migrated.extend(done.migrated);
        all.skipped.extend(done.skipped);
    }
    ctx.out.flush()?;
    match (all.migrated.len(), all.skipped.len()) {
        (0, 0) => ctx.out.note("there is no older file of PicoClaw's to migrate"),
        (migrated, 0) => ctx.out.done(format!("{migrated} migrated")),
        (migrated, skipped) => {
            ctx.out.done(format!("{migrated} migrated, {skipped} left as they are"))
        }
    }
    Ok(if all.skipped.is_empty() { Outcome::Done } else { Outcome::Found })
}

fn given(ctx: &Ctx, folder: &Path) -> Result<PathBuf> {
    let path = ctx.absolute(folder);
    match path.is_dir() {
        true => Ok(path),
        false => Err(CliError::new(
            ErrorKind::NotFound,
            format!("{}: there is no such folder", path.display()),
        )),
    }
}

/// The folders with sessions in PicoClaw's home: those of its workspace, and of named agents beside
/// it.
fn usual(ctx: &Ctx) -> Result<Vec<PathBuf>> {
    let home = foreign::sessions_of(ctx, Tool::Picoclaw.name())?;
    let entries = std::fs::read_dir(&home).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::new(
            ErrorKind::NotFound,
            format!("{}: there is no such folder", home.display()),
        ),
        _ => CliError::io("read", &home, &error),
    })?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path().join("sessions")))
        .filter(|folder| folder.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

fn tell(ctx: &mut Ctx, one: &Migrated) -> Result {
    if ctx.json() {
        let mut out = json::object();
        out.str("outcome", "migrated")
            .str("dialect", LEGACY_DIALECT)
            .raw("path", &json::path(Some(&one.path)))
            .raw("kept", &json::path(Some(&one.kept)))
            .str("sessionKey", &one.key)
            .raw("messages", &one.messages.to_string())
            .raw("reason", "null");
        return ctx.out.json(out.finish());
    }
    let path = one.path.to_string_lossy();
    ctx.out.line(format!(
        "migrated  {} -> {} ({} messages)",
        sanitise::line(&path),
        paint(style::ID, sanitise::line(&one.key)),
        one.messages
    ))
}

fn skipped(ctx: &mut Ctx, path: &Path, why: &str) -> Result {
    if ctx.json() {
        let mut out = json::object();
        out.str("outcome", "skipped")
            .str("dialect", LEGACY_DIALECT)
            .raw("path", &json::path(Some(path)))
            .raw("kept", "null")
            .raw("sessionKey", "null")
            .raw("messages", "0")
            .str("reason", why);
        return ctx.out.json(out.finish());
    }
    let path = path.to_string_lossy();
    let line = format!(
        "{}   {}: {}",
        paint(style::WARN, "skipped"),
        sanitise::line(&path),
        sanitise::line(why)
    );
    ctx.out.line(line)
}
