//! What is wrong or surprising about settings that are well formed.

use std::collections::HashMap;

use super::node::{Kind, Node};
use super::reader::Reader;
use super::types::{Agents, Rule};
use crate::identity::{overlap, tail};
use crate::text::{agent_id, fold};

/// Channels that name the account in every message, so that a rule without one never fits.
const WITH_ACCOUNTS: &[&str] = &["slack", "qq", "wecom"];

/// Agents that are one after all, and defaults that never count.
pub(super) fn agents(reader: &mut Reader<'_, '_>, agents: &Agents, nodes: &[Node]) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut default: Option<&str> = None;
    for ((agent, node), at) in agents.list.iter().zip(nodes).zip(0..) {
        let path = format!("agents.list[{at}]");
        if let Some(other) = seen.insert(agent_id(&agent.id), &agent.id) {
            let message = format!("`{}` is the same agent as `{other}`", agent.id);
            reader.warn("agent_twice", &path, node.at, &message);
        }
        if let (true, Some(other)) = (agent.default, default) {
            let message = format!("`{other}` is the default already: the first one counts");
            reader.warn("default_twice", &path, node.at, &message);
        }
        if agent.default {
            default = default.or(Some(&agent.id));
        }
    }
}

pub(super) fn rule(
    reader: &mut Reader<'_, '_>,
    agents: &Agents,
    rule: &Rule,
    path: &str,
    at: usize,
) {
    let when = &rule.when;
    if !when.is_constrained() {
        reader.warn("rule_skipped", path, at, "demands nothing, and is skipped");
        return;
    }
    let listed = agents.list.iter().any(|agent| agent_id(&agent.id) == agent_id(&rule.agent));
    if rule.agent.trim().is_empty() {
        reader.warn("no_agent", path, at, "names no agent; the default agent takes its messages");
    } else if !listed && !agents.list.is_empty() {
        let message = format!(
            "agent `{}` is not in agents.list; the default agent takes its messages",
            rule.agent
        );
        reader.warn("unknown_agent", path, at, &message);
    }
    if rule.session_dimensions.as_ref().is_some_and(Vec::is_empty) {
        let message = "no valid session dimension is left: nothing keeps conversations apart";
        reader.warn("no_dimensions", path, at, message);
    }
    if when.account.trim().is_empty() && WITH_ACCOUNTS.contains(&fold(&when.channel).as_str()) {
        let message = "without `account` it fits account `default` alone, and this channel names \
                       its account in every message";
        reader.warn("account_default", path, at, message);
    }
}

/// An id as a link has it.
struct Claim {
    name: String,
    id: String,
    at: usize,
}

/// Two names for one person are an error: PicoClaw takes one by chance. Links across channels
/// that the policy does not join are a warning.
pub(super) fn links(reader: &mut Reader<'_, '_>, node: Option<&Node>, joined: bool) {
    let path = "session.identity_links";
    let claims = claims(reader, node);
    let mut seen: HashMap<&str, Vec<&Claim>> = HashMap::new();
    for claim in &claims {
        // Ids that may overlap end alike: compare only those with the same last part.
        let last = claim.id.rsplit(':').next().unwrap_or(&claim.id);
        let others = seen.entry(last).or_default();
        if let Some(other) =
            others.iter().find(|it| it.name != claim.name && overlap(&it.id, &claim.id))
        {
            let message = format!(
                "`{}` of `{}` and `{}` of `{}` (line {}) can be one sender: nobody could tell \
                 which name counts",
                claim.id,
                claim.name,
                other.id,
                other.name,
                reader.source.line(other.at)
            );
            reader.error("identity_conflict", path, claim.at, message);
        }
        others.push(claim);
    }
    if joined {
        return;
    }
    let mut first: HashMap<&str, (&str, bool)> = HashMap::new();
    for claim in &claims {
        let Some(channel) = channel(&claim.id) else { continue };
        let (one, warned) = first.entry(&claim.name).or_insert((channel, false));
        if *one == channel || *warned {
            continue;
        }
        *warned = true;
        let message = format!(
            "`{}` has ids on several channels; their conversations stay apart, as in PicoClaw, \
             unless `session.cross_channel` is true",
            claim.name
        );
        reader.warn("links_span_channels", path, claim.at, &message);
    }
}

fn channel(id: &str) -> Option<&str> {
    tail(id)?;
    id.split_once(':').map(|parts| parts.0)
}

fn claims(reader: &Reader<'_, '_>, node: Option<&Node>) -> Vec<Claim> {
    let mut claims = Vec::new();
    for member in reader.quiet_table(node).members() {
        let name = fold(&member.name);
        let Kind::List(ids) = &member.value.kind else { continue };
        for node in ids {
            let Kind::Text(id) = &node.kind else { continue };
            let id = fold(id);
            if !id.is_empty() && !name.is_empty() {
                claims.push(Claim { name: name.clone(), id, at: node.at });
            }
        }
    }
    claims
}
