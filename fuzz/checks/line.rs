//! One line of a native file: its quick head, its whole head and its entry say the same, an
//! entry is written as it is read, and a file that holds the line is read and continued.

use std::path::Path;
use std::sync::Arc;

use forkwood_core::entry::codec;
use forkwood_core::{Draft, EntryKind, Lane, Message};
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::{
    Dialect, JsonlOptions, JsonlStorage, LineContext, Moves, Native, ParentName, RecordHead,
    decode_native,
};
use forkwood_storage::{Append, PathStop, SessionStorage};
use pollster::block_on as run;

fn heads(line: &[u8], quick: bool) -> Option<RecordHead<'_>> {
    let line_of = |_| None;
    let context = LineContext { line: 2, ordinal: 1, line_of: &line_of };
    let mut out = Vec::new();
    Native.heads(line, &context, quick, &mut out).ok()?;
    assert_eq!(out.len(), 1);
    out.pop()
}

/// Whether a base key may stand more than once, so that the last one counts, or be spelled in
/// another way: the start of a line cannot tell then.
fn repeats(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let keys =
        ["\"id\"", "\"type\"", "\"timestamp\"", "\"lane\"", "\"more\"", "\"role\"", "\"message\""];
    let parents = text.matches("\"parentId\"").count() + text.matches("\"parent_id\"").count();
    parents > 1 || text.contains('\\') || keys.iter().any(|key| text.matches(key).count() > 1)
}

pub fn check(data: &[u8]) {
    if data.contains(&b'\n') {
        return;
    }
    let whole = heads(data, false);
    if let Some(head) = &whole {
        entry(data, head);
        if let Some(quick) = heads(data, true)
            && !repeats(data)
        {
            assert_eq!(quick, *head);
        }
    }
    file(data);
}

/// What a head tells is what the entry says.
fn entry(line: &[u8], head: &RecordHead<'_>) {
    let decoded = decode_native(line).expect("its head was read").entry;
    assert_eq!(decoded.id.as_str(), head.id);
    let parent = decoded.parent_id.as_ref().map(|id| id.as_str());
    match &head.parent {
        ParentName::Root => assert_eq!(parent, None),
        ParentName::Named(name) => assert_eq!(parent, Some(name.as_ref())),
        ParentName::Previous => panic!("native entries name their parents"),
    }
    assert_eq!(decoded.more, head.more);
    assert_eq!(decoded.timestamp, head.timestamp);
    let lane = head.lane.as_ref().and_then(|lane| Lane::new(lane).ok());
    assert_eq!(decoded.lane, lane.unwrap_or_default());
    assert_eq!(EntryKind::from_tag(&decoded.body.tag().to_string_lossy()), head.kind);
    if let forkwood_core::Body::Leaf { leaf_id: Some(to) } = &decoded.body {
        assert_eq!(head.moves, Moves::To(Some(to.as_str().into())));
    }
    let written = codec::encode(&decoded);
    assert!(!written.contains('\n'));
    let again = decode_native(written.as_bytes()).expect("it was just written").entry;
    assert_eq!(again, decoded, "{written}");
    assert_eq!(codec::encode(&again), written);
}

const HEADER: &str = r#"{"id":"root","parentId":null,"timestamp":1.0,"type":"session_info","sessionId":"s1","version":1,"generation":"g"}"#;

fn file(line: &[u8]) {
    let before = r#"{"id":"a","parentId":"root","timestamp":1.0,"type":"label","label":"x"}"#;
    let after = r#"{"id":"b","parentId":"root","timestamp":1.0,"type":"message","message":{"role":"user","content":"b"}}"#;
    let path = Path::new("/store/sessions/s1.jsonl");
    for bytes in [
        [HEADER.as_bytes(), b"\n", before.as_bytes(), b"\n", line, b"\n", after.as_bytes(), b"\n"]
            .concat(),
        [HEADER.as_bytes(), b"\n", line].concat(),
        [line, b"\n", after.as_bytes()].concat(),
    ] {
        let disk = SimDisk::volatile();
        disk.put(path, &bytes);
        let options = JsonlOptions::default().with_disk(Arc::new(disk.clone()));
        let Ok((storage, s)) = JsonlStorage::file(path, options.clone()) else { continue };
        let leaf = |storage: &JsonlStorage| {
            run(storage.facts(&s)).expect("it opened").lanes[0].leaf.clone()
        };
        let quick = leaf(&storage);
        if let Some(leaf) = &quick {
            for stop in [PathStop::Root, PathStop::Context] {
                run(storage.path(&s, leaf, stop)).expect("a lane stands there");
            }
        }
        run(storage.check(&s)).expect("it can be read");
        assert_eq!(leaf(&storage), quick);
        run(storage.read(&s, 0, usize::MAX)).expect("every entry can be read");
        assert_eq!(disk.bytes(path).as_deref(), Some(&bytes[..]), "reading wrote");
        if run(storage.facts(&s)).expect("it opened").read_only.is_some() {
            continue;
        }
        let draft = Draft::new("0192f0c1a2b370000000000000000001".into(), Message::user("on"));
        let done = match run(storage.append(&s, Append::any(vec![draft.clone()]))) {
            Ok(done) => done,
            // The line took that very id.
            Err(error) if error.kind().as_str() == "exists" => continue,
            Err(error) => panic!("{error}"),
        };
        if done.repeated {
            continue;
        }
        assert_eq!(done.entries[0].parent_id, quick.or(done.entries[0].parent_id.clone()));
        let (again, s) = JsonlStorage::file(path, options).expect("it was just written");
        let found = run(again.get(&s, &[draft.id])).expect("it was just written").remove(0);
        assert_eq!(found.expect("it was just written").entry.body, draft.body);
    }
}
