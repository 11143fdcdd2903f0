//! PicoClaw's folders: lines without ids, hidden and dropped by their owner.

use std::path::Path;
use std::sync::Arc;

use forkwood::conversation::{ConversationMessage, ConversationStore};
use forkwood::{EntryKind, Lane, Message, Role, Session};
use forkwood_formats::import::{Origin, Outcome};
use forkwood_formats::picoclaw::{FolderOptions, PicoConversations};
use pollster::block_on as run;
use proptest::prelude::*;

use crate::world::{SOURCE, World, context, entries};

fn owner(world: &World) -> PicoConversations {
    let options = FolderOptions { disk: Arc::new(world.disk.clone()), ..FolderOptions::default() };
    PicoConversations::open_with(Path::new(SOURCE), options)
}

fn say(world: &World, text: &str) {
    run(owner(world).add_message("tg:1", Role::User, text)).unwrap();
}

/// What the owner sends to a model: the summary, and the history.
fn expected(world: &World) -> Vec<String> {
    let owner = owner(world);
    let summary = run(owner.get_summary("tg:1")).unwrap();
    let mut all: Vec<String> = Vec::new();
    if !summary.is_empty() {
        all.push(format!("user: Previous conversation summary:\n{summary}"));
    }
    let history = run(owner.get_history("tg:1")).unwrap();
    all.extend(
        history
            .iter()
            .map(|one| format!("{}: {}", one.message.role.as_text(), one.message.content.text())),
    );
    all
}

fn messages(session: &Session) -> usize {
    entries(session).iter().filter(|stored| stored.entry.kind() == EntryKind::Message).count()
}

#[test]
fn a_conversation_is_followed_through_all_its_owner_does() {
    let world = World::new();
    for n in 0..4 {
        say(&world, &format!("m{n}"));
    }
    world.expect(Outcome::New);
    assert_eq!(context(&world.session()), expected(&world));
    let origin = Origin::of_metadata(world.session().facts().info.metadata.as_ref()).unwrap();
    assert_eq!((origin.format.as_str(), origin.source_id.to_string()), ("picoclaw", "tg:1".into()));
    say(&world, "m4");
    assert_eq!(world.expect(Outcome::Continued).added, 1);
    run(owner(&world).set_summary("tg:1", "so far")).unwrap();
    run(owner(&world).truncate_history("tg:1", 2)).unwrap();
    world.expect(Outcome::Continued);
    assert_eq!(context(&world.session()), expected(&world));
    // Dropping the hidden lines changes nothing of what is seen, and nothing is lost here.
    run(owner(&world).save("tg:1")).unwrap();
    assert_eq!(world.expect(Outcome::Unchanged).added, 0);
    assert_eq!(messages(&world.session()), 5);
    say(&world, "m5");
    assert_eq!(world.expect(Outcome::Continued).added, 1);
    assert_eq!(context(&world.session()), expected(&world));
    assert_eq!(messages(&world.session()), 6);
    // Cut back, and cleared.
    let mut history = run(owner(&world).get_history("tg:1")).unwrap();
    history.truncate(2);
    run(owner(&world).set_history("tg:1", history)).unwrap();
    world.import_one();
    assert_eq!(context(&world.session()), expected(&world));
    assert_eq!(messages(&world.session()), 6);
    run(owner(&world).set_history("tg:1", Vec::new())).unwrap();
    run(owner(&world).set_summary("tg:1", "")).unwrap();
    world.import_one();
    assert!(context(&world.session()).is_empty());
    say(&world, "again");
    world.import_one();
    assert_eq!(context(&world.session()), ["user: again"]);
    assert_eq!(messages(&world.session()), 7);
}

#[test]
fn every_case_has_the_context_that_its_owner_has() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/picoclaw");
    let mut count = 0;
    for case in std::fs::read_dir(cases).unwrap().map(|case| case.unwrap().path()) {
        if !case.is_dir() {
            continue;
        }
        let world = World::new();
        for file in std::fs::read_dir(case.join("sessions")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            world.put(&name, std::fs::read(&path).unwrap());
        }
        for report in world.import() {
            let Some(id) = report.session else {
                assert!(matches!(report.outcome, Outcome::Empty | Outcome::Unknown), "{report:?}");
                continue;
            };
            let session = run(world.store().open(id.as_str())).unwrap();
            let path = World::path(report.path.file_name().unwrap().to_str().unwrap());
            let theirs = forkwood_formats::picoclaw::read(&world.disk, &path).unwrap();
            let mut texts: Vec<String> = theirs
                .history()
                .iter()
                .map(|one| {
                    format!("{}: {}", one.message.role.as_text(), one.message.content.text())
                })
                .collect();
            if !theirs.meta.summary.is_empty() {
                let summary = &theirs.meta.summary;
                texts.insert(0, format!("user: Previous conversation summary:\n{summary}"));
            }
            assert_eq!(context(&session), texts, "{}", report.path.display());
            count += 1;
        }
        let again = world.import();
        let same = [Outcome::Unchanged, Outcome::Empty, Outcome::Unknown];
        assert!(again.iter().all(|report| same.contains(&report.outcome)), "{again:?}");
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn a_migrated_file_is_the_same_session() {
    let world = World::new();
    let at = "2026-01-01T00:00:00Z";
    world.put("old.json", format!(
        r#"{{"key":"tg:9","messages":[{{"role":"user","content":"hi","created_at":"{at}"}}],"created":"{at}","updated":"{at}"}}"#
    ));
    world.expect(Outcome::New);
    forkwood_formats::picoclaw::migrate(owner(&world).folder()).unwrap();
    world.expect(Outcome::Unchanged);
    run(owner(&world).add_message("tg:9", Role::User, "more")).unwrap();
    world.expect(Outcome::Continued);
    assert_eq!(context(&world.session()), ["user: hi", "user: more"]);
}

#[test]
fn a_session_that_went_on_by_itself_keeps_its_lane() {
    let world = World::new();
    say(&world, "one");
    world.expect(Outcome::New);
    run(world.session().append(Message::assistant("ours"))).unwrap();
    say(&world, "two");
    world.expect(Outcome::Branched);
    assert_eq!(context(&world.session()), ["user: one", "assistant: ours"]);
    let mut session = world.session();
    run(session.use_lane(Lane::new("import").unwrap())).unwrap();
    assert_eq!(context(&session), ["user: one", "user: two"]);
}

#[derive(Clone, Debug)]
enum Step {
    Say(u8),
    Truncate(usize),
    Save,
    Sum(u8),
    Cut(usize),
    Replace(Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..3).prop_map(Step::Say),
        1 => (0usize..4).prop_map(Step::Truncate),
        1 => Just(Step::Save),
        1 => (0u8..3).prop_map(Step::Sum),
        1 => (0usize..4).prop_map(Step::Cut),
        1 => prop::collection::vec(0u8..3, 0..3).prop_map(Step::Replace),
    ]
}

/// A message without a time, so that equal ones are equal lines.
fn timeless(text: &str) -> ConversationMessage {
    let line = format!(r#"{{"role":"user","content":"{text}"}}"#);
    let mut one = forkwood_formats::picoclaw::decode(&line).unwrap().message;
    one.created_at = Some(forkwood::Timestamp::from_micros(0));
    one
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_context_is_the_owners_whatever_it_does(steps in prop::collection::vec(step(), 1..12)) {
        let world = World::new();
        run(owner(&world).add_full_message("tg:1", timeless("0"))).unwrap();
        for step in steps {
            let owner = owner(&world);
            match step {
                Step::Say(n) => {
                    run(owner.add_full_message("tg:1", timeless(&n.to_string()))).unwrap();
                }
                Step::Truncate(keep) => run(owner.truncate_history("tg:1", keep)).unwrap(),
                Step::Save => run(owner.save("tg:1")).unwrap(),
                Step::Sum(n) => run(owner.set_summary("tg:1", &"s".repeat(n.into()))).unwrap(),
                Step::Cut(keep) => {
                    let mut history = run(owner.get_history("tg:1")).unwrap();
                    history.truncate(keep);
                    run(owner.set_history("tg:1", history)).unwrap();
                }
                Step::Replace(texts) => {
                    let messages = texts.iter().map(|n| timeless(&n.to_string())).collect();
                    run(owner.set_history("tg:1", messages)).unwrap();
                }
            }
            let report = world.import_one();
            if report.session.is_some() {
                prop_assert_eq!(context(&world.session()), expected(&world));
            }
            prop_assert_eq!(world.import_one().added, 0);
        }
    }
}
