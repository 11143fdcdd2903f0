//! `forkwood trash`

use forkwood::storage::Trashed;

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::place::Place;
use crate::style::{self, paint};
use crate::{json, time};

/// Nothing to choose.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(ctx: &mut Ctx, _: Args) -> Result<Outcome> {
    let trashed = Place::of(ctx)?.open(ctx, true, true)?.trashed().await?;
    for row in &trashed {
        tell(ctx, row)?;
    }
    ctx.out.flush()?;
    if trashed.is_empty() {
        ctx.out.note("the trash is empty");
    }
    Ok(Outcome::Done)
}

/// One line for something in the trash, or gone from it.
pub(crate) fn tell(ctx: &mut Ctx, row: &Trashed) -> Result {
    if ctx.json() {
        let mut out = json::object();
        out.str("session", row.id.as_str())
            .raw("deleted", &json::time(Some(row.at)))
            .raw("path", &json::path(row.path.as_deref()));
        return ctx.out.json(out.finish());
    }
    ctx.out.line(format!("{}  {}", paint(style::ID, &row.id), time::short(Some(row.at))))
}
