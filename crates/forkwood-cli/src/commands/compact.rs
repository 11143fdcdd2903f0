//! `forkwood compact`

use std::path::PathBuf;

use forkwood::core::entry::Compaction;
use forkwood::{Entry, ErrorKind, Lane, Session, Settings, Text, blobs};
use forkwood_context::{Config, Error, Input, Pipeline, Prepared, TurnSnapshot, View};

use crate::commands::context::settings;
use crate::commands::show::lane;
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::{input, json, target};

/// What to sum up, and who writes the summary.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The lane to compact
    #[arg(long, value_name = "LANE", value_parser = lane)]
    lane: Option<Lane>,

    /// The summary, ready, from this file (- is stdin): no model is asked
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(
        feature = "agent",
        arg(conflicts_with_all = ["instructions", "provider", "model", "base_url", "prices"])
    )]
    summary_file: Option<PathBuf>,

    /// How many tokens of the end stay as they are, at least [default: a quarter of 100,000]. A
    /// conversation that is shorter is summed up whole
    #[arg(long, value_name = "N")]
    keep_recent_tokens: Option<u64>,

    /// What the model is to look to in the summary
    #[cfg(feature = "agent")]
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,

    #[cfg(feature = "agent")]
    #[command(flatten)]
    model: crate::model::ModelArgs,
}

/// The state of a session, as a pipeline takes it.
struct State {
    view: View,
    path: Vec<Entry>,
    settings: Settings,
}

impl State {
    async fn of(session: &Session) -> Result<State> {
        let context = session.context().await?;
        let leaf = session.current_leaf().await?;
        let settings = settings(session, &context, leaf.as_ref()).await?;
        let path = match &leaf {
            Some(leaf) => session.context_path(leaf).await?.entries,
            None => Vec::new(),
        };
        let path: Vec<Entry> = path.into_iter().map(|stored| stored.entry).collect();
        let mut view = View::from_path(&path, &session.facts().rules);
        blobs::inline(session.storage().as_ref(), &mut view.messages).await?;
        Ok(State { view, path, settings })
    }
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open_lane(ctx, &args.session, true, args.lane.as_ref()).await?;
    if let Some(why) = &session.facts().read_only {
        // Before a model is asked, which takes time and money.
        return Err(CliError::new(ErrorKind::ReadOnly, format!("the session is read-only: {why}"))
            .hint("`forkwood fork` copies it into a session that can be written"));
    }
    // A call that runs would lose its result to the summary.
    if session.is_claimed().await? {
        drop(session.claim().await?);
    }
    let state = State::of(&session).await?;
    let mut config = Config { rules: session.facts().rules, ..Config::default() };
    if let Some(keep) = args.keep_recent_tokens {
        config.keep_recent = Some(keep);
        // The pipeline keeps no more than half of what its threshold leaves.
        config.threshold = Some(config.threshold().max(keep.saturating_mul(3)));
    }
    let mut pipeline = Pipeline::new(config);
    let snapshot = TurnSnapshot::default();
    let input = Input {
        view: &state.view,
        path: &state.path,
        snapshot: &snapshot,
        settings: &state.settings,
    };
    let prepared = match &args.summary_file {
        Some(file) => pipeline.compact_with(input, &ready(ctx, file)?)?,
        None => asked(&args, &mut pipeline, input)?,
    };
    let Prepared { compaction: Some(compaction), .. } = prepared else {
        return Err(Error::NothingToCompact.into());
    };
    let _claim = session.claim().await?;
    let entry = session.add_compaction(compaction).await?;
    // As the file has it: a dialect may tell it in other words.
    let written = session.get(&entry).await?.entry;
    let forkwood::Body::Compaction(compaction) = written.body else {
        return Err(CliError::new(ErrorKind::Invalid, "what was written is no compaction"));
    };
    tell(ctx, &session, &entry, &compaction)
}

fn tell(
    ctx: &mut Ctx,
    session: &Session,
    entry: &forkwood::EntryId,
    compaction: &Compaction,
) -> Result<Outcome> {
    if ctx.json() {
        let kept = compaction.first_kept_entry_id.as_ref().filter(|first| *first != entry);
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("entry", &json::id(Some(entry)))
            .raw("firstKeptEntryId", &json::id(kept))
            .raw("replacesEntryIds", &json::ids(&compaction.replaces_entry_ids))
            .raw("tokensBefore", &json::number(compaction.tokens_before))
            .raw("tokensAfter", &json::number(compaction.tokens_after))
            .text("summary", &compaction.summary)
            .raw("usage", compaction.usage.as_ref().map_or("null", forkwood::Json::get));
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    ctx.out.line(forkwood_view::sanitise::line(entry.as_str()))?;
    if let (Some(before), Some(after)) = (compaction.tokens_before, compaction.tokens_after) {
        ctx.out.done(format!("compacted: about {before} tokens before, {after} now"));
    }
    Ok(Outcome::Done)
}

fn ready(ctx: &Ctx, file: &std::path::Path) -> Result<Text> {
    if file.as_os_str() == "-" {
        return Ok(input::all()?.into());
    }
    let path = ctx.absolute(file);
    let bytes = std::fs::read(&path).map_err(|error| CliError::io("read", &path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CliError::new(ErrorKind::Invalid, format!("{}: is not UTF-8", path.display()))
    })?;
    Ok(text.into())
}

#[cfg(feature = "agent")]
fn asked(args: &Args, pipeline: &mut Pipeline, input: Input<'_>) -> Result<Prepared> {
    let chosen = args.model.choose(input.settings).map_err(|error| {
        // The scripted provider, which trying the chat needs, cannot sum anything up.
        error.hint("name one with --provider and --model, or give a summary with --summary-file")
    })?;
    let by = Settings {
        model: Some(chosen.model.as_str().into()),
        provider: Some(chosen.provider.as_str().into()),
        ..Settings::default()
    };
    let summariser = forkwood_agent::ModelSummariser::new(&chosen.providers, &by)
        .with_prices(std::sync::Arc::clone(&chosen.prices));
    let instructions = args.instructions.as_deref().map(Text::from);
    let runtime = crate::chat::runtime()?;
    Ok(runtime.block_on(pipeline.compact(input, instructions.as_ref(), &summariser))?)
}

#[cfg(not(feature = "agent"))]
fn asked(_: &Args, _: &mut Pipeline, _: Input<'_>) -> Result<Prepared> {
    Err(CliError::usage("this program is built without models")
        .hint("write the summary yourself and give it with --summary-file"))
}

impl From<Error> for CliError {
    fn from(error: Error) -> CliError {
        let told =
            CliError { kind: error.kind(), ..CliError::new(ErrorKind::Invalid, error.to_string()) };
        match error {
            Error::NothingToCompact => {
                told.hint("go on with the conversation first; nothing was written")
            }
            Error::EmptySummary => told.hint("nothing was written; the summary must say something"),
            Error::Summary(_) => told.hint(
                "nothing was written; try again, choose another model, or give a summary with \
                 --summary-file",
            ),
            _ => told,
        }
    }
}
