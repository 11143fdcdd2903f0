//! Taking the sessions of other tools into a store of Forkwood's own.
//!
//! A [`Tool`] knows where its sessions lie, which files are its own, and how to read them, entry
//! by entry. What becomes of them is the same for every tool: [`Import`] makes a native session
//! of each, remembers in its metadata where it came from ([`Origin`]), and the next time goes on
//! where it stopped. [`tools`] is the table; a new format is one line there.
//!
//! ```text
//!   find -> Unit (what is looked at and compared as one) -> ForeignSession -> native session
//! ```
//!
//! **Invariants.** A source is only read. An unchanged one costs a look at its files. A session
//! is never taken twice: the id of the new one follows from the source, and what was taken is
//! told apart from what is new by the ids of the entries, or, where a format has none, by what
//! stands on its lines. A run that was interrupted is finished by the next.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta};
use forkwood::{Diagnostic, Entry, EntryId, Json, Result, SessionId, SessionInfo, Text};

mod agents;
mod compressed;
mod engine;
mod find;
mod ledger;
mod line_up;
mod moved;
mod origin;
mod report;
mod run;
mod snapshot;
mod take;
mod whole;

pub use find::{Found, find};
pub(crate) use origin::KEY as ORIGIN_KEY;
pub use origin::{FileStamp, Origin};
pub use report::{Outcome, Report};
pub use run::Import;
pub use snapshot::{Snapshot, snapshot, snapshot_of};
pub(crate) use take::unplaced_label;
pub use whole::Whole;

/// Every tool whose sessions can be taken in, in the order in which they are asked.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(engine::Pi),
        Arc::new(engine::MyPiAgent),
        Arc::new(agents::ClaudeCode),
        Arc::new(agents::Codex),
        Arc::new(compressed::CodexCompressed),
        Arc::new(crate::picoclaw::PicoClaw),
        #[cfg(feature = "sqlite")]
        Arc::new(crate::openai_agents::OpenAiAgents),
        Arc::new(crate::gemini::GeminiCli),
        Arc::new(crate::requests::Requests(crate::requests::Api::Chat)),
        Arc::new(crate::requests::Requests(crate::requests::Api::Responses)),
        Arc::new(crate::requests::Requests(crate::requests::Api::Anthropic)),
        #[cfg(feature = "sqlite")]
        Arc::new(crate::opencode::OpenCode),
        #[cfg(feature = "sqlite")]
        Arc::new(crate::goose::Goose),
    ]
}

/// The tool of a name. Where files of one tool are read in several ways, the first of them; see
/// [`tools_of`].
pub fn tool(name: &str) -> Option<Arc<dyn Tool>> {
    tools_of(name).into_iter().next()
}

/// All ways in which files of the tool of a name are read.
pub fn tools_of(name: &str) -> Vec<Arc<dyn Tool>> {
    tools().into_iter().filter(|tool| tool.name() == name).collect()
}

/// What a tool may know of the user's machine; nothing is read behind the caller's back.
pub struct Environment<'e> {
    /// The home folder of the user.
    pub home: Option<PathBuf>,
    /// The workspace that the user is in.
    pub workspace: Option<PathBuf>,
    /// The value of an environment variable.
    pub variable: &'e dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Environment(home {:?})", self.home)
    }
}

/// What is looked at, compared and read as one: mostly a file, or a file and those beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The file or folder that stands for it.
    pub path: PathBuf,
    /// All files whose change may mean that there is more to take; `path` is one of them where
    /// it is a file. One that is not there yet may be among them.
    pub files: Vec<PathBuf>,
}

impl Unit {
    /// One file.
    pub fn file(path: &Path) -> Unit {
        Unit { path: path.to_path_buf(), files: vec![path.to_path_buf()] }
    }
}

/// A tool whose sessions can be found and read.
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// Its name in arguments and in [`Origin`]; never changes.
    fn name(&self) -> &'static str;

    /// The folders in which it keeps the sessions of this user. They need not be there.
    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf>;

    /// Looks at a file or folder, not far into it. `None`: none of its own. A folder that it
    /// claims is not walked into.
    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit>;

    /// Whether the JSONL engine opens its files by itself, where they lie; see
    /// [`formats`](crate::formats). Else [`snapshot`] shows them.
    fn in_place(&self) -> bool {
        false
    }

    /// Opens the sessions of a unit for reading.
    ///
    /// # Errors
    /// Where nothing of it can be read. Damage of a part is a finding of the session.
    async fn open(&self, disk: &Arc<dyn Disk>, unit: &Unit)
    -> Result<Vec<Box<dyn ForeignSession>>>;
}

/// A session of another tool, open for reading.
#[async_trait]
pub trait ForeignSession: Send {
    /// What is known before its entries are read.
    fn about(&self) -> &About;

    /// The next entries, in the order of the log. None: there are no more.
    ///
    /// Each has an id that is unique in the session, its parent (`None` = a root), and its time.
    ///
    /// # Errors
    /// Where reading fails for good.
    async fn next(&mut self) -> Result<Vec<Entry>>;

    /// What was found on the way, once all is read.
    ///
    /// # Errors
    /// Where reading fails for good.
    async fn findings(&mut self) -> Result<Vec<Diagnostic>>;
}

/// What is known of a foreign session before its entries are read.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its id as the tool has it.
    pub source_id: Text,
    /// The id of the native session: the tool's own where it can be one, else made from what
    /// never changes in the source, so that the same source gives the same id.
    pub id: Option<SessionId>,
    /// Title, folder, times, metadata, what kind of sub-agent.
    pub info: SessionInfo,
    /// The dialect, for people.
    pub dialect: &'static str,
    /// What it was forked from, as the tool names it.
    pub forked_from: Option<Text>,
    /// Where it stands; `None` = before the first entry.
    pub leaf: Option<EntryId>,
    /// How its entries are known again.
    pub identity: Identity,
    /// A field of the metadata that only the session of that very `id` gets.
    pub of_id: Option<(Text, Json)>,
}

/// How the entries of a source are known again when it is read once more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// By ids of its own, which never change.
    #[default]
    Ids,
    /// The format has no ids and no branches. The id of an entry is [`line_id`] of what stands
    /// on its line, and the context is what [`Cut`] says.
    Lines(Cut),
}

/// What of the lines a model sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// A summary of what is no longer seen; may be empty.
    pub summary: Text,
    /// How many of the entries, from the first, are no longer seen.
    pub hidden: usize,
}

/// How many digits of a [`line_id`] tell what stands on the line.
pub(crate) const LINE_DIGITS: usize = 24;

/// The id of an entry of a format without ids: a hash of its line, and which of several equal
/// lines it is.
pub fn line_id(line: &[u8], nth: u32) -> EntryId {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(line);
    let mut id = String::with_capacity(LINE_DIGITS + 8);
    for byte in &hash[..LINE_DIGITS / 2] {
        id.push_str(&format!("{byte:02x}"));
    }
    id.push_str(&format!("{nth:08x}"));
    EntryId::from(id)
}
