//! `forkwood context`

use clap::ValueEnum;
use forkwood::core::json::ObjectWriter;
use forkwood::core::message;
use forkwood::{
    Context, Diagnostic, DiagnosticKind, EntryId, Lane, Message, Session, Settings, Text,
};
use forkwood_context::{Api, PairChange, TurnSnapshot, View, is_paired, lift_calls, pair_tools};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::transcript::{self, Limits};

use crate::commands::show::{heading, lane, tell_diagnostics};
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::render::{self, Beside};
use crate::style::{self, paint};
use crate::{entries, foreign, json, target};

/// Which context.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// At this entry, instead of where the session stands
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,

    /// The lane to look at
    #[arg(long, value_name = "LANE", value_parser = lane)]
    lane: Option<Lane>,

    /// The shape of the messages in JSON
    #[arg(long, value_name = "SHAPE", default_value = "native")]
    shape: Shape,

    /// Long texts whole
    #[arg(long)]
    full: bool,

    /// The view of the file's owner: no bridges over damage
    #[arg(long)]
    no_bridge: bool,

    /// The messages as they were written: tool calls and results are not paired. What a provider
    /// takes always is
    #[arg(long)]
    raw: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// Forkwood's own
    Native,
    /// As Pi's buildSessionContext gives them
    Pi,
    /// As OpenAI's chat completions take them
    OpenaiChat,
    /// As OpenAI's responses take them
    OpenaiResponses,
    /// As Anthropic's messages take them
    Anthropic,
}

impl Shape {
    /// The provider's protocol, if it is one.
    fn api(self) -> Option<Api> {
        match self {
            Shape::Native | Shape::Pi => None,
            Shape::OpenaiChat => Some(Api::OpenAiChat),
            Shape::OpenaiResponses => Some(Api::OpenAiResponses),
            Shape::Anthropic => Some(Api::Anthropic),
        }
    }
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session =
        target::open_lane(ctx, &args.session, !args.no_bridge, args.lane.as_ref()).await?;
    let at = entries::resolve_or_leaf(&session, args.at.as_deref()).await?;
    let context = match &at {
        Some(at) => session.context_at(at).await?,
        None => session.context().await?,
    };
    let settings = settings(&session, &context, at.as_ref()).await?;
    let label = label(&session, at.as_ref()).await?;
    // Providers refuse a call without its result, and the other way about.
    let pairs = args.shape.api().is_some() || (args.shape == Shape::Native && !args.raw);
    let shown = match args.shape.api() {
        Some(_) => lift_calls(context.messages()),
        None => context.messages().into(),
    };
    let paired = (pairs && !is_paired(&shown)).then(|| pair_tools(&shown, context.entry_ids()));
    let sent = match &paired {
        Some(paired) => Sent { messages: &paired.messages, entry_ids: &paired.entry_ids },
        None => Sent { messages: &shown, entry_ids: context.entry_ids() },
    };
    let changes = paired.as_ref().map_or(&[][..], |paired| &paired.changes);
    if !ctx.json() {
        people(ctx, &session, &context, &settings, label.as_ref(), &sent, args.full).await?;
        for lacking in context.diagnostics() {
            ctx.out.note(sanitise::line(&lacking.message));
        }
        for change in changes {
            ctx.out.note(told(change).message);
        }
        return Ok(Outcome::Done);
    }
    let path = match &at {
        Some(at) => session.path_ids(at).await?,
        None => Vec::new(),
    };
    let mut head = ObjectWriter::new();
    head.text("session", &session.facts().shown_id)
        .raw("leaf", &json::id(path.last()))
        .raw("path", &json::ids(&path))
        .raw("model", &model(&settings))
        .raw("thinkingLevel", &json::text(settings.thinking_level.as_ref()))
        .raw("activeToolNames", &tools(&settings))
        .raw("label", &json::text(label.as_ref()));
    let mut diagnostics = session.diagnostics().await?;
    diagnostics.extend_from_slice(context.diagnostics());
    diagnostics.extend(changes.iter().map(told));
    let diagnostics = json::diagnostics(&diagnostics);
    // A context may be most of the memory there is: its messages are written one by one.
    let head = head.finish();
    ctx.out.piece(head.strip_suffix('}').unwrap_or(&head))?;
    ctx.out.piece(",\"messages\":[")?;
    let entry_ids: Vec<EntryId> = match args.shape {
        Shape::Native => {
            for (at, one) in sent.messages.iter().enumerate() {
                message_json(ctx, at, &message::encode(one))?;
            }
            sent.entry_ids.to_vec()
        }
        Shape::Pi => {
            drop(context);
            let messages = foreign::pi_context(&session, at.as_ref()).await?;
            let mut ids = Vec::with_capacity(messages.len());
            for (at, (json, id)) in messages.into_iter().enumerate() {
                message_json(ctx, at, &json)?;
                ids.push(id);
            }
            ids
        }
        Shape::OpenaiChat | Shape::OpenaiResponses | Shape::Anthropic => {
            let api = args.shape.api().unwrap_or(Api::OpenAiChat);
            let view = View::new(sent.messages.to_vec(), sent.entry_ids.to_vec());
            let input = TurnSnapshot::default().provider_input(&view, &settings);
            // An array, of which the brackets are written already.
            let messages = input.messages(api);
            let inner = messages.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            ctx.out.piece(inner.unwrap_or_default())?;
            view.entry_ids
        }
    };
    ctx.out.piece("],\"entryIds\":")?;
    ctx.out.piece(&json::ids(&entry_ids))?;
    ctx.out.piece(",\"diagnostics\":")?;
    ctx.out.piece(&diagnostics)?;
    ctx.out.json("}")?;
    Ok(Outcome::Done)
}

/// The messages a model gets, and the entry behind each.
struct Sent<'a> {
    messages: &'a [Message],
    entry_ids: &'a [EntryId],
}

/// What was changed so that a provider takes the messages.
fn told(change: &PairChange) -> Diagnostic {
    let quoted = |call: &Text| format!("{:?}", call.to_string_lossy());
    match change {
        PairChange::Answered { call, entry } => Diagnostic::new(
            DiagnosticKind::UnansweredToolCall,
            format!("tool call {} has no result; an error stands in its place", quoted(call)),
        )
        .of(entry.clone()),
        PairChange::Dropped { call, entry } => Diagnostic::new(
            DiagnosticKind::OrphanToolResult,
            format!(
                "a result of tool call {} has no call to stand behind; it is left out",
                quoted(call)
            ),
        )
        .of(entry.clone()),
        PairChange::Moved { call, entry } => Diagnostic::new(
            DiagnosticKind::OrphanToolResult,
            format!(
                "the result of tool call {} stood elsewhere; it was put behind its call",
                quoted(call)
            ),
        )
        .of(entry.clone()),
    }
}

fn message_json(ctx: &mut Ctx, at: usize, message: &str) -> Result {
    if at > 0 {
        ctx.out.piece(",")?;
    }
    ctx.out.piece(message)
}

/// Model, thinking level and tools, read as far back as they take.
pub(crate) async fn settings(
    session: &Session,
    context: &Context,
    at: Option<&EntryId>,
) -> Result<Settings> {
    match (context.settings(), at) {
        (Some(settings), _) => Ok(settings.clone()),
        (None, Some(at)) => Ok(session.settings(at).await?),
        (None, None) => Ok(Settings::initial(context.rules())),
    }
}

/// The label that holds at an entry.
async fn label(session: &Session, at: Option<&EntryId>) -> Result<Option<Text>> {
    let Some(at) = at else { return Ok(None) };
    // Where labels stand on the path, only the whole fold tells.
    if session.facts().rules.label_on_path {
        return Ok(session.state_at(at).await?.label().cloned());
    }
    Ok(session.label_at(at).await?)
}

/// `{provider, modelId}`, or `null`.
pub(crate) fn model(settings: &Settings) -> String {
    let Some(model) = &settings.model else { return "null".to_owned() };
    let mut out = ObjectWriter::new();
    out.raw("provider", &json::text(settings.provider.as_ref())).text("modelId", model);
    out.finish()
}

fn tools(settings: &Settings) -> String {
    settings.active_tool_names.as_ref().map_or_else(|| "null".to_owned(), json::texts)
}

/// The model as people write it.
pub(crate) fn model_name(settings: &Settings) -> String {
    let safe = |text: &Text| sanitise::text(text, Layout::Line).into_owned();
    match (&settings.model, &settings.provider) {
        (Some(model), Some(provider)) => format!("{}/{}", safe(provider), safe(model)),
        (Some(model), None) => safe(model),
        (None, _) => "none".to_owned(),
    }
}

async fn people(
    ctx: &mut Ctx,
    session: &Session,
    context: &Context,
    settings: &Settings,
    label: Option<&Text>,
    sent: &Sent<'_>,
    full: bool,
) -> Result {
    ctx.out.page();
    heading(ctx, session)?;
    let short = entries::short(session).await?;
    let safe = |text: &Text| sanitise::text(text, Layout::Line).into_owned();
    let mut facts = vec![
        ("leaf", context.leaf().map_or_else(|| "none".to_owned(), |leaf| short.of(leaf))),
        ("model", model_name(settings)),
    ];
    facts.extend(settings.thinking_level.as_ref().map(|level| ("thinking", safe(level))));
    facts.extend(settings.active_tool_names.as_ref().map(|names| {
        let names: Vec<String> = names.iter().map(safe).collect();
        ("tools", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    }));
    facts.extend(label.map(|label| ("label", safe(label))));
    facts.push(("messages", sent.messages.len().to_string()));
    for (name, value) in facts {
        ctx.out.line(format!("{}  {value}", paint(style::DIM, format!("{name:<8}"))))?;
    }
    ctx.out.line("")?;
    let limits = if full { Limits::NONE } else { Limits::default() };
    for (message, id) in sent.messages.iter().zip(sent.entry_ids) {
        let block = transcript::message(id, message, limits);
        let beside = Beside { id: &short.of(id), ..Beside::default() };
        render::block(&mut ctx.out, &block, beside)?;
    }
    ctx.out.flush()?;
    tell_diagnostics(ctx, session).await;
    Ok(())
}
