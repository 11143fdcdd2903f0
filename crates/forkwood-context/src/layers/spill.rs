//! L3: long outputs of tools are put into files.

use std::io;

use forkwood_core::{Block, Content, EntryId, Message, Role, Text};

use crate::View;
use crate::text::{chars, first_chars, stable_hash};

/// One output to put away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillItem<'a> {
    /// The file name to use: safe on every system, made from the id of the call.
    pub name: &'a str,
    /// The name to use where a file called `name` holds something else, as happens where a
    /// provider gives two calls one id. Made from the name and a hash of the text.
    pub other_name: &'a str,
    /// The whole output.
    pub text: &'a Text,
}

/// Puts outputs into files: passed in, since it writes.
///
/// In a workspace the folder is `<workspace>/.forkwood/tool-results/<session id>/`, its files
/// readable by their owner only (0600), and it goes with the session.
pub trait Spill: Send + Sync {
    /// Writes an output and returns the path by which the model can read it. The same output
    /// under the same names must give the same path every time; a file that is there already
    /// with the same bytes need not be written again.
    ///
    /// # Errors
    /// Where it cannot be written; the output then stays in the context.
    fn put(&self, item: &SpillItem<'_>) -> io::Result<String>;
}

/// The numbers of L3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillConfig {
    /// Outputs longer than this many characters are put away.
    pub over_chars: usize,
    /// How many characters of them stay to be seen.
    pub preview_chars: usize,
}

impl Default for SpillConfig {
    fn default() -> SpillConfig {
        SpillConfig { over_chars: 20_000, preview_chars: 2_000 }
    }
}

/// Puts the long outputs of tools away, each in its own file. What stays is the path and the
/// beginning, in the words of my-pi-agent; images stay. Doing it twice changes nothing more.
///
/// Returns how many were put away.
pub fn spill(view: &mut View, config: &SpillConfig, spill: &dyn Spill) -> usize {
    let mut done = 0;
    for (at, message) in view.messages.iter_mut().enumerate() {
        if message.role != Role::Tool || text_len(&message.content) <= config.over_chars {
            continue;
        }
        let text = message.content.text();
        let name = file_name(message, view.entry_ids.get(at), at);
        let hash = stable_hash(text.as_wtf8());
        let item = SpillItem {
            name: &format!("{name}.txt"),
            other_name: &format!("{name}-{hash:016x}.txt"),
            text: &text,
        };
        let Ok(path) = spill.put(&item) else { continue };
        let preview = first_chars(&text, config.preview_chars);
        let marker =
            format!("<persisted-output>\nFull: {path}\nPreview:\n{preview}\n</persisted-output>");
        message.content = match &message.content {
            Content::Text(_) => Content::Text(marker.into()),
            Content::Blocks(blocks) => {
                let images = blocks.iter().filter(|block| matches!(block, Block::Image(_)));
                let marker = Block::text(marker);
                Content::Blocks(std::iter::once(&marker).chain(images).cloned().collect())
            }
        };
        done += 1;
    }
    done
}

/// The characters of the text in some content.
pub(super) fn text_len(content: &Content) -> usize {
    match content {
        Content::Text(text) => chars(text),
        Content::Blocks(blocks) => blocks
            .iter()
            .map(|block| match block {
                Block::Text { text, .. } => chars(text),
                _ => 0,
            })
            .sum(),
    }
}

/// A file name, without its ending, for the output of a call: the call's id, else the entry's,
/// else the position.
fn file_name(message: &Message, entry: Option<&EntryId>, at: usize) -> String {
    let call = message.tool_call_id.as_ref().map(|id| id.to_string_escaped().into_owned());
    let entry = || entry.map(|id| id.as_str().to_owned());
    let given = |id: &String| !id.is_empty();
    let id = call.filter(given).or_else(|| entry().filter(given));
    safe_name(&id.unwrap_or_else(|| at.to_string()))
}

/// Longest name that is taken as it is, in bytes.
const LONGEST_NAME: usize = 100;

/// A name that is a plain file name on every system: ASCII letters, digits, `-` and `_`, and
/// dots inside. Another one gets a hash, so that different ids stay different.
fn safe_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = id.chars().map(plain).take(LONGEST_NAME).collect();
    let name = name.trim_matches('.');
    let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
    let device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || (stem.len() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")));
    if name == id && !name.is_empty() && !device {
        return name.to_owned();
    }
    format!("{}{name}-{:016x}", if device { "_" } else { "" }, stable_hash(id.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn names() {
        assert_eq!(safe_name("call_1.a-B"), "call_1.a-B");
        for id in ["../../etc/passwd", "", ".", "..", "a/b", "nul", "COM1.x", "\u{e9}", "a b"] {
            let name = safe_name(id);
            assert!(!name.starts_with('.') && !name.ends_with('.'), "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)));
            assert!(name.len() > 16, "{name}");
        }
        assert_ne!(safe_name("a/b"), safe_name("a:b"));
        assert!(safe_name(&"x".repeat(5_000)).len() < 130);
        assert_ne!(safe_name(&"x".repeat(5_000)), safe_name(&"x".repeat(5_001)));
    }
}
