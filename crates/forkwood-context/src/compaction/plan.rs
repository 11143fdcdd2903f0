//! What a compaction would sum up, and what it would keep.

use std::collections::HashMap;

use forkwood_core::fold::{self, FoldRules, Item, Source};
use forkwood_core::{Block, Body, Content, Entry, EntryId, Message, Role, Text};

use super::files::{Files, is_from_hook, without_section};
use crate::View;
use crate::cuts::Cuts;
use crate::told::lifted;

/// How the cut is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CutRule {
    /// Pi 1.6.0's: the first message at or behind the place where enough is kept that is no
    /// result of a tool. A turn may be split; its start is then summed up for itself.
    #[default]
    Messages,
    /// my-pi-agent's: back from that place to the nearest user message, which is summed up;
    /// what answers it is kept.
    AfterUser,
}

/// What a compaction would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The summary that the new one goes on from, without file lists at its end.
    pub previous_summary: Option<Text>,
    /// What is summed up, after that.
    pub to_summarise: Vec<Message>,
    /// The start of a turn whose end is kept; summed up for itself.
    pub turn_prefix: Vec<Message>,
    /// Whether the cut is inside a turn.
    pub is_split_turn: bool,
    /// What is kept.
    pub kept: View,
    /// The first entry that is kept; none where nothing is.
    pub first_kept_entry_id: Option<EntryId>,
    /// The compactions that the new one stands for.
    pub replaces: Vec<EntryId>,
    /// Every entry in front of what is kept that the context was made of.
    pub covered: Vec<EntryId>,
    /// The files read and changed, in what is summed up and before it.
    pub files: Files,
}

/// How to plan.
#[derive(Debug)]
pub struct PlanOptions<'a> {
    /// The rules of the file.
    pub rules: &'a FoldRules,
    /// How the cut is found.
    pub cut: CutRule,
    /// How many tokens are to be kept at least; a message is not cut for it.
    pub keep_tokens: u64,
    /// Whether all is summed up where there is no cut that sums up something.
    pub force: bool,
}

/// Plans a compaction of a path, root first, or of the end of one that settles its context.
/// `tokens` says what one message of it takes. `None` where there is nothing to sum up.
///
/// The cut is behind every earlier summary, so that the new one stands for all of them and for
/// what they stood for, and never between a call and its results.
pub fn plan(
    path: &[Entry],
    options: &PlanOptions<'_>,
    tokens: &dyn Fn(&Item<'_>) -> u64,
) -> Option<Plan> {
    if path.last().is_some_and(|entry| matches!(entry.body, Body::Compaction(_))) {
        return None;
    }
    let items = fold::select(path, options.rules);
    let context = Items::new(path, items);
    let cut = match options.cut {
        CutRule::Messages => context.cut(options.keep_tokens, tokens),
        CutRule::AfterUser => context.cut_after_user(options.keep_tokens),
    };
    let planned = cut.and_then(|cut| context.plan(cut, options.cut));
    match planned {
        None if options.force => context.plan(context.items.len(), options.cut),
        planned => planned,
    }
}

/// A context, and where its entries stand on the path.
struct Items<'a> {
    path: &'a [Entry],
    items: Vec<Item<'a>>,
    /// What each item shows; nothing where it is in no context.
    shown: Vec<Option<Message>>,
    at: HashMap<&'a EntryId, usize>,
    /// How many items belong to the deciding compaction and go with it.
    start: usize,
    /// The first item that may be kept.
    floor: usize,
}

impl<'a> Items<'a> {
    fn new(path: &'a [Entry], items: Vec<Item<'a>>) -> Items<'a> {
        let at: HashMap<&EntryId, usize> =
            path.iter().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
        let shown = items.iter().map(|item| fold::render(item).map(lifted)).collect();
        let is_old = |item: &Item<'_>| !matches!(item.source, Source::Entry(_));
        let start = items
            .iter()
            .position(|item| matches!(item.source, Source::Entry(_) | Source::Tail(..)))
            .unwrap_or(items.len());
        let behind_old = items.iter().rposition(is_old).map_or(0, |last| last + 1);
        // What a compaction replaced in place would come back if it were behind the cut.
        let boundary = fold::latest_boundary(path).map_or(0, |at| at + 1);
        let replaced = path[boundary..].iter().flat_map(|entry| match &entry.body {
            Body::Compaction(compaction) => compaction.replaces_entry_ids.as_slice(),
            _ => &[],
        });
        let last_replaced = replaced.filter_map(|id| at.get(id).copied()).max();
        let place = |item: &Item<'_>| at.get(&item.entry().id).copied().unwrap_or(0);
        let behind_replaced = last_replaced.map_or(0, |last| {
            let before = |item: &Item<'_>| !is_old(item) && place(item) <= last;
            items.iter().rposition(before).map_or(0, |at| at + 1)
        });
        let floor = behind_old.max(behind_replaced);
        Items { path, shown, at, start, floor, items }
    }

    /// The messages, one for each item.
    fn messages(&self) -> Vec<Message> {
        let nothing = || Message::new(Role::User, Content::Blocks(Vec::new()));
        self.shown.iter().map(|message| message.clone().unwrap_or_else(nothing)).collect()
    }

    /// Where Pi cuts: the item that is kept first.
    fn cut(&self, keep: u64, tokens: &dyn Fn(&Item<'_>) -> u64) -> Option<usize> {
        let cuts = Cuts::of(&self.messages());
        let valid: Vec<usize> =
            (self.floor..self.items.len()).filter(|at| cuts.is_safe(*at)).collect();
        let mut kept = 0_u64;
        for at in (self.start..self.items.len()).rev() {
            kept = kept.saturating_add(tokens(&self.items[at]));
            if kept >= keep {
                let next = valid.partition_point(|valid| *valid < at);
                return valid.get(next).or(valid.last()).copied();
            }
        }
        valid.first().copied()
    }

    /// Where my-pi-agent cuts.
    fn cut_after_user(&self, keep: u64) -> Option<usize> {
        let messages = self.messages();
        let cut = cut_after_user(&messages, keep)?;
        let cuts = Cuts::of(&messages);
        (cut >= self.floor && cuts.is_safe(cut)).then_some(cut)
    }

    fn plan(&self, cut: usize, rule: CutRule) -> Option<Plan> {
        let split = match (rule, self.items.get(cut)) {
            (CutRule::Messages, Some(first)) if !starts_turn(first) => {
                (self.start..cut).rev().find(|at| starts_turn(&self.items[*at]))
            }
            _ => None,
        };
        let until = split.unwrap_or(cut);
        // Instructions are not part of what was said.
        let said = |message: &&Message| !matches!(message.role, Role::System | Role::Developer);
        let part = |from: usize, to: usize| -> Vec<Message> {
            self.shown[from..to.max(from)].iter().flatten().filter(said).cloned().collect()
        };
        // What is in no context counts as something to sum up, but is not read.
        if cut <= self.start {
            return None;
        }
        let mut plan = Plan {
            to_summarise: part(self.start, until),
            turn_prefix: part(until, cut),
            is_split_turn: split.is_some(),
            first_kept_entry_id: self.items.get(cut).map(|item| self.first_kept(item)),
            ..Plan::default()
        };
        for (item, message) in self.items.iter().zip(&self.shown).skip(cut) {
            if let Some(message) = message {
                plan.kept.messages.push(message.clone());
                plan.kept.entry_ids.push(item.entry().id.clone());
            }
        }
        plan.covered = self.items[..cut].iter().map(|item| item.entry().id.clone()).collect();
        // The messages of a tail have the id of their compaction.
        plan.covered.dedup();
        for item in &self.items[..self.floor.min(cut)] {
            if let Source::Summary(entry) = item.source {
                plan.replaces.push(entry.id.clone());
            }
        }
        let earlier = self.items[..self.start].iter().filter_map(|item| match item.source {
            Source::Summary(Entry { body: Body::Compaction(compaction), .. }) => {
                let text = compaction.summary.to_string_lossy();
                Some(without_section(&text).to_owned()).filter(|text| !text.is_empty())
            }
            _ => None,
        });
        let earlier: Vec<String> = earlier.collect();
        plan.previous_summary = (!earlier.is_empty()).then(|| earlier.join("\n\n").into());
        self.add_files(&mut plan.files, cut);
        Some(plan)
    }

    /// The entry that is kept first: that of the item, or settings that stand in front of it.
    fn first_kept(&self, item: &Item<'_>) -> EntryId {
        let mut at = self.at.get(&item.entry().id).copied().unwrap_or(0);
        while let Some(before) = at.checked_sub(1).map(|before| &self.path[before])
            && !speaks(before)
        {
            at -= 1;
        }
        self.path[at].id.clone()
    }

    fn add_files(&self, files: &mut Files, cut: usize) {
        files.add_messages(self.shown[self.start.min(cut)..cut].iter().flatten());
        for item in &self.items[..cut] {
            let (Source::Summary(entry) | Source::Entry(entry)) = item.source else { continue };
            let details = match &entry.body {
                Body::Compaction(compaction) => compaction.details.as_ref(),
                Body::BranchSummary { details, .. } => details.as_ref(),
                _ => None,
            };
            if let Some(details) = details.filter(|_| !is_from_hook(&entry.extra)) {
                files.add_details(details);
            }
        }
    }
}

/// Whether an entry gives a message or ends what came before: settings are kept with what
/// follows them.
fn speaks(entry: &Entry) -> bool {
    matches!(
        entry.body,
        Body::Message(_)
            | Body::CustomMessage { .. }
            | Body::BranchSummary { .. }
            | Body::Compaction(_)
            | Body::SessionInfo(_)
    )
}

/// Whether a turn starts with an item: what a person or an extension says, or a branch's summary.
fn starts_turn(item: &Item<'_>) -> bool {
    let Source::Entry(entry) = item.source else { return false };
    match &entry.body {
        Body::Message(body) => body.message.role == Role::User,
        Body::CustomMessage { .. } | Body::BranchSummary { .. } => true,
        _ => false,
    }
}

/// my-pi-agent's cut: from the end back until the contents have four times `keep_tokens`
/// characters, then back to behind the nearest user message. `None` where that leaves nothing
/// to sum up. The system prompt counts as a message, where it stands in front.
pub fn cut_after_user(messages: &[Message], keep_tokens: u64) -> Option<usize> {
    let keep = keep_tokens.saturating_mul(4);
    let mut kept = 0_u64;
    let mut cut = (1..messages.len()).rev().find(|at| {
        kept = kept.saturating_add(content_chars(&messages[*at]));
        kept >= keep
    })?;
    while cut > 1 && messages[cut - 1].role != Role::User {
        cut -= 1;
    }
    (cut > 1).then_some(cut)
}

fn content_chars(message: &Message) -> u64 {
    let of_block = |block: &Block| match block {
        Block::Text { text, .. } => crate::text::chars(text),
        _ => 0,
    };
    match &message.content {
        Content::Text(text) => crate::text::chars(text) as u64,
        Content::Blocks(blocks) => blocks.iter().map(of_block).sum::<usize>() as u64,
    }
}
