//! Keys, scopes and aliases, byte for byte as PicoClaw's code made them.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use forkwood_routing::config::Language;
use forkwood_routing::{Config, IdentityLinks, Inbound, Resolved, Router, SessionScope};
use forkwood_routing::{alias, key, text};
use serde_json::{Value, json};

fn resolve(vector: &Value) -> Resolved {
    let loaded = Config::parse(&vector["config"].to_string(), Language::Json).unwrap();
    let mut inbound = json!({ "context": vector["context"] });
    if let Some(given) = vector.get("session_key") {
        inbound["session_key"] = given.clone();
    }
    Router::new(loaded.config).resolve(&Inbound::from_json(&inbound.to_string()).unwrap())
}

/// Go writes an empty list as null.
fn list(values: &[impl AsRef<str>]) -> Value {
    match values {
        [] => Value::Null,
        values => json!(values.iter().map(AsRef::as_ref).collect::<Vec<_>>()),
    }
}

fn answer(resolved: &Resolved) -> Value {
    let Resolved { route, allocation, session_key, aliases, scope } = resolved;
    assert_eq!(scope.as_ref(), Some(&allocation.scope));
    let names: Vec<&str> = route.policy.dimensions.iter().map(|it| it.name()).collect();
    json!({
        "policy_dimensions": list(&names),
        "agent_id": route.agent_id,
        "route_channel": route.channel,
        "route_account_id": route.account_id,
        "matched_by": route.matched_by,
        "scope": allocation.scope,
        "scope_json": allocation.scope.to_json(),
        "signature": allocation.scope.signature(),
        "session_key": allocation.session_key,
        "session_aliases": list(&allocation.session_aliases),
        "main_session_key": allocation.main_session_key,
        "main_aliases": list(&allocation.main_aliases),
        "effective_key": session_key,
        "ensure_aliases": list(aliases),
        "meta_aliases_written": list(aliases),
        "file_base": key::file_base(session_key),
    })
}

#[test]
fn every_vector() {
    let mut count = 0;
    for file in common::vectors() {
        for vector in file["vectors"].as_array().unwrap() {
            let resolved = resolve(vector);
            assert_eq!(answer(&resolved), vector["expect"], "{}", vector["name"]);
            count += 1;
        }
    }
    assert!(count >= 52, "{count} vectors");
}

#[test]
fn a_scope_is_read_back_as_it_was_written() {
    for file in common::vectors() {
        for vector in file["vectors"].as_array().unwrap() {
            let written = vector["expect"]["scope_json"].as_str().unwrap();
            let scope: SessionScope = serde_json::from_str(written).unwrap();
            assert_eq!(scope.to_json(), written);
            assert_eq!(scope.key(), vector["expect"]["session_key"]);
        }
    }
}

/// Applies `ours` to each case of a unit table.
fn table(name: &str, ours: impl Fn(&Value) -> Value) {
    for file in common::vectors() {
        let cases = file["units"][name].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            assert_eq!(ours(&case["in"]), case["out"], "{name}: {}", case["in"]);
        }
    }
}

fn on_text<T: Into<Value>>(ours: impl Fn(&str) -> T) -> impl Fn(&Value) -> Value {
    move |input| ours(input.as_str().unwrap()).into()
}

#[test]
fn ids_are_normalised() {
    table("normalize_agent_id", on_text(text::agent_id));
    table("normalize_account_id", on_text(text::account_id));
}

#[test]
fn keys_are_told_apart() {
    table("is_explicit", on_text(key::is_explicit));
    table("is_opaque", on_text(key::is_opaque));
    table("is_main_session_alias", on_text(key::is_main));
    table("opaque_key", on_text(key::opaque));
    table("sanitize_key", on_text(key::file_base));
    let parsed = |text: &str| match key::parse_legacy(text) {
        Some((agent, rest)) => json!({ "AgentID": agent, "Rest": rest }),
        None => Value::Null,
    };
    table("parse_legacy", on_text(parsed));
}

#[test]
fn older_names() {
    let four = |input: &Value| -> Vec<String> {
        input.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    table("legacy_direct_aliases", |input| {
        let it = four(input);
        list(&alias::direct(&it[0], &it[1], &it[2], &it[3]))
    });
    table("legacy_peer_alias", |input| {
        let it = four(input);
        alias::peer(&it[0], &it[1], &it[2], &it[3]).into()
    });
}

#[test]
fn identities() {
    for file in common::vectors() {
        for group in tables(&file["units"]["canonical_identity"]) {
            let links: BTreeMap<String, Vec<String>> =
                serde_json::from_value(group["identity_links"].clone()).unwrap();
            let links = IdentityLinks::new(&links);
            for case in group["cases"].as_array().unwrap() {
                let of = |name: &str| case[name].as_str().unwrap();
                let person = links.person(of("channel"), of("raw"));
                assert_eq!(person.id, of("out"), "{case}");
            }
        }
    }
}

/// The table stands alone, or in a list.
fn tables(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |list| list.iter().collect())
}
