//! `/export`

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::core::entry::codec;
use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::storage::MemoryStorage;
use forkwood::{Entry, ForkOptions, Session, SessionStore, Text, blobs};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::transcript::{self, Block, BlockKind, Limits, Part};

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::json;

use super::{Chat, events};

impl Chat {
    /// Writes the current branch to a file that is not there yet.
    pub(super) async fn export(&mut self, ctx: &mut Ctx, file: Option<&str>) -> Result {
        self.agent.session_mut().reload().await?;
        let session = self.agent.session();
        let path = match file {
            Some(file) => ctx.absolute(Path::new(file)),
            None => ctx.absolute(&PathBuf::from(format!("{}.md", session.id()))),
        };
        let ending = path.extension().and_then(|ending| ending.to_str());
        let text = match ending {
            Some("md") => markdown(session.title(), &session.current_path().await?),
            Some("jsonl") => as_session(session).await?,
            Some("json") => as_json(session).await?,
            _ => return Err(CliError::usage("a file to export to ends in .md, .json or .jsonl")),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| CliError::io("write", &path, &error))?;
        if ctx.json() {
            let mut out = events::object("export");
            out.raw("path", &json::path(Some(&path)));
            return events::print(ctx, out);
        }
        ctx.out.done(format!("written to {}", path.display()));
        Ok(())
    }
}

/// A session of its own, which needs no store beside it: it opens by its path.
async fn as_session(session: &Session) -> Result<String> {
    let store = SessionStore::new(Arc::new(MemoryStorage::new()?));
    let fork = store.fork(session, None, ForkOptions::default()).await?;
    let mut out = String::new();
    for stored in fork.entries().await? {
        let mut entry = alone(stored.entry);
        blobs::inline_body(store.storage().as_ref(), &mut entry.body).await?;
        out.push_str(&codec::encode(&entry));
        out.push('\n');
    }
    Ok(out)
}

async fn as_json(session: &Session) -> Result<String> {
    let mut entries = session.current_path().await?;
    for entry in &mut entries {
        blobs::inline_body(session.storage().as_ref(), &mut entry.body).await?;
    }
    let mut out = ObjectWriter::new();
    out.raw("schema", "1")
        .text("session", &session.facts().shown_id)
        .raw("leaf", &json::id(entries.last().map(|entry| &entry.id)))
        .raw("entries", &join_array(entries.into_iter().map(|entry| codec::encode(&alone(entry)))));
    Ok(out.finish() + "\n")
}

/// Without the lines that it was written together with.
fn alone(entry: Entry) -> Entry {
    Entry { more: 0, ..entry }
}

fn markdown(title: Option<&Text>, entries: &[Entry]) -> String {
    let title = title.map(|title| sanitise::text(title, Layout::Line).into_owned());
    let mut out = format!("# {}\n", title.as_deref().unwrap_or("Conversation"));
    for entry in entries {
        if let Some(block) = transcript::block(entry, Limits::NONE) {
            write_block(&mut out, &block);
        }
    }
    out
}

fn write_block(out: &mut String, block: &Block) {
    match &block.kind {
        BlockKind::Speaker { role, name, failed } => {
            let role = role.as_text().to_string_lossy().into_owned();
            let name = name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let failed = if *failed { ", failed" } else { "" };
            out.push_str(&format!("\n## {}{name}{failed}\n", sanitise::line(&role)));
        }
        BlockKind::Divider(title) => out.push_str(&format!("\n---\n\n## {title}\n")),
        BlockKind::Note(note) => out.push_str(&format!("\n*{note}*\n")),
    }
    for part in &block.parts {
        match part {
            Part::Text(text) if is_tool(block) => fenced(out, &text.text),
            Part::Text(text) => out.push_str(&format!("\n{}\n", text.text.trim_end())),
            Part::Thinking(text) => {
                out.push('\n');
                for line in text.text.lines() {
                    out.push_str(format!("> {line}").trim_end());
                    out.push('\n');
                }
            }
            Part::ToolCall { name, arguments } => {
                out.push_str(&format!("\nCalls `{name}`:\n"));
                fenced(out, &arguments.text);
            }
            Part::Image { mime_type, .. } => out.push_str(&format!("\n[image, {mime_type}]\n")),
            Part::Other(json) => fenced(out, &json.text),
        }
    }
}

fn is_tool(block: &Block) -> bool {
    matches!(&block.kind, BlockKind::Speaker { role: forkwood::Role::Tool, .. })
}

/// A fence longer than any in the text.
fn fenced(out: &mut String, text: &str) {
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(ticks.max(2) + 1);
    out.push_str(&format!("\n{fence}\n{}\n{fence}\n", text.trim_end()));
}
