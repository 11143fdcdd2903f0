//! `/help`

use crate::ctx::Ctx;
use crate::error::Result;
use crate::style::{self, paint};

use super::events;

const COMMANDS: &[(&str, &str)] = &[
    ("/tree", "draw the tree of the session"),
    ("/rewind ENTRY [--summary]", "go on from an earlier entry; --summary tells it of this branch"),
    ("/fork [ENTRY]", "copy the path to here, or to an entry, into a new session and go on there"),
    ("/label [ENTRY] LABEL", "put a bookmark here or on an entry; /label --clear [ENTRY]"),
    ("/compact [WORDS]", "sum up what was said; the words say what matters"),
    ("/model [[PROVIDER/]MODEL]", "show the model, or go on with another"),
    ("/thinking [LEVEL]", "show how much the model thinks, or set it"),
    ("/resume [SESSION]", "go on with what was interrupted or failed, or with another session"),
    (
        "/export [FILE]",
        "write this branch to a new file: .md, .json, or .jsonl, a session of its own",
    ),
    ("/cost", "tokens so far, and dollars where prices are known"),
    ("/quit", "end the chat"),
];

pub(super) fn show(ctx: &mut Ctx) -> Result {
    if ctx.json() {
        return events::help(ctx, COMMANDS);
    }
    for (command, what) in COMMANDS {
        ctx.out.line(format!("{}  {what}", paint(style::BOLD, format!("{command:<26}"))))?;
    }
    Ok(())
}
