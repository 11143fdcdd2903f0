//! `/export`

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::core::entry::codec;
use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::storage::MemoryStorage;
use forkwood::{Entry, EntryId, ForkOptions, Session, SessionStore, blobs};
use forkwood_view::markdown;

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
            Some("md") => as_markdown(session).await?,
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

async fn as_markdown(session: &Session) -> Result<String> {
    let path = session.current_path().await?;
    let labels = session.labels().await?;
    let label = |id: &EntryId| labels.get(id).cloned();
    Ok(markdown::title(session.title()) + &markdown::entries(&path, label))
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
