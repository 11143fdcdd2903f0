//! `forkwood vacuum`

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::target;

/// What to drop.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// Branches that no lane and no label reaches, too
    #[arg(long)]
    prune_branches: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open(ctx, &args.session).await?;
    let done = session.vacuum(args.prune_branches).await?;
    super::reset::print(ctx, &session, &done, "there was nothing to drop")
}
