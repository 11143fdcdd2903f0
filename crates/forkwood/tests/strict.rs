//! What enters through the API is checked and named; what is refused writes nothing.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, file, text, turn};
use forkwood::core::entry::codec::Reader;
use forkwood::core::message::decode;
use forkwood::{
    AppendOptions, Block, Body, Compaction, Content, CreateOptions, EntryId, ErrorKind, Json,
    Message, Role, SessionInfo,
};

#[test]
fn what_reading_would_not_give_back_is_refused() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let before = text(&file(&session));
    let robot = || Message::new(Role::Other("robot".into()), Content::Text("x".into()));
    let video = Json::parse(r#"{"type":"video"}"#).unwrap();
    let video = || Content::Blocks(vec![Block::Other(video.clone())]);
    let image = |base64: &str| {
        let json = format!(
            r#"{{"role":"user","content":[{{"type":"image","base64":"{base64}","mimeType":"image/png"}}]}}"#
        );
        decode(&json, &mut Reader::strict()).unwrap().content
    };
    let payload = |json: &str| Body::Custom {
        namespace: "n".into(),
        data: Json::parse(json).unwrap(),
        aside: false,
    };
    let list = || Json::parse("[1]").unwrap();
    let info = SessionInfo::default;
    let refused: Vec<(&str, Body)> = vec![
        ("wish", Body::Unknown { tag: "wish".into() }),
        ("robot", robot().into()),
        ("block", Message::new(Role::User, video()).into()),
        ("block", Body::CustomMessage { namespace: "n".into(), content: video(), display: true }),
        ("block", Body::ContextEdit { target_id: "x".into(), replacement: Some(video()) }),
        ("image.base64", Message::new(Role::User, image("aGk*")).into()),
        (
            "image.base64",
            Body::CustomMessage { namespace: "n".into(), content: image("a"), display: true },
        ),
        ("custom.data", payload(r#"{"a":[{"base64":"aGk*","mimeType":"image/png"}]}"#)),
        (
            "robot",
            Compaction { retained_tail: Some(vec![robot()]), ..Compaction::default() }.into(),
        ),
        ("leafId", Body::Leaf { leaf_id: None }),
        ("data", Body::Custom { namespace: "n".into(), data: list(), aside: false }),
        ("metadata", SessionInfo { metadata: Some(list()), ..info() }.into()),
        ("sessionId", SessionInfo { session_id: Some("s".into()), ..info() }.into()),
        ("version", SessionInfo { version: Some(2), ..info() }.into()),
        ("cwd", SessionInfo { cwd: Some("/".into()), ..info() }.into()),
    ];
    for (named, body) in refused {
        let error = session.append(body.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{body:?}");
        assert!(error.to_string().contains(named), "{named}: {error}");
        // In the middle of a batch nothing of it is written.
        let batch = vec![Message::user("fine").into(), body];
        assert!(session.append_batch(batch, AppendOptions::default()).is_err());
    }
    assert_eq!(text(&file(&session)), before);
    assert_eq!(context(&session).len(), 2);
    // What extensions call base64 without saying what it is stays theirs.
    session.append(payload(r#"{"base64":"not at all"}"#)).unwrap();
    session.append(Message::new(Role::User, image("aGk"))).unwrap();
}

#[test]
fn what_names_an_entry_that_is_not_there_is_refused() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    let before = text(&file(&session));
    let ghost = || EntryId::new("ghost");
    let compaction = |first: Option<EntryId>, replaces: Vec<EntryId>| -> Body {
        Compaction {
            summary: "s".into(),
            first_kept_entry_id: first,
            replaces_entry_ids: replaces,
            ..Compaction::default()
        }
        .into()
    };
    let edit = |target: EntryId| Body::ContextEdit { target_id: target, replacement: None };
    let from = |id| Body::BranchSummary { summary: "s".into(), from_id: Some(id), details: None };
    let label = |id| Body::Label { label: Some("x".into()), target_id: Some(id) };
    for (field, body) in [
        ("compaction.firstKeptEntryId", compaction(Some(ghost()), vec![])),
        ("compaction.replacesEntryIds", compaction(None, vec![question.clone(), ghost()])),
        ("branch_summary.fromId", from(ghost())),
        ("label.targetId", label(ghost())),
        ("leaf.leafId", Body::Leaf { leaf_id: Some(ghost()) }),
        ("context_edit.targetId", edit(ghost())),
    ] {
        let batch = vec![Message::user("fine").into(), body.clone()];
        for error in [
            session.append(body).unwrap_err(),
            session.append_batch(batch, AppendOptions::default()).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            let shown = error.to_string();
            assert!(shown.contains(field) && shown.contains("ghost"), "{shown}");
        }
    }
    // Nor does it name what comes later.
    let ids = vec![EntryId::new("first"), EntryId::new("second")];
    let options = |ids: &[EntryId]| AppendOptions { ids: ids.to_vec(), ..AppendOptions::default() };
    let early = vec![label(ids[1].clone()), Message::user("x").into()];
    let error = session.append_batch(early, options(&ids)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(text(&file(&session)), before);
    assert_eq!(session.leaf(), Some(&answer));
    // What is there, or comes before it in the batch, can be named.
    let batch = vec![Message::user("x").into(), label(ids[0].clone())];
    session.append_batch(batch.clone(), options(&ids)).unwrap();
    assert!(session.append_batch(batch, options(&ids)).unwrap().repeated);
    session.append(from(answer)).unwrap();
    session.append(edit(ids[0].clone())).unwrap();
    session.append(compaction(Some(ids[0].clone()), vec![question])).unwrap();
}

#[test]
fn nothing_and_no_id_cannot_be_appended() {
    let mut session = common::session();
    turn(&mut session, 1);
    let root = session.path_ids(&session.leaf().cloned().unwrap()).unwrap()[0].clone();
    let with = |ids: &[&str]| AppendOptions {
        ids: ids.iter().map(|id| (*id).into()).collect(),
        ..AppendOptions::default()
    };
    let to_root = AppendOptions { parent: Some(root), ..AppendOptions::default() };
    let one = || vec![Message::user("x").into()];
    for (bodies, options) in [
        (Vec::new(), AppendOptions::default()),
        (Vec::new(), to_root),
        (one(), with(&[""])),
        (one(), with(&["a", "b"])),
    ] {
        let error = session.append_batch(bodies, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    let twice = vec![Message::user("x").into(), Message::user("y").into()];
    assert_eq!(
        session.append_batch(twice, with(&["a", "a"])).unwrap_err().kind(),
        ErrorKind::Exists
    );
    assert_eq!(context(&session), ["user:q1", "assistant:a1"]);
}

#[test]
fn odd_ids_and_texts_are_kept() {
    let place = Place::new();
    let mut session = place.create();
    let ids = ["\u{e9}\"\\\n", "a.b@3", "../x", " ", "x\u{1f600}"];
    let texts = ["\u{0}\u{7}\u{1b}[31m", "line\nline\r\n", "\u{2028}\u{feff}", "\u{fffe}", ""];
    for (id, said) in ids.iter().zip(texts) {
        let options = AppendOptions { ids: vec![(*id).into()], ..AppendOptions::default() };
        session.append_batch(vec![Message::user(said).into()], options).unwrap();
    }
    let again = place.again().open(session.id().as_str()).unwrap();
    let entries = again.entries().unwrap();
    let read: Vec<&str> = entries[1..].iter().map(|stored| stored.entry.id.as_str()).collect();
    assert_eq!(read, ids);
    let shown: Vec<String> =
        again.full_history().unwrap().iter().map(|m| m.content.text().to_string()).collect();
    assert_eq!(shown, texts);
    assert_eq!(again.resolve_entry("../x").unwrap().as_str(), "../x");
}

#[test]
fn metadata_is_an_object() {
    let place = Place::new();
    for json in ["[]", "1", "\"x\"", "null"] {
        let metadata = Some(Json::parse(json).unwrap());
        let options = CreateOptions { metadata, ..CreateOptions::default() };
        let error = place.store.create(options.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{json}");
    }
    assert!(place.names("sessions").is_empty());
    let mut session = place.create();
    let options =
        CreateOptions { metadata: Some(Json::parse("[]").unwrap()), ..CreateOptions::default() };
    let error = place.store.create_subagent(&session, "t1", "reviewer", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(session.set_metadata(Json::parse("[]").unwrap()).is_err());
    for json in [r#"{"a":1}"#, r#"{"b":2}"#, "{}"] {
        session.set_metadata(Json::parse(json).unwrap()).unwrap();
        let again = place.again().open(session.id().as_str()).unwrap();
        assert_eq!(again.facts().info.metadata.as_ref().unwrap().get(), json, "it is replaced");
    }
}
