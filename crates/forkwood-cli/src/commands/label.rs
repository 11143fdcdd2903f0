//! `forkwood label`

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::{entries, json, target};

/// What to label.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The entry
    #[arg(value_name = "ENTRY")]
    entry: String,

    /// The label
    #[arg(value_name = "LABEL", required_unless_present = "clear")]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    label: Option<String>,

    /// Take the label away
    #[arg(long, conflicts_with = "label")]
    clear: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open(ctx, &args.session).await?;
    let entry = entries::resolve(&session, &args.entry).await?;
    let label = args.label.map(Into::into);
    let written = session.label(&entry, label.clone()).await?;
    if ctx.json() {
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("entry", &json::id(Some(&entry)))
            .raw("label", &json::text(label.as_ref()))
            .raw("id", &json::id(Some(&written)));
        ctx.out.json(out.finish())?;
    }
    match label {
        Some(label) => ctx.out.done(format!("{entry} is labelled {label:?}")),
        None => ctx.out.done(format!("{entry} has no label any more")),
    }
    Ok(Outcome::Done)
}
