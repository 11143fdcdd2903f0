//! `forkwood import`

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::core::json::ObjectWriter;
use forkwood::storage::disk::RealDisk;
use forkwood::{Diagnostic, ErrorKind};
use forkwood_formats::import::{self, Found, Import, Report, Tool};
use forkwood_view::sanitise;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::style::{self, paint};
use crate::{foreign, json, place};

/// How many findings of a kind are shown one by one.
const SHOWN: usize = 5;

/// What to take in.
///
/// The sources are only read. What was taken before is not taken again: an unchanged source costs
/// a look at its files, one that has grown is continued, and one that has changed, or whose
/// session here has gone on by itself, gets a branch.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files, or folders with some in them
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The sessions of every tool that is known, where each keeps them
    #[arg(long, conflicts_with_all = ["paths", "from"])]
    all: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    if ctx.globals.dir.is_some() {
        return Err(CliError::usage("import takes the folder itself: forkwood import DIR"));
    }
    let found = find(ctx, &args)?;
    let store = place::own_store(ctx)?;
    let root = place::store_root(ctx);
    let mut tally = Tally::default();
    for path in found.unknown {
        tell(ctx, &mut tally, &Report::unknown(path))?;
    }
    for (path, error) in found.unreadable {
        tell(ctx, &mut tally, &Report::unreadable(path, error))?;
    }
    let mut import = Import::start(&store, Arc::new(RealDisk), Some(&root)).await?;
    let mut progress = Progress::new(ctx, found.units.len());
    let mut failed = None;
    let taken = import
        .take(&found.units, &mut |report| {
            progress.step();
            if failed.is_none() {
                failed = tell(ctx, &mut tally, &report).err();
            }
        })
        .await;
    progress.end();
    failed.map_or(Ok(()), Err)?;
    taken?;
    ctx.out.flush()?;
    if tally.counts.is_empty() {
        ctx.out.note("no session of another tool was found there");
    } else {
        ctx.out.done(tally.to_string());
    }
    Ok(if tally.failed { Outcome::Found } else { Outcome::Done })
}

/// What the arguments name.
fn find(ctx: &Ctx, args: &Args) -> Result<Found> {
    let tools = match ctx.globals.from {
        Some(tool) => import::tools_of(tool.name()),
        None => import::tools(),
    };
    let mut found = Found::default();
    let mut add = |tools: &[Arc<dyn Tool>], path: &Path| {
        let here = import::find(&RealDisk, path, tools);
        found.units.extend(here.units);
        found.unknown.extend(here.unknown);
        found.unreadable.extend(here.unreadable);
    };
    if !args.paths.is_empty() {
        for path in &args.paths {
            // By its real name, so that it is known again under any other.
            let path = ctx.absolute(path);
            let real = path.canonicalize().map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => CliError::new(
                    ErrorKind::NotFound,
                    format!("{}: there is no such file or folder", path.display()),
                ),
                _ => CliError::io("read", &path, &error),
            })?;
            add(&tools, &real);
        }
        return Ok(found);
    }
    if !args.all && ctx.globals.from.is_none() {
        return Err(CliError::usage("say what to import: paths, --from TOOL, or --all"));
    }
    let mut missing = Vec::new();
    for tool in &tools {
        for folder in foreign::places(ctx, tool.as_ref()) {
            match folder.canonicalize() {
                Ok(real) => add(&import::tools_of(tool.name()), &real),
                Err(_) => missing.push(folder),
            }
        }
    }
    // Who asks for all asks for what there is.
    if let (false, Some(folder)) = (args.all, missing.first())
        && found.units.is_empty()
    {
        let message = format!("{}: there is no such folder", folder.display());
        return Err(CliError::new(ErrorKind::NotFound, message));
    }
    Ok(found)
}

/// How many of what.
#[derive(Debug, Default)]
struct Tally {
    counts: BTreeMap<&'static str, usize>,
    failed: bool,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self
            .counts
            .iter()
            .map(|(what, count)| format!("{count} {}", what.replace('_', " ")))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

fn tell(ctx: &mut Ctx, tally: &mut Tally, report: &Report) -> Result {
    *tally.counts.entry(report.outcome.as_str()).or_default() += 1;
    tally.failed |= report.error.is_some() || report.is_damaged();
    if ctx.json() {
        return ctx.out.json(as_json(report));
    }
    // Nothing to say of what is as it was.
    if report.outcome == import::Outcome::Unchanged && report.findings.is_empty() {
        return Ok(());
    }
    for line in people(report) {
        ctx.out.line(line)?;
    }
    Ok(())
}

fn people(report: &Report) -> Vec<String> {
    let path = sanitise::line(&report.path.to_string_lossy()).into_owned();
    let mut first = format!("{:<9}  {path}", report.outcome.as_str().replace('_', " "));
    if let Some(session) = &report.session {
        first.push_str(&format!(" -> {session}"));
    }
    if report.added > 0 {
        first.push_str(&format!(" ({} entries)", report.added));
    }
    if let Some(error) = &report.error {
        first.push_str(&format!(": {}", sanitise::line(&error.to_string())));
    }
    let mut lines = vec![first];
    for (kind, findings) in by_kind(&report.findings) {
        for finding in findings.iter().take(SHOWN) {
            let place = finding.line.map_or_else(String::new, |line| format!(" line {line}"));
            let message = sanitise::line(&finding.message);
            let kind = paint(style::WARN, kind);
            lines.push(format!("           {kind}{place}: {message}"));
        }
        if findings.len() > SHOWN {
            let more = findings.len() - SHOWN;
            lines.push(format!("           {}: {more} more", paint(style::WARN, kind)));
        }
    }
    lines
}

fn by_kind(findings: &[Diagnostic]) -> BTreeMap<&'static str, Vec<&Diagnostic>> {
    let mut kinds: BTreeMap<&'static str, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in findings {
        kinds.entry(finding.kind.as_str()).or_default().push(finding);
    }
    kinds
}

fn as_json(report: &Report) -> String {
    let mut counts = ObjectWriter::new();
    for (kind, findings) in by_kind(&report.findings) {
        counts.raw(kind, &findings.len().to_string());
    }
    let mut out = json::object();
    out.raw("path", &json::path(Some(&report.path)))
        .raw("format", &json::string(report.format))
        .raw("dialect", &json::string(report.dialect))
        .raw("sourceId", &json::text(report.source_id.as_ref()))
        .raw("session", &json::string(report.session.as_ref().map(|id| id.as_str())))
        .str("outcome", report.outcome.as_str())
        .raw("read", &report.read.to_string())
        .raw("added", &report.added.to_string())
        .raw("findings", &counts.finish())
        .raw("diagnostics", &json::diagnostics(&report.findings))
        .raw("error", &error_json(report));
    out.finish()
}

fn error_json(report: &Report) -> String {
    let Some(error) = &report.error else { return "null".to_owned() };
    let mut out = ObjectWriter::new();
    out.str("kind", error.kind().as_str()).str("message", &error.to_string());
    out.finish()
}

/// A line on a terminal that tells how far a long run is.
struct Progress {
    shown: bool,
    done: usize,
    of: usize,
}

impl Progress {
    fn new(ctx: &Ctx, of: usize) -> Progress {
        let shown = std::io::stderr().is_terminal() && !ctx.globals.quiet && of > 20;
        Progress { shown, done: 0, of }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.shown && self.done.is_multiple_of(10) {
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[K{} of {}", self.done, self.of);
        }
    }

    fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
