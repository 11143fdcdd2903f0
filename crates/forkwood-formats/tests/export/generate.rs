//! Sessions with a bit of everything.

use forkwood::{
    Block, Body, Compaction, Content, Entry, EntryId, Json, Lane, Message, Role, SessionInfo, Text,
    Timestamp,
};
use proptest::prelude::*;

/// What an entry is, and which one it hangs from: a number, modulo how many there are. Mostly
/// the last.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    what: What,
    parent: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    User(Words),
    Assistant {
        thought: bool,
        text: Words,
        calls: u8,
        model: bool,
        blocks: bool,
    },
    /// Results of all calls of the entry above, where it has some.
    Results {
        failed: bool,
    },
    System(bool),
    Model(u8),
    Thinking,
    Tools,
    Label {
        on: usize,
        clear: bool,
    },
    Compaction {
        how: How,
        empty: bool,
    },
    BranchSummary,
    Custom(bool),
    CustomMessage,
    Edit {
        on: usize,
        remove: bool,
    },
    Image,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Words {
    Plain,
    Long,
    Lines,
    Odd,
    Lone,
}

#[derive(Clone, Debug)]
pub(crate) enum How {
    Nothing,
    From(usize),
    Tail(u8),
    InPlace(Vec<usize>),
}

fn words() -> impl Strategy<Value = Words> {
    prop_oneof![
        4 => Just(Words::Plain),
        1 => Just(Words::Long),
        1 => Just(Words::Lines),
        1 => Just(Words::Odd),
        1 => Just(Words::Lone),
    ]
}

fn what() -> impl Strategy<Value = What> {
    let how = prop_oneof![
        Just(How::Nothing),
        any::<usize>().prop_map(How::From),
        (0u8..3).prop_map(How::Tail),
        prop::collection::vec(any::<usize>(), 1..4).prop_map(How::InPlace),
    ];
    prop_oneof![
        8 => words().prop_map(What::User),
        8 => (any::<bool>(), words(), 0u8..3, any::<bool>(), any::<bool>()).prop_map(
            |(thought, text, calls, model, blocks)| What::Assistant {
                thought, text, calls, model, blocks
            }
        ),
        5 => any::<bool>().prop_map(|failed| What::Results { failed }),
        1 => any::<bool>().prop_map(What::System),
        1 => (0u8..2).prop_map(What::Model),
        1 => Just(What::Thinking),
        1 => Just(What::Tools),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(on, clear)| What::Label { on, clear }),
        2 => (how, any::<bool>()).prop_map(|(how, empty)| What::Compaction { how, empty }),
        1 => Just(What::BranchSummary),
        1 => any::<bool>().prop_map(What::Custom),
        1 => Just(What::CustomMessage),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(on, remove)| What::Edit { on, remove }),
        1 => Just(What::Image),
    ]
}

/// Steps, where the session stands, and whether it has facts of its own.
pub(crate) fn steps() -> impl Strategy<Value = (Vec<Step>, Option<usize>, bool)> {
    let parent = prop_oneof![6 => Just(None), 1 => any::<usize>().prop_map(Some)];
    let step = (what(), parent).prop_map(|(what, parent)| Step { what, parent });
    let stands = prop_oneof![2 => Just(None), 1 => any::<usize>().prop_map(Some)];
    (prop::collection::vec(step, 1..24), stands, any::<bool>())
}

pub(crate) fn id(number: usize) -> EntryId {
    EntryId::from(format!("01a0{number:028x}"))
}

fn time(number: usize) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + number as i64 * 1_000)
}

impl Words {
    fn text(self, number: usize) -> Text {
        match self {
            Words::Plain => format!("words {number}").into(),
            Words::Long => format!("words {number} {}", "long ".repeat(200)).into(),
            Words::Lines => format!("# words {number}\n\n```\n</summary>\u{1b}[0m").into(),
            Words::Odd => format!("w\u{f6}rds \u{1f600} {number}\u{2028}\u{0}end").into(),
            Words::Lone => serde_json::from_str(&format!("\"words {number} \\ud83d\"")).unwrap(),
        }
    }
}

/// The entries of a session.
pub(crate) fn entries(steps: &[Step], stands: Option<usize>) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    let mut on_path: Vec<EntryId> = Vec::new();
    let mut calls: Vec<(EntryId, Vec<Text>)> = Vec::new();
    let mut last: Option<EntryId> = None;
    let push = |out: &mut Vec<Entry>, id: EntryId, parent: Option<EntryId>, body: Body| {
        let timestamp = Some(time(out.len()));
        let entry = Entry {
            id,
            parent_id: parent,
            timestamp,
            lane: Lane::main(),
            more: 0,
            body,
            extra: Vec::new(),
        };
        out.push(entry);
    };
    for (number, step) in steps.iter().enumerate() {
        let pick =
            |pick: usize| (!on_path.is_empty()).then(|| on_path[pick % on_path.len()].clone());
        let parent = step.parent.map_or_else(|| last.clone(), pick);
        let own = id(number * 16);
        if let What::Results { failed } = step.what {
            let asked = calls.iter().find(|(id, _)| Some(id) == parent.as_ref());
            let Some((_, asked)) = asked.cloned() else { continue };
            let mut parent = parent;
            for (at, call) in asked.into_iter().enumerate() {
                let mut result = Message::tool(call, format!("result {number}.{at}"));
                result.is_error = Some(failed);
                let own = id(number * 16 + at + 1);
                push(&mut out, own.clone(), parent.clone(), result.into());
                on_path.push(own.clone());
                last = Some(own.clone());
                parent = Some(own);
            }
            continue;
        }
        let path = path(&out, parent.as_ref());
        let on = |at: usize| (!path.is_empty()).then(|| path[at % path.len()].clone());
        let Some(body) = body(&step.what, number, &own, &on, &pick) else { continue };
        if let What::Assistant { calls: count, .. } = step.what
            && count > 0
        {
            calls.push((own.clone(), (0..count).map(|at| call_id(number, at)).collect()));
        }
        let beside = body.is_sidecar();
        push(&mut out, own.clone(), parent, body);
        if !beside {
            on_path.push(own.clone());
            last = Some(own);
        }
    }
    if let Some(stands) = stands
        && !on_path.is_empty()
    {
        let to = on_path[stands % on_path.len()].clone();
        if Some(&to) != last.as_ref() {
            push(&mut out, id(9_999_999), last, Body::Leaf { leaf_id: Some(to) });
        }
    }
    out
}

/// The ids of a path, root first.
fn path(entries: &[Entry], to: Option<&EntryId>) -> Vec<EntryId> {
    let mut path = Vec::new();
    let mut next = to.cloned();
    while let Some(id) = next {
        let entry = entries.iter().find(|entry| entry.id == id).unwrap();
        path.push(id);
        next = entry.parent_id.clone();
    }
    path.reverse();
    path
}

fn call_id(number: usize, at: u8) -> Text {
    format!("call_{number}_{at}").into()
}

fn body(
    what: &What,
    number: usize,
    own: &EntryId,
    on: &dyn Fn(usize) -> Option<EntryId>,
    anywhere: &dyn Fn(usize) -> Option<EntryId>,
) -> Option<Body> {
    let json = |text: &str| Json::parse(text).unwrap();
    Some(match what {
        What::Results { .. } => return None,
        What::User(words) => Message::user(words.text(number)).into(),
        What::Assistant { thought, text, calls, model, blocks } => {
            let mut all = Vec::new();
            if *thought {
                all.push(Block::Thinking {
                    thinking: format!("thought {number}").into(),
                    signature: number.is_multiple_of(2).then(|| "c2ln".into()),
                    extra: Vec::new(),
                });
            }
            all.push(Block::text(text.text(number)));
            for at in 0..*calls {
                let arguments = json(&format!(r#"{{"n":{number},"s":"\u00e4 b"}}"#));
                all.push(Block::tool_call(call_id(number, at), "look", arguments));
            }
            let plain = all.len() == 1 && !blocks;
            let content = match plain {
                true => Content::Text(text.text(number)),
                false => Content::Blocks(all),
            };
            let mut message = Message::new(Role::Assistant, content);
            if *model {
                message = message.by_model("model-1", Some("anthropic".into()));
                message.usage = Some(json(r#"{"input_tokens":5,"output_tokens":7}"#));
                message.stop_reason = Some("stop".into());
            }
            message.into()
        }
        What::System(developer) => {
            let role = if *developer { Role::Developer } else { Role::System };
            Message::new(role, Content::Text(format!("rules {number}").into())).into()
        }
        What::Model(which) => Body::ModelChange {
            model: format!("model-{which}").into(),
            provider: (*which > 0).then(|| "anthropic".into()),
        },
        What::Thinking => Body::ThinkingLevelChange { thinking_level: "high".into() },
        What::Tools => Body::ActiveToolsChange { active_tool_names: vec!["look".into()] },
        What::Label { on, clear } => Body::Label {
            label: (!clear).then(|| format!("mark {number}").into()),
            target_id: Some(anywhere(*on)?),
        },
        What::Compaction { how, empty } => {
            let summary = if *empty { Text::default() } else { format!("sum {number}").into() };
            let mut compaction = Compaction { summary, ..Compaction::default() };
            match how {
                How::Nothing => compaction.first_kept_entry_id = Some(own.clone()),
                How::From(at) => compaction.first_kept_entry_id = Some(on(*at)?),
                How::Tail(count) => {
                    let tail = (0..*count).map(|at| Message::user(format!("kept {number}.{at}")));
                    compaction.retained_tail = Some(tail.collect());
                }
                How::InPlace(picks) => {
                    let ids: Option<Vec<EntryId>> = picks.iter().map(|at| on(*at)).collect();
                    compaction.replaces_entry_ids = ids?;
                }
            }
            compaction.tokens_before = Some(1_000);
            compaction.into()
        }
        What::BranchSummary => Body::BranchSummary {
            summary: format!("left {number}").into(),
            from_id: None,
            details: None,
        },
        What::Custom(aside) => {
            Body::Custom { namespace: "test.x".into(), data: json(r#"{"a":1}"#), aside: *aside }
        }
        What::CustomMessage => Body::CustomMessage {
            namespace: "test.m".into(),
            content: Content::Text(format!("note {number}").into()),
            display: true,
        },
        What::Edit { on: at, remove } => Body::ContextEdit {
            target_id: on(*at)?,
            replacement: (!remove).then(|| Content::Text(format!("edited {number}").into())),
        },
        What::Image => {
            let image = forkwood::Image {
                source: forkwood::core::message::ImageSource::Inline("iVBORw0KGgo=".into()),
                mime_type: "image/png".into(),
                extra: Vec::new(),
            };
            let blocks = vec![Block::text(format!("see {number}")), Block::Image(image)];
            Message::new(Role::User, Content::Blocks(blocks)).into()
        }
    })
}

pub(crate) fn info(rich: bool) -> SessionInfo {
    let mut info = SessionInfo { created_at: Some(time(0)), ..SessionInfo::default() };
    info.cwd = Some("/work/app".into());
    if rich {
        info.title = Some("A title".into());
        info.metadata = Json::parse(r#"{"k":[1,2]}"#).ok();
    }
    info
}
