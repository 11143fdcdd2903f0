//! `forkwood completion`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};

/// For which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "forkwood", &mut script);
    ctx.out.bytes(&script)?;
    Ok(Outcome::Done)
}
