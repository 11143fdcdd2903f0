//! Looking at calls before and after they run.

use std::fmt;

use async_trait::async_trait;
use forkwood::Json;

use super::ToolOutput;
use crate::ToolCall;

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// It runs.
    Run,
    /// It runs with other arguments. The session keeps those of the model.
    Change(Json),
    /// It does not run; the model is told why.
    Block(String),
    /// It does not run, nor do those after it, and the run ends; the model is told why.
    Terminate(String),
}

/// What is to become of the run after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It goes on.
    Continue,
    /// It ends, without another turn.
    Terminate,
}

/// Sees every call. Several are asked in order, each what the one before left.
#[async_trait]
pub trait Hook: Send + Sync + fmt::Debug {
    /// Before a call starts; nothing is written of it yet.
    async fn before(&self, call: &ToolCall) -> Before {
        let _ = call;
        Before::Run
    }

    /// After a call, before its result is written. May change it.
    async fn after(&self, call: &ToolCall, output: &mut ToolOutput) -> After {
        let _ = (call, output);
        After::Continue
    }
}
