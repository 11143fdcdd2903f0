//! Where lines must stand so that their owner reads what was meant.

use forkwood::{
    Block, Body, Content, Entry, EntryId, Json, Lane, Message, Role, SessionInfo, Timestamp,
};
use forkwood_formats::export::{self, Scope, Target, What};
use pollster::block_on as run;

use crate::compare::same_lines;
use crate::generate::id;
use crate::world::{gather, read_back, session, write};

const ID: &str = "20260101-000000-0a0b0c0d";

fn entry(number: usize, parent: Option<usize>, body: impl Into<Body>) -> Entry {
    Entry {
        id: id(number),
        parent_id: parent.map(id),
        timestamp: Some(Timestamp::from_millis(1_767_225_600_000 + number as i64)),
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    }
}

fn label(number: usize, parent: usize, label: Option<&str>) -> Entry {
    let label = label.map(Into::into);
    entry(number, Some(parent), Body::Label { label, target_id: Some(id(0)) })
}

fn answer(call: &str) -> Message {
    let arguments = Json::parse("{}").unwrap();
    let blocks = vec![Block::text("hm"), Block::tool_call(call, "look", arguments)];
    Message::new(Role::Assistant, Content::Blocks(blocks))
}

/// A label beside the last entry that a line elsewhere has replaced, or taken away.
#[test]
fn the_last_label_of_an_entry_stays_the_last_in_pi() {
    for last in [Some("new"), None] {
        let all = vec![
            entry(0, None, Message::user("ask")),
            entry(1, Some(0), Message::user("one branch")),
            entry(2, Some(0), Message::user("another")),
            label(3, 2, Some("old")),
            label(4, 1, last),
            entry(5, Some(2), Body::Leaf { leaf_id: Some(id(2)) }),
        ];
        let ours = session(ID, SessionInfo::default(), all);
        let source = gather(&ours, &Scope::AllBranches);
        assert_eq!(source.leaf, Some(id(2)));
        let (back, _) = read_back(&write(&source, Target::Pi), Target::Pi);
        let labels = run(back.labels()).unwrap();
        assert_eq!(labels.get(&id(0)).map(|label| label.to_string()), last.map(str::to_owned));
    }
}

/// Results behind two answers in a row: Claude Code puts both behind the second one.
#[test]
fn a_result_that_claude_code_puts_elsewhere_is_told() {
    let all = vec![
        entry(0, None, Message::user("ask")),
        entry(1, Some(0), answer("call_a")),
        entry(2, Some(1), Message::tool("call_a", "result")),
        entry(3, Some(1), answer("call_b")),
        entry(4, Some(3), Message::tool("call_b", "result")),
        entry(5, Some(4), Message::user("go on")),
    ];
    let source = gather(&session(ID, SessionInfo::default(), all), &Scope::AllBranches);
    let written = write(&source, Target::Claude);
    let told: Vec<EntryId> =
        (0..6).map(id).filter(|id| written.losses.names_entry(What::Shape, id)).collect();
    assert_eq!(told, [id(2), id(4)], "{:?}", written.losses);
    let (back, _) = read_back(&written, Target::Claude);
    same_lines(&source, &back, &written.losses);
    let above = |number: usize| {
        let uuid = EntryId::from(export::uuid_of(&source.id, id(number).as_str()));
        run(back.get(&uuid)).unwrap().entry.parent_id
    };
    let named =
        |number: usize| Some(EntryId::from(export::uuid_of(&source.id, id(number).as_str())));
    assert_eq!((above(2), above(4), above(5)), (named(3), named(2), named(4)));
}

/// A second result of a call, and a second answer, are branches: nothing moves, nothing is told.
#[test]
fn branches_stay_where_they_are_in_claude_code() {
    let all = vec![
        entry(0, None, Message::user("ask")),
        entry(1, Some(0), answer("call_a")),
        entry(2, Some(1), Message::tool("call_a", "result")),
        entry(3, Some(1), Message::tool("call_a", "result of another run")),
        entry(4, Some(3), answer("call_b")),
        entry(5, Some(3), answer("call_c")),
        entry(6, Some(5), Message::tool("call_c", "result")),
    ];
    let source = gather(&session(ID, SessionInfo::default(), all), &Scope::AllBranches);
    let written = write(&source, Target::Claude);
    assert!(!written.losses.names(What::Shape), "{:?}", written.losses);
    let (back, _) = read_back(&written, Target::Claude);
    same_lines(&source, &back, &written.losses);
}

/// A session that stands at the second answer, and whose first one has a result.
#[test]
fn a_place_that_claude_code_moves_is_told() {
    let all = vec![
        entry(0, None, Message::user("ask")),
        entry(1, Some(0), answer("call_a")),
        entry(2, Some(1), Message::tool("call_a", "result")),
        entry(3, Some(1), answer("call_b")),
    ];
    let source = gather(&session(ID, SessionInfo::default(), all), &Scope::AllBranches);
    assert_eq!(source.leaf, Some(id(3)));
    let written = write(&source, Target::Claude);
    assert!(written.losses.names_entry(What::Pointer, &id(3)), "{:?}", written.losses);
    let (back, _) = read_back(&written, Target::Claude);
    let stands = run(back.current_leaf()).unwrap();
    assert_eq!(stands, Some(EntryId::from(export::uuid_of(&source.id, id(2).as_str()))));
}
