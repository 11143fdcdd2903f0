//! Moving old sessions to the trash.

use forkwood_core::Timestamp;
use forkwood_storage::{Page, RowState, SessionRow};

use super::SessionStore;
use crate::{ErrorKind, Result};

/// What to prune.
#[derive(Clone, Debug)]
pub struct PruneOptions {
    /// Sessions whose newest user or assistant message is older than this go.
    pub before: Timestamp,
    /// Say what would go, and leave it.
    pub dry_run: bool,
}

/// What a prune did, or would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PruneReport {
    /// The sessions that went.
    pub removed: Vec<SessionRow>,
    /// Those that stay although they are not known to be young, and why: `damaged`, `empty`,
    /// `pinned`, `open`, `ambiguous` (another file has its id).
    pub skipped: Vec<(SessionRow, &'static str)>,
    /// How many stay because they are not old.
    pub kept: usize,
}

impl SessionStore {
    /// Moves sessions to the trash whose newest user or assistant message is older than a time.
    /// Damaged, empty, open and pinned ones stay. Open are those that a [`Session`] of this
    /// store, or a writer of another process, still holds.
    ///
    /// [`Session`]: crate::Session
    ///
    /// # Errors
    /// `io`; what was removed before it stays removed, and can be restored.
    pub async fn prune(&self, options: PruneOptions) -> Result<PruneReport> {
        let mut report = PruneReport::default();
        for row in self.list(Page::default()).await?.rows {
            let why = match (row.state, row.last_activity) {
                (RowState::Damaged, _) => "damaged",
                (RowState::Empty, _) | (_, None) => "empty",
                (_, Some(last)) if last >= options.before => {
                    report.kept += 1;
                    continue;
                }
                _ if row.pinned => "pinned",
                _ if self.open.holds(&row.id) => "open",
                _ => "",
            };
            if !why.is_empty() {
                report.skipped.push((row, why));
                continue;
            }
            let went = match options.dry_run {
                true => self.storage.is_idle(&row.id).await,
                false => self.storage.delete(&row.id, true).await.map(|_| true),
            };
            match went {
                Ok(true) => report.removed.push(row),
                Ok(false) => report.skipped.push((row, "open")),
                Err(error) if error.kind() == ErrorKind::Locked => {
                    report.skipped.push((row, "open"));
                }
                Err(error) if error.kind() == ErrorKind::Ambiguous => {
                    report.skipped.push((row, "ambiguous"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }
}
