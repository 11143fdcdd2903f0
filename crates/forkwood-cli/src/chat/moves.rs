//! Moving in the tree: `/tree`, `/rewind`, `/fork`, `/label`, `/resume SESSION`.

use forkwood::{ForkOptions, Page, Sort, Text};
use forkwood_context::branch_summary::BranchOptions;
use forkwood_view::rows::Style;
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::width::cut;

use crate::commands::tree::{SUMMARY, draw_all, rows_json};
use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::place::{self, Place};
use crate::style::{self, paint};
use crate::{entries, json, target, time, tree};

use super::turn::or_stopped;
use super::{Chat, events};

/// Sessions that `/resume` lists.
const NEWEST: usize = 10;

impl Chat {
    pub(super) async fn tree(&mut self, ctx: &mut Ctx) -> Result {
        self.agent.session_mut().reload().await?;
        let rows = tree::load(self.agent.session(), SUMMARY, Style::Unicode).await?;
        if ctx.json() {
            let mut out = events::object("tree");
            out.raw("leaf", &json::id(self.agent.session().leaf())).raw("rows", &rows_json(&rows)?);
            return events::print(ctx, out);
        }
        if rows.is_empty() {
            ctx.out.note("the session has no entries yet");
        }
        draw_all(ctx, &rows, Style::Unicode)
    }

    pub(super) async fn rewind(
        &mut self,
        ctx: &mut Ctx,
        query: &str,
        summary: bool,
        past_compaction: bool,
    ) -> Result {
        self.agent.session_mut().reload().await?;
        let entry = entries::resolve(self.agent.session(), query).await?;
        let options = summary.then(BranchOptions::default);
        let handle = self.agent.handle();
        let written = match past_compaction {
            true => {
                let work = self.agent.rewind_past_compaction(&entry, options.as_ref());
                or_stopped(&mut self.interrupts, &handle, work).await?
            }
            false => {
                let work = self.agent.rewind(&entry, options.as_ref());
                or_stopped(&mut self.interrupts, &handle, work).await?
            }
        };
        if summary && written.is_none() {
            ctx.out.note("nothing was said on the branch that is left: no summary");
        }
        let session = self.agent.session();
        let leaf = session.current_leaf().await?;
        if ctx.json() {
            let mut out = events::object("rewind");
            out.raw("leaf", &json::id(leaf.as_ref())).raw("summary", &json::id(written.as_ref()));
            return events::print(ctx, out);
        }
        ctx.out.done(match written {
            Some(_) => "the next message grows a branch here, which begins with a summary",
            None => "the next message grows a branch here",
        });
        Ok(())
    }

    pub(super) async fn fork(&mut self, ctx: &mut Ctx, query: Option<&str>) -> Result {
        self.agent.session_mut().reload().await?;
        let source = self.agent.session();
        let at = entries::resolve_or_leaf(source, query).await?;
        let fork = place::own_store(ctx)?.fork(source, at.as_ref(), ForkOptions::default()).await?;
        self.change(ctx, fork, true).await
    }

    /// `[ENTRY] LABEL`, or `--clear [ENTRY]`.
    pub(super) async fn label(&mut self, ctx: &mut Ctx, words: &[String]) -> Result {
        self.agent.session_mut().reload().await?;
        let session = self.agent.session_mut();
        let here = session.current_leaf().await?;
        let (clear, words) = match words {
            [first, rest @ ..] if first == "--clear" => (true, rest),
            all => (false, all),
        };
        let mut label = words.join(" ");
        let mut entry = here;
        if clear && !words.is_empty() {
            // Perhaps by its label, which may have spaces.
            entry = Some(entries::resolve(session, &label).await?);
        } else if let [first, rest @ ..] = words
            && !rest.is_empty()
            && let Ok(named) = entries::resolve(session, first).await
        {
            entry = Some(named);
            label = rest.join(" ");
        }
        let Some(entry) = entry else {
            return Err(CliError::usage("the session has no entry to label yet"));
        };
        let label: Option<Text> = (!clear).then(|| label.into());
        let written = session.label(&entry, label.clone()).await?;
        if ctx.json() {
            let mut out = events::object("label");
            out.raw("entry", &json::id(Some(&entry)))
                .raw("label", &json::text(label.as_ref()))
                .raw("id", &json::id(Some(&written)));
            return events::print(ctx, out);
        }
        ctx.out.done(match label {
            Some(label) => format!("{entry} is labelled {label:?}"),
            None => format!("{entry} has no label any more"),
        });
        Ok(())
    }

    /// Goes on with another session.
    pub(super) async fn other(&mut self, ctx: &mut Ctx, query: &str) -> Result {
        let session = target::open(ctx, query).await?;
        self.change(ctx, session, false).await
    }
}

/// Tells which sessions there are.
pub(super) async fn newest(ctx: &mut Ctx) -> Result {
    let store = Place::of(ctx)?.open(ctx, true, true)?;
    let page = Page { limit: NEWEST, sort: Sort::Activity, ..Page::default() };
    let rows = store.list(page).await?.rows;
    if ctx.json() {
        let ids: Vec<&Text> = rows.iter().map(|row| &row.shown_id).collect();
        let mut out = events::object("sessions");
        out.raw("sessions", &json::texts(ids));
        return events::print(ctx, out);
    }
    ctx.out.done("nothing waits here; /resume SESSION goes on with another one:");
    for row in rows {
        let title = match (&row.title, &row.first_user) {
            (Some(title), _) => sanitise::text(title, Layout::Line).into_owned(),
            (None, Some(first)) => sanitise::line(first).into_owned(),
            (None, None) => String::new(),
        };
        let id = paint(style::ID, sanitise::text(&row.shown_id, Layout::Line));
        let at = time::short(row.last_activity);
        ctx.out.line(format!("{id}  {}  {}", paint(style::DIM, at), cut(&title, 60)))?;
    }
    Ok(())
}
