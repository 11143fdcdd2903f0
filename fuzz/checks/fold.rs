//! A random log folds at every entry as a plain and slow reading of the rules folds it; one with
//! broken links is refused.

use forkwood_core::entry::Compaction;
use forkwood_core::{
    Body, Content, Entry, EntryId, Lane, Message, Role, SessionState, Settings, Text,
};

fn id(n: usize) -> EntryId {
    EntryId::from(format!("e{n}"))
}

fn body(kind: u8, a: u8, b: u8, count: usize) -> Body {
    let name = |n: u8| Text::from(format!("n{}", n % 4).as_str());
    // Now and then one that is not there.
    let target = |n: u8| id(usize::from(n) % (count + 2));
    match kind % 12 {
        0 => Message::user(name(a)).into(),
        1 => {
            let mut message = Message::assistant(name(a));
            message.model = b.is_multiple_of(3).then(|| name(b));
            message.provider = b.is_multiple_of(2).then(|| name(b));
            message.into()
        }
        2 => Body::ModelChange { model: name(a), provider: b.is_multiple_of(2).then(|| name(b)) },
        3 => Body::ThinkingLevelChange { thinking_level: name(a) },
        4 => Body::ActiveToolsChange { active_tool_names: vec![name(a), name(b)] },
        5 => Body::Compaction(Compaction {
            summary: if b.is_multiple_of(5) { Text::default() } else { name(a) },
            first_kept_entry_id: Some(target(b)),
            ..Compaction::default()
        }),
        6 => Body::Compaction(Compaction {
            summary: name(a),
            replaces_entry_ids: (b..b.saturating_add(a % 4)).map(target).collect(),
            ..Compaction::default()
        }),
        7 => Body::Compaction(Compaction {
            summary: name(a),
            retained_tail: Some((0..b % 3).map(|n| Message::user(name(n))).collect()),
            ..Compaction::default()
        }),
        8 => Body::BranchSummary { summary: name(a), from_id: None, details: None },
        9 => Body::CustomMessage {
            namespace: "n".into(),
            content: Content::Text(name(a)),
            display: true,
        },
        10 => Body::Label {
            label: (!b.is_multiple_of(3)).then(|| name(b)),
            target_id: Some(target(a)),
        },
        _ => Body::Leaf { leaf_id: Some(target(a)) },
    }
}

pub fn check(data: &[u8]) {
    let broken = data.first().is_some_and(|first| first % 8 == 7);
    let mut entries: Vec<Entry> = Vec::new();
    for (n, bytes) in data.chunks_exact(4).take(200).enumerate() {
        let body = body(bytes[0], bytes[1], bytes[2], n);
        let back = usize::from(bytes[3]) % 8;
        let parent = if broken { usize::from(bytes[3]) } else { n.saturating_sub(1 + back) };
        // Path entries hang from path entries.
        let parent = (0..=parent).rev().find(|at| {
            broken || entries.get(*at).is_some_and(|up| !up.body.is_sidecar() || *at == 0)
        });
        entries.push(Entry {
            id: id(n),
            parent_id: if n == 0 { None } else { parent.map(id) },
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body,
            extra: Vec::new(),
        });
    }
    if broken {
        for entry in &entries {
            let _ = SessionState::from_entries(&entries, Some(&entry.id));
        }
        return;
    }
    for at in 0..entries.len() {
        let state = SessionState::from_entries(&entries, Some(&id(at))).expect("it is sound");
        let mut path = vec![at];
        while let Some(up) = &entries[path[path.len() - 1]].parent_id {
            path.push(up.as_str()[1..].parse().expect("an id of ours"));
        }
        path.retain(|at| !entries[*at].body.is_sidecar() || *at == 0);
        path.reverse();
        let path: Vec<&Entry> = path.into_iter().map(|at| &entries[at]).collect();
        let (ids, messages): (Vec<EntryId>, Vec<Message>) = fold(&path).into_iter().unzip();
        assert_eq!(state.entry_ids(), ids, "at {at} of {entries:#?}");
        assert_eq!(state.messages(), messages);
        assert_eq!(*state.settings(), settings(&path));
        assert_eq!(state.label().cloned(), label(&path, &entries));
        assert_eq!(state.leaf_id(), path.last().map(|entry| &entry.id));
    }
}

type Said = Vec<(EntryId, Message)>;

fn say(said: &mut Said, entry: &Entry) {
    let message = match &entry.body {
        Body::Message(body) => body.message.clone(),
        Body::CustomMessage { content, .. } => Message::new(Role::User, content.clone()),
        Body::BranchSummary { .. } => {
            // Its wording is the fold's own business.
            let path = std::slice::from_ref(entry);
            let rules = forkwood_core::FoldRules::NATIVE;
            match SessionState::from_path(path, &[], &rules).messages() {
                [message] => message.clone(),
                _ => return,
            }
        }
        _ => return,
    };
    said.push((entry.id.clone(), message));
}

fn summary(compaction: &Compaction) -> Message {
    let text = compaction.summary.to_string_lossy();
    Message::user(Text::from(format!("Previous conversation summary:\n{text}").as_str()))
}

/// The messages of a path. An empty summary keeps its place until the end, and then goes.
fn fold(path: &[&Entry]) -> Said {
    let mut said: Said = Vec::new();
    let decides = path.iter().rposition(|entry| match &entry.body {
        Body::Compaction(compaction) => compaction.is_boundary(),
        _ => false,
    });
    // How many messages of a tail stand behind the summary of the one that decides.
    let mut tail = 0;
    if let Some(at) = decides
        && let Body::Compaction(compaction) = &path[at].body
    {
        said.push((path[at].id.clone(), summary(compaction)));
        if let Some(kept) = &compaction.retained_tail {
            tail = kept.len();
            said.extend(kept.iter().map(|message| (path[at].id.clone(), message.clone())));
        } else {
            let first = compaction.first_kept_entry_id.as_ref();
            let from = path[..at].iter().position(|entry| Some(&entry.id) == first);
            path[from.unwrap_or(at)..at].iter().for_each(|entry| say(&mut said, entry));
        }
    }
    let mut empty: Vec<EntryId> = Vec::new();
    for entry in &path[decides.map_or(0, |at| at + 1)..] {
        let Body::Compaction(compaction) = &entry.body else {
            say(&mut said, entry);
            continue;
        };
        let mut first = None;
        for id in &compaction.replaces_entry_ids {
            let Some(at) = said.iter().position(|(known, _)| known == id) else { continue };
            let is_decider = decides.is_some_and(|decides| path[decides].id == *id);
            let count = if is_decider { 1 + tail } else { 1 };
            said.drain(at..at + count);
            if let Some(first) = &mut first
                && at < *first
            {
                *first = at;
            }
            first.get_or_insert(at);
        }
        let at = first.unwrap_or(said.len());
        said.insert(at, (entry.id.clone(), summary(compaction)));
        if compaction.summary.is_empty() {
            empty.push(entry.id.clone());
        }
    }
    if let Some(at) = decides
        && let Body::Compaction(compaction) = &path[at].body
        && compaction.summary.is_empty()
        && said.iter().any(|(id, _)| *id == path[at].id)
    {
        let gone = said.iter().position(|(id, _)| *id == path[at].id);
        gone.map(|gone| said.remove(gone));
    }
    said.retain(|(id, _)| !empty.contains(id));
    said
}

fn settings(path: &[&Entry]) -> Settings {
    let mut now = Settings::default();
    for entry in path {
        let (model, provider) = match &entry.body {
            Body::ModelChange { model, provider } => (Some(model), provider.as_ref()),
            Body::Message(body) if body.message.role == Role::Assistant => {
                (body.message.model.as_ref(), body.message.provider.as_ref())
            }
            Body::ThinkingLevelChange { thinking_level } => {
                now.thinking_level = Some(thinking_level.clone());
                continue;
            }
            Body::ActiveToolsChange { active_tool_names } => {
                now.active_tool_names = Some(active_tool_names.clone());
                continue;
            }
            _ => continue,
        };
        if let Some(model) = model {
            now.model = Some(model.clone());
            now.provider = provider.cloned().or(now.provider);
        }
    }
    now
}

fn label(path: &[&Entry], all: &[Entry]) -> Option<Text> {
    path.iter().rev().find_map(|entry| {
        let last = all.iter().rev().find_map(|other| match &other.body {
            Body::Label { label, target_id } if target_id.as_ref() == Some(&entry.id) => {
                Some(label)
            }
            _ => None,
        });
        last.cloned().flatten().filter(|label| !label.is_empty())
    })
}
