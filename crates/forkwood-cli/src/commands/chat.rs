//! `forkwood chat`

use clap::ValueEnum;

use crate::chat;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::model::ModelArgs;

/// With whom, and in which session.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The session; without one a new one is made
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// Go on with the newest session
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    pub(crate) newest: bool,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// How much the model is to think: off, minimal, low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL", help_heading = "Model")]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) thinking: Option<String>,

    /// The instructions that go with every request; no session stores them
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub(crate) system: Option<String>,

    /// How often to try again when the provider fails
    #[arg(long, value_name = "N", default_value = "4", help_heading = "Model")]
    pub(crate) retries: usize,

    /// The most tokens of a request: longer conversations are compacted
    #[arg(long, value_name = "N", default_value = "100000", help_heading = "Model")]
    #[arg(value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) budget: u64,

    /// The tools that the model may use in the workspace; none where this is not said
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) tools: Vec<ToolName>,

    /// Let the model run commands too: the tool bash
    #[arg(long, help_heading = "Tools")]
    pub(crate) allow_bash: bool,
}

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolName {
    /// Read files
    Read,
    /// Write files
    Write,
    /// Change parts of files
    Edit,
    /// List folders
    List,
    /// Search through files
    Search,
    /// Run commands, with --allow-bash
    Bash,
}

const AFTER_HELP: &str = "\
Each line is a message, or a command such as /help, /rewind or /quit (a message that starts with \
a slash is written with two). Lines may come from a pipe: `echo hi | forkwood chat --provider \
scripted`. Ctrl-C stops the answer and keeps what is done; a second one stops at once.

Answers go to stdout, all else to stderr; with --json every event is one object on a line of \
stdout. Ends with 130 where the last answer was stopped.";

pub(crate) fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let runtime = chat::runtime()?;
    let outcome = runtime.block_on(chat::run(ctx, args));
    // A tool that does not end must not keep the program.
    runtime.shutdown_background();
    outcome
}
