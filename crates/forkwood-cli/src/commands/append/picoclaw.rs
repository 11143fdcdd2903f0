//! Appending to a conversation of PicoClaw where it lies, in PicoClaw's own format.

use forkwood::conversation::ConversationMessage;
use forkwood::storage::AppendedEntry;
use forkwood::{Appended, Body, ErrorKind, Lane, MessageBody, Session};
use forkwood_formats::picoclaw::{DIALECT, Folder, LEGACY_DIALECT};

use super::{Args, WhatThen, parse, tell};
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::target;

/// Whether a session lies in files of PicoClaw.
pub(super) fn is_one(session: &Session) -> bool {
    [DIALECT, LEGACY_DIALECT].contains(&session.facts().dialect)
}

/// Adds messages, all of them or none, and tells their ids as they are read.
pub(super) async fn run(
    ctx: &mut Ctx,
    args: &Args,
    session: &Session,
    batch: parse::Batch,
) -> Result<Outcome> {
    let path = session.facts().path.clone().unwrap_or_default();
    let refused = |why: String| CliError::new(ErrorKind::Unsupported, why);
    let Some((folder, key)) = Folder::of_file(&path) else {
        let message = format!("{}: PicoClaw writes no such file any more", path.display());
        return Err(refused(message)
            .hint("`forkwood migrate` makes the newer files of it, as PicoClaw does"));
    };
    if let Some(switch) = impossible(args, &batch) {
        let message = format!(
            "{switch}: a conversation of PicoClaw is one list of messages without ids or branches"
        );
        return Err(refused(message).hint("`forkwood import` makes a session of it that has them"));
    }
    let messages: Vec<ConversationMessage> =
        batch.bodies.into_iter().map(message).collect::<Result<_>>()?;
    let count = folder.append_all(&key, messages)?;
    if count == 0 {
        return Err(refused("PicoClaw keeps no thought that comes with nothing else".to_owned()));
    }
    let session = target::open(ctx, &path.to_string_lossy()).await?;
    let mut entries: Vec<AppendedEntry> = Vec::new();
    // What others added meanwhile may stand behind it; the ids are then those of the last lines.
    for head in session.heads().await?.into_iter().rev() {
        if entries.len() == count {
            break;
        }
        if !head.sidecar && head.kind == forkwood::EntryKind::Message {
            entries.push(AppendedEntry { seq: head.seq, id: head.id, parent_id: head.parent_id });
        }
    }
    entries.reverse();
    let leaf = session.leaf().cloned();
    let appended = Appended { entries, lane: Lane::main(), leaf, repeated: false };
    tell(ctx, &session, &appended)
}

/// A switch that asks for what PicoClaw's files cannot hold.
fn impossible(args: &Args, batch: &parse::Batch) -> Option<&'static str> {
    let other_lane = args.lane.as_ref().is_some_and(|lane| !lane.is_main());
    let expects = args.expect.as_deref().is_some_and(|expect| expect != "any");
    [
        (args.parent.is_some() || batch.parent.is_some(), "--parent"),
        (other_lane, "--lane"),
        (expects, "--expect"),
        (args.on_conflict == WhatThen::Branch, "--on-conflict"),
        (!batch.ids.is_empty(), "--id"),
    ]
    .into_iter()
    .find_map(|(asked, switch)| asked.then_some(switch))
}

fn message(body: Body) -> Result<ConversationMessage> {
    match body {
        Body::Message(MessageBody { message, foreign }) => {
            Ok(ConversationMessage { message, created_at: None, foreign })
        }
        other => Err(CliError::new(
            ErrorKind::Unsupported,
            format!(
                "PicoClaw's files hold messages only, and no entry `{}`",
                other.kind().as_str()
            ),
        )
        .hint("`forkwood import` makes a session of it that holds every entry")),
    }
}
