//! Moving in the tree: `/tree`, `/rewind`, `/fork`, `/label`, `/resume SESSION`.

use forkwood::{AppendOptions, EntryId, ForkOptions, Page, Session, Settings, Sort, Text};
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
use super::{Chat, events, leave, setup};

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
        let refused = !past_compaction && before_floor(self.agent.session(), &entry).await?;
        let left = match summary && !refused {
            true => self.summary_of_branch(&entry).await?,
            false => None,
        };
        let session = self.agent.session_mut();
        match past_compaction {
            true => session.rewind_past_compaction(&entry).await?,
            false => session.rewind(&entry).await?,
        }
        let mut written = None;
        if let Some(left) = left {
            let bodies = std::iter::once(left.body).chain(left.usage).collect();
            let appended = session.append_batch(bodies, AppendOptions::default()).await?;
            written = appended.entries.first().map(|entry| entry.id.clone());
        } else if summary {
            ctx.out.note("nothing was said on the branch that is left: no summary");
        }
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

    /// The branch that is left when another entry is gone to, summed up by the model of now.
    async fn summary_of_branch(&mut self, to: &EntryId) -> Result<Option<leave::BranchSummary>> {
        let session = self.agent.session();
        let now = setup::settings(session).await?;
        let by = match &now.model {
            Some(_) => now,
            None => Settings {
                model: Some(self.setup.chosen.model.as_str().into()),
                provider: Some(self.setup.chosen.provider.as_str().into()),
                ..now
            },
        };
        let work = leave::summary(session, to, self.agent.providers(), &by);
        or_stopped(&mut self.interrupts, work).await
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

    /// Tells which sessions there are.
    pub(super) async fn newest(&mut self, ctx: &mut Ctx) -> Result {
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
}

/// Whether a rewind would be refused, so that no model is asked for nothing.
async fn before_floor(session: &Session, entry: &EntryId) -> Result<bool> {
    let Some(floor) = session.compaction_floor().await? else { return Ok(false) };
    Ok(*entry != floor && session.path_ids(&floor).await?.contains(entry))
}
