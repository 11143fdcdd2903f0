//! How a storage of files works.

use std::sync::Arc;
use std::time::Duration;

use forkwood_core::Clock;

use super::dialect::Format;
use super::native::Native;
use crate::SystemClock;
use crate::disk::{Disk, RealDisk};

/// How the storage works.
#[derive(Clone, Debug)]
pub struct JsonlOptions {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) formats: Vec<Arc<dyn Format>>,
    pub(super) bridge: bool,
    pub(super) lock_wait: Duration,
}

impl Default for JsonlOptions {
    fn default() -> JsonlOptions {
        JsonlOptions {
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            formats: vec![Arc::new(Native)],
            bridge: true,
            lock_wait: Duration::from_secs(10),
        }
    }
}

impl JsonlOptions {
    /// Foreign formats that are recognised, after the native one.
    #[must_use]
    pub fn with_formats(mut self, formats: &[Arc<dyn Format>]) -> JsonlOptions {
        self.formats.extend(formats.iter().cloned());
        self
    }

    /// Whether missing parents are bridged. Else the view is that of the owner's program.
    #[must_use]
    pub fn with_bridges(mut self, bridge: bool) -> JsonlOptions {
        self.bridge = bridge;
        self
    }

    /// Another disk; for tests.
    #[must_use]
    pub fn with_disk(mut self, disk: Arc<dyn Disk>) -> JsonlOptions {
        self.disk = disk;
        self
    }

    /// Where times come from.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> JsonlOptions {
        self.clock = clock;
        self
    }

    /// How long a writer waits for the lock of another.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> JsonlOptions {
        self.lock_wait = wait;
        self
    }
}
