//! `forkwood tree`

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::{ErrorKind, Lane};
use forkwood_view::rows::{Row, Style};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::width::{cut, width};

use crate::commands::show::{heading, tell_diagnostics};
use crate::ctx::Ctx;
use crate::entries::Short;
use crate::error::{CliError, Outcome, Result};
use crate::style::{self, paint};
use crate::{json, target, tree};

/// How to draw.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// Draw with ASCII characters
    #[arg(long)]
    ascii: bool,

    /// The view of the file's owner: no bridges over damage
    #[arg(long)]
    no_bridge: bool,
}

/// Columns of a summary where nobody asked for a width.
pub(crate) const SUMMARY: usize = 200;

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open_session(ctx, &args.session, !args.no_bridge).await?;
    let style = if args.ascii { Style::Ascii } else { Style::Unicode };
    let rows = tree::load(&session, SUMMARY, style).await?;
    if ctx.json() {
        let mut out = ObjectWriter::new();
        let leaf = rows.iter().find(|row| row.leaf).map(|row| &row.id);
        out.raw("leaf", &json::id(leaf)).raw("rows", &rows_json(&rows)?);
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    ctx.out.page();
    heading(ctx, &session)?;
    draw_all(ctx, &rows, style)?;
    if rows.is_empty() {
        ctx.out.note("the session has no entries yet");
    }
    tell_diagnostics(ctx, &session).await;
    Ok(Outcome::Done)
}

/// Rows as JSON.
pub(crate) fn rows_json(rows: &[Row]) -> Result<String> {
    let rows = rows.iter().map(serde_json::to_string).collect::<std::result::Result<Vec<_>, _>>();
    rows.map(join_array).map_err(|error| {
        CliError::new(ErrorKind::Invalid, format!("a row cannot be JSON: {error}"))
    })
}

/// Draws rows, one a line.
pub(crate) fn draw_all(ctx: &mut Ctx, rows: &[Row], style: Style) -> Result {
    let short = Short::new(rows.iter().map(|row| &row.id));
    for row in rows {
        draw(ctx, row, style, &short)?;
    }
    ctx.out.flush()
}

fn draw(ctx: &mut Ctx, row: &Row, style: Style, short: &Short) -> Result {
    let id = short.of(&row.id);
    let mut marks = String::new();
    let mut marks_width = 0;
    if let Some(label) = &row.label {
        let label = format!("[{}]", sanitise::text(label, Layout::Line));
        marks_width += width(&label) + 2;
        marks.push_str(&format!("  {}", paint(style::LABEL, label)));
    }
    if !row.lanes.is_empty() {
        let lanes: Vec<&str> = row.lanes.iter().map(Lane::as_str).collect();
        let lanes = format!("({})", lanes.join(", "));
        marks_width += width(&lanes) + 2;
        marks.push_str(&format!("  {}", paint(style::LANE, lanes)));
    }
    let sign = row.sign(style);
    let used = width(&row.gutter) + 1 + 2 + width(&id) + 2 + marks_width;
    let text = cut(&row.text, ctx.out.columns().saturating_sub(used).max(20)).into_owned();
    let (sign_style, text) = match (row.leaf, row.active) {
        (true, _) => (style::LEAF, paint(style::BOLD, text)),
        (_, true) => (style::LEAF, text),
        _ => (style::DIM, text),
    };
    let gutter = if row.gutter.is_empty() { String::new() } else { paint(style::DIM, &row.gutter) };
    ctx.out.line(format!(
        "{gutter}{}  {}  {text}{marks}",
        paint(sign_style, sign),
        paint(style::ID, id),
    ))
}
