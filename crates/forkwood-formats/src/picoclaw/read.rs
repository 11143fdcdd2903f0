//! Reading a conversation, whatever state its files are in.

use std::path::{Path, PathBuf};

use forkwood::conversation::ConversationMessage;
use forkwood::storage::disk::Disk;
use forkwood::{Diagnostic, DiagnosticKind, Error, Result};

use super::legacy::{self, Legacy};
use super::lines::{Line, scan};
use super::meta::Meta;
use super::pending::{Pending, Stage, read_file};
use super::{DIALECT, LEGACY_DIALECT, message};

/// A conversation as its files have it.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// What its meta file says; what can be salvaged of it where it is damaged, and what PicoClaw
    /// would take where there is none.
    pub meta: Meta,
    /// Whether there is a meta file.
    pub has_meta: bool,
    /// The lines as they stand.
    pub bytes: Vec<u8>,
    /// The same, read.
    pub lines: Vec<Line>,
    /// What is damaged, unknown or odd.
    pub findings: Vec<Diagnostic>,
    /// The dialect: `picoclaw`, or `picoclaw-json` for an older file.
    pub dialect: &'static str,
}

impl Conversation {
    /// The messages that are shown, oldest first.
    pub fn history(&self) -> Vec<ConversationMessage> {
        self.shown().map(|(_, message)| message.clone()).collect()
    }

    /// The messages that are shown, with their lines.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&Line, &ConversationMessage)> {
        let hidden = self.meta.hidden();
        let visible = self.lines.iter().filter(move |line| line.number > hidden);
        visible.filter_map(|line| Some((line, &line.message()?.message)))
    }

    /// The bytes of a line.
    pub(super) fn line_bytes(&self, line: &Line) -> &[u8] {
        &self.bytes[line.span.clone()]
    }
}

/// The stem of a file of a conversation: its name without the ending.
pub(super) fn base_of(path: &Path) -> Option<(PathBuf, bool)> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    for ending in [".jsonl", ".meta.json"] {
        if let Some(base) = name.strip_suffix(ending).filter(|base| !base.is_empty()) {
            return Some((folder.join(base), false));
        }
    }
    let base = name.strip_suffix(".json").filter(|base| !base.is_empty())?;
    Some((folder.join(base), true))
}

/// A path with another ending.
pub(super) fn with_ending(base: &Path, ending: &str) -> PathBuf {
    // Not by the parts of the path: a key may be `..`, and its file is `...jsonl` then.
    let mut path = base.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Reads the conversation that a file belongs to: `.jsonl`, `.meta.json` or an older `.json`.
/// Takes no lock and writes nothing; a step that was interrupted is seen as finished.
///
/// # Errors
/// `unsupported` where the name is none of PicoClaw's; `damaged` where an older file cannot be
/// read; `io`. A damaged line or meta file is a finding.
pub fn read(disk: &dyn Disk, path: &Path) -> Result<Conversation> {
    let (base, legacy) = base_of(path).ok_or_else(|| {
        Error::unsupported(format!("{}: no name of a file of PicoClaw's", path.display()))
    })?;
    let get = |path: &Path| read_file(disk, path).map_err(|error| Error::io(path, "read", error));
    if legacy {
        let bytes = get(path)?
            .ok_or_else(|| Error::SessionNotFound { query: path.display().to_string() })?;
        return read_legacy(path, &base, &bytes);
    }
    let jsonl = with_ending(&base, ".jsonl");
    let bytes = get(&jsonl)?;
    let meta = get(&with_ending(&base, ".meta.json"))?;
    if bytes.is_none() && meta.is_none() {
        return Err(Error::SessionNotFound { query: path.display().to_string() });
    }
    let mut bytes = bytes.unwrap_or_default();
    let mut meta = meta;
    let pending = Pending::read(disk, &jsonl).map_err(|error| Error::io(&jsonl, "read", error))?;
    if let Some(pending) = pending
        && let Stage::Open { added } = pending.stage(&bytes)
    {
        let (content, new_meta) = pending.finished(&added);
        bytes = content;
        meta = Some(new_meta.to_text().into_bytes());
    }
    let stem = base.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut conversation = read_bytes(&stem, bytes, meta.as_deref());
    let older = with_ending(&base, ".json");
    if disk.meta(&older).is_ok() {
        let message = format!(
            "{} lies beside it: PicoClaw takes its messages over these at its next start",
            older.display()
        );
        conversation.findings.push(Diagnostic::new(DiagnosticKind::OldVersion, message));
    }
    Ok(conversation)
}

/// Reads the bytes of both files. `stem`: the name of the files, which stands for a key where no
/// meta file names one.
pub fn read_bytes(stem: &str, bytes: Vec<u8>, meta: Option<&[u8]>) -> Conversation {
    let (lines, mut findings) = scan(&bytes);
    let has_meta = meta.is_some();
    let mut note = |kind, message: String| findings.push(Diagnostic::new(kind, message));
    let mut meta = match meta {
        None => {
            let message = "there is no meta file; key, summary and scope are not known";
            note(DiagnosticKind::NoHeader, message.into());
            Meta::default()
        }
        Some(text) => {
            let text = String::from_utf8_lossy(text);
            Meta::parse(&text).unwrap_or_else(|problem| {
                let message = format!(
                    "the meta file is damaged ({problem}): PicoClaw sees an empty conversation; \
                     here the lines are read, and what can be made out of the meta file"
                );
                note(DiagnosticKind::BadJson, message);
                Meta::salvage(&text)
            })
        }
    };
    if meta.key.is_empty() {
        stem.clone_into(&mut meta.key);
    }
    for (key, _) in &meta.extra {
        if *key != super::OWN {
            note(DiagnosticKind::UnknownField, format!("meta: unknown field {key}"));
        }
    }
    let count = lines.len() as i64;
    if has_meta && meta.count != count {
        let message = format!(
            "the meta file counts {} lines, there are {count}: a crash between the two files, or \
             two writers",
            meta.count
        );
        note(DiagnosticKind::Siblings, message);
    }
    if meta.skip > count {
        let message = format!(
            "{} lines are hidden and there are {count}: what is added next is hidden too",
            meta.skip
        );
        note(DiagnosticKind::UnknownTarget, message);
    }
    Conversation { meta, has_meta, bytes, lines, findings, dialect: DIALECT }
}

fn read_legacy(path: &Path, base: &Path, bytes: &[u8]) -> Result<Conversation> {
    let legacy = legacy::parse(&String::from_utf8_lossy(bytes))
        .map_err(|problem| Error::Damaged { path: path.to_path_buf(), problem })?;
    let stem = base.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unknown = legacy.unknown.clone();
    let mut conversation = of_legacy(&stem, legacy)?;
    conversation.findings = unknown
        .into_iter()
        .map(|key| {
            Diagnostic::new(DiagnosticKind::UnknownField, format!("file: unknown field {key}"))
        })
        .collect();
    Ok(conversation)
}

/// What an older file becomes: the lines and the meta file of its migration.
pub(super) fn of_legacy(stem: &str, legacy: Legacy) -> Result<Conversation> {
    let mut bytes = Vec::new();
    for one in &legacy.messages {
        bytes.extend_from_slice(message::encode(one)?.as_bytes());
        bytes.push(b'\n');
    }
    let (lines, _) = scan(&bytes);
    let meta = Meta {
        key: if legacy.key.is_empty() { stem.to_owned() } else { legacy.key },
        summary: legacy.summary,
        count: lines.len() as i64,
        created_at: legacy.created,
        updated_at: legacy.updated,
        ..Meta::default()
    };
    let dialect = LEGACY_DIALECT;
    Ok(Conversation { meta, has_meta: true, bytes, lines, findings: Vec::new(), dialect })
}
