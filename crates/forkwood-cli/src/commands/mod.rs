//! The commands, one a file.

pub(crate) mod aliases;
pub(crate) mod append;
pub(crate) mod branches;
#[cfg(feature = "agent")]
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod import;
#[cfg(feature = "agent")]
pub(crate) mod inbound;
pub(crate) mod label;
pub(crate) mod lanes;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod new;
pub(crate) mod path;
pub(crate) mod pin;
pub(crate) mod prune;
pub(crate) mod purge;
pub(crate) mod rename;
pub(crate) mod reset;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod rewind;
pub(crate) mod rm;
pub(crate) mod route;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod trash;
pub(crate) mod tree;
pub(crate) mod vacuum;
pub(crate) mod watch;

use crate::args::Command;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};

/// Runs a command.
pub(crate) async fn run(ctx: &mut Ctx, command: Command) -> Result<Outcome> {
    match command {
        Command::New(args) => new::run(ctx, args).await,
        Command::List(args) => list::run(ctx, args).await,
        Command::Show(args) => show::run(ctx, args).await,
        Command::Tree(args) => tree::run(ctx, args).await,
        Command::Context(args) => context::run(ctx, args).await,
        Command::Append(args) => append::run(ctx, args).await,
        Command::Rewind(args) => rewind::run(ctx, args).await,
        Command::Fork(args) => fork::run(ctx, args).await,
        Command::Import(args) => import::run(ctx, args).await,
        Command::Migrate(args) => migrate::run(ctx, args),
        Command::Export(args) => export::run(ctx, args).await,
        Command::Convert(args) => convert::run(ctx, args).await,
        Command::Compact(args) => compact::run(ctx, args).await,
        #[cfg(feature = "agent")]
        Command::Chat(args) => chat::run(ctx, args),
        Command::Label(args) => label::run(ctx, args).await,
        Command::Rename(args) => rename::run(ctx, args).await,
        Command::Branches(args) => branches::run(ctx, args).await,
        Command::Lanes(args) => lanes::run(ctx, args).await,
        Command::Diff(args) => diff::run(ctx, args).await,
        Command::Resume(args) => resume::run(ctx, args).await,
        Command::Watch(args) => watch::run(ctx, args).await,
        Command::Check(args) => check::run(ctx, args).await,
        Command::Stats(args) => stats::run(ctx, args).await,
        Command::Aliases(args) => aliases::run(ctx, args).await,
        #[cfg(feature = "agent")]
        Command::Inbound(args) => inbound::run(ctx, args),
        Command::Route(args) => route::run(ctx, args).await,
        Command::Path(args) => path::run(ctx, args).await,
        Command::Rm(args) => rm::run(ctx, args).await,
        Command::Restore(args) => restore::run(ctx, args).await,
        Command::Trash(args) => trash::run(ctx, args).await,
        Command::Purge(args) => purge::run(ctx, args).await,
        Command::Prune(args) => prune::run(ctx, args).await,
        Command::Pin(args) => pin::run(ctx, args, true).await,
        Command::Unpin(args) => pin::run(ctx, args, false).await,
        Command::Reset(args) => reset::run(ctx, args).await,
        Command::Vacuum(args) => vacuum::run(ctx, args).await,
        Command::Completion(args) => completion::run(ctx, args),
        Command::Man(args) => man::run(ctx, args),
    }
}
