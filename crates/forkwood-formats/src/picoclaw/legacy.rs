//! The older files: one JSON object a session.

use forkwood::conversation::ConversationMessage;
use forkwood::core::json::{Object, elements, text_of};

use super::message::{decode, encode, fields};
use super::time;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Legacy {
    /// The key; empty where the file names none, which then stands for it.
    pub(super) key: String,
    pub(super) messages: Vec<ConversationMessage>,
    pub(super) summary: String,
    pub(super) created: String,
    pub(super) updated: String,
    /// Fields that PicoClaw does not know.
    pub(super) unknown: Vec<String>,
}

/// Reads a file.
///
/// # Errors
/// What is wrong, for people. PicoClaw passes such a file over, too, at every start.
pub(super) fn parse(text: &str) -> Result<Legacy, String> {
    let object = Object::parse(text).map_err(|error| error.to_string())?;
    let known = |key: &str| {
        ["key", "messages", "summary", "created", "updated"].into_iter().find(|name| *name == key)
    };
    let mut legacy = Legacy::default();
    for (name, raw) in fields(&object, known) {
        let text = || {
            let text = text_of(raw).ok_or_else(|| format!("{name} is not a string"))?;
            Ok::<_, String>(text.to_string_lossy().into_owned())
        };
        match name {
            "key" => legacy.key = text()?,
            "summary" => legacy.summary = text()?,
            "created" => legacy.created = text()?,
            "updated" => legacy.updated = text()?,
            _ => {
                let items = elements(raw).ok_or("messages is not a list")?;
                for (item, number) in items.into_iter().zip(1..) {
                    let decoded = decode(item.get())
                        .map_err(|problem| format!("message {number}: {problem}"))?;
                    legacy.unknown.extend(decoded.unknown.clone());
                    legacy.messages.push(as_line(decoded.message));
                }
            }
        }
    }
    for at in [&legacy.created, &legacy.updated] {
        if !at.is_empty() && time::parse(at).is_none() {
            return Err(format!("{at:?} is no time"));
        }
    }
    let unknown =
        object.iter().filter(|(key, _)| known(&key.to_string_lossy().to_lowercase()).is_none());
    legacy.unknown.extend(unknown.map(|(key, _)| key.to_string_lossy().into_owned()));
    Ok(legacy)
}

/// A message in the form that its line would have: the indentation of the file is not kept,
/// unknown fields are.
fn as_line(message: ConversationMessage) -> ConversationMessage {
    let plain = ConversationMessage { foreign: None, ..message.clone() };
    let again = encode(&plain).ok().and_then(|line| decode(&line).ok());
    let Some(foreign) = &message.foreign else { return message };
    // Where nothing but the white space differs, the message alone is the line.
    let compact = |json: &str| {
        let mut out = String::with_capacity(json.len());
        let (mut in_string, mut escaped) = (false, false);
        for c in json.chars() {
            if in_string || !c.is_ascii_whitespace() {
                out.push(c);
            }
            if in_string {
                in_string = escaped || c != '"';
                escaped = c == '\\' && !escaped;
            } else {
                in_string = c == '"';
            }
        }
        out
    };
    let squeezed = compact(foreign.raw.get());
    match again {
        Some(_) if encode(&plain).is_ok_and(|line| line == squeezed) => plain,
        _ => decode(&squeezed).map_or(message, |decoded| decoded.message),
    }
}
