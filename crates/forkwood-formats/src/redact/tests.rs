use forkwood::core::json::is_valid;
use forkwood::{Body, Entry, EntryId, Json, Lane, Message};
use proptest::prelude::*;

use super::{Redaction, find, find_in_json, rules};

/// Made up for these tests; put together so that no scanner takes this file for a leak.
fn samples() -> Vec<(&'static str, String)> {
    let letters = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1vW2xY3z";
    let hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let of = |len: usize| &letters[..len];
    vec![
        (
            "private-key",
            format!("-----BEGIN {} KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "RSA PRIVATE"),
        ),
        ("private-key", format!("-----BEGIN {} KEY-----\nMIIabc cut off", "PRIVATE")),
        ("age-key", format!("AGE-SECRET-{}1{}", "KEY-", of(58).to_uppercase())),
        ("anthropic-key", format!("sk-{}-api03-{}", "ant", of(40))),
        ("openrouter-key", format!("sk-{}-v1-{hex}", "or")),
        ("openai-key", format!("sk-{}-{}", "proj", of(48))),
        ("openai-key", format!("sk-{}", of(48))),
        ("aws-access-key", format!("{}IA{}", "AK", "Q3EGB4HKXT5LQKZ2")),
        ("aws-secret-key", format!("aws_secret_access_key = {}/", of(39))),
        ("github-token", format!("gh{}_{}", "p", of(36))),
        ("github-token", format!("github_{}_{}_{}", "pat", of(22), of(59))),
        ("gitlab-token", format!("gl{}-{}", "pat", of(20))),
        ("google-key", format!("AI{}{}", "za", of(35))),
        ("google-oauth", format!("ya{}.{}", "29", of(40))),
        ("slack-token", format!("xox{}-{}", "b", of(30))),
        ("slack-webhook", format!("https://hooks.{}.com/services/{}", "slack", of(30))),
        ("stripe-key", format!("sk_{}_{}", "live", of(24))),
        ("npm-token", format!("np{}_{}", "m", of(36))),
        ("pypi-token", format!("pypi-{}IcHlwaS5vcmc{}", "AgE", of(60))),
        ("cargo-token", format!("ci{}{}", "o", of(32))),
        ("huggingface-token", format!("h{}_{}", "f", of(34))),
        ("groq-key", format!("gs{}_{}", "k", of(52))),
        ("xai-key", format!("xa{}-{}", "i", of(70))),
        ("perplexity-key", format!("ppl{}-{}", "x", of(48))),
        ("replicate-token", format!("r{}_{}", "8", of(37))),
        ("digitalocean-token", format!("do{}_v1_{hex}", "p")),
        ("sendgrid-key", format!("S{}.{}.{}", "G", of(22), of(43))),
        ("twilio-key", format!("S{}{}", "K", &hex[..32])),
        ("telegram-token", format!("123456789:A{}{}", "A", of(33))),
        ("discord-token", format!("M{}.{}.{}", of(24), of(6), of(30))),
        ("vault-token", format!("hv{}.{}", "s", of(30))),
        ("azure-key", format!("Account{}={}{}==", "Key", of(50), of(34))),
        ("jwt", format!("ey{}{}.eyJ{}.{}", "J", of(20), of(30), of(40))),
        ("url-password", format!("postgres://me:{}@db.example.com/x", of(12))),
        ("authorization", format!("Authorization: Bearer {}", of(40))),
        ("named-secret", format!("DEPLOY_TOKEN={}", of(30))),
        ("named-secret", format!("{{\\\"client_secret\\\": \\\"{}\\\"}}", of(30))),
        ("home-path", "see /home/alice/work/x.rs".into()),
        ("home-path", "file:///Users/alice/x".into()),
        ("home-path", r"C:\Users\alice\x".into()),
    ]
}

#[test]
fn every_rule_finds_what_it_is_for() {
    let samples = samples();
    for (rule, text) in &samples {
        let found: Vec<&str> = find(text).iter().map(|hit| hit.rule.id).collect();
        assert_eq!(found, [*rule], "{text}");
        // In the middle of something, too.
        let around = format!("first, {text} , then");
        assert_eq!(find(&around).len(), 1, "{around}");
    }
    for rule in rules() {
        assert!(samples.iter().any(|(id, _)| *id == rule.id), "{} has no sample", rule.id);
    }
}

#[test]
fn what_is_harmless_stays() {
    for text in [
        "the token count is 123456789012345678",
        "max_tokens: 4096, next_token = some_function_name",
        "password: correct horse battery staple",
        "api_key = \"your-api-key-goes-here-0000\"",
        "token: ${GITHUB_TOKEN}",
        "https://example.com/home/news/today",
        "https://user:password@example.com is not parsed as your own",
        "sk-learn and sk-short",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "AKIAIOSFODNN7EXAMPLE",
        "/home/user/project and /Users/Shared/x",
        "550e8400-e29b-41d4-a716-446655440000",
        "const secretary: Secretary = makeSecretaryForTheOffice()",
    ] {
        let found: Vec<&str> = find(text)
            .iter()
            .filter(|hit| hit.rule.id != "url-password")
            .map(|hit| hit.rule.id)
            .collect();
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn a_secret_is_replaced_and_counted() {
    let mut redaction = Redaction::new();
    let key = format!("gh{}_{}", "p", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b");
    let text = redaction.text(&format!("use {key} in /home/alice/p, then {key}."));
    assert_eq!(text, "use [redacted:github-token] in ~/p, then [redacted:github-token].");
    assert_eq!(redaction.counts["github-token"], 2);
    assert_eq!((redaction.counts["home-path"], redaction.total()), (1, 3));
}

#[test]
fn json_keeps_its_shape() {
    let mut redaction = Redaction::new();
    let value = Json::parse(
        r#"{"n":1e400,"/home/bob/a":["\ud83d","x\n/home/bob"],"apiKey":"q8Zr2LkP0sVt6YwX","id":"q8Zr2LkP0sVt6YwX"}"#,
    )
    .unwrap();
    let out = redaction.json(&value);
    assert_eq!(
        out.get(),
        r#"{"n":1e400,"~/a":["\ud83d","x\n~"],"apiKey":"[redacted:named-secret]","id":"q8Zr2LkP0sVt6YwX"}"#
    );
    assert_eq!(redaction.total(), 3);
    assert_eq!(redaction.json_text("no json: /home/bob"), "no json: ~");
}

#[test]
fn an_entry_stays_one() {
    let mut redaction = Redaction::new();
    let entry = Entry {
        id: EntryId::new("e1"),
        parent_id: None,
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: Body::message(Message::user("look into /home/carol/x")),
        extra: Vec::new(),
    };
    let out = redaction.entry(&entry).unwrap();
    assert_eq!(out.id, entry.id);
    assert_eq!(out.message().unwrap().content.text(), "look into ~/x");
}

#[test]
fn offsets_point_at_the_secret_as_it_stands() {
    let json =
        [r#"{"a":"\u00e9\ud83d\ude00\t\""#, "\u{fc}", r#" /home/dave/x","b":["/home/dave"]}"#]
            .concat();
    let hits = find_in_json(&json);
    assert_eq!(hits.len(), 2);
    for hit in hits {
        assert!(json[hit.offset..].starts_with("/home/dave"), "{}", &json[hit.offset..]);
    }
}

#[test]
fn nesting_and_length_do_no_harm() {
    let deep = format!("{}\"/home/eve\"{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut redaction = Redaction::new();
    assert!(redaction.json_text(&deep).contains("[\"~\"]"));
    // Starts of patterns without an end.
    let long = "-----BEGIN PRIVATE KEY-----".repeat(2_000) + &"token=".repeat(20_000);
    assert_eq!(find(&long).len(), 1);
}

proptest! {
    #[test]
    fn nothing_that_is_found_is_left(
        before in "[ -~\u{e9}\n]{0,40}",
        after in "[ -~\u{e9}\n]{0,40}",
        pick in 0usize..40,
    ) {
        let samples = samples();
        let (_, secret) = &samples[pick % samples.len()];
        let text = format!("{before} {secret} {after}");
        let mut redaction = Redaction::new();
        let json = format!("{{\"a\":{}}}", forkwood::Text::from(text.as_str()).to_json());
        let out = redaction.json_text(&json);
        prop_assert!(is_valid(out.as_bytes()));
        prop_assert!(redaction.total() >= 1);
        prop_assert_eq!(find_in_json(&json).len() as u64, redaction.total());
        // What stands in its place is no secret itself.
        let again = Redaction::new().json_text(&out);
        prop_assert_eq!(again, out);
    }

    #[test]
    fn any_text_is_taken(text in "\\PC{0,200}") {
        let mut redaction = Redaction::new();
        redaction.json_text(&text);
        find_in_json(&text);
    }
}
