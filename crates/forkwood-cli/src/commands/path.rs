//! `forkwood path`

use forkwood::ErrorKind;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::{json, target};

/// Whose path.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open(ctx, &args.session).await?;
    let path = session.facts().path.clone().ok_or_else(|| {
        CliError::new(ErrorKind::Unsupported, "the session is not kept in a file")
    })?;
    if ctx.json() {
        let mut out = json::object();
        out.text("session", &session.facts().shown_id).raw("path", &json::path(Some(&path)));
        ctx.out.json(out.finish())?;
    } else {
        // For programs: exactly the path, whatever it holds.
        ctx.out.bytes(path.as_os_str().as_encoded_bytes())?;
        ctx.out.bytes(b"\n")?;
    }
    Ok(Outcome::Done)
}
