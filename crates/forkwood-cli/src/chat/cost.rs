//! `/cost`

use std::collections::HashSet;

use forkwood::{Body, Entry, EntryId, Json, Session};
use forkwood_agent::Usage;

use crate::ctx::Ctx;
use crate::error::Result;

use super::{Chat, events};

/// What answers and summaries took.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    usage: Usage,
    /// US dollars, where they were written down.
    money: Option<f64>,
    requests: u64,
    /// Requests of which it is known what they cost.
    priced: u64,
}

impl Sum {
    fn add(&mut self, json: &Json) {
        let Ok(usage) = json.to::<Usage>() else { return };
        self.usage.add(&usage);
        self.requests += 1;
        let whole = json.to::<serde_json::Value>().unwrap_or_default();
        if let Some(money) = whole["cost"]["total"].as_f64() {
            self.money = Some(self.money.unwrap_or(0.0) + money);
            self.priced += 1;
        }
    }
}

impl Chat {
    /// Adds up this branch, and the whole session.
    pub(super) async fn cost(&mut self, ctx: &mut Ctx) -> Result {
        self.agent.session_mut().reload().await?;
        let (branch, all) = sums(self.agent.session()).await?;
        show(ctx, branch, all)
    }
}

/// Before anything was said.
pub(super) fn nothing(ctx: &mut Ctx) -> Result {
    show(ctx, Sum::default(), Sum::default())
}

fn show(ctx: &mut Ctx, branch: Sum, all: Sum) -> Result {
    if ctx.json() {
        let mut out = events::object("cost");
        for (name, sum) in [("branch", branch), ("session", all)] {
            let mut inner = forkwood::core::json::ObjectWriter::new();
            inner
                .raw("requests", &sum.requests.to_string())
                .raw("usage", sum.usage.to_json().get())
                .raw("cost", &serde_json::json!(sum.money).to_string())
                .raw("priced", &sum.priced.to_string());
            out.raw(name, &inner.finish());
        }
        return events::print(ctx, out);
    }
    for (name, sum) in [("this branch", branch), ("the session", all)] {
        let Usage { input, output, cache_read, cache_write, .. } = sum.usage;
        let mut line =
            format!("{name:<12} {} requests: {input} tokens in, {output} out", sum.requests);
        if cache_read + cache_write > 0 {
            line.push_str(&format!(", {cache_read} from the cache, {cache_write} into it"));
        }
        if let Some(money) = sum.money {
            line.push_str(&format!(", cost ${money:.4}"));
            if sum.priced < sum.requests {
                line.push_str(&format!(" (known of {})", sum.priced));
            }
        }
        ctx.out.line(line)?;
    }
    Ok(())
}

async fn sums(session: &Session) -> Result<(Sum, Sum)> {
    let path: HashSet<EntryId> = match session.current_leaf().await? {
        Some(leaf) => session.path_ids(&leaf).await?.into_iter().collect(),
        None => HashSet::new(),
    };
    let (mut branch, mut all) = (Sum::default(), Sum::default());
    for stored in session.entries().await? {
        let Some(usage) = usage_of(&stored.entry) else { continue };
        all.add(usage);
        if path.contains(&stored.entry.id) {
            branch.add(usage);
        }
    }
    Ok((branch, all))
}

fn usage_of(entry: &Entry) -> Option<&Json> {
    match &entry.body {
        Body::Message(body) => body.message.usage.as_ref(),
        Body::Compaction(compaction) => compaction.usage.as_ref(),
        Body::Usage { usage, .. } => Some(usage),
        _ => None,
    }
}
