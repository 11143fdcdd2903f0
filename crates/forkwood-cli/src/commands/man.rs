//! `forkwood man`

use std::path::PathBuf;

use clap::CommandFactory;

use crate::args::Cli;
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};

/// Which page.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The page of one command, instead of that of the program
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Option<String>,

    /// Write all pages into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut program = Cli::command();
    program.build();
    if let Some(folder) = &args.out {
        let folder = ctx.absolute(folder);
        std::fs::create_dir_all(&folder)
            .and_then(|()| clap_mangen::generate_to(program, &folder))
            .map_err(|error| CliError::io("write the manual", &folder, &error))?;
        return Ok(Outcome::Done);
    }
    let page = match &args.command {
        Some(name) => {
            let found = program.find_subcommand(name).cloned();
            let found =
                found.ok_or_else(|| CliError::usage(format!("there is no command {name:?}")))?;
            let title = format!("forkwood-{}", found.get_name());
            found.display_name(title)
        }
        None => program,
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff).map_err(|error| CliError::output(&error))?;
    ctx.out.bytes(&roff)?;
    Ok(Outcome::Done)
}
