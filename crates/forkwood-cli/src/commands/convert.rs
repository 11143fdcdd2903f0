//! `forkwood convert`

use std::path::{Path, PathBuf};

use forkwood::ErrorKind;

use crate::commands::export::{self, How};
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::target;

/// What to read and what to write. All branches go along, but with --at.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A session file of any known format; it is only read
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// Where to write: the same as -o
    #[arg(value_name = "OUT", conflicts_with = "output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    how: How,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let path = ctx.absolute(&args.input);
    if path.symlink_metadata().is_err() {
        let message = format!("{}: there is no such file", path.display());
        return Err(CliError::new(ErrorKind::NotFound, message)
            .hint("`forkwood export` writes a session of the store"));
    }
    let session = target::open(ctx, &by_path(&path)).await?;
    export::write(ctx, &session, &args.how.or_to(args.out), true).await
}

/// The path as an argument that can mean nothing else.
fn by_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
