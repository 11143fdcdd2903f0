//! Ctrl-C, as an event and not as the end of the program.

use forkwood::ErrorKind;
use futures_util::FutureExt;

use crate::error::{CliError, Result};

#[cfg(unix)]
type Source = tokio::signal::unix::Signal;
#[cfg(windows)]
type Source = tokio::signal::windows::CtrlC;

/// Interrupts since this was made. One listener for the whole chat: one that came and went would
/// miss what happens between.
pub(super) struct Interrupts(Source);

impl Interrupts {
    /// From now on Ctrl-C ends nothing by itself.
    pub(super) fn new() -> Result<Interrupts> {
        #[cfg(unix)]
        let source = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        #[cfg(windows)]
        let source = tokio::signal::windows::ctrl_c();
        source.map(Interrupts).map_err(|error| {
            CliError::new(ErrorKind::Io, format!("cannot listen for Ctrl-C: {error}"))
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Forgets those that came while nothing went on that could be stopped.
    pub(super) fn forget(&mut self) {
        while self.0.recv().now_or_never().is_some_and(|one| one.is_some()) {}
    }
}
