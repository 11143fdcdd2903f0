//! An agent loop over a Forkwood session that persists every step.
//!
//! ```text
//!   Agent::run("...")
//!     |  user message + operation started         one write, synced
//!     v
//!   turn:  state of the session -> request that fits -> provider
//!     |    answer                                  written before anything else happens
//!     v
//!   tools: operation started                       synced before the tool starts
//!     |    result + operation finished             one write, when it has ended
//!     `--> next turn, until the model wants no more tools
//! ```
//!
//! A process may die anywhere in it: [`Agent::resume`] goes on from there, and no tool runs
//! twice unless it says that it may.

mod agent;
mod error;
mod event;
mod frontmatter;
mod provider;
mod queue;
mod skill;
mod spill;
mod subagent;
mod system;
pub mod tool;

pub use agent::{
    Agent, AgentBuilder, CANCELLED, CUT_OFF, INTERRUPTED, ModelSummariser, OpenOperation,
    RunOutcome, RunStop,
};
pub use error::{AgentError, ErrorKind};
pub use event::{AgentEvent, Events};
pub use forkwood_context::{ProviderInput, ToolSpec};
pub use frontmatter::Skipped;
#[cfg(feature = "llm")]
pub use provider::llm::{LlmProvider, Reach, Service};
pub use provider::scripted::{Rule, ScriptedProvider, Step};
pub use provider::{
    Cost, Event, EventStream, Price, Prices, Provider, ProviderError, ProviderErrorKind, Providers,
    Reply, Request, Retries, StopReason, ToolCall, Usage,
};
pub use queue::{Delivery, Handle, UserInput};
pub use skill::{Skill, Skills};
pub use spill::SpillFolder;
pub use subagent::task::Tasks;
pub use subagent::{DEFAULT_SUBAGENT, Subagent, Subagents, TASK_TOOL};
pub use system::system_prompt;
pub use tool::{
    Access, After, Before, FnTool, Hook, Replay, Tool, ToolFailure, ToolOutput, ToolRun, Tools,
    Workspace,
};

/// The result of a call.
pub type Result<T> = std::result::Result<T, AgentError>;

/// The example of the README, as a test.
#[cfg(all(doctest, feature = "llm"))]
#[doc = include_str!("../README.md")]
struct Readme;
