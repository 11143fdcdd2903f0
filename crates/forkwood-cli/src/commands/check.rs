//! `forkwood check`

use forkwood::core::json::ObjectWriter;
use forkwood::{Diagnostic, Severity};
use forkwood_view::sanitise;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::style::{self, paint};
use crate::{json, target};

mod secrets;

/// What to check.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session; with --secrets any number, and none means all of them
    #[arg(value_name = "SESSION", required_unless_present = "secrets")]
    sessions: Vec<String>,

    /// Mend what is safe to mend, keep the old file, and tell what was done
    #[arg(long, conflicts_with = "secrets")]
    repair: bool,

    /// Look for keys, tokens, private keys, passwords and home folders instead; what is found
    /// is never shown
    #[arg(long)]
    secrets: bool,

    /// With --secrets: list what is looked for
    #[arg(long, requires = "secrets", conflicts_with = "sessions")]
    rules: bool,

    /// With --secrets: leave out what this rule finds
    #[arg(long, value_name = "RULE", requires = "secrets")]
    skip: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    if args.rules {
        return secrets::list(ctx);
    }
    if args.secrets {
        return secrets::run(ctx, &args.sessions, &args.skip).await;
    }
    let [session] = args.sessions.as_slice() else {
        return Err(CliError::usage("check takes one session at a time, unless with --secrets"));
    };
    let mut session = target::open(ctx, session).await?;
    let mut repaired = None;
    if args.repair {
        let done = session.repair().await?;
        super::reset::tell_rewritten(ctx, &done, "nothing had to be repaired");
        repaired = Some(done);
    }
    let found = session.check().await?;
    let damaged = found.iter().any(Diagnostic::is_damage);
    if ctx.json() {
        let mut out = ObjectWriter::new();
        out.raw("diagnostics", &json::diagnostics(&found));
        if let Some(done) = &repaired {
            let mut told = ObjectWriter::new();
            told.raw("actions", &json::strings(done.actions.iter().map(String::as_str)))
                .raw("backup", &json::path(done.backup.as_deref()));
            out.raw("repaired", &told.finish());
        }
        ctx.out.json(out.finish())?;
    } else {
        for diagnostic in &found {
            ctx.out.line(line(diagnostic))?;
        }
        ctx.out.flush()?;
        ctx.out.done(verdict(&found));
    }
    Ok(if damaged { Outcome::Found } else { Outcome::Done })
}

fn line(found: &Diagnostic) -> String {
    let style = match found.severity {
        Severity::Error => style::BAD,
        Severity::Warning => style::WARN,
        Severity::Note => style::HINT,
    };
    let mut place = Vec::new();
    place.extend(found.line.map(|line| format!("line {line}")));
    place.extend(found.offset.map(|offset| format!("offset {offset}")));
    place.extend(found.entry.as_ref().map(|id| format!("entry {}", sanitise::line(id.as_str()))));
    let place = if place.is_empty() { String::new() } else { format!(" {}", place.join(", ")) };
    format!(
        "{} {}{place}: {}",
        paint(style, format!("{}:", found.severity.as_str())),
        found.kind,
        sanitise::line(&found.message),
    )
}

fn verdict(found: &[Diagnostic]) -> String {
    let count = |severity| found.iter().filter(|found| found.severity == severity).count();
    if found.is_empty() {
        return "all is well".to_owned();
    }
    let some = |number: usize, word: &str| {
        (number > 0).then(|| format!("{number} {word}{}", if number == 1 { "" } else { "s" }))
    };
    let parts: Vec<String> = [
        some(count(Severity::Error), "error"),
        some(count(Severity::Warning), "warning"),
        some(count(Severity::Note), "note"),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join(", ")
}
