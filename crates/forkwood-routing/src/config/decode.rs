//! Nodes into settings. Every wrong one is named; the rest is still read, so that all problems
//! show at once.

use super::check;
use super::node::{Kind, Node, Source};
use super::problem::Problem;
use super::reader::Reader;
use super::types::{Agent, Agents, Config, Dimension, DmScope, Rule, Selectors, Session};
use crate::text::fold;

pub(super) fn config(root: &Node, source: &Source<'_>, problems: &mut Vec<Problem>) -> Config {
    let mut reader = Reader { source, problems };
    let root = reader.table(Some(root), "");
    if let Some(bindings) = root.get("bindings").filter(|it| !matches!(it.kind, Kind::Null)) {
        reader.warn(
            "bindings",
            "bindings",
            bindings.at,
            "PicoClaw's older rules are not read: write agents.dispatch.rules",
        );
    }
    let agents = agents(&mut reader, root.get("agents"));
    let session = session(&mut reader, root.get("session"));
    let links = reader.quiet_table(root.get("session")).get("identity_links");
    let joined = session.cross_channel
        || agents.dispatch.rules.iter().any(|rule| rule.cross_channel == Some(true));
    check::links(&mut reader, links, joined);
    Config { agents, session }
}

fn agents(reader: &mut Reader<'_, '_>, node: Option<&Node>) -> Agents {
    let table = reader.table(node, "agents");
    let list = reader.list(table.get("list"), "agents.list");
    let mut agents = Agents::default();
    for (at, node) in list.iter().enumerate() {
        let path = format!("agents.list[{at}]");
        let table = reader.table(Some(node), &path);
        agents.list.push(Agent {
            id: reader.text(table.get("id"), &format!("{path}.id")),
            default: reader
                .flag(table.get("default"), &format!("{path}.default"))
                .unwrap_or_default(),
        });
    }
    check::agents(reader, &agents, list);
    let dispatch = reader.table(table.get("dispatch"), "agents.dispatch");
    reader.known(&dispatch, "agents.dispatch", &["rules"]);
    let rules = reader.list(dispatch.get("rules"), "agents.dispatch.rules");
    for (at, node) in rules.iter().enumerate() {
        let path = format!("agents.dispatch.rules[{at}]");
        let rule = rule(reader, node, &path);
        check::rule(reader, &agents, &rule, &path, node.at);
        agents.dispatch.rules.push(rule);
    }
    agents
}

fn rule(reader: &mut Reader<'_, '_>, node: &Node, path: &str) -> Rule {
    let table = reader.table(Some(node), path);
    reader.known(&table, path, &["name", "agent", "when", "session_dimensions", "cross_channel"]);
    let of = |name: &str| format!("{path}.{name}");
    let own = reader.list(table.get("session_dimensions"), &of("session_dimensions"));
    let own = (!own.is_empty()).then(|| dimensions(reader, own, &of("session_dimensions")));
    let when = reader.table(table.get("when"), &of("when"));
    let names = ["channel", "account", "space", "chat", "topic", "sender", "mentioned"];
    reader.known(&when, &of("when"), &names);
    let mut selector = |name: &str| reader.text(when.get(name), &format!("{path}.when.{name}"));
    let selectors = Selectors {
        channel: selector("channel"),
        account: selector("account"),
        space: selector("space"),
        chat: selector("chat"),
        topic: selector("topic"),
        sender: selector("sender"),
        mentioned: reader.flag(when.get("mentioned"), &of("when.mentioned")),
    };
    Rule {
        name: reader.text(table.get("name"), &of("name")),
        agent: reader.text(table.get("agent"), &of("agent")),
        when: selectors,
        session_dimensions: own,
        cross_channel: reader.flag(table.get("cross_channel"), &of("cross_channel")),
    }
}

fn session(reader: &mut Reader<'_, '_>, node: Option<&Node>) -> Session {
    let table = reader.table(node, "session");
    let names = ["dimensions", "dm_scope", "identity_links", "cross_channel"];
    reader.known(&table, "session", &names);
    let mut session = Session::default();
    let scope_path = "session.dm_scope";
    let scope = reader.text(table.get("dm_scope"), scope_path);
    session.dm_scope = DmScope::named(&fold(&scope));
    let scope_at = table.get("dm_scope").map_or(0, |node| node.at);
    if session.dm_scope.is_none() && !scope.trim().is_empty() {
        let message = format!(
            "`{scope}` is none of per-channel-peer, per-channel, per-peer, global; PicoClaw keeps its dimensions as they are"
        );
        reader.warn("unknown_dm_scope", scope_path, scope_at, &message);
    }
    if let Some(node) = table.get("dimensions") {
        let list = reader.list(Some(node), "session.dimensions");
        let given = !list.is_empty();
        session.dimensions = dimensions(reader, list, "session.dimensions");
        if let Some(scope) = session.dm_scope.filter(|_| !given) {
            session.dimensions = scope.dimensions();
        }
    }
    let counts = table.get("dimensions").is_some_and(|node| {
        matches!(&node.kind, Kind::Null)
            || matches!(&node.kind, Kind::List(list) if list.is_empty())
    });
    if session.dm_scope.is_some() && !counts {
        let message = "has no effect: it counts only where `dimensions` is empty or null \
                       (PicoClaw's default is `chat`)";
        reader.warn("dm_scope_without_effect", scope_path, scope_at, message);
    }
    let links = reader.table(table.get("identity_links"), "session.identity_links");
    for member in links.members() {
        let path = format!("session.identity_links.{}", member.name);
        let ids = reader.list(Some(&member.value), &path);
        let ids = ids.iter().map(|id| reader.text(Some(id), &path)).collect();
        session.identity_links.insert(member.name.clone(), ids);
    }
    session.cross_channel =
        reader.flag(table.get("cross_channel"), "session.cross_channel").unwrap_or_default();
    session
}

/// Lowercase, known ones only, each once, order kept (PicoClaw `routing/route.go`).
fn dimensions(reader: &mut Reader<'_, '_>, list: &[Node], path: &str) -> Vec<Dimension> {
    let mut kept = Vec::new();
    for (at, node) in list.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let name = reader.text(Some(node), &path);
        let Some(dimension) = Dimension::named(&fold(&name)) else {
            let message = format!("`{name}` is none of space, chat, topic, sender; it is left out");
            reader.warn("unknown_dimension", &path, node.at, &message);
            continue;
        };
        if kept.contains(&dimension) {
            reader.warn("repeated_dimension", &path, node.at, "is there already; left out");
        } else {
            kept.push(dimension);
        }
    }
    kept
}
