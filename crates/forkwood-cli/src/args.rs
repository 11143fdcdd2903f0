//! The arguments that every command takes, and the list of commands.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Sessions of AI agents as trees: list, look, branch, continue. Nothing you leave disappears.
#[derive(Debug, Parser)]
#[command(name = "forkwood", version, styles = STYLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
SESSION is a session id, a unique prefix of it or of its last part, or the path of a session \
file of any known format (anything with a slash, or ending in .jsonl, or naming a file), or the \
key or alias of a conversation.
ENTRY is an entry id, a unique prefix or suffix of one, the name of a lane, or a label.

Sessions lie in --store DIR, else in $FORKWOOD_DIR, else in .forkwood of the workspace: the \
nearest folder upwards with .forkwood or .git.

Exit status: 0 done, 1 failed, nothing found or damaged, 2 wrong usage, 3 the reader of the \
output went away, 130 a chat stopped with Ctrl-C, 255 a fault of this program.";

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Globals {
    /// Where sessions are kept, instead of $FORKWOOD_DIR or .forkwood of the workspace
    #[arg(long, global = true, value_name = "DIR")]
    #[arg(help_heading = "Where sessions are")]
    pub(crate) store: Option<PathBuf>,

    /// Use the workspace of this folder, instead of that of the current one
    #[arg(long, short = 'C', global = true, value_name = "DIR")]
    #[arg(help_heading = "Where sessions are")]
    pub(crate) workspace: Option<PathBuf>,

    /// Look sessions up in this folder: files of any known format, where they lie
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "from")]
    #[arg(help_heading = "Where sessions are")]
    pub(crate) dir: Option<PathBuf>,

    /// Look sessions up where another tool keeps them
    #[arg(long, global = true, value_name = "TOOL")]
    #[arg(help_heading = "Where sessions are")]
    pub(crate) from: Option<Tool>,

    /// Print JSON, errors included
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,

    /// When to colour: beats NO_COLOR, which beats looking for a terminal
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = "Output")]
    pub(crate) color: Color,

    /// Do not page on a terminal ($FORKWOOD_PAGER, $PAGER, less -FRX)
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) no_pager: bool,

    /// Leave out notes and confirmations on stderr
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// A tool whose sessions are found without a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// Pi: $PI_CODING_AGENT_SESSION_DIR, $PI_CODING_AGENT_DIR/sessions or ~/.pi/agent/sessions
    Pi,
    /// my-pi-agent: .my_agent_core/sessions of the workspace
    MyPiAgent,
    /// Claude Code: $CLAUDE_CONFIG_DIR/projects or ~/.claude/projects
    Claude,
    /// Codex: $CODEX_HOME or ~/.codex, sessions and archived_sessions
    Codex,
    /// PicoClaw: $PICOCLAW_HOME or ~/.picoclaw, with all workspaces in it
    Picoclaw,
    /// OpenAI Agents SDK: its databases lie where the program wants them; name a path
    OpenaiAgents,
    /// Files with requests to OpenAI's chat completions, given by path
    OpenaiChat,
    /// Files with requests to OpenAI's responses, given by path
    OpenaiResponses,
    /// Files with requests to Anthropic's messages, given by path
    Anthropic,
    /// opencode: $OPENCODE_DB, $XDG_DATA_HOME/opencode or ~/.local/share/opencode
    Opencode,
    /// goose: $GOOSE_PATH_ROOT/data, $XDG_DATA_HOME/goose or ~/.local/share/goose, sessions in it
    Goose,
    /// Gemini CLI: .gemini/tmp in $GEMINI_CLI_HOME or the home folder
    Gemini,
}

impl Tool {
    /// The name of the tool among those of the formats.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Pi => "pi",
            Tool::MyPiAgent => "my-pi-agent",
            Tool::Claude => "claude",
            Tool::Codex => "codex",
            Tool::Picoclaw => "picoclaw",
            Tool::OpenaiAgents => "openai-agents",
            Tool::OpenaiChat => "openai-chat",
            Tool::OpenaiResponses => "openai-responses",
            Tool::Anthropic => "anthropic",
            Tool::Opencode => "opencode",
            Tool::Goose => "goose",
            Tool::Gemini => "gemini",
        }
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR says otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a session and print its id
    New(commands::new::Args),
    /// List sessions, newest message first
    #[command(visible_alias = "ls")]
    List(commands::list::Args),
    /// Show a conversation
    Show(commands::show::Args),
    /// Draw the tree of a session: branches, leaf, labels, fork points
    Tree(commands::tree::Args),
    /// Print what a model would be sent
    Context(commands::context::Args),
    /// Append a message or any other entries, and print their ids
    Append(commands::append::Args),
    /// Move a session to an earlier entry; the next append grows a branch there
    Rewind(commands::rewind::Args),
    /// Copy the path to an entry into a new session, and print its id
    Fork(commands::fork::Args),
    /// Take the sessions of other tools into the store; nothing is ever taken twice
    Import(commands::import::Args),
    /// Bring the older session files of another tool to its newer format, where they lie
    Migrate(commands::migrate::Args),
    /// Write a session in another format, and tell what that cannot hold
    Export(commands::export::Args),
    /// Write a session file of any known format in another one
    Convert(commands::convert::Args),
    /// Sum up what was said so far; the summary stands for it from then on
    Compact(commands::compact::Args),
    /// Talk with a model; every step is kept in the session
    #[cfg(feature = "agent")]
    Chat(commands::chat::Args),
    /// Put a bookmark on an entry, or take it away
    Label(commands::label::Args),
    /// Give a session another title
    Rename(commands::rename::Args),
    /// List the branches of a session
    Branches(commands::branches::Args),
    /// List, make and move the lanes of a session
    Lanes(commands::lanes::Args),
    /// Compare the paths to two entries
    Diff(commands::diff::Args),
    /// Tell where a session stands and how to go on
    Resume(commands::resume::Args),
    /// Follow a session: one line for each new entry
    Watch(commands::watch::Args),
    /// Tell everything that is wrong with a session; exit 1 where it is damaged
    Check(commands::check::Args),
    /// Count what sessions used: tokens, money, tools, by session, day, model or folder
    Stats(commands::stats::Args),
    /// Tell which agent and which conversation a message belongs to
    Route(commands::route::Args),
    /// List conversations with their keys and aliases
    Aliases(commands::aliases::Args),
    /// Take a message to its conversation, and print the answer
    #[cfg(feature = "agent")]
    Inbound(commands::inbound::Args),
    /// Print the path of a session's file
    Path(commands::path::Args),
    /// Move sessions to the trash
    Rm(commands::rm::Args),
    /// Bring a session back from the trash
    Restore(commands::restore::Args),
    /// List what lies in the trash
    Trash(commands::trash::Args),
    /// Remove from the trash, for good
    Purge(commands::purge::Args),
    /// Move sessions to the trash that nobody wrote to for long
    Prune(commands::prune::Args),
    /// Keep a session from being pruned
    Pin(commands::pin::Args),
    /// Let a session be pruned again
    Unpin(commands::pin::Args),
    /// Empty a session; its old log goes to the trash
    Reset(commands::reset::Args),
    /// Drop superseded pointers and damage from a log; the old log is kept
    Vacuum(commands::vacuum::Args),
    /// Print a completion script for a shell
    Completion(commands::completion::Args),
    /// Print the manual
    Man(commands::man::Args),
}
