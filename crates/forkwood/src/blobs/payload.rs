//! Binary payloads `{"base64", "mimeType"}` in the data of extensions.

use std::collections::HashMap;

use forkwood_core::Json;
use forkwood_core::json::{JsonKind, Object, ObjectWriter, elements, join_array, kind_of};
use forkwood_storage::blob::{is_base64, is_blob_name, name_of};

use super::{INLINE_LIMIT, large};

/// How deep data is looked into.
const MAX_DEPTH: usize = 64;

/// Data with its large payloads named instead of inline, and the bytes to be put into the store.
/// `None` where there is none.
pub(super) fn shrink(data: &Json) -> Option<(Json, Vec<Vec<u8>>)> {
    let mut found = Vec::new();
    let smaller = walk(data.get(), MAX_DEPTH, &mut found)?;
    Some((Json::parse(&smaller).ok()?, found))
}

fn walk(json: &str, depth: usize, found: &mut Vec<Vec<u8>>) -> Option<String> {
    // Base64 is longer than its bytes: what is this short holds nothing large.
    if depth == 0 || json.len() <= INLINE_LIMIT {
        return None;
    }
    match kind_of(json) {
        JsonKind::Object => {
            let object = Object::parse(json).ok()?;
            if let Some(bytes) = object.text("base64").and_then(|text| large(text.as_str()?)) {
                let mut named = ObjectWriter::new();
                named.str("blob", &name_of(&bytes)).raw("bytes", &bytes.len().to_string());
                for (key, value) in object.iter() {
                    if !["base64", "blob", "bytes"].iter().any(|own| *key == **own) {
                        named.text_key(key, value.get());
                    }
                }
                found.push(bytes);
                return Some(named.finish());
            }
            let mut changed = false;
            let mut out = ObjectWriter::new();
            for (key, value) in object.iter() {
                let smaller = walk(value.get(), depth - 1, found);
                changed |= smaller.is_some();
                out.text_key(key, smaller.as_deref().unwrap_or(value.get()));
            }
            changed.then(|| out.finish())
        }
        JsonKind::Array => {
            let items = elements(json)?;
            let smaller: Vec<Option<String>> =
                items.iter().map(|item| walk(item.get(), depth - 1, found)).collect();
            smaller.iter().any(Option::is_some).then(|| {
                let both = items.iter().zip(&smaller);
                join_array(both.map(|(item, smaller)| smaller.as_deref().unwrap_or(item.get())))
            })
        }
        _ => None,
    }
}

/// Data with the payloads that it names inline again, where their base64 is given. `None` where
/// there is none.
pub(super) fn grow(data: &Json, found: &HashMap<String, String>) -> Option<Json> {
    Json::parse(&larger(data.get(), MAX_DEPTH, found)?).ok()
}

fn larger(json: &str, depth: usize, found: &HashMap<String, String>) -> Option<String> {
    if depth == 0 || !json.contains("sha256-") {
        return None;
    }
    match kind_of(json) {
        JsonKind::Object => {
            let object = Object::parse(json).ok()?;
            let name = object.text("blob").map(|name| name.to_string_lossy().into_owned());
            let mut out = ObjectWriter::new();
            if let Some(base64) = name.and_then(|name| found.get(&name)) {
                out.str("base64", base64);
                for (key, value) in object.iter() {
                    if !["base64", "blob", "bytes"].iter().any(|own| *key == **own) {
                        out.text_key(key, value.get());
                    }
                }
                return Some(out.finish());
            }
            let mut changed = false;
            for (key, value) in object.iter() {
                let grown = larger(value.get(), depth - 1, found);
                changed |= grown.is_some();
                out.text_key(key, grown.as_deref().unwrap_or(value.get()));
            }
            changed.then(|| out.finish())
        }
        JsonKind::Array => {
            let items = elements(json)?;
            let grown: Vec<Option<String>> =
                items.iter().map(|item| larger(item.get(), depth - 1, found)).collect();
            grown.iter().any(Option::is_some).then(|| {
                let both = items.iter().zip(&grown);
                join_array(both.map(|(item, grown)| grown.as_deref().unwrap_or(item.get())))
            })
        }
        _ => None,
    }
}

/// Whether all payloads in data, small ones too, are base64. Only an object that has both fields
/// is taken for one: extensions may call anything `base64`.
pub(super) fn is_sound(data: &Json) -> bool {
    let mut rest = vec![(data.get(), MAX_DEPTH)];
    while let Some((json, depth)) = rest.pop() {
        if depth == 0 || !json.contains("base64") {
            continue;
        }
        match kind_of(json) {
            JsonKind::Object => {
                let Ok(object) = Object::parse(json) else { continue };
                let payload = object.text("mimeType").and_then(|_| object.text("base64"));
                if payload.is_some_and(|text| !text.as_str().is_some_and(is_base64)) {
                    return false;
                }
                rest.extend(object.iter().map(|(_, value)| (value.get(), depth - 1)));
            }
            JsonKind::Array => {
                let items = elements(json).unwrap_or_default();
                rest.extend(items.into_iter().map(|item| (item.get(), depth - 1)));
            }
            _ => {}
        }
    }
    true
}

/// The names of the blobs that data names.
pub(super) fn names(data: &Json) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = vec![(data.get(), MAX_DEPTH)];
    while let Some((json, depth)) = rest.pop() {
        if depth == 0 || !json.contains("sha256-") {
            continue;
        }
        match kind_of(json) {
            JsonKind::Object => {
                let Ok(object) = Object::parse(json) else { continue };
                let name = object.text("blob").map(|name| name.to_string_lossy().into_owned());
                names.extend(name.filter(|name| is_blob_name(name)));
                rest.extend(object.iter().map(|(_, value)| (value.get(), depth - 1)));
            }
            JsonKind::Array => {
                let items = elements(json).unwrap_or_default();
                rest.extend(items.into_iter().map(|item| (item.get(), depth - 1)));
            }
            _ => {}
        }
    }
    names
}
