//! A session as a page for a browser.

use std::collections::HashMap;

use forkwood::{Body, EntryId, SessionId, Text, Timestamp};
use forkwood_formats::export::{File, Source, What, Written};
use forkwood_view::html::{self, Page};
use forkwood_view::rows::Marks;
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::summary;

/// Writes the page. Every entry stands in it, but for what stands beside the path.
pub(super) fn write(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let untitled = Text::from("Untitled session");
    let marks = Marks {
        labels: labels(&source),
        leaf: source.leaf.clone(),
        lanes: source
            .lanes
            .iter()
            .filter_map(|state| Some((state.lane.clone(), state.leaf.clone()?)))
            .collect(),
    };
    let text = html::page(&Page {
        title: source.title().unwrap_or(&untitled),
        session: &source.id,
        facts: &facts(&source),
        entries: &source.entries,
        marks: &marks,
    });
    losses.session(What::Shape, 1, "a page is for people: nothing reads it back");
    let name = SessionId::from_lossy(&source.id.to_string_lossy());
    Written { files: vec![File { name: format!("{name}.html"), text }], losses }
}

fn labels(source: &Source) -> HashMap<EntryId, Text> {
    let mut labels = HashMap::new();
    for entry in &source.entries {
        if let Body::Label { label, target_id: Some(target) } = &entry.body {
            match label.as_ref().filter(|label| !label.is_empty()) {
                Some(label) => labels.insert(target.clone(), label.clone()),
                None => labels.remove(target),
            };
        }
    }
    labels
}

/// What stands below the title.
fn facts(source: &Source) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if source.created != Timestamp::default() {
        fact("created", format!("{} UTC", crate::time::short(Some(source.created))));
    }
    let cwd = source.cwd();
    if !cwd.is_empty() {
        fact("folder", sanitise::text(&cwd, Layout::Line).into_owned());
    }
    let messages = source.entries.iter().filter(|e| matches!(e.body, Body::Message(_))).count();
    fact("messages", summary::thousands(messages as u64));
    let branches = source.tips().len();
    if branches > 1 {
        fact("branches", summary::thousands(branches as u64));
    }
    facts
}
