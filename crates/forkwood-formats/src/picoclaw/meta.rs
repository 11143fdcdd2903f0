//! `{base}.meta.json`: what PicoClaw keeps of a conversation beside its messages.

use forkwood::conversation::SessionScope;
use forkwood::conversation::go_json::push_string;
use forkwood::core::json::{Object, elements, text_of};
use forkwood::{Json, Text};

use super::message::fields;
use super::time;

/// What stands in a meta file. The default is what PicoClaw takes where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The key of the conversation.
    pub key: String,
    /// The summary of what is hidden.
    pub summary: String,
    /// How many lines, from the first, are hidden. A negative number acts as 0.
    pub skip: i64,
    /// How many lines PicoClaw believes to be there; it is behind after a crash.
    pub count: i64,
    /// When it was made, as it stands.
    pub created_at: String,
    /// When it changed last, as it stands.
    pub updated_at: String,
    /// The scope, as it stands.
    pub scope: Option<Json>,
    /// Older names.
    pub aliases: Vec<String>,
    /// Fields that PicoClaw does not know.
    pub extra: Vec<(Text, Json)>,
}

const NAMES: &[&str] =
    &["key", "summary", "skip", "count", "created_at", "updated_at", "scope", "aliases"];

impl Meta {
    /// What PicoClaw takes for a key without a meta file.
    pub fn new(key: &str) -> Meta {
        Meta { key: key.to_owned(), ..Meta::default() }
    }

    /// Reads a meta file.
    ///
    /// # Errors
    /// What is wrong, for people, where PicoClaw could not read it either.
    pub fn parse(text: &str) -> Result<Meta, String> {
        let object = Object::parse(text).map_err(|error| error.to_string())?;
        let names = |key: &str| NAMES.iter().copied().find(|name| *name == key);
        let mut meta = Meta::default();
        let wrong = |what: &str| format!("{what} has a value of another type than it should");
        for (name, raw) in fields(&object, names) {
            let text = || {
                let text = text_of(raw).ok_or_else(|| wrong(name))?;
                Ok::<_, String>(text.to_string_lossy().into_owned())
            };
            let number = || raw.trim().parse::<i64>().map_err(|_| wrong(name));
            match name {
                "key" => meta.key = text()?,
                "summary" => meta.summary = text()?,
                "skip" => meta.skip = number()?,
                "count" => meta.count = number()?,
                "created_at" => meta.created_at = text()?,
                "updated_at" => meta.updated_at = text()?,
                "scope" => meta.scope = Json::parse(raw).ok(),
                _ => {
                    let items = elements(raw).ok_or_else(|| wrong(name))?;
                    let texts: Option<Vec<Text>> =
                        items.into_iter().map(|item| text_of(item.get())).collect();
                    let texts = texts.ok_or_else(|| wrong(name))?;
                    meta.aliases =
                        texts.iter().map(|text| text.to_string_lossy().into_owned()).collect();
                }
            }
        }
        for at in [&meta.created_at, &meta.updated_at] {
            if !at.is_empty() && time::parse(at).is_none() {
                return Err(format!("{at:?} is no time"));
            }
        }
        let unknown = |key: &Text| names(&key.to_string_lossy().to_lowercase()).is_none();
        meta.extra = object
            .iter()
            .filter(|(key, _)| unknown(key))
            .map(|(key, raw)| (key.clone(), Json::from_raw(raw)))
            .collect();
        Ok(meta)
    }

    /// What can still be read of a damaged meta file: the fields before the damage. PicoClaw
    /// takes such a conversation for an empty one.
    pub fn salvage(text: &str) -> Meta {
        let mut end = text.len();
        for _ in 0..TRIES {
            let Some(comma) = text.get(..end).and_then(|text| text.rfind(',')) else { break };
            end = comma;
            if let Ok(meta) = Meta::parse(&format!("{}}}", &text[..comma])) {
                return meta;
            }
        }
        Meta::default()
    }

    /// The scope, where it is one.
    pub fn scope(&self) -> Option<SessionScope> {
        self.scope.as_ref()?.to().ok()
    }

    /// How many lines are hidden.
    pub fn hidden(&self) -> u64 {
        u64::try_from(self.skip).unwrap_or(0)
    }

    /// The text of the file, as PicoClaw writes it: indented, without a line end.
    pub fn to_text(&self) -> String {
        let mut out = String::from("{");
        let mut field = |name: &str, json: &str| {
            out.push_str(if out.len() > 1 { ",\n  " } else { "\n  " });
            push_string(&mut out, name);
            out.push_str(": ");
            indent(&mut out, json, 1);
        };
        let string = |text: &str| {
            let mut out = String::new();
            push_string(&mut out, text);
            out
        };
        let at = |text: &str| string(if text.is_empty() { time::ZERO } else { text });
        field("key", &string(&self.key));
        field("summary", &string(&self.summary));
        field("skip", &self.skip.to_string());
        field("count", &self.count.to_string());
        field("created_at", &at(&self.created_at));
        field("updated_at", &at(&self.updated_at));
        if let Some(scope) = &self.scope {
            field("scope", scope.get());
        }
        if !self.aliases.is_empty() {
            let aliases: Vec<String> = self.aliases.iter().map(|alias| string(alias)).collect();
            field("aliases", &format!("[{}]", aliases.join(",")));
        }
        for (key, value) in &self.extra {
            field(&key.to_string_lossy(), value.get());
        }
        out.push_str("\n}");
        out
    }
}

/// How many ends of a damaged file are tried.
const TRIES: usize = 200;

/// Writes JSON with two spaces a level, as Go's `Indent` does: strings as they are, empty lists
/// and objects on one line.
pub(super) fn indent(out: &mut String, json: &str, mut depth: usize) {
    let mut in_string = false;
    let mut escaped = false;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while chars.peek().is_some_and(|c| c.is_ascii_whitespace()) {
                    chars.next();
                }
                if let Some(end) = chars.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    // A hostile nesting must not make the text grow with the square of its depth.
    for _ in 0..depth.min(64) {
        out.push_str("  ");
    }
}
