//! Equal scopes have equal keys, different ones different keys; and where PicoClaw lets two meet,
//! the second is refused.

#![allow(clippy::unwrap_used)]

use forkwood_routing::config::{Config, Dimension, Session};
use forkwood_routing::{Context, Inbound, Router, SessionScope, check_same_scope};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn router(dimensions: Vec<Dimension>) -> Router {
    let session = Session { dimensions, ..Session::default() };
    Router::new(Config { session, ..Config::default() })
}

fn scope(dimensions: &[Dimension], context: &Context) -> SessionScope {
    let inbound = Inbound { context: context.clone(), ..Inbound::default() };
    router(dimensions.to_vec()).resolve(&inbound).allocation.scope
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
fn picoclaw_lets_two_meet_and_the_second_is_refused() {
    let one = scope(&[Dimension::Chat], &irc("x|sender=bob", "eve"));
    let other = scope(&[Dimension::Chat, Dimension::Sender], &irc("x", "bob"));
    // PicoClaw's result, kept: one key (vectors 64 and 65).
    assert_eq!(one.key(), other.key());
    // Ours beside it.
    let error = check_same_scope(&one, &other).unwrap_err();
    assert_eq!(error.kind().as_str(), "scopes_meet");
    let text = error.to_string();
    assert!(text.contains(&one.to_json()) && text.contains(&other.to_json()), "{text}");
    assert!(check_same_scope(&one, &one).is_ok());
}

#[test]
fn case_alone_is_no_difference() {
    let mut upper = scope(&[Dimension::Chat], &irc("x", ""));
    let lower = upper.clone();
    upper.channel = " IRC ".into();
    assert_eq!(upper.key(), lower.key());
    assert!(check_same_scope(&lower, &upper).is_ok());
}

fn contexts(letters: &'static [&'static str]) -> impl Strategy<Value = Context> {
    let text = vec(select(letters), 0..4).prop_map(|parts| parts.concat());
    vec(text, 8).prop_map(|mut texts| {
        let mut next = || texts.pop().unwrap_or_default();
        Context {
            channel: next(),
            account: next(),
            chat_type: next(),
            chat_id: next(),
            topic_id: next(),
            space_type: next(),
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
    #[test]
    fn without_delimiters_keys_are_as_different_as_scopes(
        (a, b) in (contexts(&["a", "B", ":", "=", "/"]), contexts(&["a", "B", ":", "=", "/"])),
        (p, q) in (policies(), policies()),
    ) {
        let (one, other) = (scope(&p, &a), scope(&q, &b));
        prop_assert_eq!(one == other, one.key() == other.key());
        prop_assert!(check_same_scope(&one, &other).is_ok());
    }

    #[test]
    fn with_delimiters_every_meeting_is_found(
        (a, b) in (contexts(&["x", "|", "sender=", "chat="]), contexts(&["x", "|sender=", "|"])),
        (p, q) in (policies(), policies()),
    ) {
        let (one, other) = (scope(&p, &a), scope(&q, &b));
        let meet = one.key() == other.key() && one != other;
        prop_assert_eq!(check_same_scope(&one, &other).is_err(), meet);
    }
}
