//! The older files: one JSON object a session.

use forkwood::conversation::ConversationMessage;
use forkwood::conversation::go_json::push_string;
use forkwood::core::json::{Object, ObjectWriter, elements, join_array, text_of};
use forkwood::{Json, Result as Kept, Text};

use super::message::{decode, encode, fields};
use super::meta::indent;
use super::{OWN, time};

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
    /// Those of the file itself, but for ours.
    pub(super) extra: Vec<(Text, Json)>,
    /// What Forkwood keeps beside them, where it wrote the file.
    pub(super) own: Option<Own>,
}

/// What PicoClaw has no field for in such a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Own {
    pub(super) scope: Option<Json>,
    pub(super) aliases: Vec<String>,
    /// The alias whose history was taken over.
    pub(super) promoted_from: Option<String>,
    /// Whether there ever was a message or a summary.
    pub(super) used: bool,
    /// A hash of the newer lines that this file goes on from; empty where there were none.
    pub(super) after: String,
}

impl Own {
    fn parse(json: &str) -> Option<Own> {
        let object = Object::parse(json).ok()?;
        let text = |name: &str| Some(object.text(name)?.to_string_lossy().into_owned());
        let aliases = object.get("aliases").and_then(elements).unwrap_or_default();
        let aliases = aliases.iter().filter_map(|raw| text_of(raw.get()));
        Some(Own {
            scope: object.get("scope").and_then(|raw| Json::parse(raw).ok()),
            aliases: aliases.map(|text| text.to_string_lossy().into_owned()).collect(),
            promoted_from: text("promotedFrom"),
            used: object.get("used").is_some_and(|raw| raw.trim() == "true"),
            after: text("after").unwrap_or_default(),
        })
    }

    fn to_json(&self) -> String {
        let mut out = ObjectWriter::new();
        out.opt_json("scope", self.scope.as_ref());
        let aliases = self.aliases.iter().map(|alias| Text::from(alias.as_str()).to_json());
        out.raw("aliases", &join_array(aliases));
        if let Some(from) = &self.promoted_from {
            out.str("promotedFrom", from);
        }
        out.raw("used", if self.used { "true" } else { "false" }).str("after", &self.after);
        out.finish()
    }
}

impl Legacy {
    /// The text of the file, as PicoClaw writes it: indented, without a line end.
    ///
    /// # Errors
    /// Those of a message that cannot be written.
    pub(super) fn to_text(&self) -> Kept<String> {
        let string = |text: &str| {
            let mut out = String::new();
            push_string(&mut out, text);
            out
        };
        let at = |text: &str| string(if text.is_empty() { time::ZERO } else { text });
        let messages: Vec<String> = self.messages.iter().map(encode).collect::<Kept<_>>()?;
        let mut fields = vec![
            ("key".to_owned(), string(&self.key)),
            ("messages".to_owned(), format!("[{}]", messages.join(","))),
        ];
        if !self.summary.is_empty() {
            fields.push(("summary".to_owned(), string(&self.summary)));
        }
        fields.push(("created".to_owned(), at(&self.created)));
        fields.push(("updated".to_owned(), at(&self.updated)));
        let extra = self.extra.iter();
        fields.extend(
            extra.map(|(key, raw)| (key.to_string_lossy().into_owned(), raw.get().to_owned())),
        );
        if let Some(own) = &self.own {
            fields.push((OWN.to_owned(), own.to_json()));
        }
        let fields = fields.iter().map(|(key, json)| format!("{}:{json}", string(key)));
        let object = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
        let mut out = String::with_capacity(object.len() * 2);
        indent(&mut out, &object, 0);
        Ok(out)
    }
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
    // PicoClaw takes any object for a session, and leaves an empty one of whatever it was.
    let has = |name: &str| fields(&object, known).iter().any(|(field, _)| *field == name);
    if !has("messages") {
        return Err("no session of PicoClaw's: it has no messages".to_owned());
    }
    legacy.own = object.get(OWN).and_then(Own::parse);
    legacy.extra = object
        .iter()
        .filter(|(key, _)| known(&key.to_string_lossy().to_lowercase()).is_none())
        .filter(|(key, _)| *key != OWN || legacy.own.is_none())
        .map(|(key, raw)| (key.clone(), Json::from_raw(raw)))
        .collect();
    if !["key", "summary", "created", "updated"].into_iter().any(has) && !legacy.extra.is_empty() {
        return Err(
            "no session of PicoClaw's: it has messages, and otherwise fields of others".to_owned()
        );
    }
    let unknown = legacy.extra.iter().map(|(key, _)| key.to_string_lossy().into_owned());
    legacy.unknown.extend(unknown);
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
