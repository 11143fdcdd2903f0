//! The summary in what a model said.

use forkwood_core::Text;

/// What stands in the first `<summary>`, without blanks around it; where there is none, all but
/// the `<analysis>`. Tags that are not closed are text.
pub fn extract_summary(answer: &Text) -> Text {
    let answer = answer.to_string_lossy();
    if let Some((_, inner, _)) = element(&answer, "<summary>", "</summary>") {
        return inner.trim().into();
    }
    match element(&answer, "<analysis>", "</analysis>") {
        Some((before, _, after)) => format!("{before}{after}").trim().into(),
        None => answer.trim().into(),
    }
}

/// What stands before, in and after an element.
fn element<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, rest) = text.split_once(open)?;
    let (inner, after) = rest.split_once(close)?;
    Some((before, inner, after))
}
