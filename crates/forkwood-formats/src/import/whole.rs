//! A foreign session that is read all at once.

use async_trait::async_trait;
use forkwood::{Diagnostic, Entry, Result};

use super::{About, ForeignSession};

/// How many entries are handed over at a time.
const PAGE: usize = 512;

/// A foreign session whose entries are in memory.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    /// What is known of it.
    pub about: About,
    /// Its entries, in the order of the log.
    pub entries: std::collections::VecDeque<Entry>,
    /// What was found.
    pub findings: Vec<Diagnostic>,
}

#[async_trait]
impl ForeignSession for Whole {
    fn about(&self) -> &About {
        &self.about
    }

    async fn next(&mut self) -> Result<Vec<Entry>> {
        let count = self.entries.len().min(PAGE);
        Ok(self.entries.drain(..count).collect())
    }

    async fn findings(&mut self) -> Result<Vec<Diagnostic>> {
        Ok(std::mem::take(&mut self.findings))
    }
}
