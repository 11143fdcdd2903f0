//! What can be done.

use forkwood::Body;
use forkwood::{Compaction, Content, Json, Message};
use proptest::prelude::*;

/// Which of the two handles does it.
pub(crate) type Who = usize;

/// An entry that is there, by a number that is taken modulo how many there are.
pub(crate) type Pick = usize;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Append { who: Who, what: What, parent: Option<Pick>, branch: bool },
    Batch { who: Who, what: Vec<What> },
    Compact { who: Who, how: How },
    Rewind { who: Who, to: Pick, past: bool, branch: bool },
    Label { who: Who, on: Pick, label: Option<&'static str> },
    Rename { who: Who, title: &'static str },
    CreateLane { who: Who, lane: &'static str, at: Pick },
    MoveLane { who: Who, lane: &'static str, to: Pick },
    UseLane { who: Who, lane: &'static str },
    Reload { who: Who },
    Fork { at: Pick },
    Reopen { who: Who },
    Crash,
    Vacuum { who: Who, prune: bool },
    Reset { who: Who },
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    User(u8),
    Assistant { text: u8, model: Option<&'static str>, provider: bool },
    Tool(u8),
    Model { name: &'static str, provider: bool },
    Thinking(&'static str),
    Tools(Vec<&'static str>),
    BranchSummary(&'static str),
    Custom { aside: bool },
    CustomMessage(u8),
    Edit { target: Pick, with: Option<u8> },
    Usage,
    Operation,
}

#[derive(Clone, Debug)]
pub(crate) enum How {
    Nothing,
    From { first: Pick, empty: bool },
    Tail(u8),
    InPlace(Vec<Pick>),
}

impl What {
    /// The body; `entry` gives the id of an entry by number.
    pub(crate) fn body(&self, entry: impl Fn(Pick) -> forkwood::EntryId) -> Body {
        match self {
            What::User(n) => Message::user(format!("question {n}")).into(),
            What::Assistant { text, model, provider } => {
                let said = Message::assistant(format!("answer {text}"));
                match model {
                    Some(model) => said.by_model(*model, provider.then(|| "by".into())).into(),
                    None => said.into(),
                }
            }
            What::Tool(n) => Message::tool("call", format!("result {n}")).into(),
            What::Model { name, provider } => Body::ModelChange {
                model: (*name).into(),
                provider: provider.then(|| "maker".into()),
            },
            What::Thinking(level) => Body::ThinkingLevelChange { thinking_level: (*level).into() },
            What::Tools(names) => Body::ActiveToolsChange {
                active_tool_names: names.iter().map(|name| (*name).into()).collect(),
            },
            What::BranchSummary(text) => {
                Body::BranchSummary { summary: (*text).into(), from_id: None, details: None }
            }
            What::Custom { aside } => Body::Custom {
                namespace: "ext".into(),
                data: Json::parse(r#"{"k":1}"#).unwrap(),
                aside: *aside,
            },
            What::CustomMessage(n) => Body::CustomMessage {
                namespace: "ext".into(),
                content: Content::Text(format!("note {n}").into()),
                display: true,
            },
            What::Edit { target, with } => Body::ContextEdit {
                target_id: entry(*target),
                replacement: with.map(|n| Content::Text(format!("edited {n}").into())),
            },
            What::Usage => Body::Usage {
                kind: "summary".into(),
                provider: "by".into(),
                model: "counted".into(),
                usage: Json::parse(r#"{"input":3}"#).unwrap(),
            },
            What::Operation => Body::Operation(forkwood::core::entry::Operation {
                operation_id: "o".into(),
                phase: "started".into(),
                kind: "run".into(),
                outcome: None,
                data: None,
            }),
        }
    }
}

impl How {
    pub(crate) fn compaction(&self, entry: impl Fn(Pick) -> forkwood::EntryId) -> Compaction {
        match self {
            How::Nothing => Compaction { summary: "all of it".into(), ..Compaction::default() },
            How::From { first, empty } => Compaction {
                summary: if *empty { "" } else { "the start of it" }.into(),
                first_kept_entry_id: Some(entry(*first)),
                ..Compaction::default()
            },
            How::Tail(count) => Compaction {
                summary: "with a tail".into(),
                retained_tail: Some(
                    (0..*count).map(|n| Message::user(format!("kept {n}"))).collect(),
                ),
                ..Compaction::default()
            },
            How::InPlace(picks) => Compaction {
                summary: "in place".into(),
                replaces_entry_ids: picks.iter().map(|pick| entry(*pick)).collect(),
                ..Compaction::default()
            },
        }
    }
}

fn any_what() -> impl Strategy<Value = What> {
    let model = prop::sample::select(vec!["m1", "m2", "m3"]);
    prop_oneof![
        5 => any::<u8>().prop_map(What::User),
        4 => (any::<u8>(), prop::option::of(model.clone()), any::<bool>())
            .prop_map(|(text, model, provider)| What::Assistant { text, model, provider }),
        1 => any::<u8>().prop_map(What::Tool),
        1 => (model, any::<bool>()).prop_map(|(name, provider)| What::Model { name, provider }),
        1 => prop::sample::select(vec!["off", "low", "high"]).prop_map(What::Thinking),
        1 => prop::collection::vec(prop::sample::select(vec!["read", "bash"]), 0..3)
            .prop_map(What::Tools),
        1 => prop::sample::select(vec!["", "was there"]).prop_map(What::BranchSummary),
        2 => any::<bool>().prop_map(|aside| What::Custom { aside }),
        1 => any::<u8>().prop_map(What::CustomMessage),
        2 => (any::<usize>(), prop::option::of(any::<u8>()))
            .prop_map(|(target, with)| What::Edit { target, with }),
        1 => Just(What::Usage),
        1 => Just(What::Operation),
    ]
}

fn any_how() -> impl Strategy<Value = How> {
    prop_oneof![
        1 => Just(How::Nothing),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(first, empty)| How::From { first, empty }),
        1 => (0..3u8).prop_map(How::Tail),
        3 => prop::collection::vec(any::<usize>(), 1..4).prop_map(How::InPlace),
    ]
}

pub(crate) fn any_op() -> impl Strategy<Value = Op> {
    let who = || 0..2usize;
    let pick = any::<usize>;
    let lane = || prop::sample::select(vec!["main", "side", "third"]);
    prop_oneof![
        16 => (who(), any_what(), prop::option::weighted(0.25, pick()), any::<bool>())
            .prop_map(|(who, what, parent, branch)| Op::Append { who, what, parent, branch }),
        3 => (who(), prop::collection::vec(any_what(), 1..4))
            .prop_map(|(who, what)| Op::Batch { who, what }),
        4 => (who(), any_how()).prop_map(|(who, how)| Op::Compact { who, how }),
        5 => (who(), pick(), any::<bool>(), any::<bool>())
            .prop_map(|(who, to, past, branch)| Op::Rewind { who, to, past, branch }),
        4 => (who(), pick(), prop::option::of(prop::sample::select(vec!["", "v1", "v2"])))
            .prop_map(|(who, on, label)| Op::Label { who, on, label }),
        1 => (who(), prop::sample::select(vec!["", "title", "other"]))
            .prop_map(|(who, title)| Op::Rename { who, title }),
        2 => (who(), lane(), pick()).prop_map(|(who, lane, at)| Op::CreateLane { who, lane, at }),
        2 => (who(), lane(), pick()).prop_map(|(who, lane, to)| Op::MoveLane { who, lane, to }),
        3 => (who(), lane()).prop_map(|(who, lane)| Op::UseLane { who, lane }),
        5 => who().prop_map(|who| Op::Reload { who }),
        2 => pick().prop_map(|at| Op::Fork { at }),
        2 => who().prop_map(|who| Op::Reopen { who }),
        1 => Just(Op::Crash),
        3 => (who(), any::<bool>()).prop_map(|(who, prune)| Op::Vacuum { who, prune }),
        1 => who().prop_map(|who| Op::Reset { who }),
    ]
}
