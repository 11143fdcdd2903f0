//! `forkwood rm`

use std::path::Path;

use super::resume;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::{json, place, target};

/// The trash of a folder that is no store.
const FOLDER_TRASH: &str = ".forkwood-trash";

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,

    /// Tell what would go, and leave it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    // All of them are found before the first one goes: a slip in one name removes nothing.
    let mut found = Vec::new();
    for query in &args.sessions {
        found.push(target::find(ctx, query, true).await?);
    }
    for (store, id) in found {
        let trashed = match args.dry_run {
            true => None,
            false => Some(store.storage().delete(&id, false).await?),
        };
        let path = trashed.as_ref().and_then(|trashed| trashed.path.clone());
        if ctx.json() {
            let mut out = json::object();
            out.str("session", id.as_str())
                .raw("removed", json::boolean(trashed.is_some()))
                .raw("trash", &json::path(path.as_deref()));
            ctx.out.json(out.finish())?;
        } else {
            ctx.out.line(id.as_str())?;
        }
        match trashed {
            Some(_) => {
                let place = path.as_deref().map(|path| place_of(ctx, path)).unwrap_or_default();
                let restore = format!("forkwood {place}restore {id}");
                ctx.out.done(format!("moved to the trash; `{restore}` brings it back"));
            }
            None => ctx.out.done("would go to the trash"),
        }
    }
    Ok(Outcome::Done)
}

/// The switch that leads to the trash which holds a file, where `forkwood restore` alone, run here,
/// would look in another one.
fn place_of(ctx: &Ctx, trashed: &Path) -> String {
    // The folder of what was deleted lies in the trash, and the trash in its store or folder.
    let Some(trash) = trashed.parent().and_then(Path::parent) else { return String::new() };
    let Some(root) = trash.parent() else { return String::new() };
    let switch = match trash.file_name().is_some_and(|name| name == FOLDER_TRASH) {
        true => "--dir",
        false if same(root, &place::default_root()) => return String::new(),
        false => "--store",
    };
    format!("{switch} {} ", resume::word(&ctx.absolute(root).to_string_lossy()))
}

fn same(one: &Path, other: &Path) -> bool {
    one == other
        || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
