//! Taking fields out of a foreign object, without losing one.

use std::collections::HashSet;

use forkwood_core::entry::Foreign;
use forkwood_core::json::{self, JsonKind, Object, ObjectWriter};
use forkwood_core::{Body, DiagnosticKind, Entry, EntryId, Json, Lane, Text};
use forkwood_storage::jsonl::{Decoded, LineFault, as_text};

/// One object of a line.
///
/// # Errors
/// A [`LineFault`] that tells bad JSON from JSON of another shape.
pub(crate) fn parse_object(text: &str) -> Result<Object<'_>, LineFault> {
    Object::parse(text).map_err(|error| {
        if json::is_valid(text.as_bytes()) {
            LineFault::WrongShape("is JSON, but no object".into())
        } else {
            LineFault::NotJson(error.to_string())
        }
    })
}

/// The string under a key, in the form that ids have in Rust; an empty one counts as absent.
pub(crate) fn id_of(object: &Object<'_>, key: &str) -> Option<String> {
    let text = object.text(key)?;
    (!text.is_empty()).then(|| text.to_string_escaped().into_owned())
}

/// Takes the fields of an object. A field counts as taken only where its value could be used;
/// whatever else there is comes out of [`Fields::rest`].
#[derive(Debug)]
pub(crate) struct Fields<'j> {
    object: Object<'j>,
    taken: Vec<&'static str>,
    notes: Vec<(DiagnosticKind, String)>,
    what: &'static str,
}

impl<'j> Fields<'j> {
    pub(crate) fn new(object: Object<'j>, what: &'static str) -> Fields<'j> {
        Fields { object, taken: Vec::new(), notes: Vec::new(), what }
    }

    /// The object itself; looking marks nothing as taken.
    pub(crate) fn object(&self) -> &Object<'j> {
        &self.object
    }

    /// Marks fields as taken, whatever they hold.
    pub(crate) fn skip(&mut self, keys: &[&'static str]) {
        self.taken.extend_from_slice(keys);
    }

    /// Marks every field as not taken, but those named.
    pub(crate) fn give_back(&mut self, but: &[&'static str]) {
        self.taken.retain(|key| but.contains(key));
    }

    /// Notes something odd.
    pub(crate) fn odd(&mut self, problem: impl std::fmt::Display) {
        self.note(DiagnosticKind::OddField, problem);
    }

    pub(crate) fn note(&mut self, kind: DiagnosticKind, problem: impl std::fmt::Display) {
        self.notes.push((kind, format!("{}: {problem}", self.what)));
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'j str) -> Option<T>,
    ) -> Option<T> {
        let raw = self.object.get(key)?;
        let value = read(raw);
        if value.is_some() {
            self.taken.push(key);
        } else if raw != "null" {
            self.odd(format!("{key} must be {expected}"));
        }
        value
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Option<Text> {
        self.typed(key, "a string", json::text_of)
    }

    /// A string that is not empty.
    pub(crate) fn id(&mut self, key: &'static str) -> Option<EntryId> {
        let text = json::text_of(self.object.get(key)?).filter(|text| !text.is_empty())?;
        self.taken.push(key);
        Some(EntryId::from_text(&text))
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.typed(key, "true or false", |raw| raw.parse().ok())
    }

    /// A whole number that is not negative.
    pub(crate) fn integer(&mut self, key: &'static str) -> Option<u64> {
        self.typed(key, "a whole number from 0", whole_number)
    }

    /// Any value but `null`.
    pub(crate) fn json(&mut self, key: &'static str) -> Option<Json> {
        let raw = self.object.get(key).filter(|raw| *raw != "null")?;
        let value = Json::parse(raw).ok()?;
        self.taken.push(key);
        Some(value)
    }

    /// The text of any value but `null`, as it stands.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<&'j str> {
        let raw = self.object.get(key).filter(|raw| *raw != "null")?;
        self.taken.push(key);
        Some(raw)
    }

    pub(crate) fn json_object(&mut self, key: &'static str) -> Option<Json> {
        self.typed(key, "an object", |raw| {
            (json::kind_of(raw) == JsonKind::Object).then(|| Json::parse(raw).ok()).flatten()
        })
    }

    pub(crate) fn texts(&mut self, key: &'static str) -> Option<Vec<Text>> {
        self.typed(key, "an array of strings", |raw| {
            json::elements(raw)?.into_iter().map(|item| json::text_of(item.get())).collect()
        })
    }

    /// The fields that were not taken, in order.
    pub(crate) fn rest(&self) -> Vec<(Text, Json)> {
        self.object
            .iter()
            .filter(|(key, _)| !self.taken.iter().any(|taken| *key == taken))
            .map(|(key, raw)| ((*key).clone(), Json::from_raw(raw)))
            .collect()
    }

    pub(crate) fn into_notes(self) -> Vec<(DiagnosticKind, String)> {
        self.notes
    }
}

/// A number that is whole and not negative, as JavaScript may write it.
pub(crate) fn whole_number(raw: &str) -> Option<u64> {
    if let Ok(number) = raw.trim().parse::<u64>() {
        return Some(number);
    }
    let number: f64 = raw.trim().parse().ok()?;
    ((0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0)
        .then_some(number as u64)
}

/// Writes an object and remembers its keys, so that none is written twice.
#[derive(Debug, Default)]
pub(crate) struct Out {
    writer: ObjectWriter,
    keys: HashSet<Text>,
}

impl Out {
    pub(crate) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.field(&Text::from(key), json)
    }

    pub(crate) fn field(&mut self, key: &Text, json: &str) -> &mut Self {
        if self.keys.insert(key.clone()) {
            self.writer.text_key(key, json);
        }
        self
    }

    pub(crate) fn text(&mut self, key: &str, value: &Text) -> &mut Self {
        self.raw(key, &value.to_json())
    }

    pub(crate) fn str(&mut self, key: &str, value: &str) -> &mut Self {
        self.raw(key, &Text::from(value).to_json())
    }

    pub(crate) fn opt(&mut self, key: &str, value: Option<&Json>) -> &mut Self {
        match value {
            Some(value) => self.raw(key, value.get()),
            None => self,
        }
    }

    /// Adds the fields whose keys are not there yet.
    pub(crate) fn rest<'a>(
        &mut self,
        fields: impl IntoIterator<Item = (&'a Text, &'a str)>,
    ) -> &mut Self {
        for (key, json) in fields {
            self.field(key, json);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn finish(self) -> String {
        self.writer.finish()
    }

    pub(crate) fn into_json(self) -> Json {
        Json::parse(&self.finish()).unwrap_or_else(|_| Json::empty_object())
    }
}

/// Fields kept as they are, for [`Out::rest`].
pub(crate) fn kept(fields: &[(Text, Json)]) -> impl Iterator<Item = (&Text, &str)> {
    fields.iter().map(|(key, value)| (key, value.get()))
}

/// The raw record of a message that has no form of its own here, if it is of `format`.
pub(crate) fn foreign_of<'a>(foreign: Option<&'a Foreign>, format: &str) -> Option<&'a Json> {
    foreign.filter(|foreign| foreign.format == format).map(|foreign| &foreign.raw)
}

/// A part of a line that cannot be read by itself and whose line is damaged: kept as it is.
///
/// # Errors
/// A [`LineFault`] where it holds no JSON values.
pub(crate) fn piece(format: &str, record: &[u8]) -> Result<Decoded, LineFault> {
    let list = format!("[{}]", as_text(record)?);
    let data = Json::parse(&list).map_err(|error| LineFault::NotJson(error.to_string()))?;
    let entry = Entry {
        id: EntryId::new("piece"),
        parent_id: None,
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: Body::Custom { namespace: format!("{format}.piece").into(), data, aside: false },
        extra: Vec::new(),
    };
    Ok(Decoded { entry, notes: Vec::new() })
}
