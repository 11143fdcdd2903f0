//! `forkwood check --secrets`

use std::collections::HashSet;

use forkwood::Stored;
use forkwood::core::entry::codec;
use forkwood_formats::redact::{Counts, Rule, find_in_json, rules};
use forkwood_view::sanitise;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::every::{self, Known, Opener, Source};
use crate::json;
use crate::style::{self, paint};

/// Lists the rules.
pub(super) fn list(ctx: &mut Ctx) -> Result<Outcome> {
    let width = rules().iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in rules() {
        if ctx.json() {
            let mut out = json::object();
            out.str("rule", rule.id).str("about", rule.about);
            ctx.out.json(out.finish())?;
        } else {
            ctx.out.line(format!("{:width$}  {}", rule.id, rule.about))?;
        }
    }
    Ok(Outcome::Done)
}

/// Looks through sessions.
pub(super) async fn run(ctx: &mut Ctx, sessions: &[String], skip: &[String]) -> Result<Outcome> {
    if let Some(unknown) = skip.iter().find(|id| rules().iter().all(|rule| rule.id != *id)) {
        return Err(CliError::usage(format!("{unknown:?} is no rule"))
            .hint("`forkwood check --secrets --rules` lists them"));
    }
    let found = every::find(ctx, sessions, false).await?;
    for problem in &found.problems {
        ctx.out.note(format!("{}: {}: {}", problem.path.display(), problem.kind, problem.message));
    }
    if found.sources.is_empty() && sessions.is_empty() {
        ctx.out.note(format!("no sessions in {}", found.places.join(" and ")));
    }
    let mut look = Look { opener: Opener::default(), skip, counts: Counts::new(), sessions: 0 };
    let mut unreadable = Vec::new();
    for source in &found.sources {
        if let Err(error) = look.through(ctx, source).await {
            unreadable.push(error.message);
        }
    }
    ctx.out.flush()?;
    for message in &unreadable {
        ctx.out.note(message);
    }
    ctx.out.done(look.verdict());
    let clean = unreadable.is_empty() && look.counts.is_empty();
    Ok(if clean { Outcome::Done } else { Outcome::Found })
}

struct Look<'s> {
    opener: Opener,
    skip: &'s [String],
    counts: Counts,
    /// In how many sessions something was found.
    sessions: u64,
}

impl Look<'_> {
    async fn through(&mut self, ctx: &mut Ctx, source: &Source) -> Result {
        let mut reader = self.opener.open(source).await?;
        let id = match reader.known() {
            Known::Stored(facts) => facts.shown_id,
            Known::Foreign(about) => about.source_id,
        };
        let id = id.to_string_lossy().into_owned();
        // One line may be several entries.
        let mut told: HashSet<(u64, &'static str)> = HashSet::new();
        let mut any = false;
        loop {
            let entries = reader.next().await?;
            if entries.is_empty() {
                break;
            }
            for stored in &entries {
                for (rule, offset) in hits(stored) {
                    if self.skip.iter().any(|id| id == rule.id)
                        || offset.is_some_and(|offset| !told.insert((offset, rule.id)))
                    {
                        continue;
                    }
                    any = true;
                    *self.counts.entry(rule.id).or_default() += 1;
                    tell(ctx, &id, stored, rule, offset)?;
                }
            }
        }
        self.sessions += u64::from(any);
        Ok(())
    }

    fn verdict(&self) -> String {
        if self.counts.is_empty() {
            return "no secrets were found".to_owned();
        }
        let parts: Vec<String> =
            self.counts.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
        let sessions = if self.sessions == 1 { "session" } else { "sessions" };
        format!("{} in {} {sessions}", parts.join(", "), self.sessions)
    }
}

/// What an entry holds, with the byte of the file where it starts.
fn hits(stored: &Stored) -> Vec<(&'static Rule, Option<u64>)> {
    let raw = stored.raw.as_deref().map(String::from_utf8_lossy);
    match (raw, stored.offset) {
        (Some(raw), Some(start)) => find_in_json(&raw)
            .into_iter()
            .map(|hit| (hit.rule, Some(start + hit.offset as u64)))
            .collect(),
        _ => {
            let json = codec::encode(&stored.entry);
            find_in_json(&json).into_iter().map(|hit| (hit.rule, None)).collect()
        }
    }
}

fn tell(ctx: &mut Ctx, session: &str, stored: &Stored, rule: &Rule, offset: Option<u64>) -> Result {
    let entry = &stored.entry.id;
    if ctx.json() {
        let mut out = json::object();
        out.str("session", session)
            .raw("entry", &json::id(Some(entry)))
            .raw("line", &json::number(stored.line))
            .raw("offset", &json::number(offset))
            .str("rule", rule.id);
        return ctx.out.json(out.finish());
    }
    let mut place = format!("{}: ", sanitise::line(session));
    if let (Some(line), Some(offset)) = (stored.line, offset) {
        place.push_str(&format!("line {line}, offset {offset}, "));
    }
    place.push_str(&format!("entry {}", sanitise::line(entry.as_str())));
    ctx.out.line(format!("{} {place}", paint(style::WARN, format!("{}:", rule.id))))
}
