//! What lines beside the conversation say of the session: titles, the tag, the names of agents.

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::Object;
use forkwood_core::{Body, Json, Text};

use super::{METADATA, NAME};
use crate::fields::Out;

/// What is kept of such a line: its type, and the field that says it.
const TOLD: &[(&str, &str)] = &[
    ("ai-title", "aiTitle"),
    ("summary", "summary"),
    ("tag", "tag"),
    ("agent-name", "agentName"),
    ("pr-link", "prUrl"),
];

/// Whether lines of a type say something of the session.
pub(crate) fn tells(tag: &Text) -> bool {
    TOLD.iter().any(|(name, _)| *tag == *name)
}

/// Takes in what an entry says. The person's title goes before the model's, and that before a
/// summary, which may be one of another session: then its leaf is not here.
pub(crate) fn take(info: &mut SessionInfo, body: Body, has: &dyn Fn(&str) -> bool) {
    let told = match body {
        Body::SessionInfo(new) => new.title.map(|title| ("customTitle", title)),
        Body::Custom { namespace, data, .. } => told(&namespace, &data, has),
        _ => None,
    };
    let Some((key, value)) = told else { return };
    let before = info.metadata.take();
    let before = before.as_ref().and_then(Json::as_object).unwrap_or_default();
    let mut known = before.get(METADATA).and_then(|raw| Object::parse(raw).ok());
    let mut own = Out::default();
    own.text(key, &value);
    if let Some(known) = known.take() {
        own.rest(known.iter().map(|(key, value)| (key, value.get())));
    }
    let own = own.into_json();
    if let Some(object) = own.as_object() {
        let said = |key: &str| object.text(key).filter(|text| !text.is_empty());
        info.title = said("customTitle").or_else(|| said("aiTitle")).or_else(|| said("summary"));
    }
    let mut out = Out::default();
    out.raw(METADATA, own.get());
    out.rest(before.iter().map(|(key, value)| (key, value.get())));
    info.metadata = Some(out.into_json());
}

fn told(namespace: &Text, data: &Json, has: &dyn Fn(&str) -> bool) -> Option<(&'static str, Text)> {
    let tag = namespace.as_str()?.strip_prefix(NAME)?.strip_prefix('.')?;
    let (_, field) = TOLD.iter().find(|(name, _)| *name == tag)?;
    let object = data.as_object()?;
    let elsewhere = tag == "summary"
        && !object.text("leafUuid").is_some_and(|leaf| has(&leaf.to_string_escaped()));
    if elsewhere {
        return None;
    }
    object.text(field).map(|value| (*field, value))
}
