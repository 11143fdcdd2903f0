//! Taking fields out of an object, in either spelling, with a report of what is odd.

use serde_json::value::RawValue;

use crate::json::{self, JsonKind, Object};
use crate::{Content, CoreError, DiagnosticKind, EntryId, Json, Text, Timestamp};

/// How to read, and what was odd so far.
#[derive(Debug, Default)]
pub struct Reader {
    strict: bool,
    notes: Vec<(DiagnosticKind, String)>,
    /// The first thing that strict mode refuses and that stands where no error can be returned.
    refused: Option<CoreError>,
}

impl Reader {
    /// Keeps everything and notes what is odd.
    pub fn lossless() -> Reader {
        Reader::default()
    }

    /// Refuses whatever is not as documented.
    pub fn strict() -> Reader {
        Reader { strict: true, ..Reader::default() }
    }

    /// What was refused while a field was only looked up.
    ///
    /// # Errors
    /// In strict mode, where a field stands more than once, in one spelling or in both.
    pub(crate) fn finish(&mut self) -> Result<(), CoreError> {
        self.refused.take().map_or(Ok(()), Err)
    }

    fn refuse_later(&mut self, what: &str, problem: &str) {
        if let Err(error) = self.note(DiagnosticKind::BothSpellings, what, problem) {
            self.refused.get_or_insert(error);
        }
    }

    /// What was odd.
    pub fn into_notes(self) -> Vec<(DiagnosticKind, String)> {
        self.notes
    }

    /// Notes something odd about a field, or refuses it in strict mode.
    ///
    /// # Errors
    /// In strict mode, always.
    pub fn refuse(&mut self, what: &str, problem: &str) -> Result<(), CoreError> {
        self.note(DiagnosticKind::OddField, what, problem)
    }

    fn note(&mut self, kind: DiagnosticKind, what: &str, problem: &str) -> Result<(), CoreError> {
        if self.strict {
            return Err(CoreError::invalid(what, problem));
        }
        self.notes.push((kind, format!("{what}: {problem}")));
        Ok(())
    }
}

/// Takes the fields of one object. A field may be spelled in camelCase or snake_case; where
/// both stand, camelCase wins. `null` counts as absent.
#[derive(Debug)]
pub struct Take<'o, 'j> {
    object: &'o mut Object<'j>,
    reader: &'o mut Reader,
    what: &'static str,
    /// Fields that are known and hold something else than they should.
    odd: Vec<String>,
}

impl<'o, 'j> Take<'o, 'j> {
    /// Starts on an object; `what` names it in messages.
    pub fn new(object: &'o mut Object<'j>, reader: &'o mut Reader, what: &'static str) -> Self {
        if reader.strict
            && let Some(key) = object.repeated()
        {
            reader.refuse_later(what, &format!("the field {key} stands more than once"));
        }
        Take { object, reader, what, odd: Vec::new() }
    }

    /// The reader, for what is inside a field.
    pub fn reader(&mut self) -> &mut Reader {
        self.reader
    }

    /// Notes something odd, or refuses it in strict mode.
    ///
    /// # Errors
    /// In strict mode, always.
    pub fn refuse(&mut self, field: &str, problem: &str) -> Result<(), CoreError> {
        self.reader.refuse(&format!("{}.{field}", self.what), problem)
    }

    pub(super) fn note(&mut self, kind: DiagnosticKind, problem: &str) -> Result<(), CoreError> {
        self.reader.note(kind, self.what, problem)
    }

    /// The value of a field, `null` included.
    pub fn raw_or_null(&mut self, camel: &str) -> Option<&'j RawValue> {
        let snake = snake_case(camel);
        let first = self.object.take(camel);
        if snake == camel {
            return first;
        }
        let second = self.object.take(&snake);
        if first.is_some() && second.is_some() {
            let problem = match self.reader.strict {
                true => format!("{camel} and {snake} both stand; give one of them"),
                false => format!("{camel} and {snake} both stand; {camel} is used"),
            };
            self.reader.refuse_later(self.what, &problem);
        }
        first.or(second)
    }

    /// The value of a field.
    pub fn raw(&mut self, camel: &str) -> Option<&'j RawValue> {
        self.raw_or_null(camel).filter(|raw| json::kind_of(raw.get()) != JsonKind::Null)
    }

    fn typed<T>(
        &mut self,
        camel: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, CoreError> {
        let Some(raw) = self.raw(camel) else { return Ok(None) };
        let value = read(raw.get());
        if value.is_none() {
            self.odd(camel, &format!("must be {expected}"))?;
        }
        Ok(value)
    }

    /// Notes a field that holds something else than it should, and leaves it among the rest, so
    /// that it is written back; or refuses it in strict mode.
    ///
    /// # Errors
    /// In strict mode, always.
    pub(super) fn odd(&mut self, camel: &str, problem: &str) -> Result<(), CoreError> {
        self.refuse(camel, problem)?;
        self.keep_if(camel, true);
        Ok(())
    }

    /// Leaves a field among the rest, so that it is written back as it stands in place of what
    /// was understood of it, if it holds more than that, which is noted already.
    pub(super) fn keep_if(&mut self, camel: &str, more: bool) {
        if !more {
            return;
        }
        let snake = snake_case(camel);
        self.object.untake(|key| *key == *camel || *key == *snake);
        self.odd.extend([camel.to_owned(), snake]);
    }

    /// Takes fields whose odd values are not kept: those by which entries hang together.
    pub(super) fn forget(&mut self, camels: &[&str]) {
        for camel in camels {
            self.object.take(camel);
            self.object.take(&snake_case(camel));
        }
    }

    /// A string.
    ///
    /// # Errors
    /// In strict mode, where it is something else. The same holds for the methods below.
    pub fn text(&mut self, camel: &str) -> Result<Option<Text>, CoreError> {
        self.typed(camel, "a string", json::text_of)
    }

    /// The id of an entry. An empty string counts as absent.
    ///
    /// # Errors
    /// In strict mode, where it is empty or no string.
    pub fn id(&mut self, camel: &str) -> Result<Option<EntryId>, CoreError> {
        let text = self.text(camel)?;
        if self.reader.strict && text.as_ref().is_some_and(Text::is_empty) {
            self.refuse(camel, "must not be empty")?;
        }
        Ok(text.filter(|t| !t.is_empty()).map(|t| EntryId::from_text(&t)))
    }

    /// An array of entry ids.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn ids(&mut self, camel: &str) -> Result<Option<Vec<EntryId>>, CoreError> {
        let texts = self.texts(camel)?;
        Ok(texts.map(|texts| texts.iter().map(EntryId::from_text).collect()))
    }

    /// An array of strings.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn texts(&mut self, camel: &str) -> Result<Option<Vec<Text>>, CoreError> {
        self.typed(camel, "an array of strings", |raw| {
            json::elements(raw)?.into_iter().map(|item| json::text_of(item.get())).collect()
        })
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn integer(&mut self, camel: &str) -> Result<Option<u64>, CoreError> {
        self.typed(camel, "a whole number from 0", |raw| {
            let number: f64 = serde_json::from_str(raw).ok()?;
            serde_json::from_str::<u64>(raw).ok().or_else(|| {
                ((0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0)
                    .then_some(number as u64)
            })
        })
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn boolean(&mut self, camel: &str) -> Result<Option<bool>, CoreError> {
        self.typed(camel, "true or false", |raw| serde_json::from_str(raw).ok())
    }

    /// Unix seconds, as a number or the digits of one.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn timestamp(&mut self, camel: &str) -> Result<Option<Timestamp>, CoreError> {
        self.typed(camel, "seconds since 1970", |raw| match json::kind_of(raw) {
            JsonKind::Number => Timestamp::parse_seconds(raw),
            JsonKind::String => Timestamp::parse_seconds(json::text_of(raw)?.as_str()?),
            _ => None,
        })
    }

    /// Any value but `null`.
    ///
    /// # Errors
    /// Never at present; kept for one shape of all these methods.
    pub fn json(&mut self, camel: &str) -> Result<Option<Json>, CoreError> {
        Ok(self.raw(camel).map(Json::from_raw))
    }

    /// An object.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn object(&mut self, camel: &str) -> Result<Option<Json>, CoreError> {
        self.typed(camel, "an object", |raw| {
            (json::kind_of(raw) == JsonKind::Object).then(|| Json::parse(raw).ok()).flatten()
        })
    }

    /// Message content: a string or blocks.
    ///
    /// # Errors
    /// In strict mode, where it is something else.
    pub fn content(&mut self, camel: &str) -> Result<Option<Content>, CoreError> {
        match self.raw(camel) {
            Some(raw) => crate::message::codec_decode_content(raw.get(), self.reader).map(Some),
            None => Ok(None),
        }
    }

    /// The fields that nobody took.
    ///
    /// # Errors
    /// In strict mode, where there is one.
    pub fn rest(&mut self) -> Result<Vec<(Text, Json)>, CoreError> {
        let rest: Vec<_> =
            self.object.rest().map(|(key, raw)| (key.clone(), Json::from_raw(raw))).collect();
        for (key, _) in &rest {
            if self.odd.iter().any(|odd| *key == **odd) {
                continue;
            }
            self.note(DiagnosticKind::UnknownField, &format!("unknown field {key}"))?;
        }
        Ok(rest)
    }

    pub(super) fn give_back(&mut self, but: &[&str]) {
        self.object.untake(|key| !but.iter().any(|b| key == *b || *key == *snake_case(b)));
    }
}

/// A key in camelCase, whatever its spelling.
pub(super) fn camel_case(key: &Text) -> Text {
    let Some(plain) = key.as_str().filter(|key| key.contains('_')) else { return key.clone() };
    let mut out = String::with_capacity(plain.len());
    let mut up = false;
    for c in plain.chars() {
        match c {
            '_' => up = true,
            c if std::mem::take(&mut up) => out.push(c.to_ascii_uppercase()),
            c => out.push(c),
        }
    }
    out.into()
}

fn snake_case(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
