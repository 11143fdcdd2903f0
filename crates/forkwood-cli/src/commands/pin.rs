//! `forkwood pin` and `forkwood unpin`

use forkwood::core::json::ObjectWriter;
use forkwood::{ErrorKind, Json};

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::{json, target};

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args, pinned: bool) -> Result<Outcome> {
    let mut session = target::open(ctx, &args.session).await?;
    let metadata = merged(session.facts().info.metadata.as_ref(), pinned)?;
    session.set_metadata(metadata).await?;
    if ctx.json() {
        let mut out = json::object();
        out.text("session", &session.facts().shown_id).raw("pinned", json::boolean(pinned));
        ctx.out.json(out.finish())?;
    }
    ctx.out.done(match pinned {
        true => "the session is pinned: prune leaves it alone",
        false => "the session is not pinned any more",
    });
    Ok(Outcome::Done)
}

/// The metadata that is there, with one field changed.
fn merged(before: Option<&Json>, pinned: bool) -> Result<Json> {
    let mut out = ObjectWriter::new();
    if let Some(object) = before.and_then(Json::as_object) {
        for (key, value) in object.iter().filter(|(key, _)| **key != *"pinned") {
            out.text_key(key, value.get());
        }
    }
    out.raw("pinned", json::boolean(pinned));
    Json::parse(&out.finish())
        .map_err(|error| CliError::new(ErrorKind::Invalid, format!("metadata: {error}")))
}

#[cfg(test)]
mod tests {
    use super::merged;
    use forkwood::Json;

    #[test]
    fn other_metadata_stays() {
        let check = |before: &str, pinned: bool, expect: &str| {
            let before = Json::parse(before).unwrap();
            assert_eq!(merged(Some(&before), pinned).unwrap().get(), expect);
        };
        check("{}", true, r#"{"pinned":true}"#);
        check(r#"{"a":1e400,"pinned":true}"#, false, r#"{"a":1e400,"pinned":false}"#);
        check("null", true, r#"{"pinned":true}"#);
    }
}
