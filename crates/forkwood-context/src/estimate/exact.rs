//! Exact counts, by the encodings that OpenAI has published.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use forkwood_core::{Block, Content, Message, Text};
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};
use tiktoken_rs::{
    CoreBPE, cl100k_base_singleton, o200k_base_singleton, o200k_harmony_singleton,
    p50k_base_singleton, p50k_edit_singleton, r50k_base_singleton,
};

use super::{Front, IMAGE_TOKENS, PER_MESSAGE};

/// Longest run of one kind, letters or blanks, that is encoded in one piece. Longer ones are cut,
/// which may add a token at each cut: the encoder's time is not linear in the run.
const LONGEST_RUN: usize = 400;

/// Counts that are kept. A conversation is counted before every request, and most of it has
/// been counted before.
const MOST_KEPT: usize = 65_536;

/// A published encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Encoding(Tokenizer);

impl Encoding {
    /// The encoding of a model; also where the name has its maker's in front.
    pub(super) fn of_model(model: &str) -> Option<Encoding> {
        let name = model.rsplit('/').next().unwrap_or(model);
        get_tokenizer(model).or_else(|| get_tokenizer(name)).map(Encoding)
    }

    fn tables(self) -> &'static CoreBPE {
        match self.0 {
            Tokenizer::O200kHarmony => o200k_harmony_singleton(),
            Tokenizer::O200kBase => o200k_base_singleton(),
            Tokenizer::Cl100kBase => cl100k_base_singleton(),
            Tokenizer::P50kBase => p50k_base_singleton(),
            Tokenizer::P50kEdit => p50k_edit_singleton(),
            Tokenizer::R50kBase | Tokenizer::Gpt2 => r50k_base_singleton(),
        }
    }

    fn count(self, text: &str) -> u64 {
        let tables = self.tables();
        pieces(text).map(|piece| tables.encode_ordinary(piece).len() as u64).sum()
    }
}

/// Counts, and remembers what it counted.
#[derive(Default)]
pub(super) struct Counter {
    kept: Mutex<HashMap<(Encoding, u64), u64>>,
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").finish_non_exhaustive()
    }
}

impl Counter {
    pub(super) fn text(&self, encoding: Encoding, text: &Text) -> u64 {
        self.count(encoding, &text.to_string_lossy())
    }

    pub(super) fn message(&self, encoding: Encoding, message: &Message) -> u64 {
        let blocks = match &message.content {
            Content::Text(text) => return PER_MESSAGE + self.text(encoding, text),
            Content::Blocks(blocks) => blocks,
        };
        let of_block = |block: &Block| match block {
            Block::Text { text, .. } => self.text(encoding, text),
            Block::Thinking { thinking, .. } => self.text(encoding, thinking),
            Block::Image(_) => IMAGE_TOKENS,
            Block::ToolCall { name, arguments, .. } => {
                PER_MESSAGE + self.text(encoding, name) + self.count(encoding, arguments.get())
            }
            Block::Other(json) => self.count(encoding, json.get()),
        };
        PER_MESSAGE + blocks.iter().map(of_block).sum::<u64>()
    }

    pub(super) fn front(&self, encoding: Encoding, front: Front<'_>) -> u64 {
        let system = match front.system.is_empty() {
            true => 0,
            false => PER_MESSAGE + self.text(encoding, front.system),
        };
        let tools = front.tools.iter().map(|tool| {
            2 * PER_MESSAGE
                + self.text(encoding, &tool.name)
                + self.text(encoding, &tool.description)
                + self.count(encoding, tool.schema.get())
        });
        // The answer's own head, by OpenAI's rule.
        3 + system + tools.sum::<u64>()
    }

    fn count(&self, encoding: Encoding, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let key = (encoding, hasher.finish() ^ text.len() as u64);
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = kept().get(&key) {
            return *count;
        }
        let count = encoding.count(text);
        let mut kept = kept();
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(key, count);
        count
    }
}

/// Cuts a text so that no run of blanks, or of anything but blanks, is longer than
/// [`LONGEST_RUN`].
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (mut run, mut blank) = (0, false);
        for (at, ch) in text.char_indices() {
            if ch.is_whitespace() != blank {
                (run, blank) = (0, !blank);
            }
            run += 1;
            if run > LONGEST_RUN {
                let (piece, rest) = text.split_at(at);
                text = rest;
                return Some(piece);
            }
        }
        Some(std::mem::take(&mut text))
    })
}
