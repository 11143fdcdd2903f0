//! What happens in a run, as people see it: the answer on stdout, all else on stderr. JSON goes
//! its own way.

use forkwood_agent::{AgentEvent, ToolCall, ToolOutput};
use forkwood_view::sanitise;
use forkwood_view::width::cut;

use crate::ctx::Ctx;
use crate::error::Result;
use crate::style;

use super::events;

/// Lines of a tool's result that are shown.
const LINES: usize = 6;

/// What stands on the last line.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// Text of the answer, without a line end yet.
    open: bool,
    /// Half of a line end of Windows, whose other half may come.
    carriage: bool,
    /// Thinking that is no whole line yet.
    thinking: String,
}

impl Screen {
    /// Tells an event.
    pub(super) fn event(&mut self, ctx: &mut Ctx, event: AgentEvent) -> Result {
        if ctx.json() {
            return events::agent(ctx, event);
        }
        match event {
            AgentEvent::Text(text) => return self.text(ctx, text),
            AgentEvent::Thinking(text) => {
                self.end_text(ctx)?;
                self.thinking.push_str(&text);
                while let Some((line, rest)) = self.thinking.split_once('\n') {
                    aside(ctx, style::DIM, &format!("| {line}"));
                    self.thinking = rest.to_owned();
                }
                return Ok(());
            }
            _ => self.end(ctx)?,
        }
        match event {
            AgentEvent::Retrying { wait, error, .. } => {
                let wait = wait.as_secs_f64();
                aside(ctx, style::WARN, &format!("{error}; once more in {wait:.1} s"));
            }
            AgentEvent::ToolStarted(call) => started(ctx, &call),
            AgentEvent::ToolFinished { output, .. } => finished(ctx, &output),
            AgentEvent::Compacted { entry } => {
                aside(ctx, style::DIM, &format!("compacted: {entry}"));
            }
            AgentEvent::Warning(what) => ctx.out.note(what),
            _ => {}
        }
        Ok(())
    }

    /// Ends the line, and what was thought.
    pub(super) fn end(&mut self, ctx: &mut Ctx) -> Result {
        if !self.thinking.is_empty() {
            let line = std::mem::take(&mut self.thinking);
            aside(ctx, style::DIM, &format!("| {line}"));
        }
        self.end_text(ctx)
    }

    fn text(&mut self, ctx: &mut Ctx, text: String) -> Result {
        if !self.open {
            self.end(ctx)?;
        }
        let mut text = text;
        if std::mem::take(&mut self.carriage) {
            text.insert(0, '\r');
        }
        if text.ends_with('\r') {
            self.carriage = true;
            text.pop();
        }
        let safe = sanitise::lines(&text);
        if !safe.is_empty() {
            self.open = !safe.ends_with('\n');
            ctx.out.bytes(safe.as_bytes())?;
            ctx.out.flush()?;
        }
        Ok(())
    }

    fn end_text(&mut self, ctx: &mut Ctx) -> Result {
        self.carriage = false;
        if std::mem::take(&mut self.open) {
            ctx.out.line("")?;
            ctx.out.flush()?;
        }
        Ok(())
    }
}

fn started(ctx: &mut Ctx, call: &ToolCall) {
    let what = format!("-> {} {}", call.name, call.arguments.get());
    aside(ctx, style::BOLD, &what);
}

fn finished(ctx: &mut Ctx, output: &ToolOutput) {
    let text = output.content.text().to_string_lossy().into_owned();
    let style = if output.is_error { style::BAD } else { style::DIM };
    let total = text.lines().count();
    for line in text.lines().take(LINES) {
        aside(ctx, style, &format!("   {line}"));
    }
    if total > LINES {
        aside(ctx, style, &format!("   ({} more lines)", total - LINES));
    }
}

/// A line beside the answer, made safe and cut to the width.
fn aside(ctx: &mut Ctx, style: anstyle::Style, line: &str) {
    let safe = sanitise::line(line).into_owned();
    let line = cut(&safe, ctx.out.columns()).into_owned();
    ctx.out.aside(style, line);
}
