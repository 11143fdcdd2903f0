//! The fold as the architecture tells it, written a second time, the slow way.

use std::collections::HashMap;

use forkwood::{Body, EntryId, Message, Role, Settings, Text};

use crate::world::Line;

pub(crate) struct Folded {
    pub(crate) messages: Vec<(EntryId, Message)>,
    pub(crate) settings: Settings,
    pub(crate) label: Option<Text>,
}

pub(crate) fn fold(path: &[&Line], labels: &HashMap<EntryId, Text>) -> Folded {
    Folded {
        messages: messages(path),
        settings: settings(path),
        label: path.iter().rev().find_map(|line| labels.get(&line.id).cloned()),
    }
}

pub(crate) fn settings(path: &[&Line]) -> Settings {
    let mut out = Settings::default();
    for line in path {
        match &line.body {
            Body::ModelChange { model, provider } => {
                out.model = Some(model.clone());
                out.provider = provider.clone().or(out.provider);
            }
            Body::Message(body) if body.message.role == Role::Assistant => {
                if let Some(model) = &body.message.model {
                    out.model = Some(model.clone());
                    out.provider = body.message.provider.clone().or(out.provider);
                }
            }
            Body::ThinkingLevelChange { thinking_level } => {
                out.thinking_level = Some(thinking_level.clone());
            }
            Body::ActiveToolsChange { active_tool_names } => {
                out.active_tool_names = Some(active_tool_names.clone());
            }
            _ => {}
        }
    }
    out
}

fn said(line: &Line) -> Option<Message> {
    match &line.body {
        Body::Message(body) => Some(body.message.clone()),
        Body::CustomMessage { content, .. } => Some(Message::new(Role::User, content.clone())),
        Body::BranchSummary { summary, .. } if !summary.is_empty() => Some(Message::user(format!(
            "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{summary}</summary>"
        ))),
        _ => None,
    }
}

fn summary(text: &Text) -> Option<Message> {
    (!text.is_empty()).then(|| Message::user(format!("Previous conversation summary:\n{text}")))
}

#[derive(Clone, Copy, PartialEq)]
enum Of {
    Entry,
    Summary,
    Tail,
}

/// One place in the list; an empty summary holds its place without a message.
struct Place {
    id: EntryId,
    message: Option<Message>,
    of: Of,
}

fn place(line: &Line, message: Option<Message>, of: Of) -> Place {
    Place { id: line.id.clone(), message, of }
}

fn messages(path: &[&Line]) -> Vec<(EntryId, Message)> {
    let boundary = path.iter().rposition(|line| match &line.body {
        Body::Compaction(c) => c.first_kept_entry_id.is_some() || c.retained_tail.is_some(),
        _ => false,
    });
    let mut list: Vec<Place> = Vec::new();
    let mut rest = path;
    if let Some(at) = boundary
        && let Body::Compaction(compaction) = &path[at].body
    {
        rest = &path[at + 1..];
        list.push(place(path[at], summary(&compaction.summary), Of::Summary));
        if let Some(tail) = &compaction.retained_tail {
            list.extend(tail.iter().map(|kept| place(path[at], Some(kept.clone()), Of::Tail)));
        } else {
            let first = compaction.first_kept_entry_id.as_ref();
            let kept = path[..at].iter().skip_while(|line| Some(&line.id) != first);
            list.extend(kept.filter_map(|line| Some(place(line, Some(said(line)?), Of::Entry))));
        }
    }
    for line in rest {
        let Body::Compaction(compaction) = &line.body else {
            if let Some(message) = said(line) {
                list.push(place(line, Some(message), Of::Entry));
            }
            continue;
        };
        let new = place(line, summary(&compaction.summary), Of::Summary);
        let replaced = |place: &Place| compaction.replaces_entry_ids.contains(&place.id);
        match list.iter().position(replaced) {
            Some(first) => {
                list[first] = new;
                let mut at = 0;
                list.retain(|place| {
                    at += 1;
                    at <= first + 1 || !replaced(place)
                });
            }
            None => list.push(new),
        }
    }
    list.into_iter().filter_map(|place| edited(path, place)).collect()
}

/// The last edit behind an entry counts. A summary can be taken out, and says what it says.
fn edited(path: &[&Line], place: Place) -> Option<(EntryId, Message)> {
    let stands = path.iter().position(|line| line.id == place.id)?;
    let edit = path[stands + 1..].iter().rev().find_map(|line| match &line.body {
        Body::ContextEdit { target_id, replacement } if *target_id == place.id => {
            Some(replacement.clone())
        }
        _ => None,
    });
    let mut message = place.message?;
    match (edit, place.of) {
        (Some(None), Of::Entry | Of::Summary) => return None,
        (Some(Some(content)), Of::Entry) => message.content = content,
        _ => {}
    }
    Some((place.id, message))
}
