//! Pi's estimate: a quarter of the UTF-16 units, rounded up, message by message.

use std::collections::HashSet;

use forkwood_core::fold::{FoldRules, Item, Source, select};
use forkwood_core::json::{Object, text_of};
use forkwood_core::{Block, Body, Content, Entry, EntryId, Json, Message, Role, Text};

use crate::text::{units, utf16_units};

/// UTF-16 units that an image counts for.
const IMAGE_UNITS: usize = 4_800;

/// The tokens of one message of a context, as Pi 1.6.0 estimates them.
pub fn estimate_item(item: &Item<'_>) -> u64 {
    match item.source {
        Source::Summary(entry) => match &entry.body {
            Body::Compaction(compaction) => quarter(utf16_units(&compaction.summary)),
            _ => 0,
        },
        Source::Entry(entry) => {
            let edited = item.edit.and_then(|edit| match &edit.body {
                Body::ContextEdit { replacement, .. } => replacement.as_ref(),
                _ => None,
            });
            match &entry.body {
                Body::Message(body) => match edited {
                    Some(content) => estimate_content(content, &body.message.role),
                    None => estimate(&body.message),
                },
                Body::CustomMessage { content, .. } => {
                    estimate_content(edited.unwrap_or(content), &Role::User)
                }
                Body::BranchSummary { summary, .. } => quarter(utf16_units(summary)),
                _ => 0,
            }
        }
        Source::System(entry) => entry
            .extra
            .iter()
            .find(|(key, _)| *key == "systemMessage")
            .and_then(|(_, json)| json.as_object())
            .map_or(0, |message| {
                let content = message.text("content").as_ref().map_or(0, utf16_units);
                quarter(content + prompt_units(&message))
            }),
        Source::Tail(entry, at) => match &entry.body {
            Body::Compaction(compaction) => {
                compaction.retained_tail.as_ref().and_then(|tail| tail.get(at)).map_or(0, estimate)
            }
            _ => 0,
        },
    }
}

/// The tokens of one message, as Pi 1.6.0 estimates them.
pub fn estimate(message: &Message) -> u64 {
    let metadata = message.metadata.as_ref().and_then(Json::as_object);
    let record = metadata.as_ref().and_then(|object| Object::parse(object.get("pi")?).ok());
    match &record {
        // The command and the output of a `!command`, which Pi keeps as one message.
        Some(pi) if pi.text("role").is_some_and(|role| role == "bashExecution") => {
            let of = |key: &str| pi.text(key).as_ref().map_or(0, utf16_units);
            quarter(of("command") + of("output"))
        }
        Some(pi) if message.role == Role::System => {
            quarter(utf16_units(&message.content.text()) + prompt_units(pi))
        }
        _ => estimate_content(&message.content, &message.role),
    }
}

/// The sections of a system message, and the tools that it brings.
fn prompt_units(message: &Object<'_>) -> usize {
    let sections = message.get("sections").and_then(|json| Object::parse(json).ok());
    let texts = sections.iter().flat_map(Object::iter).filter_map(|(_, json)| text_of(json.get()));
    let tools = message.get("toolsAdded").map_or(0, |json| units(json.as_bytes()));
    texts.map(|text| utf16_units(&text)).sum::<usize>() + tools
}

fn estimate_content(content: &Content, role: &Role) -> u64 {
    let blocks = match content {
        Content::Text(text) => return quarter(utf16_units(text)),
        Content::Blocks(blocks) => blocks,
    };
    let of_block = |block: &Block| match (block, role) {
        (Block::Text { text, .. }, _) => utf16_units(text),
        (Block::Thinking { thinking, .. }, Role::Assistant) => utf16_units(thinking),
        (Block::ToolCall { name, arguments, .. }, Role::Assistant) => {
            utf16_units(name) + units(arguments.get().as_bytes())
        }
        (Block::Image(_), Role::Assistant) => 0,
        (Block::Image(_), _) => IMAGE_UNITS,
        _ => 0,
    };
    quarter(blocks.iter().map(of_block).sum())
}

fn quarter(units: usize) -> u64 {
    units.div_ceil(4) as u64
}

/// The tokens of the context at the end of a path: those that the last good answer reported, and
/// an estimate of what came after it. Answers that failed and reports of nothing do not count;
/// neither do those that are older than the last compaction or edit, which no longer tell how
/// long the context is.
pub fn estimate_context(path: &[Entry], rules: &FoldRules) -> u64 {
    let changes =
        |entry: &Entry| matches!(entry.body, Body::Compaction(_) | Body::ContextEdit { .. });
    let fresh: HashSet<&EntryId> =
        path.iter().rev().take_while(|entry| !changes(entry)).map(|entry| &entry.id).collect();
    let items = select(path, rules);
    let reported = |item: &Item<'_>| {
        let Source::Entry(entry) = item.source else { return None };
        let message = entry.message().filter(|message| message.role == Role::Assistant)?;
        let failed = message.stop_reason.as_ref().and_then(Text::as_str);
        if matches!(failed, Some("error" | "aborted")) || !fresh.contains(&entry.id) {
            return None;
        }
        total_tokens(message.usage.as_ref()?).filter(|total| *total > 0)
    };
    let last = items.iter().enumerate().rev().find_map(|(at, item)| Some((at, reported(item)?)));
    let (known, rest) = match last {
        Some((at, total)) => (total, &items[at + 1..]),
        None => (0, items.as_slice()),
    };
    known + rest.iter().map(estimate_item).sum::<u64>()
}

/// `totalTokens`, or what it should be.
fn total_tokens(usage: &Json) -> Option<u64> {
    let object = usage.as_object()?;
    let number = |key: &str| object.get(key).and_then(|n| n.parse::<u64>().ok());
    match number("totalTokens") {
        Some(total) if total > 0 => Some(total),
        _ => Some(
            ["input", "output", "cacheRead", "cacheWrite"]
                .iter()
                .filter_map(|key| number(key))
                .fold(0, u64::saturating_add),
        ),
    }
}
