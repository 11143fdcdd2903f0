//! What sessions used: tokens, money, messages, calls of tools.
//!
//! [`Stats`] is fed the entries of one session after the other. Sessions that share history
//! (forks, and what was imported and lies in its own place, too) are fed in one *family*, so that
//! what they share is counted once. A message is known again by its time and what it says, not by
//! its id, since a fork gives new ones; an answer, by the id that its provider gave it; and what
//! Codex counted, by its running total, which it tells more than once.
//!
//! **Invariants.** Pure. What is remembered to count things once is of the family at hand.

mod family;
mod once;
mod usage;

use std::collections::{HashMap, HashSet};

use forkwood::core::json::Object;
use forkwood::{Block, Body, Content, Entry, Message, Role, Text, Timestamp};

use crate::fields::whole_number;

pub use family::{Kin, families};
use once::Once;
pub use usage::Spent;

/// What the rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Sessions.
    Session,
    /// Days, in UTC.
    Day,
    /// Models, as `provider/model`.
    Model,
    /// Working folders.
    Workspace,
    /// Tools.
    Tool,
}

/// What was used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Sessions that something was counted of.
    pub sessions: u64,
    /// Messages of people.
    pub user_messages: u64,
    /// Messages of models.
    pub assistant_messages: u64,
    /// Answers and summaries whose tokens are known.
    pub requests: u64,
    /// Their tokens and money.
    pub spent: Spent,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Results of tools that say that they failed.
    pub tool_errors: u64,
}

/// A row: one session, one day, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which; `None` where it is not known.
    pub key: Option<String>,
    /// For a session: its title.
    pub title: Option<Text>,
    /// What was used.
    pub sum: Sum,
    /// When something was last counted here.
    pub last: Option<Timestamp>,
}

/// What must be known of a session before its entries.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<Text>,
    /// Its working folder.
    pub workspace: Option<Text>,
    /// Its dialect.
    pub dialect: String,
}

/// Counts.
#[derive(Debug)]
pub struct Stats {
    by: By,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    rows: Vec<Row>,
    places: HashMap<Option<String>, usize>,
    all: Sum,
    once: Once,
    session: Session,
}

/// The session at hand.
#[derive(Debug, Default)]
struct Session {
    about: About,
    /// The model that answers, as of the entry before.
    model: Option<String>,
    /// Which tool a call is of.
    calls: HashMap<Text, Text>,
    /// The rows that count this session already.
    counted: HashSet<usize>,
    in_all: bool,
}

/// What an entry adds to a row.
#[derive(Debug, Default)]
struct Found {
    user: u64,
    assistant: u64,
    requests: u64,
    spent: Spent,
    calls: Vec<Text>,
    errors: Vec<Option<Text>>,
}

impl Stats {
    /// Counts what was said from `from` on and before `until`.
    pub fn new(by: By, from: Option<Timestamp>, until: Option<Timestamp>) -> Stats {
        Stats {
            by,
            from,
            until,
            rows: Vec::new(),
            places: HashMap::new(),
            all: Sum::default(),
            once: Once::default(),
            session: Session::default(),
        }
    }

    /// From here on nothing is shared with what was fed before.
    pub fn start_family(&mut self) {
        self.once = Once::default();
    }

    /// The next entries are of this session.
    pub fn start_session(&mut self, about: About) {
        self.once.start_session();
        self.session = Session { about, ..Session::default() };
    }

    /// Counts an entry.
    pub fn add(&mut self, entry: &Entry) {
        self.note_model(&entry.body);
        let Some(found) = self.found(entry) else { return };
        let at = entry.timestamp;
        if self.from.is_some_and(|from| at.is_none_or(|at| at < from))
            || self.until.is_some_and(|until| at.is_none_or(|at| at >= until))
        {
            return;
        }
        self.all.sessions += u64::from(!std::mem::replace(&mut self.session.in_all, true));
        count(&mut self.all, &found);
        if self.by == By::Tool {
            for tool in found.calls {
                self.row(Some(tool.to_string_lossy().into_owned()), at).tool_calls += 1;
            }
            for tool in found.errors {
                let key = tool.map(|tool| tool.to_string_lossy().into_owned());
                self.row(key, at).tool_errors += 1;
            }
            return;
        }
        let key = match self.by {
            By::Session => Some(self.session.about.id.clone()),
            By::Day => at.and_then(day),
            By::Model => self.model_of(&entry.body),
            By::Workspace => {
                self.session.about.workspace.as_ref().map(|cwd| cwd.to_string_lossy().into_owned())
            }
            By::Tool => None,
        };
        // What a person says, and what a tool answers, is of no model.
        if self.by == By::Model && key.is_none() && found.requests + found.assistant == 0 {
            return;
        }
        count(self.row(key, at), &found);
    }

    /// The rows, what used most tokens first; days, newest first. And all together.
    pub fn finish(self) -> (Vec<Row>, Sum) {
        let mut rows = self.rows;
        match self.by {
            By::Day => rows.sort_by(|a, b| b.key.cmp(&a.key)),
            By::Tool => {
                rows.sort_by(|a, b| {
                    b.sum.tool_calls.cmp(&a.sum.tool_calls).then_with(|| a.key.cmp(&b.key))
                });
            }
            _ => rows.sort_by(|a, b| {
                let most = |row: &Row| (row.sum.spent.total, row.sum.assistant_messages);
                most(b).cmp(&most(a)).then_with(|| a.key.cmp(&b.key))
            }),
        }
        (rows, self.all)
    }

    fn row(&mut self, key: Option<String>, at: Option<Timestamp>) -> &mut Sum {
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => {
                let title = self.session.about.title.clone().filter(|_| self.by == By::Session);
                self.rows.push(Row { key: key.clone(), title, sum: Sum::default(), last: None });
                self.places.insert(key, self.rows.len() - 1);
                self.rows.len() - 1
            }
        };
        let row = &mut self.rows[place];
        row.sum.sessions += u64::from(self.session.counted.insert(place));
        row.last = row.last.max(at);
        &mut row.sum
    }

    fn note_model(&mut self, body: &Body) {
        if let Body::ModelChange { model, provider } = body {
            self.session.model = Some(name(provider.as_ref(), model));
        }
    }

    /// The model of what an entry used.
    fn model_of(&self, body: &Body) -> Option<String> {
        match body {
            Body::Message(body) if body.message.role == Role::Assistant => body
                .message
                .model
                .as_ref()
                .map(|model| name(body.message.provider.as_ref(), model))
                .or_else(|| self.session.model.clone()),
            Body::Message(_) => None,
            Body::Usage { provider, model, .. } => Some(name(Some(provider), model)),
            _ => self.session.model.clone(),
        }
    }

    /// What an entry adds, if it was not counted before.
    fn found(&mut self, entry: &Entry) -> Option<Found> {
        let mut found = Found::default();
        match &entry.body {
            Body::Message(body) => self.message(&body.message, entry, &mut found)?,
            Body::Compaction(compaction) => {
                let usage = compaction.usage.as_ref()?;
                found.spent = Spent::of(usage)?;
                found.requests = 1;
                self.once.first(&[b"compaction", &time(entry), usage.get().as_bytes()])?;
            }
            Body::Usage { usage, .. } => {
                found.spent = Spent::of(usage)?;
                found.requests = 1;
                self.once.first(&[b"usage", &time(entry), usage.get().as_bytes()])?;
            }
            Body::Custom { namespace, data, .. } if *namespace == "codex.event_msg" => {
                let line = data.as_object()?;
                let payload = Object::parse(line.get("payload")?).ok()?;
                let info = Object::parse(payload.get("info")?).ok()?;
                // The same total is told again whenever something else changes.
                let total = info.get("total_token_usage")?;
                found.spent =
                    Spent::of_object(&Object::parse(info.get("last_token_usage")?).ok()?)?;
                found.requests = 1;
                self.once.first(&[b"codex", total.as_bytes()])?;
            }
            // What a turn of a branch used, which is told beside its messages.
            Body::Custom { namespace, data, .. } if *namespace == "openai-agents.turn_usage" => {
                let usage = data.as_object()?.get("usage")?;
                let usage = Object::parse(usage).ok()?;
                found.spent = Spent::of_object(&usage)?;
                found.requests = usage.get("requests").and_then(whole_number).unwrap_or(1);
                self.once.first(&[b"turn", &time(entry), data.get().as_bytes()])?;
            }
            _ => return None,
        }
        Some(found)
    }

    fn message(&mut self, message: &Message, entry: &Entry, found: &mut Found) -> Option<()> {
        for (id, name, _) in message.content.tool_calls() {
            self.session.calls.insert(id.clone(), name.clone());
        }
        let spent = message.usage.as_ref().and_then(Spent::of);
        let response = response_of(message);
        if let (Some(id), Some(spent)) = (&response, spent) {
            // An answer may stand on several lines, each with what it used so far.
            let before = self.once.answer(id, spent);
            found.requests = u64::from(before.is_none());
            found.spent = before.map_or(spent, |before| spent.beyond(&before));
        }
        let said = message.content.text();
        let mut parts: Vec<&[u8]> = vec![b"message", said.as_wtf8()];
        let role = message.role.as_text();
        parts.push(role.as_wtf8());
        parts.extend(message.tool_call_id.iter().map(Text::as_wtf8));
        for (id, name, _) in message.content.tool_calls() {
            parts.extend([id.as_wtf8(), name.as_wtf8()]);
        }
        let thought = thoughts(&message.content);
        parts.extend(thought.iter().map(|text| text.as_wtf8()));
        let at = time(entry);
        let is_first = match self.session.about.dialect.starts_with("codex") {
            // A fork of Codex has the time of the copy on its lines.
            true => self.once.first_of_same(&parts),
            false => {
                parts.push(&at);
                self.once.first(&parts)
            }
        };
        if is_first.is_none() {
            return (found.spent != Spent::default()).then_some(());
        }
        if response.is_none()
            && let Some(spent) = spent
        {
            found.requests = 1;
            found.spent = spent;
        }
        match message.role {
            Role::User => found.user = 1,
            Role::Assistant => found.assistant = 1,
            Role::Tool if message.is_error == Some(true) => {
                let named = message.tool_call_id.as_ref().and_then(|id| self.session.calls.get(id));
                found.errors.push(named.or(message.tool_name.as_ref()).cloned());
            }
            _ => {}
        }
        found.calls.extend(message.content.tool_calls().map(|(_, name, _)| name.clone()));
        Some(())
    }
}

fn count(sum: &mut Sum, found: &Found) {
    sum.user_messages += found.user;
    sum.assistant_messages += found.assistant;
    sum.requests += found.requests;
    sum.spent.add(&found.spent);
    sum.tool_calls += found.calls.len() as u64;
    sum.tool_errors += found.errors.len() as u64;
}

fn name(provider: Option<&Text>, model: &Text) -> String {
    match provider.filter(|provider| !provider.is_empty()) {
        Some(provider) => format!("{}/{}", provider.to_string_lossy(), model.to_string_lossy()),
        None => model.to_string_lossy().into_owned(),
    }
}

fn time(entry: &Entry) -> [u8; 8] {
    entry.timestamp.unwrap_or_default().as_micros().to_le_bytes()
}

/// What was thought: it tells apart answers that say the same.
fn thoughts(content: &Content) -> Vec<&Text> {
    let blocks: &[Block] = match content {
        Content::Text(_) => &[],
        Content::Blocks(blocks) => blocks,
    };
    let mut out = Vec::new();
    for block in blocks {
        if let Block::Thinking { thinking, .. } = block {
            out.push(thinking);
        }
    }
    out
}

/// The id that the provider gave an answer, where it is known that several lines share one.
fn response_of(message: &Message) -> Option<Text> {
    let metadata = message.metadata.as_ref()?.as_object()?;
    let own = Object::parse(metadata.get(crate::claude_code::METADATA)?).ok()?;
    let inner = Object::parse(own.get("message")?).ok()?;
    inner.text("id").filter(|id| !id.is_empty())
}

/// The day of a time, in UTC: `2026-03-01`.
fn day(at: Timestamp) -> Option<String> {
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
    Some(at.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests;
