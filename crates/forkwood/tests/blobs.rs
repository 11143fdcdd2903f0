//! Large bytes: once for the store, never in the log, back in the context.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, file, text, write_raw};
use forkwood::blobs::INLINE_LIMIT;
use forkwood::blocking::{Session, SessionStore};
use forkwood::core::message::ImageSource;
use forkwood::storage::blob::{decode_base64, encode_base64, name_of};
use forkwood::{
    Block, Body, Compaction, Content, CreateOptions, DiagnosticKind, ErrorKind, ForkOptions, Image,
    Json, Message, Role,
};

/// Bytes that differ with `seed`.
fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(step).collect()
}

fn image(base64: String) -> Block {
    let source = ImageSource::Inline(base64.into());
    Block::Image(Image { source, mime_type: "image/png".into(), extra: Vec::new() })
}

fn shot(bytes: &[u8]) -> Message {
    let blocks = vec![Block::text("look"), image(encode_base64(bytes))];
    Message::new(Role::User, Content::Blocks(blocks))
}

fn is_blob(message: &Message) -> bool {
    let Content::Blocks(blocks) = &message.content else { return false };
    blocks
        .iter()
        .any(|block| matches!(block, Block::Image(Image { source: ImageSource::Blob { .. }, .. })))
}

fn stored(session: &Session, at: usize) -> Message {
    session.entries().unwrap()[at].entry.message().unwrap().clone()
}

fn blobs(place: &Place) -> Vec<String> {
    let mut names = Vec::new();
    for folder in place.names("blobs") {
        names.extend(place.names(&format!("blobs/{folder}")));
    }
    names
}

#[test]
fn the_limit_is_exact() {
    let place = Place::new();
    let mut session = place.create();
    for len in [INLINE_LIMIT - 1, INLINE_LIMIT, INLINE_LIMIT + 1, INLINE_LIMIT + 2] {
        session.append(shot(&bytes(len, 1))).unwrap();
    }
    // Without padding it is shorter by a letter or two, and as large.
    for len in [INLINE_LIMIT, INLINE_LIMIT + 1] {
        let base64 = encode_base64(&bytes(len, 1)).trim_end_matches('=').to_owned();
        session.append(Message::new(Role::User, Content::Blocks(vec![image(base64)]))).unwrap();
    }
    let named: Vec<bool> = (1..=6).map(|at| is_blob(&stored(&session, at))).collect();
    assert_eq!(named, [false, false, true, true, false, true]);
    assert_eq!(blobs(&place).len(), 2, "the same bytes are kept once");
    let name = name_of(&bytes(INLINE_LIMIT + 1, 1));
    assert!(blobs(&place).contains(&name));
    let folder = place.root().join("blobs").join(&name[7..9]);
    assert_eq!(std::fs::read(folder.join(&name)).unwrap(), bytes(INLINE_LIMIT + 1, 1));
    assert!(text(&file(&session)).contains(&format!("\"bytes\":{}", INLINE_LIMIT + 1)));
}

#[test]
fn a_context_holds_the_bytes_again() {
    let place = Place::new();
    let mut session = place.create();
    let large = bytes(100_000, 3);
    session.append(shot(&large)).unwrap();
    assert_eq!(session.context().unwrap().messages(), [shot(&large)]);
    assert_eq!(session.full_history().unwrap(), [shot(&large)]);
    assert!(is_blob(&session.state_at(session.leaf().unwrap()).unwrap().messages()[0]));
}

#[test]
fn every_place_where_an_image_can_stand() {
    let place = Place::new();
    let mut session = place.create();
    let of = |n: u64| shot(&bytes(70_000, n));
    session.append(Message { role: Role::Tool, ..of(1) }).unwrap();
    let custom =
        Body::CustomMessage { namespace: "n".into(), content: of(2).content, display: true };
    let custom = session.append(custom).unwrap();
    let edit = Body::ContextEdit { target_id: custom, replacement: Some(of(3).content) };
    session.append(edit).unwrap();
    assert_eq!(session.context().unwrap().messages()[1].content, of(3).content);
    let tail = Compaction { retained_tail: Some(vec![of(4)]), ..Compaction::default() };
    session.add_compaction(tail).unwrap();
    assert_eq!(session.context().unwrap().messages(), [of(4)]);
    assert_eq!(blobs(&place).len(), 4);
    assert!(text(&file(&session)).len() < 5_000);
}

#[test]
fn a_thousand_screenshots_cost_their_text() {
    let place = Place::new();
    let mut session = place.create();
    session.set_durability(forkwood::Durability::Os);
    let large = bytes(66_000, 5);
    for n in 0..1000 {
        let mut message = shot(&large);
        if let Content::Blocks(blocks) = &mut message.content {
            blocks[0] = Block::text(format!("screenshot {n}"));
        }
        session.append(message).unwrap();
    }
    let size = std::fs::metadata(file(&session)).unwrap().len();
    assert!(size < 500_000, "{size}");
    assert_eq!(blobs(&place).len(), 1);
    let fork = place.store.fork(&session, None, ForkOptions::default()).unwrap();
    assert!(std::fs::metadata(file(&fork)).unwrap().len() < 500_000);
    assert_eq!(blobs(&place).len(), 1, "a fork shares them");
    let leaf = fork.leaf().unwrap();
    let path = fork.path_to(leaf).unwrap();
    assert_eq!(path.len(), 1001);
    assert!(is_blob(path[1000].message().unwrap()));
}

#[test]
fn a_fork_into_another_store_takes_them_along() {
    let (place, other) = (Place::new(), Place::new());
    let mut session = place.create();
    let large = bytes(70_000, 7);
    session.append(shot(&large)).unwrap();
    let name = name_of(&bytes(90_000, 8));
    let data = format!(
        r#"{{"shot":{{"base64":"{}","mimeType":"image/png"}}}}"#,
        encode_base64(&bytes(90_000, 8))
    );
    let data = Json::parse(&data).unwrap();
    session.append(Body::Custom { namespace: "n".into(), data, aside: true }).unwrap();
    let fork = other.store.fork(&session, None, ForkOptions::default()).unwrap();
    drop(place);
    assert_eq!(fork.context().unwrap().messages(), [shot(&large)]);
    assert_eq!(blobs(&other).len(), 2);
    assert!(blobs(&other).contains(&name));
    assert!(fork.check().unwrap().is_empty(), "{:?}", fork.check());
}

#[test]
fn a_missing_blob_is_a_finding_and_a_placeholder() {
    for damage in [false, true] {
        let place = Place::new();
        let mut session = place.create();
        let large = bytes(70_000, 9);
        let id = session.append(shot(&large)).unwrap();
        session.append(Message::user("go on")).unwrap();
        let name = name_of(&large);
        let path = place.root().join("blobs").join(&name[7..9]).join(&name);
        if damage {
            std::fs::write(&path, b"other bytes").unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        let context = session.context().unwrap();
        let Content::Blocks(blocks) = &context.messages()[0].content else { panic!("no blocks") };
        assert_eq!(blocks[0], Block::text("look"));
        assert_eq!(blocks[1], Block::text(format!("[image missing: {name}]")));
        let told = context.diagnostics();
        assert_eq!(told.len(), 1);
        assert_eq!(
            (told[0].kind, told[0].entry.as_ref()),
            (DiagnosticKind::MissingBlob, Some(&id))
        );
        let found = session.check().unwrap();
        let found: Vec<_> =
            found.iter().filter(|f| f.kind == DiagnosticKind::MissingBlob).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].entry.as_ref(), found[0].line), (Some(&id), Some(2)));
        // A fork elsewhere is made all the same, and lacks it as well.
        let other = Place::new();
        let fork = other.store.fork(&session, None, ForkOptions::default()).unwrap();
        assert!(fork.check().unwrap().iter().any(|f| f.kind == DiagnosticKind::MissingBlob));
        // The same bytes once more heal it.
        session.append(shot(&large)).unwrap();
        assert!(session.check().unwrap().is_empty());
    }
}

#[test]
fn payloads_in_custom_data() {
    let place = Place::new();
    let mut session = place.create();
    let large = bytes(80_000, 11);
    let small = bytes(100, 12);
    let payload = |bytes: &[u8]| {
        format!(
            r#"{{"name":"p.png","base64":"{}","mimeType":"image/png","n":1e400}}"#,
            encode_base64(bytes)
        )
    };
    let nested = format!(
        r#"{{"list":[1,{},{}],"deep":{{"er":{}}},"text":"sha256-"}}"#,
        payload(&large),
        payload(&small),
        payload(&bytes(80_000, 13))
    );
    let append = |session: &mut Session, data: &str| {
        let data = Json::parse(data).unwrap();
        let id =
            session.append(Body::Custom { namespace: "n".into(), data, aside: false }).unwrap();
        let Body::Custom { data, .. } = session.get(&id).unwrap().entry.body else { panic!() };
        data.get().to_owned()
    };
    let named = |bytes: &[u8]| {
        format!(
            r#"{{"blob":"{}","bytes":{},"name":"p.png","mimeType":"image/png","n":1e400}}"#,
            name_of(bytes),
            bytes.len()
        )
    };
    let expected = format!(
        r#"{{"list":[1,{},{}],"deep":{{"er":{}}},"text":"sha256-"}}"#,
        named(&large),
        payload(&small),
        named(&bytes(80_000, 13))
    );
    assert_eq!(append(&mut session, &nested), expected, "every field but the bytes stays");
    // The data may be the payload.
    assert_eq!(append(&mut session, &payload(&large)), named(&large));
    // What only looks like one stays as it is.
    let text = format!(r#"{{"base64":"{}!"}}"#, "x".repeat(100_000));
    assert_eq!(append(&mut session, &text), text);
    assert_eq!(blobs(&place).len(), 2);
    let folder = place.root().join("blobs").join(&name_of(&large)[7..9]);
    std::fs::remove_file(folder.join(name_of(&large))).unwrap();
    let missing = session.check().unwrap();
    assert_eq!(missing.iter().filter(|f| f.kind == DiagnosticKind::MissingBlob).count(), 2);
}

#[test]
fn deep_data_is_a_walk() {
    let mut session = common::session();
    let deep =
        format!("{{\"a\":{}\"{}\"{}}}", "[".repeat(50_000), "x".repeat(90_000), "]".repeat(50_000));
    let data = Json::parse(&deep);
    // Whether the parser takes it is its own affair; nothing may overflow.
    if let Ok(data) = data {
        let body = Body::Custom { namespace: "n".into(), data, aside: true };
        let _ = session.append(body);
        assert!(session.check().is_ok());
    }
}

#[test]
fn a_log_that_names_no_blob_is_left_alone() {
    let place = Place::new();
    let mut session = place.create();
    let odd = "not base64 at all ".repeat(6_000);
    let message = Message::new(Role::User, Content::Blocks(vec![image(odd.clone())]));
    assert_eq!(session.append(message.clone()).unwrap_err().kind(), ErrorKind::Invalid);
    write_raw(&mut session, "odd", message);
    assert!(decode_base64(&odd).is_none());
    assert!(!is_blob(&stored(&session, 1)));
    assert!(blobs(&place).is_empty());
    // A name that is none is a placeholder, and no path.
    let source = ImageSource::Blob { name: "../../etc/passwd".into(), bytes: 1 };
    let image = Image { source, mime_type: "image/png".into(), extra: Vec::new() };
    let message = Message::new(Role::User, Content::Blocks(vec![Block::Image(image)]));
    assert_eq!(session.append(message.clone()).unwrap_err().kind(), ErrorKind::Invalid);
    write_raw(&mut session, "name", message);
    let context = session.context().unwrap();
    let Content::Blocks(blocks) = &context.messages()[1].content else { panic!("no blocks") };
    assert!(matches!(&blocks[0], Block::Text { text, .. } if text.to_string().contains("missing")));
}

#[test]
fn a_session_opened_by_its_path_has_the_blobs_of_its_store() {
    let (place, other) = (Place::new(), Place::new());
    let mut session = place.create();
    let large = bytes(70_000, 15);
    session.append(shot(&large)).unwrap();
    let sub = CreateOptions::default();
    let mut sub = place.store.create_subagent(&session, "task", "helper", sub).unwrap();
    sub.append(shot(&large)).unwrap();
    for path in [file(&session), file(&sub)] {
        let mut alone = SessionStore::open_file(&path, &[]).unwrap();
        let context = alone.context().unwrap();
        assert_eq!(context.messages(), [shot(&large)]);
        assert!(context.diagnostics().is_empty());
        assert!(alone.check().unwrap().is_empty(), "{:?}", alone.check());
        let fork = other.store.fork(&alone, None, ForkOptions::default()).unwrap();
        assert_eq!(fork.context().unwrap().messages(), [shot(&large)]);
        assert!(fork.check().unwrap().is_empty());
        // What is appended by path keeps its bytes in the store, too.
        alone.append(shot(&bytes(70_000, 16))).unwrap();
        assert!(is_blob(&stored(&alone, 2)));
    }
    assert_eq!(blobs(&other).len(), 1);
    assert_eq!(blobs(&place).len(), 2);
}

#[test]
fn a_file_that_was_carried_off_says_what_it_lacks() {
    let place = Place::new();
    let mut session = place.create();
    let id = session.append(shot(&bytes(70_000, 17))).unwrap();
    let carried = place.root().join("carried.jsonl");
    std::fs::copy(file(&session), &carried).unwrap();
    let alone = SessionStore::open_file(&carried, &[]).unwrap();
    let context = alone.context().unwrap();
    for found in [context.diagnostics(), &alone.check().unwrap()] {
        let found: Vec<_> =
            found.iter().filter(|f| f.kind == DiagnosticKind::MissingBlob).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].entry.as_ref(), Some(&id));
    }
}
