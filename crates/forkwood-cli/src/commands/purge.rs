//! `forkwood purge`

use forkwood::Timestamp;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::place::Place;
use crate::{target, time};

/// What to remove for good.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id of a session in the trash, or a unique prefix
    #[arg(
        value_name = "ID",
        required_unless_present = "older_than",
        conflicts_with = "older_than"
    )]
    id: Option<String>,

    /// All that were deleted longer ago than this: 30d, 12h, 0s
    #[arg(long, value_name = "AGE", value_parser = time::parse_age)]
    older_than: Option<i64>,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    if let Some(id) = &args.id {
        target::check_query(id)?;
    }
    if !args.yes {
        let what = match &args.id {
            Some(id) => format!("Remove {id} from the trash, for good? [y/N]"),
            None => "Remove these sessions from the trash, for good? [y/N]".to_owned(),
        };
        match ctx.out.ask(&what).as_deref() {
            Some("y" | "Y" | "yes") => {}
            Some(_) => return Ok(Outcome::Found),
            None => {
                return Err(CliError::usage("this removes for good, and nobody can be asked")
                    .hint("say -y to do it without a question"));
            }
        }
    }
    let store = Place::of(ctx)?.open(ctx, true, true)?;
    let gone = match (&args.id, args.older_than) {
        (Some(id), _) => store.purge(id).await?,
        (None, age) => store.purge_before(limit(age)).await?,
    };
    for row in &gone {
        super::trash::tell(ctx, row)?;
    }
    ctx.out.flush()?;
    ctx.out.done(format!("{} removed for good", gone.len()));
    Ok(Outcome::Done)
}

fn limit(age: Option<i64>) -> Timestamp {
    time::before(time::now(), age.unwrap_or(0))
}
