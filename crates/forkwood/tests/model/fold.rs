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

/// A list of (entry, message); an empty summary holds its place without a message.
fn messages(path: &[&Line]) -> Vec<(EntryId, Message)> {
    let boundary = path.iter().rposition(|line| match &line.body {
        Body::Compaction(c) => c.first_kept_entry_id.is_some() || c.retained_tail.is_some(),
        _ => false,
    });
    let mut list: Vec<(EntryId, Option<Message>, bool)> = Vec::new();
    let mut rest = path;
    if let Some(at) = boundary
        && let Body::Compaction(compaction) = &path[at].body
    {
        rest = &path[at + 1..];
        list.push((path[at].id.clone(), summary(&compaction.summary), false));
        if let Some(tail) = &compaction.retained_tail {
            list.extend(tail.iter().map(|kept| (path[at].id.clone(), Some(kept.clone()), false)));
        } else {
            let kept = path[..at]
                .iter()
                .skip_while(|line| Some(&line.id) != compaction.first_kept_entry_id.as_ref());
            list.extend(kept.filter_map(|line| Some((line.id.clone(), Some(said(line)?), true))));
        }
    }
    for line in rest {
        let Body::Compaction(compaction) = &line.body else {
            if let Some(message) = said(line) {
                list.push((line.id.clone(), Some(message), true));
            }
            continue;
        };
        let new = (line.id.clone(), summary(&compaction.summary), false);
        let replaced = |item: &(EntryId, Option<Message>, bool)| {
            compaction.replaces_entry_ids.contains(&item.0)
        };
        match list.iter().position(replaced) {
            Some(first) => {
                list[first] = new;
                let mut at = 0;
                list.retain(|item| {
                    at += 1;
                    at <= first + 1 || !replaced(item)
                });
            }
            None => list.push(new),
        }
    }
    let mut out = Vec::new();
    for (id, message, editable) in list {
        let Some(mut message) = message else { continue };
        let stands = path.iter().position(|line| line.id == id);
        let edit = path.iter().enumerate().rev().find_map(|(at, line)| match &line.body {
            Body::ContextEdit { target_id, replacement }
                if editable && *target_id == id && Some(at) > stands =>
            {
                Some(replacement.clone())
            }
            _ => None,
        });
        match edit {
            Some(None) => continue,
            Some(Some(content)) => message.content = content,
            None => {}
        }
        out.push((id, message));
    }
    out
}
