//! Text the way JavaScript sees it, and the words that Pi sends to a model.

use forkwood_core::Text;
use forkwood_core::json::Object;

/// `String.prototype.trim`: U+FEFF counts as white space, U+0085 does not. A text with lone
/// surrogates stays as it is.
pub(crate) fn js_trim(text: &Text) -> Text {
    let white = |c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}';
    match text.as_str() {
        Some(plain) => Text::from(plain.trim_matches(white)),
        None => text.clone(),
    }
}

/// A command that the user ran, in the words that Pi sends to a model.
pub(crate) fn bash_text(record: &Object<'_>) -> Text {
    let field = |key: &str| record.text(key).filter(|text| !text.is_empty());
    let mut parts = vec![Text::from("Ran `"), field("command").unwrap_or_default(), "`\n".into()];
    match field("output") {
        Some(output) => parts.extend(["```\n".into(), output, "\n```".into()]),
        None => parts.push("(no output)".into()),
    }
    if record.get("cancelled") == Some("true") {
        parts.push("\n\n(command cancelled)".into());
    } else if let Some(code) = record.get("exitCode").filter(|code| !matches!(*code, "0" | "null"))
    {
        parts.push(format!("\n\nCommand exited with code {code}").into());
    }
    if record.get("truncated") == Some("true")
        && let Some(path) = field("fullOutputPath")
    {
        parts.extend(["\n\n[Output truncated. Full output: ".into(), path, "]".into()]);
    }
    Text::concat(&parts)
}

/// A summary of compacted history, in the words that Pi sends to a model.
pub(crate) fn compaction_text(summary: &Text) -> Text {
    Text::concat([
        &Text::from(
            "The conversation history before this point was compacted into the following \
             summary:\n\n<summary>\n",
        ),
        summary,
        &Text::from("\n</summary>"),
    ])
}

/// A summary of a branch, in the words that Pi sends to a model.
pub(crate) fn branch_text(summary: &Text) -> Text {
    Text::concat([
        &Text::from(
            "The following is a summary of a branch that this conversation came back from:\n\n\
             <summary>\n",
        ),
        summary,
        &Text::from("</summary>"),
    ])
}
