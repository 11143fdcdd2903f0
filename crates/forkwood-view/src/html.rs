//! A session as one HTML file that needs no network.
//!
//! The file holds the session as data, a script and a style sheet. Its content security policy
//! allows this very script and this very style sheet, by their hashes, images that stand in the
//! file, and nothing else: no request leaves the page. What people and models said becomes
//! markup in one place, [`markup`], which lets through a list of harmless elements.
//!
//! ```text
//!   entries -> rows (tree) + blocks (transcript) -> JSON -> page.js draws what is looked at
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use forkwood_core::{Entry, Text};
use sha2::{Digest, Sha256};

use crate::rows::{Marks, Node, Style, rows};
use crate::sanitise::{self, Layout};
use crate::summary;

mod data;
pub mod markup;

/// The parts of the script, in the order in which they stand in the page.
const SCRIPT: [&str; 6] = [
    include_str!("html/page/model.js"),
    include_str!("html/page/tree.js"),
    include_str!("html/page/transcript.js"),
    include_str!("html/page/search.js"),
    include_str!("html/page/keys.js"),
    include_str!("html/page/main.js"),
];

const STYLE: &str = include_str!("html/page/page.css");
const BODY: &str = include_str!("html/page/body.html");

/// Columns of the summary of an entry in the tree.
const SUMMARY: usize = 160;

/// A session to be shown.
#[derive(Debug)]
pub struct Page<'a> {
    /// Its title, or what stands in for one.
    pub title: &'a Text,
    /// Its id.
    pub session: &'a Text,
    /// What else stands at the top: a name and a value each.
    pub facts: &'a [(String, String)],
    /// Its entries in log order, bytes inline. Sidecars are passed over.
    pub entries: &'a [Entry],
    /// Where it stands, and its labels.
    pub marks: &'a Marks,
}

/// Makes the page.
pub fn page(page: &Page<'_>) -> String {
    let shown: Vec<&Entry> = page.entries.iter().filter(|entry| !entry.body.is_sidecar()).collect();
    let nodes = shown.iter().map(|entry| node(entry)).collect();
    let rows = rows(nodes, page.marks, Style::Unicode);
    let title = sanitise::text(page.title, Layout::Line);
    let data = data::json(page, &title, &rows, &shown);
    let script = format!("\"use strict\";\n(() => {{\n{}\n}})();\n", SCRIPT.join("\n"));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(&script),
        hash(STYLE),
    );
    let mut out = String::with_capacity(data.len() + script.len() + STYLE.len() + 4096);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n",
        markup::escape(&policy)
    ));
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.push_str("<meta name=\"generator\" content=\"forkwood\">\n");
    out.push_str(&format!("<title>{}</title>\n", markup::escape(&title)));
    out.push_str(&format!("<style>{STYLE}</style>\n</head>\n<body>\n{BODY}"));
    out.push_str(&format!("<script type=\"application/json\" id=\"data\">{data}</script>\n"));
    out.push_str(&format!("<script>{script}</script>\n</body>\n</html>\n"));
    out
}

fn node(entry: &Entry) -> Node {
    Node {
        id: entry.id.clone(),
        parent_id: entry.parent_id.clone(),
        tag: entry.body.tag(),
        role: match &entry.body {
            forkwood_core::Body::Message(body) => Some(body.message.role.clone()),
            _ => None,
        },
        lane: entry.lane.clone(),
        text: summary::entry(entry, SUMMARY),
    }
}

/// How a policy names an inline script or style sheet.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests;
