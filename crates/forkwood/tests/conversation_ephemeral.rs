//! The conversation of a sub-turn, and what every store of conversations leaves out.

#![allow(clippy::unwrap_used)]

use forkwood::conversation::key::main_key;
use forkwood::conversation::{
    ConversationMessage, ConversationStore, EphemeralConversations, Identity, agent_of,
    is_transient_thought,
};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Image, Json, Message, Role};
use pollster::block_on as run;

fn texts(store: &dyn ConversationStore, key: &str) -> Vec<String> {
    let history = run(store.get_history(key)).unwrap();
    history.iter().map(|one| one.message.content.text().to_string_lossy().into_owned()).collect()
}

fn thought() -> Message {
    let thinking = Block::Thinking { thinking: "Hm.".into(), signature: None, extra: Vec::new() };
    Message::new(Role::Assistant, Content::Blocks(vec![thinking]))
}

#[test]
fn it_is_one_conversation_of_at_most_fifty_messages_and_nothing_is_listed() {
    let store: &dyn ConversationStore = &EphemeralConversations::new();
    for n in 0..60 {
        run(store.add_message(if n % 2 == 0 { "a" } else { "b" }, Role::User, &n.to_string()))
            .unwrap();
    }
    let shown = texts(store, "whatever");
    assert_eq!((shown.len(), shown[0].as_str(), shown[49].as_str()), (50, "10", "59"));
    assert_eq!(run(store.get_history("a")).unwrap()[0].created_at, None);
    let identity = Identity { scope: None, aliases: vec!["older".to_owned()] };
    let ensured = run(store.ensure_metadata("a", &identity)).unwrap();
    assert_eq!((ensured.key.as_str(), ensured.promoted_from), ("a", None));
    assert_eq!(run(store.metadata("a")).unwrap(), None);
    assert!(run(store.list_sessions()).unwrap().is_empty());
    run(store.save("a")).unwrap();
    run(store.close()).unwrap();
}

#[test]
fn summary_truncation_and_replacement_do_as_in_any_store() {
    let store = EphemeralConversations::with_limit(3);
    assert_eq!(run(store.get_summary("k")).unwrap(), "");
    run(store.set_summary("k", "first")).unwrap();
    run(store.set_summary("k", "second")).unwrap();
    let said = |text: &str| ConversationMessage::from(Message::user(text));
    run(store.set_history("k", ["a", "b", "c", "d"].map(said).to_vec())).unwrap();
    assert_eq!(texts(&store, "k"), ["b", "c", "d"]);
    run(store.truncate_history("k", 5)).unwrap();
    assert_eq!(texts(&store, "k"), ["b", "c", "d"]);
    run(store.truncate_history("k", 1)).unwrap();
    assert_eq!(texts(&store, "k"), ["d"]);
    run(store.truncate_history("k", 0)).unwrap();
    assert!(texts(&store, "k").is_empty());
    assert_eq!(run(store.get_summary("k")).unwrap(), "second");
}

#[test]
fn a_thought_alone_is_left_out() {
    let store = EphemeralConversations::new();
    assert_eq!(run(store.add_full_message("k", thought().into())).unwrap(), None);
    let answer = ConversationMessage::from(Message::assistant("Yes."));
    run(store.set_history("k", vec![thought().into(), answer])).unwrap();
    assert_eq!(texts(&store, "k"), ["Yes."]);
}

#[test]
fn a_thought_with_anything_else_is_a_message() {
    assert!(is_transient_thought(&thought()));
    let with = |change: &dyn Fn(&mut Message)| {
        let mut message = thought();
        change(&mut message);
        is_transient_thought(&message)
    };
    let and = |block: Block| {
        with(&|message| {
            let Content::Blocks(blocks) = &mut message.content else { panic!() };
            blocks.push(block.clone());
        })
    };
    assert!(and(Block::text(" \n")));
    assert!(!and(Block::text("Yes.")));
    assert!(!and(Block::tool_call("c1", "look", Json::empty_object())));
    let source = ImageSource::Inline("AA==".into());
    assert!(!and(Block::Image(Image { source, mime_type: "image/png".into(), extra: vec![] })));
    assert!(!with(&|message| message.role = Role::User));
    assert!(!with(&|message| message.tool_call_id = Some("c1".into())));
    assert!(with(&|message| message.tool_call_id = Some(" ".into())));
    let media = |json: &str| {
        let json = Json::parse(json).unwrap();
        with(&|message| message.metadata = Some(json.clone()))
    };
    assert!(!media(r#"{"media": ["media://1"]}"#));
    assert!(media(r#"{"media": [], "attachments": null}"#));
    // Nothing thought, nothing said: an empty message of the assistant is one all the same.
    assert!(!is_transient_thought(&Message::assistant("")));
}

#[test]
fn a_blank_key_is_refused() {
    let store = EphemeralConversations::new();
    let error = run(store.add_message(" ", Role::User, "x")).unwrap_err();
    assert_eq!(error.kind().as_str(), "invalid");
}

#[test]
fn the_agent_of_a_conversation_is_that_of_its_scope_else_of_its_key() {
    let scope = forkwood::conversation::SessionScope {
        agent_id: " Support ".to_owned(),
        ..Default::default()
    };
    assert_eq!(agent_of(Some(&scope), "agent:main:x", &[]).as_deref(), Some("support"));
    assert_eq!(agent_of(None, "agent:Main:direct:x", &[]).as_deref(), Some("main"));
    assert_eq!(agent_of(Some(&Default::default()), "agent:ops:x", &[]).as_deref(), Some("ops"));
    assert_eq!(agent_of(None, "sk_v1_00", &[]), None);
    // A main session by its opaque key.
    let (main, ops) = (main_key("main"), main_key("ops"));
    assert_eq!(agent_of(None, &main, &[]).as_deref(), Some("main"));
    assert_eq!(agent_of(None, &ops, &[]), None);
    let aliases = ["agent:main:main".to_owned(), "agent:ops:main".to_owned()];
    assert_eq!(agent_of(None, &ops, &aliases).as_deref(), Some("ops"));
    assert_eq!(agent_of(None, "sk_v1_00", &aliases), None);
    let store = EphemeralConversations::new();
    assert_eq!(run(store.agent("agent:ops:cron")).unwrap().as_deref(), Some("ops"));
}
