//! L2: all but the last results of tools are left out.

use forkwood_core::{Block, Content, Message, Role};

use super::spill::text_len;
use crate::View;

/// The numbers of L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroConfig {
    /// How many results at the end stay as they are.
    pub keep: usize,
    /// Results of no more characters than this stay as well.
    pub over_chars: usize,
}

impl Default for MicroConfig {
    fn default() -> MicroConfig {
        MicroConfig { keep: 5, over_chars: 200 }
    }
}

/// What stands in the place of a result, in the words of my-pi-agent.
const MARKER: &str = "[Earlier tool result compacted]";

/// Leaves out what the earlier results say. The messages stay, and all they say of their call.
///
/// Returns how many were left out.
pub fn micro(view: &mut View, config: &MicroConfig) -> usize {
    let results = view.messages.iter_mut().rev().filter(|message| message.role == Role::Tool);
    let mut done = 0;
    for message in results.skip(config.keep) {
        if is_long(message, config.over_chars) {
            message.content = Content::Text(MARKER.into());
            done += 1;
        }
    }
    done
}

fn is_long(message: &Message, over: usize) -> bool {
    let image = |block: &Block| matches!(block, Block::Image(_));
    text_len(&message.content) > over
        || matches!(&message.content, Content::Blocks(blocks) if blocks.iter().any(image))
}
