//! What happens, as JSON: one object a line on stdout. People are told elsewhere, or here in a
//! few words.

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::{EntryId, Session};
use forkwood_agent::{AgentEvent, RunOutcome, RunStop, ToolCall, Usage};
use forkwood_view::sanitise::{self, Layout};

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::{json, style};

/// An event of a kind.
pub(super) fn object(kind: &str) -> ObjectWriter {
    let mut out = json::object();
    out.str("event", kind);
    out
}

/// Prints one, whole, at once.
pub(super) fn print(ctx: &mut Ctx, out: ObjectWriter) -> Result {
    ctx.out.json(out.finish())?;
    ctx.out.flush()
}

/// Which session this is.
pub(super) fn session(ctx: &mut Ctx, session: &Session, new: bool) -> Result {
    let facts = session.facts();
    if ctx.json() {
        let mut out = object("session");
        out.text("session", &facts.shown_id)
            .raw("path", &json::path(facts.path.as_deref()))
            .raw("new", json::boolean(new))
            .raw("leaf", &json::id(session.leaf()));
        return print(ctx, out);
    }
    let mut line = format!("session {}", sanitise::text(&facts.shown_id, Layout::Line));
    if let Some(title) = session.title() {
        line.push_str(&format!("  {}", sanitise::text(title, Layout::Line)));
    }
    ctx.out.aside(style::DIM, line);
    Ok(())
}

/// What an agent tells.
pub(super) fn agent(ctx: &mut Ctx, event: AgentEvent) -> Result {
    let out = match event {
        AgentEvent::TurnStarted { turn, model, provider } => {
            let mut out = object("turn");
            out.raw("turn", &turn.to_string()).str("model", &model).str("provider", &provider);
            out
        }
        AgentEvent::Text(text) => {
            let mut out = object("text");
            out.str("text", &text);
            out
        }
        AgentEvent::Thinking(text) => {
            let mut out = object("thinking");
            out.str("text", &text);
            out
        }
        AgentEvent::Retrying { attempt, wait, error } => {
            let mut out = object("retry");
            out.raw("attempt", &attempt.to_string())
                .raw("waitMs", &wait.as_millis().to_string())
                .str("kind", error.kind.as_str())
                .str("message", &error.message);
            out
        }
        AgentEvent::Saved { entry, usage } => {
            let mut out = object("saved");
            out.raw("entry", &json::id(Some(&entry))).raw("usage", &usage_json(usage.as_ref()));
            out
        }
        AgentEvent::ToolStarted(call) => tool("tool", &call),
        AgentEvent::ToolFinished { call, output } => {
            let mut out = tool("tool_result", &call);
            out.raw("isError", json::boolean(output.is_error)).text("text", &output.content.text());
            out
        }
        AgentEvent::Compacted { entry } => {
            let mut out = object("compacted");
            out.raw("entry", &json::id(Some(&entry)));
            out
        }
        AgentEvent::Warning(what) => {
            let mut out = object("warning");
            out.str("message", &what);
            out
        }
        _ => return Ok(()),
    };
    print(ctx, out)
}

fn tool(kind: &str, call: &ToolCall) -> ObjectWriter {
    let mut out = object(kind);
    out.str("call", &call.id).str("name", &call.name).raw("arguments", call.arguments.get());
    out
}

/// The end of a run.
pub(super) fn end(
    ctx: &mut Ctx,
    stop: RunStop,
    outcome: Option<&RunOutcome>,
    leaf: Option<&EntryId>,
) -> Result {
    if !ctx.json() {
        return Ok(());
    }
    let mut out = object("end");
    out.str("stop", stop.as_str())
        .str("text", outcome.map_or("", |outcome| outcome.text.as_str()))
        .raw("turns", &outcome.map_or(0, |outcome| outcome.turns).to_string())
        .raw("usage", &usage_json(outcome.map(|outcome| &outcome.usage)))
        .raw("leaf", &json::id(leaf));
    print(ctx, out)
}

/// What went wrong, before the program ends with it.
pub(super) fn error(ctx: &mut Ctx, error: &CliError) -> Result {
    let mut out = object("error");
    out.str("kind", error.kind)
        .str("message", &error.message)
        .raw("hint", &json::string(error.hint.as_deref()))
        .raw("retryable", json::boolean(error.retryable));
    print(ctx, out)
}

/// The commands.
pub(super) fn help(ctx: &mut Ctx, commands: &[(&str, &str)]) -> Result {
    let commands = commands.iter().map(|(command, what)| {
        let mut out = ObjectWriter::new();
        out.str("command", command).str("does", what);
        out.finish()
    });
    let mut out = object("help");
    out.raw("commands", &join_array(commands));
    print(ctx, out)
}

fn usage_json(usage: Option<&Usage>) -> String {
    usage.map_or_else(|| "null".to_owned(), |usage| usage.to_json().get().to_owned())
}
