//! What must be the same when a session is read back, or be named in the report.

use std::collections::{HashMap, HashSet};

use forkwood::{Block, Body, Content, EntryId, Message, Session, Text};
use forkwood_formats::export::{self, LossReport, Source, Target, What};
use pollster::block_on as run;

/// What a message says, whatever form its content has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    role: Text,
    blocks: Vec<(&'static str, String)>,
    call: Option<Text>,
    failed: bool,
}

/// A block by its kind and words.
fn block(block: &Block) -> (&'static str, String) {
    match block {
        Block::Text { text, .. } => ("text", text.to_json()),
        Block::Thinking { thinking, .. } => ("thinking", thinking.to_json()),
        Block::Image(image) => ("image", format!("{:?}", image.source)),
        Block::ToolCall { id, name, arguments, .. } => {
            ("call", format!("{id} {name} {}", arguments.get()))
        }
        Block::Other(json) => ("other", json.get().to_owned()),
    }
}

pub(crate) fn said(message: &Message) -> Said {
    let blocks = match &message.content {
        Content::Text(text) => vec![("text", text.to_json())],
        Content::Blocks(blocks) => blocks.iter().map(block).collect(),
    };
    Said {
        role: message.role.as_text(),
        blocks,
        call: message.tool_call_id.clone(),
        failed: message.is_error == Some(true),
    }
}

/// Parent and type of each path entry that `known` knows; what it does not know is left out
/// between the others.
type Tree = HashMap<EntryId, (Option<EntryId>, String)>;

pub(crate) fn tree_of_source(source: &Source) -> Tree {
    let on_path = source.entries.iter().filter(|entry| !entry.body.is_sidecar());
    on_path
        .map(|entry| {
            (entry.id.clone(), (entry.parent_id.clone(), entry.kind().as_str().to_owned()))
        })
        .collect()
}

pub(crate) fn tree_of_session(session: &Session, known: impl Fn(&EntryId) -> bool) -> Tree {
    let mut above: HashMap<EntryId, Option<EntryId>> = HashMap::new();
    let mut tree = Tree::new();
    for stored in run(session.entries()).unwrap() {
        let entry = stored.entry;
        let parent = entry.parent_id.as_ref();
        let parent = parent.and_then(|id| above.get(id).cloned().unwrap_or(Some(id.clone())));
        let path = !entry.body.is_sidecar() && known(&entry.id);
        if path {
            tree.insert(entry.id.clone(), (parent, entry.kind().as_str().to_owned()));
        } else {
            above.insert(entry.id, parent);
        }
    }
    tree
}

/// The tree and the facts of a format that keeps ids.
pub(crate) fn same_tree(source: &Source, back: &Session, losses: &LossReport, target: Target) {
    let ours = tree_of_source(source);
    let theirs = tree_of_session(back, |id| ours.contains_key(id));
    for (id, row) in &ours {
        let found = theirs.get(id);
        assert!(
            found == Some(row) || named(losses, id),
            "{target:?}: {id} is {found:?}, not {row:?}\n{losses:?}"
        );
    }
    let labels: HashMap<EntryId, Text> = source
        .last_labels()
        .iter()
        .filter_map(|(target, line)| {
            source.entries.iter().find_map(|entry| match &entry.body {
                Body::Label { label: Some(label), .. } if entry.id == *line => {
                    Some((target.clone(), label.clone()))
                }
                _ => None,
            })
        })
        .collect();
    if !losses.names(What::Label) {
        assert_eq!(run(back.labels()).unwrap(), labels, "{target:?}");
    }
    if !losses.names(What::Title) {
        let title = back.facts().info.title.clone().filter(|title| !title.is_empty());
        assert_eq!(title.as_ref(), source.title(), "{target:?}");
    }
    if !losses.names(What::Pointer) {
        let mut leaf = run(back.current_leaf()).unwrap();
        while let Some(made) = leaf.take_if(|leaf| !ours.contains_key(leaf)) {
            leaf = run(back.get(&made)).unwrap().entry.parent_id;
        }
        assert_eq!(leaf, source.leaf, "{target:?}");
    }
}

fn named(losses: &LossReport, id: &EntryId) -> bool {
    losses.losses().any(|loss| loss.entries.contains(id))
}

/// The contexts at every entry of a format that keeps ids: the same messages of the same entries,
/// or the report names an entry on the way to where they part.
pub(crate) fn same_contexts(
    source: &Source,
    ours: &Session,
    back: &Session,
    losses: &LossReport,
    target: Target,
) {
    for tip in source.tips() {
        let path: HashSet<EntryId> = source
            .path_to(Some(&tip))
            .into_iter()
            .map(|at| source.entries[at].id.clone())
            .collect();
        let cut = [What::Compaction, What::BranchSummary, What::CustomMessage, What::ContextEdit];
        let reshaped = path.iter().any(|id| cut.iter().any(|what| losses.names_entry(*what, id)));
        let (a, b) = (run(ours.context_at(&tip)).unwrap(), run(back.context_at(&tip)).unwrap());
        if a.entry_ids() != b.entry_ids() {
            assert!(
                reshaped,
                "{target:?} at {tip}: {:?}\nnot {:?}\n{losses:?}",
                b.messages(),
                a.messages()
            );
            if losses.names(What::Compaction) && flat(a.messages()) == flat(b.messages()) {
                continue;
            }
            continue;
        }
        let calls = |messages: &[Message]| match target {
            // Its calls stand in the metadata, where a provider's request finds them.
            Target::MyPiAgent => forkwood_context::lift_calls(messages).to_vec(),
            _ => messages.to_vec(),
        };
        let (x, y) = (calls(a.messages()), calls(b.messages()));
        for ((x, y), id) in x.iter().zip(&y).zip(a.entry_ids()) {
            assert!(
                said(x) == said(y) || named(losses, id),
                "{target:?} {id}: {y:?}\nnot {x:?}\n{losses:?}"
            );
        }
        let (settings, theirs) =
            (run(ours.settings(&tip)).unwrap(), run(back.settings(&tip)).unwrap());
        if !path.iter().any(|id| losses.names_entry(What::Model, id)) {
            assert_eq!(settings.model, theirs.model, "{target:?} at {tip}");
        }
        if !losses.names(What::ThinkingLevel) {
            assert_eq!(settings.thinking_level, theirs.thinking_level, "{target:?} at {tip}");
        }
        if !losses.names(What::ActiveTools) {
            assert_eq!(settings.active_tool_names, theirs.active_tool_names, "{target:?} {tip}");
        }
    }
}

/// Who said what, whatever messages it stands in.
pub(crate) fn flat(messages: &[Message]) -> Vec<(Text, &'static str, String)> {
    messages
        .iter()
        .flat_map(|message| {
            let said = said(message);
            let role = said.role;
            said.blocks.into_iter().map(move |(kind, text)| (role.clone(), kind, text))
        })
        .collect()
}

/// The context where a session stands, in a format without ids: who said what, in order. What
/// the report names of a message may differ, and nothing else.
pub(crate) fn same_words(
    source: &Source,
    ours: &Session,
    back: &Session,
    losses: &LossReport,
    target: Target,
) {
    let Some(leaf) = &source.leaf else { return };
    let context = run(ours.context_at(leaf)).unwrap();
    let theirs = run(back.context()).unwrap();
    let (mut a, mut b) = (Vec::new(), flat(theirs.messages()));
    // What may differ in a message: nothing, where the report does not name it.
    let content = [
        What::Block,
        What::Image,
        What::Text,
        What::Thinking,
        What::Role,
        What::Shape,
        What::Field,
        What::ContextEdit,
    ];
    // One that an edit takes out may stand there still.
    let edited = source
        .path()
        .into_iter()
        .any(|at| losses.names_entry(What::ContextEdit, &source.entries[at].id));
    let mut all_there = !edited;
    for (message, id) in context.messages().iter().zip(context.entry_ids()) {
        let excused = content.iter().any(|what| losses.names_entry(*what, id));
        match excused {
            true => all_there = false,
            false => a.extend(flat(std::slice::from_ref(message))),
        }
    }
    // Blocks that a model was shown and that are said in other words stand for themselves.
    let reworded = [What::Id]
        .iter()
        .any(|what| context.entry_ids().iter().any(|id| losses.names_entry(*what, id)));
    if reworded {
        a.retain(|(_, kind, _)| *kind != "call");
        b.retain(|(_, kind, _)| *kind != "call");
    }
    if all_there {
        assert_eq!(a, b, "{target:?}\n{losses:?}");
        return;
    }
    // What is not excused stands there, in order.
    let mut rest = b.iter();
    for word in &a {
        assert!(
            rest.any(|there| there == word),
            "{target:?}: {word:?} is not in its place in\n{b:#?}\n{losses:?}"
        );
    }
    let pairs = |messages: &[Message]| {
        messages.iter().filter_map(|message| message.tool_call_id.clone()).collect::<Vec<_>>()
    };
    // A result that stands away from its call here may stand behind it there, which is told.
    let moved = target == Target::Claude && losses.names(What::Shape);
    if !reworded && !moved && !edited && !losses.names(What::Field) {
        assert_eq!(pairs(theirs.messages()), pairs(context.messages()), "{target:?}");
    }
}

/// The tree of what Claude Code has lines for, under the UUIDs of its lines.
pub(crate) fn same_lines(source: &Source, back: &Session, losses: &LossReport) {
    let uuid = |id: &EntryId| EntryId::from(export::uuid_of(&source.id, id.as_str()));
    let mut names: HashSet<EntryId> = HashSet::new();
    let mut above: HashMap<&EntryId, Option<EntryId>> = HashMap::new();
    let mut ours: HashMap<EntryId, Option<EntryId>> = HashMap::new();
    for entry in &source.entries {
        let parent = entry.parent_id.as_ref();
        let parent = parent.and_then(|id| above.get(id).cloned().unwrap_or(Some(uuid(id))));
        let has_line = matches!(
            entry.body,
            Body::Message(_)
                | Body::Compaction(_)
                | Body::CustomMessage { .. }
                | Body::BranchSummary { .. }
        );
        if has_line && losses.names_entry(What::Shape, &entry.id) {
            // It may hang elsewhere; what follows it does not.
            names.insert(uuid(&entry.id));
        }
        if has_line {
            ours.insert(uuid(&entry.id), parent);
        } else {
            above.insert(&entry.id, parent);
        }
    }
    let theirs = tree_of_session(back, |id| ours.contains_key(id));
    for (id, parent) in ours.iter().filter(|(id, _)| !names.contains(*id)) {
        assert_eq!(theirs.get(id).map(|(parent, _)| parent), Some(parent), "{id}");
    }
}
