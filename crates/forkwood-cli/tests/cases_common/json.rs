//! JSON that is compared by meaning: key order and the spelling of numbers do not count, and
//! strings may hold lone surrogates.

use forkwood::Text;
use forkwood::core::json::{self, JsonKind, Object};

#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// A number, and its spelling.
    Number(f64, String),
    Text(Text),
    List(Vec<Json>),
    Map(Vec<(Text, Json)>),
}

static NULL: Json = Json::Null;

impl Json {
    pub(crate) fn parse(text: &str) -> Option<Json> {
        let text = text.trim();
        if !json::is_valid(text.as_bytes()) {
            return None;
        }
        Some(Json::read(text))
    }

    fn read(text: &str) -> Json {
        match json::kind_of(text) {
            JsonKind::Object => {
                let object = Object::parse(text).unwrap();
                Json::Map(object.iter().map(|(k, v)| (k.clone(), Json::read(v.get()))).collect())
            }
            JsonKind::Array => {
                let items = json::elements(text).unwrap();
                Json::List(items.into_iter().map(|v| Json::read(v.get())).collect())
            }
            JsonKind::String => Json::Text(json::text_of(text).unwrap()),
            JsonKind::Number => Json::Number(text.parse().unwrap(), text.to_owned()),
            JsonKind::Bool => Json::Bool(text == "true"),
            JsonKind::Null => Json::Null,
        }
    }

    /// As `JSON.stringify` writes it, for digests.
    pub(crate) fn stringify(&self) -> String {
        match self {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Number(_, text) => text.clone(),
            Json::Text(text) => text.to_json(),
            Json::List(items) => {
                let items: Vec<String> = items.iter().map(Json::stringify).collect();
                format!("[{}]", items.join(","))
            }
            Json::Map(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(k, v)| format!("{}:{}", k.to_json(), v.stringify()))
                    .collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }

    /// The value of a key; `null` where there is none.
    pub(crate) fn get(&self, key: &str) -> &Json {
        let Json::Map(fields) = self else { return &NULL };
        fields.iter().find(|(name, _)| *name == *key).map_or(&NULL, |(_, value)| value)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(self, Json::Map(fields) if fields.iter().any(|(name, _)| *name == *key))
    }

    pub(crate) fn fields(&self) -> &[(Text, Json)] {
        let Json::Map(fields) = self else { return &[] };
        fields
    }

    pub(crate) fn list(&self) -> &[Json] {
        let Json::List(items) = self else { return &[] };
        items
    }

    pub(crate) fn as_text(&self) -> Option<String> {
        let Json::Text(text) = self else { return None };
        Some(text.to_string_lossy().into_owned())
    }

    /// The string this is; empty for anything else.
    pub(crate) fn text(&self) -> String {
        self.as_text().unwrap_or_default()
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        let Json::Number(number, _) = self else { return None };
        Some(*number)
    }

    /// The number this is; -1 for anything else.
    pub(crate) fn number(&self) -> i64 {
        self.as_number().map_or(-1, |number| number as i64)
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The strings of a list.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.list().iter().map(Json::text).collect()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Null, Json::Null) => true,
            (Json::Bool(a), Json::Bool(b)) => a == b,
            (Json::Number(a, one), Json::Number(b, two)) => a == b || one == two,
            (Json::Text(a), Json::Text(b)) => a == b,
            (Json::List(a), Json::List(b)) => a == b,
            (Json::Map(a), Json::Map(b)) => {
                let mut sorted = [a.clone(), b.clone()];
                for fields in &mut sorted {
                    fields.sort_by(|one, two| one.0.cmp(&two.0));
                }
                sorted[0] == sorted[1]
            }
            _ => false,
        }
    }
}

/// The first 16 hex digits of a SHA-256.
pub(crate) fn sha16(text: &str) -> String {
    use sha2::Digest;
    let hash = sha2::Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
