//! An open file of the simulated disk.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::{SimDisk, node_meta};
use crate::disk::{DiskFile, Meta};

#[derive(Debug)]
pub(super) struct SimFile {
    disk: SimDisk,
    node: usize,
    held: Mutex<bool>,
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, node: usize) -> SimFile {
        SimFile { disk, node, held: Mutex::new(false) }
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.state();
        let bytes = &state.nodes[self.node].live;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.writes += 1;
        if let Err(stopped) = state.change() {
            if state.stop_at == Some(state.changes - 1) {
                let half = bytes[..bytes.len() / 2].to_vec();
                state.nodes[self.node].live.extend_from_slice(&half);
            }
            return Err(stopped);
        }
        let taken = match state.room {
            Some(0) => return Err(io::ErrorKind::StorageFull.into()),
            Some(room) => {
                let taken = room.min(bytes.len());
                state.room = Some(room - taken);
                taken
            }
            None => bytes.len(),
        };
        state.nodes[self.node].live.extend_from_slice(&bytes[..taken]);
        state.touch(self.node);
        Ok(taken)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.change()?;
        if state.fail_syncs {
            return Err(io::Error::other("the disk does not answer"));
        }
        state.syncs += 1;
        if state.volatile {
            return Ok(());
        }
        let node = &mut state.nodes[self.node];
        if std::mem::take(&mut node.cut) {
            node.durable.clone_from(&node.live);
        } else {
            let from = node.durable.len();
            node.durable.extend_from_slice(&node.live[from..]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.change()?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        let node = &mut state.nodes[self.node];
        node.cut = true;
        node.live.resize(len, 0);
        state.touch(self.node);
        Ok(())
    }

    fn meta(&self) -> io::Result<Meta> {
        Ok(node_meta(&self.disk.state(), self.node))
    }

    fn hold(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !*held {
            *held = true;
            self.disk.state().nodes[self.node].holders += 1;
        }
    }

    fn is_idle(&self) -> bool {
        self.disk.state().nodes[self.node].holders == 0
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        if *self.held.lock().unwrap_or_else(PoisonError::into_inner) {
            let mut state = self.disk.state();
            let holders = &mut state.nodes[self.node].holders;
            *holders = holders.saturating_sub(1);
        }
    }
}
