//! Equal scopes have equal keys; where PicoClaw lets two different ones meet in one key, the
//! second is refused.

use forkwood::conversation::{ConversationStore, Identity, SessionScope};
use forkwood_routing::config::{Config, Dimension, Session};
use forkwood_routing::{Context, Inbound, Router};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::common::*;

fn routed(dimensions: Vec<Dimension>, context: &Context) -> (String, Identity) {
    let session = Session { dimensions, ..Session::default() };
    let router = Router::new(Config { session, ..Config::default() });
    let inbound = Inbound { context: context.clone(), ..Inbound::default() };
    let resolved = router.resolve(&inbound);
    let scope = Some(resolved.allocation.scope);
    (resolved.session_key, Identity { scope, aliases: resolved.aliases })
}

fn irc(chat: &str, sender: &str) -> Context {
    Context {
        channel: "irc".into(),
        chat_type: "direct".into(),
        chat_id: chat.into(),
        sender_id: sender.into(),
        ..Context::default()
    }
}

#[test]
fn the_second_of_two_that_meet_is_refused_and_nothing_of_it_is_kept() {
    let (key, one) = routed(vec![Dimension::Chat], &irc("x|sender=bob", "eve"));
    let (same, other) = routed(vec![Dimension::Chat, Dimension::Sender], &irc("x", "bob"));
    // PicoClaw's result, kept: one key (vectors 64 and 65).
    assert_eq!(key, same);
    let place = Place::new();
    run(place.store.ensure_metadata(&key, &one)).unwrap();
    say(&place.store, &key, "hello");
    for store in [&place.store, &place.again()] {
        let error = run(store.ensure_metadata(&key, &other)).unwrap_err();
        assert_eq!(error.kind().as_str(), "scopes_meet");
        let text = error.to_string();
        for scope in [&one, &other] {
            assert!(text.contains(&scope.scope.as_ref().unwrap().to_json()), "{text}");
        }
    }
    assert_eq!(run(place.store.scope(&key)).unwrap(), one.scope);
    assert_eq!(run(place.store.metadata(&key)).unwrap().unwrap().aliases, one.aliases);
}

#[test]
fn a_visitor_who_names_the_key_does_not_take_its_place() {
    let place = Place::new();
    let store = &place.store;
    let (key, owner) = routed(vec![Dimension::Chat], &irc("x|sender=bob", "eve"));
    let (_, visitor) = routed(vec![Dimension::Chat], &irc("elsewhere", "eve"));
    let (_, thief) = routed(vec![Dimension::Chat, Dimension::Sender], &irc("x", "bob"));
    // A key that a message names may be there before its owner writes.
    run(store.ensure_metadata(&key, &visitor)).unwrap();
    assert_eq!(run(store.scope(&key)).unwrap(), visitor.scope);
    run(store.ensure_metadata(&key, &owner)).unwrap();
    run(store.ensure_metadata(&key, &visitor)).unwrap();
    assert_eq!(run(store.scope(&key)).unwrap(), owner.scope);
    run(store.ensure_metadata(&key, &thief)).unwrap_err();
}

fn contexts() -> impl Strategy<Value = Context> {
    const LETTERS: &[&str] = &["a", "B", ":", "=", "/", "|", "|sender=", "|chat=direct:"];
    let text = vec(select(LETTERS), 0..4).prop_map(|parts| parts.concat());
    vec(text, 7).prop_map(|mut texts| {
        let mut next = || texts.pop().unwrap_or_default();
        Context {
            channel: next(),
            account: next(),
            chat_type: next(),
            chat_id: next(),
            topic_id: next(),
            space_id: next(),
            sender_id: next(),
            ..Context::default()
        }
    })
}

fn policies() -> impl Strategy<Value = Vec<Dimension>> {
    let all = vec![Dimension::Space, Dimension::Chat, Dimension::Topic, Dimension::Sender];
    subsequence(all, 0..=4).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_keeps_apart_whatever_routing_tells_apart(
        messages in vec((contexts(), policies()), 2..12),
        pair in (vec(select(&["x", "|sender=", "|"][..]), 0..4), vec(select(&["x", "|"][..]), 0..3)),
    ) {
        let place = Place::on(&forkwood::storage::disk::SimDisk::volatile());
        let mut all: Vec<_> = messages.into_iter().map(|(c, p)| routed(p, &c)).collect();
        // Two that are likely to meet.
        let (chat, sender) = (pair.0.concat(), pair.1.concat());
        all.push(routed(vec![Dimension::Chat], &irc(&format!("{chat}|sender={sender}"), "eve")));
        all.push(routed(vec![Dimension::Chat, Dimension::Sender], &irc(&chat, &sender)));
        let mut kept: Vec<(String, SessionScope)> = Vec::new();
        for (key, identity) in all {
            let scope = identity.scope.clone().unwrap();
            let met = kept.iter().find(|(known, _)| *known == key).map(|(_, scope)| scope.clone());
            let outcome = run(place.store.ensure_metadata(&key, &identity));
            match met {
                Some(known) if known != scope => {
                    prop_assert_eq!(outcome.unwrap_err().kind().as_str(), "scopes_meet");
                }
                Some(_) => {
                    outcome.unwrap();
                }
                None => {
                    // A key that nobody has, and so none that another scope has.
                    prop_assert!(kept.iter().all(|(_, known)| *known != scope));
                    outcome.unwrap();
                    kept.push((key, scope));
                }
            }
        }
    }
}
