//! What the page is given to draw, as JSON.

use std::collections::HashMap;

use forkwood_core::message::ImageSource;
use forkwood_core::{Block as ContentBlock, Body, Content, Entry, EntryId, Role};
use serde::Serialize;

use super::{Page, markup};
use crate::rows::Row;
use crate::sanitise::{self, Layout};
use crate::transcript::{self, BlockKind, Limits, Part};

/// Images of these types are shown. Not SVG: it is a document of its own.
const IMAGES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    session: &'a str,
    facts: &'a [(String, String)],
    /// The row that the session stands at.
    leaf: Option<usize>,
    rows: Vec<Drawn<'a>>,
}

/// A row of the tree with its part of the transcript. Names are short: there may be many.
#[derive(Serialize)]
struct Drawn<'a> {
    id: &'a str,
    /// The row of its parent.
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    #[serde(rename = "t")]
    tag: String,
    #[serde(rename = "r", skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// How many forks it stands below.
    #[serde(rename = "n")]
    indent: usize,
    #[serde(rename = "g")]
    gutter: &'a str,
    #[serde(rename = "x")]
    text: &'a str,
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    lanes: Vec<&'a str>,
    #[serde(rename = "a", skip_serializing_if = "is_false")]
    active: bool,
    /// Milliseconds since the epoch.
    #[serde(rename = "m", skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    block: Option<Shown>,
}

#[derive(Serialize)]
struct Shown {
    /// `speaker`, `divider` or `note`.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    failed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Piece>,
}

#[derive(Serialize)]
#[serde(tag = "k", rename_all = "lowercase")]
enum Piece {
    /// Markup.
    Text {
        html: String,
    },
    Thinking {
        text: String,
    },
    Call {
        name: String,
        text: String,
    },
    Image {
        mime: String,
        bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<String>,
    },
    Other {
        text: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The data of a page, safe to stand in a script element.
pub(super) fn json(page: &Page<'_>, title: &str, rows: &[Row], entries: &[&Entry]) -> String {
    let places: HashMap<&EntryId, usize> =
        rows.iter().enumerate().map(|(at, row)| (&row.id, at)).collect();
    let bodies: HashMap<&EntryId, &Entry> =
        entries.iter().map(|entry| (&entry.id, *entry)).collect();
    let session = sanitise::text(page.session, Layout::Line);
    let data = Data {
        title,
        session: &session,
        facts: page.facts,
        leaf: page.marks.leaf.as_ref().and_then(|leaf| places.get(leaf).copied()),
        rows: rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let entry = bodies.get(&row.id).copied();
                let parent = row.parent_id.as_ref().and_then(|id| places.get(id).copied());
                Drawn {
                    id: row.id.as_str(),
                    // A row stands below its parent; a link that leads elsewhere is a root's.
                    parent: parent.filter(|parent| *parent < at),
                    tag: sanitise::text(&row.tag, Layout::Line).into_owned(),
                    role: row
                        .role
                        .as_ref()
                        .map(|role| sanitise::line(&role.as_text().to_string_lossy()).into_owned()),
                    indent: row.indent,
                    gutter: &row.gutter,
                    text: &row.text,
                    label: row
                        .label
                        .as_ref()
                        .map(|label| sanitise::text(label, Layout::Line).into_owned()),
                    lanes: row.lanes.iter().map(|lane| lane.as_str()).collect(),
                    active: row.active,
                    time: entry
                        .and_then(|entry| entry.timestamp)
                        .map(|time| time.as_micros() / 1000),
                    block: entry.and_then(shown),
                }
            })
            .collect(),
    };
    // Strings and numbers are all there is: this cannot fail.
    let json = serde_json::to_string(&data).unwrap_or_else(|_| "null".to_owned());
    // In a script element `</script` and `<!--` would mean something.
    json.replace('<', "\\u003c")
}

fn shown(entry: &Entry) -> Option<Shown> {
    let block = transcript::block(entry, Limits::NONE)?;
    let (kind, name, failed, said) = match block.kind {
        BlockKind::Speaker { role, name, failed } => ("speaker", name, failed, role != Role::Tool),
        BlockKind::Divider(title) => ("divider", Some(title), false, true),
        BlockKind::Note(title) => ("note", Some(title), false, true),
    };
    let mut images = images(entry).into_iter();
    let parts = block
        .parts
        .into_iter()
        .map(|part| match part {
            Part::Text(cut) if said => Piece::Text { html: markup::markdown(&cut.text) },
            Part::Text(cut) => Piece::Text { html: markup::plain(&cut.text) },
            Part::Thinking(cut) => Piece::Thinking { text: cut.text },
            Part::ToolCall { name, arguments } => Piece::Call { name, text: arguments.text },
            Part::Image { mime_type, bytes } => {
                Piece::Image { mime: mime_type, bytes, data: images.next().flatten() }
            }
            Part::Other(cut) => Piece::Other { text: cut.text },
        })
        .collect();
    Some(Shown { kind, name, failed, parts })
}

/// The images of an entry in their order, each where it can be shown.
fn images(entry: &Entry) -> Vec<Option<String>> {
    let content = match &entry.body {
        Body::Message(body) => &body.message.content,
        Body::CustomMessage { content, .. } => content,
        _ => return Vec::new(),
    };
    let Content::Blocks(blocks) = content else { return Vec::new() };
    blocks
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Image(image) => Some(image),
            _ => None,
        })
        .map(|image| {
            let mime = image.mime_type.to_string_lossy();
            let ImageSource::Inline(data) = &image.source else { return None };
            let data = data.to_string_lossy();
            let base64 =
                data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
            (IMAGES.contains(&mime.as_ref()) && base64)
                .then(|| format!("data:{mime};base64,{data}"))
        })
        .collect()
}
