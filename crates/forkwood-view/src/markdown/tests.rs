use forkwood_core::entry::codec::{Reader, decode};
use forkwood_core::{Entry, Text};

use super::{branch, entries, title};

fn entry(fields: &str) -> Entry {
    let json = format!(r#"{{"id":"e1","parentId":"e0","type":"message","message":{fields}}}"#);
    decode(&json, &mut Reader::lossless()).unwrap()
}

#[test]
fn who_spoke_stands_above_what_was_said() {
    let all = [
        entry(r#"{"role":"user","content":"hi\u001b[2J"}"#),
        entry(
            r#"{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"a\nb"},{"type":"toolCall","id":"c","name":"sh","arguments":{"x":1}}]}"#,
        ),
        entry(r#"{"role":"tool","toolName":"sh","isError":true,"content":"a ``` fence"}"#),
    ];
    let text = entries(&all, |_| None);
    assert!(text.starts_with("\n## user\n\nhi^[[2J\n"), "{text}");
    assert!(text.contains("## assistant (m)\n\n> a\n> b\n\nCalls `sh`:\n\n```\n{\"x\":1}\n```\n"));
    assert!(text.contains("## tool (sh), failed\n\n````\na ``` fence\n````\n"), "{text}");
    let labelled = entries(&all[..1], |_| Some(Text::from("mark\n# no heading")));
    assert_eq!(labelled.lines().filter(|line| line.starts_with('#')).count(), 1, "{labelled}");
}

#[test]
fn headings_are_one_line() {
    assert_eq!(title(None), "# Conversation\n");
    assert_eq!(title(Some(&Text::from("a\n# b"))).lines().count(), 1);
    let from = entry(r#"{"role":"user","content":"one\n# two"}"#);
    let heading = branch(2, Some(&from));
    assert!(heading.contains("# Branch 2, behind: user: one"), "{heading}");
    assert_eq!(heading.lines().filter(|line| line.starts_with('#')).count(), 1);
}
