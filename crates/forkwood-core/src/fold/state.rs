//! The state of a session at one entry.

use std::collections::{HashMap, HashSet};

use super::{FoldRules, Item, SUMMARY_PREFIX, Source, select};
use crate::tree::{TreeError, entries_by_id, path_to_entry};
use crate::{Body, Entry, EntryId, Lane, Message, Role, Text};

/// Model, thinking level and tools at one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The model that answers.
    pub model: Option<Text>,
    /// Its provider.
    pub provider: Option<Text>,
    /// How much it thinks.
    pub thinking_level: Option<Text>,
    /// The tools it is offered; `None` where nothing was said.
    pub active_tool_names: Option<Vec<Text>>,
}

impl Settings {
    /// The settings before the first entry.
    pub fn initial(rules: &FoldRules) -> Settings {
        Settings {
            thinking_level: rules.default_thinking_level.map(Text::from),
            ..Settings::default()
        }
    }

    /// Takes one entry of the path in.
    pub fn apply(&mut self, entry: &Entry, rules: &FoldRules) {
        match &entry.body {
            Body::ModelChange { model, provider } => self.set_model(model, provider.as_ref()),
            Body::ThinkingLevelChange { thinking_level } => {
                self.thinking_level = Some(thinking_level.clone());
            }
            Body::ActiveToolsChange { active_tool_names } => {
                self.active_tool_names = Some(active_tool_names.clone());
            }
            Body::Message(body)
                if rules.model_from_messages && body.message.role == Role::Assistant =>
            {
                if let Some(model) = &body.message.model {
                    self.set_model(model, body.message.provider.as_ref());
                }
            }
            _ => {}
        }
    }

    fn set_model(&mut self, model: &Text, provider: Option<&Text>) {
        self.model = Some(model.clone());
        if let Some(provider) = provider {
            self.provider = Some(provider.clone());
        }
    }
}

/// What a model sees at one entry, and what it is set to. Immutable: a later entry makes
/// another state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionState {
    messages: Vec<Message>,
    entry_ids: Vec<EntryId>,
    settings: Settings,
    label: Option<Text>,
    leaf_id: Option<EntryId>,
}

impl SessionState {
    /// Folds a log at `leaf`, or where its `main` lane stands. At a sidecar: at its path
    /// ancestor.
    ///
    /// # Errors
    /// Those of the [tree algorithms](crate::tree); this takes no damage.
    pub fn from_entries(
        entries: &[Entry],
        leaf: Option<&EntryId>,
    ) -> Result<SessionState, TreeError> {
        SessionState::from_entries_with(entries, leaf, &FoldRules::NATIVE)
    }

    /// The same by the rules of a dialect.
    ///
    /// # Errors
    /// Those of the [tree algorithms](crate::tree).
    pub fn from_entries_with(
        entries: &[Entry],
        leaf: Option<&EntryId>,
        rules: &FoldRules,
    ) -> Result<SessionState, TreeError> {
        let by_id = entries_by_id(entries)?;
        let target = match leaf {
            Some(leaf) => Some(leaf.clone()),
            None => current_leaf(entries, &Lane::main()),
        };
        let Some(target) = target else {
            return Ok(SessionState::from_path(&[], &[], rules));
        };
        let path: Vec<Entry> = path_to_entry(&by_id, &target)?
            .into_iter()
            .filter(|entry| !beside_path(entry))
            .cloned()
            .collect();
        Ok(SessionState::from_path(&path, entries, rules))
    }

    /// Folds a path, root first. `labels` are entries among which the labels of path entries
    /// stand, in file order.
    pub fn from_path(path: &[Entry], labels: &[Entry], rules: &FoldRules) -> SessionState {
        let mut settings = Settings::initial(rules);
        for entry in path {
            settings.apply(entry, rules);
        }
        let mut state = SessionState {
            settings,
            label: label_of(path, labels, rules),
            leaf_id: path.last().map(|entry| entry.id.clone()),
            ..SessionState::default()
        };
        for item in select(path, rules) {
            if let Some(message) = render(&item) {
                state.messages.push(message);
                state.entry_ids.push(item.entry().id.clone());
            }
        }
        state
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The entry behind each message, in the same order.
    pub fn entry_ids(&self) -> &[EntryId] {
        &self.entry_ids
    }

    /// Model, thinking level and tools.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The label nearest the leaf.
    pub fn label(&self) -> Option<&Text> {
        self.label.as_ref()
    }

    /// The path entry that was folded at.
    pub fn leaf_id(&self) -> Option<&EntryId> {
        self.leaf_id.as_ref()
    }
}

/// Whether an entry stands beside the path. The root never does.
fn beside_path(entry: &Entry) -> bool {
    entry.body.is_sidecar() && entry.parent_id.is_some()
}

/// Where a lane of a native log stands: each path entry moves its lane to itself, a `leaf` to
/// the entry it names, other sidecars move nothing. An unknown target moves nothing.
pub fn current_leaf(entries: &[Entry], lane: &Lane) -> Option<EntryId> {
    let mut known: HashSet<&EntryId> = HashSet::new();
    let mut leaf = None;
    for entry in entries {
        known.insert(&entry.id);
        if entry.lane != *lane {
            continue;
        }
        match &entry.body {
            Body::Leaf { leaf_id: Some(target) } if known.contains(target) => {
                leaf = Some(target.clone());
            }
            _ if beside_path(entry) => {}
            _ => leaf = Some(entry.id.clone()),
        }
    }
    leaf
}

/// The label of the labelled entry nearest the end of the path. For each target the last line
/// counts; an empty label clears.
fn label_of(path: &[Entry], labels: &[Entry], rules: &FoldRules) -> Option<Text> {
    if rules.label_on_path {
        return path.iter().rev().find_map(|entry| match &entry.body {
            Body::Label { label, .. } => Some(label.clone().filter(|l| !l.is_empty())),
            _ => None,
        })?;
    }
    let mut last: HashMap<&EntryId, &Option<Text>> = HashMap::new();
    for entry in labels {
        if let Body::Label { label, target_id } = &entry.body
            && let Some(target) = target_id.as_ref().or(entry.parent_id.as_ref())
        {
            last.insert(target, label);
        }
    }
    path.iter().rev().find_map(|entry| {
        last.get(&entry.id).and_then(|label| (*label).clone()).filter(|label| !label.is_empty())
    })
}

/// The messages of a path that is given up, and the entry behind each. They are moved out of it,
/// so that a large context stands in memory once.
pub fn into_messages(mut path: Vec<Entry>, rules: &FoldRules) -> (Vec<Message>, Vec<EntryId>) {
    enum Piece {
        Whole(usize),
        Made(Box<Message>),
    }
    let at: HashMap<&EntryId, usize> =
        path.iter().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
    let mut pieces = Vec::new();
    for item in select(&path, rules) {
        let entry = item.entry();
        let whole = matches!((item.source, &entry.body), (Source::Entry(_), Body::Message(_)));
        let piece = match at.get(&entry.id) {
            Some(&at) if whole && item.edit.is_none() => Some(Piece::Whole(at)),
            _ => render(&item).map(|message| Piece::Made(Box::new(message))),
        };
        if let Some(piece) = piece {
            pieces.push((piece, entry.id.clone()));
        }
    }
    drop(at);
    pieces
        .into_iter()
        .filter_map(|(piece, id)| {
            let message = match piece {
                Piece::Made(message) => *message,
                Piece::Whole(at) => {
                    let taken = Body::Unknown { tag: Text::default() };
                    match std::mem::replace(&mut path[at].body, taken) {
                        Body::Message(body) => body.message,
                        _ => return None,
                    }
                }
            };
            let excluded = message.metadata.as_ref().is_some_and(is_excluded);
            (!excluded).then_some((message, id))
        })
        .unzip()
}

/// Puts one selected item into Forkwood's own shape. `None` where it says nothing: an empty
/// summary, which is logical truncation, or a message that only its owner's shape can show.
pub fn render(item: &Item<'_>) -> Option<Message> {
    let mut message = match item.source {
        Source::Entry(entry) => match &entry.body {
            Body::Message(body) => body.message.clone(),
            Body::CustomMessage { content, .. } => Message::new(Role::User, content.clone()),
            Body::BranchSummary { summary, .. } => Message::user(branch_summary_text(summary)),
            _ => return None,
        },
        Source::Summary(entry) => match &entry.body {
            Body::Compaction(compaction) if !compaction.summary.is_empty() => {
                Message::user(summary_text(&compaction.summary))
            }
            _ => return None,
        },
        Source::System(entry) => {
            let (_, json) = entry.extra.iter().find(|(key, _)| *key == "systemMessage")?;
            let mut reader = crate::entry::codec::Reader::lossless();
            crate::message::decode(json.get(), &mut reader).ok()?
        }
        Source::Tail(entry, position) => match &entry.body {
            Body::Compaction(compaction) => {
                compaction.retained_tail.as_ref()?.get(position)?.clone()
            }
            _ => return None,
        },
    };
    if let Some(Entry { body: Body::ContextEdit { replacement: Some(content), .. }, .. }) =
        item.edit
    {
        message.content = content.clone();
    }
    // The owner's program sends such a record to no model.
    if message.metadata.as_ref().is_some_and(is_excluded) {
        return None;
    }
    Some(message)
}

fn is_excluded(metadata: &crate::Json) -> bool {
    metadata.as_object().is_some_and(|object| object.get("excludeFromContext") == Some("true"))
}

/// The text of a summary message: the prefix stands once.
pub(super) fn summary_text(summary: &Text) -> Text {
    if summary.as_wtf8().starts_with(SUMMARY_PREFIX.as_bytes()) {
        summary.clone()
    } else {
        Text::concat([&Text::from(SUMMARY_PREFIX), summary])
    }
}

/// The text of a branch summary message, in the words that Pi sends to a model.
fn branch_summary_text(summary: &Text) -> Text {
    let before = Text::from(
        "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    );
    Text::concat([&before, summary, &Text::from("</summary>")])
}
