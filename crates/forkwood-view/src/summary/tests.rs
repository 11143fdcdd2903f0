use forkwood_core::entry::codec::{Reader, decode};

use super::{entry, size, thousands};
use crate::width::width;

fn shown(fields: &str, columns: usize) -> String {
    let json = format!(r#"{{"id":"e1","parentId":"e0",{fields}}}"#);
    let decoded = decode(&json, &mut Reader::lossless()).unwrap();
    let line = entry(&decoded, columns);
    assert!(width(&line) <= columns, "{line:?} is wider than {columns}");
    line
}

#[test]
fn every_type_has_a_line() {
    let check = |fields: &str, expect: &str| assert_eq!(shown(fields, 60), expect, "{fields}");
    check(
        r#""type":"session_info","sessionId":"20261120-080541-7c3e91d4","version":1,"title":"T""#,
        "session 20261120-080541-7c3e91d4: T",
    );
    check(r#""type":"session_info","title":"New name""#, "title: New name");
    check(r#""type":"session_info","title":"""#, "title cleared");
    check(r#""type":"message","message":{"role":"user","content":"plan A"}"#, "user: plan A");
    check(
        r#""type":"message","message":{"role":"user","content":"two\n\n  lines"}"#,
        "user: two lines",
    );
    check(
        r#""type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"bash","arguments":{}}]}"#,
        "assistant: I look. -> read, bash",
    );
    check(
        r#""type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}]}"#,
        "assistant -> read",
    );
    check(
        r#""type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}"#,
        "assistant: (thinking) hm",
    );
    check(r#""type":"message","message":{"role":"assistant","content":[]}"#, "assistant");
    check(r#""type":"message","message":{"role":"user","content":"list: "}"#, "user: list:");
    check(
        r#""type":"message","message":{"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"c","type":"function","function":{"name":"edit","arguments":"{}"}}]}}"#,
        "assistant -> edit",
    );
    check(
        r#""type":"message","message":{"role":"tool","toolCallId":"c1","toolName":"bash","isError":true,"content":"no such file"}"#,
        "tool bash failed: no such file",
    );
    check(
        r#""type":"message","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","base64":"AAAA","mimeType":"image/png"}]}"#,
        "user: see [image image/png]",
    );
    check(r#""type":"model_change","model":"gpt-5","provider":"openai""#, "model: openai/gpt-5");
    check(r#""type":"thinking_level_change","thinkingLevel":"high""#, "thinking: high");
    check(r#""type":"active_tools_change","activeToolNames":["a","b"]"#, "tools: a, b");
    check(r#""type":"active_tools_change","activeToolNames":[]"#, "tools: none");
    check(
        r#""type":"compaction","summary":"So far","tokensBefore":45000,"tokensAfter":900"#,
        "compaction 45,000 -> 900 tokens: So far",
    );
    check(r#""type":"branch_summary","summary":"Dead end""#, "branch summary: Dead end");
    check(r#""type":"label","label":"good","targetId":"e5""#, "label: good on e5");
    check(r#""type":"label","targetId":"e5""#, "label cleared on e5");
    check(r#""type":"leaf","leafId":"e3""#, "moved to e3");
    check(r#""type":"custom","namespace":"x","data":{"a":1}"#, r#"custom x: {"a":1}"#);
    check(r#""type":"custom_message","namespace":"x","content":"hi","display":true"#, "x: hi");
    check(
        r#""type":"context_edit","targetId":"e2","replacement":null"#,
        "context edit: e2 left out",
    );
    check(
        r#""type":"operation","operationId":"o","phase":"finished","kind":"tool","outcome":"ok""#,
        "operation tool finished: ok",
    );
    check(r#""type":"from_the_future","x":1"#, "from_the_future");
}

#[test]
fn what_acts_on_a_terminal_is_shown() {
    let line =
        shown(r#""type":"message","message":{"role":"user","content":"\u001b[2Jgone\ud83d"}"#, 60);
    assert_eq!(line, "user: ^[[2Jgone<U+D83D>");
}

#[test]
fn long_texts_are_cut_early_and_their_size_is_told() {
    let long = "word ".repeat(4_000_000);
    let fields = format!(r#""type":"message","message":{{"role":"user","content":"{long}"}}"#);
    assert_eq!(shown(&fields, 40), "user: word word word word... (+20.0 MB)");
    let fields = format!(
        r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"{}"}},{{"type":"toolCall","id":"c","name":"bash","arguments":{{}}}}]}}"#,
        "x".repeat(80)
    );
    assert_eq!(shown(&fields, 40), "assistant: xxxxxxxxxxxxxxxxxx... -> bash");
    assert_eq!(shown(&fields, 6), " ->...");
}

#[test]
fn sizes_and_numbers_are_for_people() {
    for (bytes, expect) in [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (999_999, "1.0 MB"),
        (80_000_000, "80.0 MB"),
        (3_000_000_000_000_000, "3000.0 TB"),
    ] {
        assert_eq!(size(bytes), expect);
    }
    for (number, expect) in [(0, "0"), (999, "999"), (45_000, "45,000"), (1_234_567, "1,234,567")] {
        assert_eq!(thousands(number), expect);
    }
}
