//! The values that go in and out of a storage.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use forkwood_core::entry::SessionInfo;
use forkwood_core::{
    Diagnostic, Draft, Entry, EntryId, EntryKind, FoldRules, Lane, Role, SessionId, Settings, Text,
    Timestamp,
};

use crate::Result;

/// A place in a session's log. Only grows within a generation; gaps are allowed.
pub type Seq = u64;

/// A place in a log that survives a reconnect: generation, place, and the entry that stood there.
/// Written `generation.seq.id`; SSE ids and ETags are cursors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The generation of the log.
    pub generation: String,
    /// The place.
    pub seq: Seq,
    /// The entry at that place; empty before the first.
    pub id: String,
}

impl Cursor {
    /// The start of a log.
    pub fn start(generation: impl Into<String>) -> Cursor {
        Cursor { generation: generation.into(), seq: 0, id: String::new() }
    }

    /// Reads `generation.seq.id`. The id may hold dots.
    pub fn parse(text: &str) -> Option<Cursor> {
        let (generation, rest) = text.split_once('.')?;
        let (seq, id) = rest.split_once('.')?;
        Some(Cursor {
            generation: generation.to_owned(),
            seq: seq.parse().ok()?,
            id: id.to_owned(),
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.generation, self.seq, self.id)
    }
}

/// What a backend can do. Callers ask this, never which backend it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// `Ok` means that a crash of the machine loses nothing.
    pub durable: bool,
    /// A batch is all there or not at all after a crash.
    pub atomic_batches: bool,
    /// Other processes may write the same sessions.
    pub shared: bool,
    /// Lanes other than `main` can be kept.
    pub lanes: bool,
    /// `reset`, `vacuum` and repair.
    pub rewrite: bool,
    /// Blobs.
    pub blobs: bool,
    /// Delete goes to a trash from which `restore` brings back.
    pub trash: bool,
    /// The longest entry, in bytes of its JSON.
    pub max_entry_bytes: u64,
}

/// How sure a write is before it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// On disk: one sync a write.
    #[default]
    Sync,
    /// On disk: writers of one process share syncs; the first waits this long for others.
    Group(Duration),
    /// With the operating system. A crash of the machine may lose it.
    Os,
}

/// What the writer believes of the lane it writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The lane stands at this entry.
    At(EntryId),
    /// The lane is not there yet, or stands before the first entry.
    NoLane,
    /// Wherever it stands.
    Any,
}

/// What to do when another writer was first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuse; nothing is written.
    #[default]
    Fail,
    /// Write to a new lane, where the writer expected to be.
    Branch,
}

/// A write: one entry or a batch, all or nothing.
#[derive(Clone, Debug)]
pub struct Append {
    /// The lane to write to. One that is not there is made by its first entry.
    pub lane: Lane,
    /// What to write, in order. A `leaf` moves the lane for the drafts after it.
    pub drafts: Vec<Draft>,
    /// What the writer believes.
    pub expect: Expect,
    /// What to do when that is not so.
    pub on_conflict: OnConflict,
    /// How sure.
    pub durability: Durability,
}

impl Append {
    /// A write to `main` wherever it stands, on disk when it returns.
    pub fn any(drafts: Vec<Draft>) -> Append {
        Append {
            lane: Lane::main(),
            drafts,
            expect: Expect::Any,
            on_conflict: OnConflict::Fail,
            durability: Durability::Sync,
        }
    }
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The entries written, in the order of the drafts.
    pub entries: Vec<AppendedEntry>,
    /// The lane written to; another one after a conflict that branched.
    pub lane: Lane,
    /// Where that lane stands now.
    pub leaf: Option<EntryId>,
    /// Whether all of it was there already, from an earlier try.
    pub repeated: bool,
}

/// One entry of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendedEntry {
    /// Its place in the log.
    pub seq: Seq,
    /// Its id. Another than the draft's only where a dialect has ids of its own.
    pub id: EntryId,
    /// Its parent.
    pub parent_id: Option<EntryId>,
}

/// A lane and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneState {
    /// The lane.
    pub lane: Lane,
    /// Its leaf; `None` before the first entry.
    pub leaf: Option<EntryId>,
}

/// An entry as it stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The entry. Its `id` and `parent_id` are the settled ones.
    pub entry: Entry,
    /// Its place.
    pub seq: Seq,
    /// Its line, from 1, where the log is a file.
    pub line: Option<u64>,
    /// Its byte offset, where the log is a file.
    pub offset: Option<u64>,
    /// The bytes of its record as they stand, where the log is a file.
    pub raw: Option<Box<[u8]>>,
}

impl AsRef<Entry> for Stored {
    fn as_ref(&self) -> &Entry {
        &self.entry
    }
}

/// An entry without its body: what trees and lists need.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its id, settled.
    pub id: EntryId,
    /// Its parent, settled.
    pub parent_id: Option<EntryId>,
    /// Its type.
    pub kind: EntryKind,
    /// Who speaks, where it is a message.
    pub role: Option<Role>,
    /// Its lane.
    pub lane: Lane,
    /// Whether it stands beside the path.
    pub sidecar: bool,
    /// Its place.
    pub seq: Seq,
    /// Its line, where the log is a file.
    pub line: Option<u64>,
    /// The length of its record in bytes.
    pub bytes: u64,
}

/// How far back [`path`](crate::SessionStorage::path) reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStop {
    /// To the root.
    Root,
    /// As far as the context needs: to what the latest compaction keeps.
    Context,
}

/// A path, root first, or the end of one.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRead {
    /// The entries.
    pub entries: Vec<Stored>,
    /// The settings before the first of them; `None` where the part read does not tell.
    pub before: Option<Settings>,
}

/// A page of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPage {
    /// Entries in log order.
    pub entries: Vec<Stored>,
    /// Where to read on, if there is more.
    pub next: Option<Seq>,
}

/// How strictly a rewind looks at the floor of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FloorRule {
    /// A strict ancestor of the floor of the latest compaction on the path is refused.
    Guard,
    /// Only the floor and what descends from it (my-pi-agent). The floor as its file has it.
    Strict(Option<EntryId>),
    /// No floor (Pi).
    None,
}

/// What is known of an open session besides its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFacts {
    /// The id by which this storage knows it.
    pub id: SessionId,
    /// The id as its header has it, for showing only.
    pub shown_id: Text,
    /// `native`, `pi-v3`, ...
    pub dialect: &'static str,
    /// Title, folder, metadata and so on, as they are now.
    pub info: SessionInfo,
    /// The session it was forked from, as its own format names it.
    pub forked_from: Option<Text>,
    /// The generation of the log.
    pub generation: String,
    /// The end of the log.
    pub end: Seq,
    /// How it folds.
    pub rules: FoldRules,
    /// How it guards compactions.
    pub floor: FloorRule,
    /// How its ids look.
    pub ids: crate::jsonl::IdStyle,
    /// Why it cannot be written, if it cannot.
    pub read_only: Option<String>,
    /// Where it is, if it is a file.
    pub path: Option<PathBuf>,
    /// Its lanes.
    pub lanes: Vec<LaneState>,
    /// How many entries it has.
    pub entries: u64,
}

impl SessionFacts {
    /// Where a lane stands.
    pub fn leaf(&self, lane: &Lane) -> Option<&EntryId> {
        self.lanes.iter().find(|state| state.lane == *lane)?.leaf.as_ref()
    }
}

/// A session to make.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// Its id; made by the storage where absent.
    pub id: Option<SessionId>,
    /// The header; `sessionId`, `version`, `generation` and `createdAt` are filled in.
    pub info: SessionInfo,
    /// Entries to start with: a fork. Parents and times are theirs; the first ones without a
    /// parent hang from the header.
    pub entries: Vec<Entry>,
    /// For a sub-agent's session: its parent and the task it works on.
    pub subagent_of: Option<(SessionId, String)>,
    /// The caller knows that no session has the id, so that not every header is looked at. A
    /// file of that name is never overwritten all the same.
    pub id_is_free: bool,
}

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// At most this many rows; 0 = all.
    pub limit: usize,
    /// Rows to pass over.
    pub skip: usize,
    /// The order.
    pub sort: Sort,
    /// Only the sub-agents' sessions of this one. Else only sessions that are none's sub-agent.
    pub parent: Option<SessionId>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Newest user or assistant message first.
    #[default]
    Activity,
    /// Newest creation first.
    Created,
}

/// A list of sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The sessions.
    pub rows: Vec<SessionRow>,
    /// What is there and is no readable session, with the reason.
    pub problems: Vec<Problem>,
    /// How many rows there are in all.
    pub total: usize,
}

/// Something among the sessions that is none, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub path: PathBuf,
    /// `empty`, `damaged`, `unreadable`, `folder`, `link`, `special`, `foreign`.
    pub kind: &'static str,
    /// Why.
    pub message: String,
}

/// Whether a session in a list is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// It is well.
    Good,
    /// It has a header and no message.
    Empty,
    /// It can be read, and is damaged.
    Damaged,
}

/// One session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// The id.
    pub id: SessionId,
    /// The id as its header has it.
    pub shown_id: Text,
    /// The format.
    pub dialect: &'static str,
    /// Where it is, if it is a file.
    pub path: Option<PathBuf>,
    /// Whether it is well.
    pub state: RowState,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// The time of the newest user or assistant message, from its content.
    pub last_activity: Option<Timestamp>,
    /// How many entries.
    pub entries: u64,
    /// How many message entries.
    pub messages: u64,
    /// How many of them by the user.
    pub user_messages: u64,
    /// How many of them by the model.
    pub assistant_messages: u64,
    /// Its title.
    pub title: Option<Text>,
    /// The first line the user wrote, shortened.
    pub first_user: Option<String>,
    /// The model that answers.
    pub model: Option<Text>,
    /// The working folder.
    pub cwd: Option<Text>,
    /// Bytes of its log.
    pub size: u64,
    /// What it was forked from.
    pub forked_from: Option<Text>,
    /// For a sub-agent: its kind and its parent.
    pub agent_type: Option<Text>,
    /// For a sub-agent: the session that spawned it.
    pub parent_session: Option<Text>,
    /// How many findings of damage.
    pub damage: u64,
    /// Whether it is marked as pinned in its metadata.
    pub pinned: bool,
}

/// What a deletion left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// The session.
    pub id: SessionId,
    /// Where it lies now, if it is a file.
    pub path: Option<PathBuf>,
    /// When.
    pub at: Timestamp,
}

/// A change that cannot be an append. The old log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// Only the header stays.
    Reset,
    /// Superseded pointer lines and damage go; with `prune_branches` also branches that no lane
    /// and no label reaches.
    Vacuum {
        /// Whether unreachable branches go.
        prune_branches: bool,
    },
    /// Only what is safe: missing header, torn tail, line ends. Nothing readable goes.
    Repair,
}

/// What a rewrite did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// What was done, a sentence each. Empty: nothing had to be done, nothing was written.
    pub actions: Vec<String>,
    /// Entries before and after.
    pub entries: (u64, u64),
    /// Bytes before and after.
    pub bytes: (u64, u64),
    /// Where the old log lies.
    pub backup: Option<PathBuf>,
}

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A new entry, whole, in log order.
    Entry(Box<Stored>),
    /// Something that cannot be read.
    Damage(Diagnostic),
    /// The log is another one now: start again from its beginning.
    Reset,
    /// The session was deleted. Nothing follows.
    Gone,
}

/// A watcher of one session.
#[async_trait]
pub trait Watch: Send {
    /// What has happened since the last call, without waiting; `None` = nothing yet.
    ///
    /// # Errors
    /// Where the log cannot be read. The watcher stays usable.
    fn poll_event(&mut self) -> Result<Option<WatchEvent>>;

    /// Waits for the next event.
    ///
    /// # Errors
    /// Those of [`Watch::poll_event`].
    async fn next_event(&mut self) -> Result<WatchEvent>;

    /// Where the watcher stands; what it has told lies before.
    fn cursor(&self) -> Cursor;
}
