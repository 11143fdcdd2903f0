//! JSON values kept as the bytes they were read as.
//!
//! A session file may hold numbers that no `f64` keeps, repeated keys, lone surrogates and
//! nesting tens of thousands of levels deep. [`Json`] keeps a value's text and looks into it one
//! level at a time, without recursion; [`Object`] is one such level.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Text;

/// Any JSON value, as text.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

/// What a JSON value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any size
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl Json {
    /// `null`.
    pub fn null() -> Json {
        Json(RawValue::NULL.to_owned())
    }

    /// `{}`.
    pub fn empty_object() -> Json {
        Json::parse("{}").unwrap_or_else(|_| Json::null())
    }

    /// Takes one JSON value. Whitespace between tokens is removed, so that the value can stand
    /// in a line of a file.
    ///
    /// # Errors
    /// The parser's error where `text` is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
        let raw: Box<RawValue> = serde_json::from_str(text)?;
        Ok(Json(compact(raw)))
    }

    /// Serializes a value to JSON text.
    ///
    /// # Errors
    /// Where the value cannot be JSON, such as a map whose keys are not strings.
    pub fn from_value(value: &impl Serialize) -> Result<Json, serde_json::Error> {
        Json::parse(&serde_json::to_string(value)?)
    }

    /// Copies a borrowed raw value.
    pub fn from_raw(raw: &RawValue) -> Json {
        Json(compact(raw.to_owned()))
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// What kind of value this is.
    pub fn kind(&self) -> JsonKind {
        kind_of(self.get())
    }

    /// The string this value is, if it is one.
    pub fn as_text(&self) -> Option<Text> {
        text_of(self.get())
    }

    /// The number this value is, as `f64`, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        serde_json::from_str(self.get()).ok()
    }

    /// The object this value is, one level deep, if it is one.
    pub fn as_object(&self) -> Option<Object<'_>> {
        Object::parse(self.get()).ok()
    }

    /// The elements of the array this value is, if it is one.
    pub fn as_array(&self) -> Option<Vec<&RawValue>> {
        elements(self.get())
    }

    /// Decodes into a type. Recursive types are limited to 128 levels by the parser.
    ///
    /// # Errors
    /// Where the value does not fit the type.
    pub fn to<T: for<'de> Deserialize<'de>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Json(compact(raw)))
    }
}

/// What kind of value a JSON text is.
pub fn kind_of(json: &str) -> JsonKind {
    match json.trim_start().as_bytes().first() {
        Some(b'n') | None => JsonKind::Null,
        Some(b't' | b'f') => JsonKind::Bool,
        Some(b'"') => JsonKind::String,
        Some(b'[') => JsonKind::Array,
        Some(b'{') => JsonKind::Object,
        Some(_) => JsonKind::Number,
    }
}

/// The string a JSON text is, if it is one.
pub fn text_of(json: &str) -> Option<Text> {
    match json.len() < LONG_TEXT {
        true => serde_json::from_str(json).ok(),
        false => crate::text::unquote(json),
    }
}

/// From here on a copy of a text is worth saving.
const LONG_TEXT: usize = 64 * 1024;

/// The elements of the array a JSON text is, if it is one.
pub fn elements(json: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str::<Elements<'_>>(json).ok().map(|e| e.0)
}

/// Whether bytes are exactly one JSON value. Does not recurse, whatever the nesting.
pub fn is_valid(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// Removes whitespace between tokens; free where there is none.
fn compact(raw: Box<RawValue>) -> Box<RawValue> {
    let text = raw.get();
    let mut in_string = false;
    let mut escaped = false;
    let is_space = |b: u8| matches!(b, b' ' | b'\n' | b'\r' | b'\t');
    let mut out: Option<Vec<u8>> = None;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if in_string {
            if escaped {
                escaped = false;
            } else if byte == b'\\' {
                escaped = true;
            } else if byte == b'"' {
                in_string = false;
            }
        } else if byte == b'"' {
            in_string = true;
        } else if is_space(byte) {
            if out.is_none() {
                out = Some(text.as_bytes()[..at].to_vec());
            }
            continue;
        }
        if let Some(out) = &mut out {
            out.push(byte);
        }
    }
    let Some(out) = out else { return raw };
    match String::from_utf8(out).map(RawValue::from_string) {
        Ok(Ok(compacted)) => compacted,
        _ => raw,
    }
}

/// The fields of one JSON object, in order, values as text. A repeated key counts once, with
/// its last value, as JavaScript and Python read it.
#[derive(Debug, Default)]
pub struct Object<'a> {
    fields: Vec<Field<'a>>,
    repeated: Option<Text>,
}

#[derive(Debug)]
struct Field<'a> {
    key: Text,
    value: &'a RawValue,
    taken: bool,
}

impl<'a> Object<'a> {
    /// Reads one level of an object.
    ///
    /// # Errors
    /// Where the text is not exactly one JSON object.
    pub fn parse(json: &'a str) -> Result<Object<'a>, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The value of a key, as text. Does not mark it as taken.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|f| f.key == key).map(|f| f.value.get())
    }

    /// The value of a key, marked as taken.
    pub fn take(&mut self, key: &str) -> Option<&'a RawValue> {
        let field = self.fields.iter_mut().find(|f| f.key == key)?;
        field.taken = true;
        Some(field.value)
    }

    /// The string under a key, if there is one.
    pub fn text(&self, key: &str) -> Option<Text> {
        text_of(self.get(key)?)
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &'a RawValue)> {
        self.fields.iter().map(|f| (&f.key, f.value))
    }

    /// The fields that nobody took, in order.
    pub fn rest(&self) -> impl Iterator<Item = (&Text, &'a RawValue)> {
        self.fields.iter().filter(|f| !f.taken).map(|f| (&f.key, f.value))
    }

    /// Marks the fields that `which` picks as not taken again.
    pub(crate) fn untake(&mut self, which: impl Fn(&Text) -> bool) {
        for field in &mut self.fields {
            if which(&field.key) {
                field.taken = false;
            }
        }
    }

    /// A key that stands more than once, if one does.
    pub fn repeated(&self) -> Option<&Text> {
        self.repeated.as_ref()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<'a>, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut fields: Vec<Field<'de>> = Vec::new();
                let mut repeated = None;
                let mut seen = std::collections::HashMap::new();
                while let Some(key) = map.next_key::<Text>()? {
                    let value = map.next_value::<&'de RawValue>()?;
                    let field = Field { key, value, taken: false };
                    // Most objects are small: a map is only worth its cost for large ones.
                    let before = if fields.len() < 16 {
                        fields.iter().position(|f| f.key == field.key)
                    } else {
                        if seen.is_empty() {
                            seen.extend(fields.iter().enumerate().map(|(i, f)| (f.key.clone(), i)));
                        }
                        seen.get(&field.key).copied()
                    };
                    match before {
                        Some(at) => {
                            repeated = Some(field.key.clone());
                            fields[at] = field;
                        }
                        None => {
                            if !seen.is_empty() {
                                seen.insert(field.key.clone(), fields.len());
                            }
                            fields.push(field);
                        }
                    }
                }
                Ok(Object { fields, repeated })
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct Elements<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Elements<'a>, D::Error> {
        struct ElementsVisitor;
        impl<'de> Visitor<'de> for ElementsVisitor {
            type Value = Elements<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Elements<'de>, A::Error> {
                let mut out = Vec::new();
                while let Some(value) = seq.next_element::<&'de RawValue>()? {
                    out.push(value);
                }
                Ok(Elements(out))
            }
        }
        deserializer.deserialize_seq(ElementsVisitor)
    }
}

/// Writes one JSON object, field by field, in the order given.
#[derive(Debug)]
pub struct ObjectWriter {
    out: String,
    /// Where in `out` this object has its first field.
    start: usize,
    hidden: Vec<Text>,
}

impl Default for ObjectWriter {
    fn default() -> ObjectWriter {
        ObjectWriter::new()
    }
}

impl ObjectWriter {
    /// An object with no field yet.
    pub fn new() -> ObjectWriter {
        ObjectWriter::onto(String::new())
    }

    /// An object with no field yet, behind what was written before.
    pub(crate) fn onto(mut out: String) -> ObjectWriter {
        out.push('{');
        ObjectWriter { start: out.len(), out, hidden: Vec::new() }
    }

    /// Adds a field whose value is JSON text already.
    pub fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.text_key(&Text::from(key), json)
    }

    /// From now on leaves fields of these keys out, so that they can be written once, later.
    pub(crate) fn hide(&mut self, keys: Vec<Text>) {
        self.hidden = keys;
    }

    /// Adds a field under a key that may hold lone surrogates.
    pub fn text_key(&mut self, key: &Text, json: &str) -> &mut Self {
        if self.key(key) {
            self.out.push_str(json);
        }
        self
    }

    /// Starts a field; `false` where it is to be left out.
    fn key(&mut self, key: &Text) -> bool {
        if self.hidden.contains(key) {
            return false;
        }
        if self.out.len() > self.start {
            self.out.push(',');
        }
        key.push_json(&mut self.out);
        self.out.push(':');
        true
    }

    /// Adds a field that is written in place: its value may be most of what memory holds, and is
    /// not put together elsewhere first.
    pub(crate) fn nest(&mut self, key: &str, write: impl FnOnce(String) -> String) -> &mut Self {
        if self.key(&Text::from(key)) {
            self.out = write(std::mem::take(&mut self.out));
        }
        self
    }

    /// Adds a string field.
    pub fn text(&mut self, key: &str, value: &Text) -> &mut Self {
        if self.key(&Text::from(key)) {
            value.push_json(&mut self.out);
        }
        self
    }

    /// Adds a string field.
    pub fn str(&mut self, key: &str, value: &str) -> &mut Self {
        self.raw(key, &Text::from(value).to_json())
    }

    /// Adds a string field where there is a value.
    pub fn opt_text(&mut self, key: &str, value: Option<&Text>) -> &mut Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// Adds a field where there is a value.
    pub fn opt_json(&mut self, key: &str, value: Option<&Json>) -> &mut Self {
        match value {
            Some(value) => self.raw(key, value.get()),
            None => self,
        }
    }

    /// Adds an array of JSON texts.
    pub fn array<S: AsRef<str>>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        let json = join_array(items);
        self.raw(key, &json)
    }

    /// The object as JSON text.
    pub fn finish(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

/// A JSON array of JSON texts.
pub fn join_array<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut out = String::from("[");
    for item in items {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(item.as_ref());
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests;
