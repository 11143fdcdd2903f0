//! The last resort: what is still over the budget is cut until it is not.
//!
//! Reached only where no summary could be had, or where a single message is larger than the
//! budget. It is ours; the reference sends such requests and lets the provider refuse them.

use forkwood_core::json::ObjectWriter;
use forkwood_core::{Block, Content, Json, Message, Role, Text};

use super::micro::{MicroConfig, micro};
use super::snip::{cut_out, snipped};
use crate::View;
use crate::cuts::Cuts;
use crate::estimate::Meter;
use crate::text::{chars, head, tail};

/// Cuts a view until its messages take no more than `room` tokens, or nothing is left that may
/// be cut: first all results of tools but the last group's, then the middle, then images, then
/// the middle of the longest texts. Pairs stay whole and the last message stays, at least in
/// part.
///
/// Returns whether anything was cut.
pub fn fit(view: &mut View, room: u64, meter: &Meter<'_>) -> bool {
    let before = view.messages.len();
    if meter.messages(&view.messages) <= room {
        return false;
    }
    let group = view.messages.iter().rev().take_while(|m| m.role == Role::Tool).count();
    let mut cut = micro(view, &MicroConfig { keep: group, over_chars: 200 }) > 0;
    if meter.messages(&view.messages) > room {
        cut |= drop_middle(view, room, meter);
    }
    if meter.messages(&view.messages) > room {
        cut |= drop_images(view);
    }
    if meter.messages(&view.messages) > room {
        cut |= shorten(view, room, meter);
    }
    cut || view.messages.len() != before
}

/// Leaves out as little of the middle as is enough. What came first stays, where it is small:
/// a summary, or the question that began it all.
fn drop_middle(view: &mut View, room: u64, meter: &Meter<'_>) -> bool {
    let cuts = Cuts::of(&view.messages);
    let sizes: Vec<u64> = view.messages.iter().map(|message| meter.message(message) + 1).collect();
    let len = sizes.len();
    let small = |at: usize| sizes[..at].iter().sum::<u64>() <= room / 4;
    let start = (1..len.min(3)).rev().find(|at| cuts.is_safe(*at) && small(*at)).unwrap_or(0);
    // The marker is a message as well.
    let mut used = sizes[..start].iter().sum::<u64>().saturating_add(64);
    let mut end = None;
    for at in (start + 1..len).rev() {
        used = used.saturating_add(sizes[at]);
        if used > room && end.is_some() {
            break;
        }
        if cuts.is_safe(at) {
            end = Some(at);
        }
        if used > room {
            break;
        }
    }
    // Not even the last group has room: it stays, to be shortened.
    let end = end.unwrap_or_else(|| cuts.back(len.saturating_sub(1)));
    cut_out(view, start, end) > 0
}

/// Puts words in the place of images.
fn drop_images(view: &mut View) -> bool {
    let mut dropped = false;
    for message in &mut view.messages {
        let Content::Blocks(blocks) = &mut message.content else { continue };
        for block in blocks.iter_mut().filter(|block| matches!(block, Block::Image(_))) {
            *block = Block::text("[image left out]");
            dropped = true;
        }
    }
    dropped
}

/// Cuts the middle out of texts, all to one length: the greatest that has room.
fn shorten(view: &mut View, room: u64, meter: &Meter<'_>) -> bool {
    let longest = view.messages.iter().map(longest_text).max().unwrap_or(0);
    let (mut fits, mut least) = (None, 64);
    let mut most = longest;
    while least < most {
        let limit = least + (most - least) / 2;
        let short = shortened(&view.messages, limit);
        if meter.messages(&short) <= room {
            least = limit + 1;
            fits = Some(short);
        } else {
            most = limit;
        }
    }
    let short = fits.unwrap_or_else(|| shortened(&view.messages, 64));
    let changed = short != view.messages;
    view.messages = short;
    changed
}

fn longest_text(message: &Message) -> usize {
    match &message.content {
        Content::Text(text) => chars(text),
        Content::Blocks(blocks) => blocks
            .iter()
            .map(|block| match block {
                Block::Text { text, .. } => chars(text),
                Block::Thinking { thinking, .. } => chars(thinking),
                Block::ToolCall { arguments, .. } => arguments.get().len(),
                _ => 0,
            })
            .max()
            .unwrap_or(0),
    }
}

fn shortened(messages: &[Message], limit: usize) -> Vec<Message> {
    let mut out = messages.to_vec();
    for message in out.iter_mut().filter(|message| snipped(message).is_none()) {
        match &mut message.content {
            Content::Text(text) => shorten_text(text, limit),
            Content::Blocks(blocks) => {
                // Thinking is signed as a whole: it stays or goes.
                let fits = |block: &Block| match block {
                    Block::Thinking { thinking, .. } => chars(thinking) <= limit,
                    _ => true,
                };
                blocks.retain(fits);
                blocks.iter_mut().for_each(|block| shorten_block(block, limit));
            }
        }
    }
    out
}

fn shorten_block(block: &mut Block, limit: usize) {
    match block {
        Block::Text { text, .. } => shorten_text(text, limit),
        Block::ToolCall { arguments, .. } if arguments.get().len() > limit.max(64) => {
            let mut out = ObjectWriter::new();
            out.str("note", &format!("[{} bytes left out]", arguments.get().len()));
            *arguments = Json::parse(&out.finish()).unwrap_or_else(|_| Json::empty_object());
        }
        _ => {}
    }
}

/// Leaves the beginning and the end of a text.
fn shorten_text(text: &mut Text, limit: usize) {
    let count = chars(text);
    if count <= limit {
        return;
    }
    let whole = text.to_string_lossy().into_owned();
    let keep = limit.saturating_sub(40);
    let (front, back) = (head(&whole, keep.div_ceil(2)), tail(&whole, keep / 2));
    let cut = count - keep;
    *text = format!("{front}\n[... {cut} characters left out ...]\n{back}").into();
}
