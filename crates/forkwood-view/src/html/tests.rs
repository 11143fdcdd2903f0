use forkwood_core::EntryId;
use forkwood_core::entry::codec::{Reader, decode};
use serde_json::{Value, json};

use super::*;

fn entry(value: &Value) -> Entry {
    decode(&value.to_string(), &mut Reader::lossless()).unwrap()
}

fn said(id: &str, parent: Option<&str>, message: Value) -> Entry {
    entry(
        &json!({"id": id, "parentId": parent, "timestamp": 1.5, "type": "message", "message": message}),
    )
}

fn made(entries: &[Entry], leaf: Option<&str>) -> String {
    let marks = Marks { leaf: leaf.map(EntryId::from), ..Marks::default() };
    page(&Page {
        title: &Text::from("</title><script>alert(1)</script>"),
        session: &Text::from("s-1"),
        facts: &[("folder".to_owned(), "/a/b".to_owned())],
        entries,
        marks: &marks,
    })
}

fn data_of(html: &str) -> Value {
    let from = html.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
    let to = html[from..].find("</script>").expect("its end") + from;
    serde_json::from_str(&html[from..to]).expect("JSON")
}

#[test]
fn the_page_holds_the_tree_and_what_was_said() {
    let html = made(
        &[
            said("a", None, json!({"role": "user", "content": "**hello**"})),
            said(
                "b",
                Some("a"),
                json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "toolCall", "id": "1", "name": "ls", "arguments": {"p": 1}},
                ]}),
            ),
            said(
                "c",
                Some("a"),
                json!({"role": "tool", "toolName": "ls", "toolCallId": "1",
                "content": "*x*", "isError": true}),
            ),
        ],
        Some("b"),
    );
    let data = data_of(&html);
    let rows = data["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    assert_eq!(
        rows[0]["b"]["parts"],
        json!([{"k": "text", "html": "<p><strong>hello</strong></p>\n"}])
    );
    assert_eq!(data["leaf"].as_u64().map(|at| rows[at as usize]["id"].clone()), Some(json!("b")));
    let b = rows.iter().find(|row| row["id"] == "b").expect("b");
    assert_eq!(b["p"], 0);
    assert_eq!(
        b["b"]["parts"],
        json!([
            {"k": "thinking", "text": "hm"},
            {"k": "call", "name": "ls", "text": "{\"p\":1}"},
        ])
    );
    let c = rows.iter().find(|row| row["id"] == "c").expect("c");
    assert_eq!(c["b"]["failed"], true);
    // What a tool gave is no Markdown.
    assert_eq!(c["b"]["parts"][0]["html"], "<pre>*x*</pre>");
}

#[test]
fn hostile_text_ends_no_element() {
    let hostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>";
    let html = made(
        &[said("<b>", None, json!({"role": hostile, "content": hostile, "model": hostile}))],
        None,
    );
    assert_eq!(html.matches("</script>").count(), 2, "the data's and the script's own");
    assert!(!html.contains("<img"));
    assert!(html.contains("<title>&lt;/title&gt;&lt;script&gt;"));
    assert_eq!(data_of(&html)["rows"][0]["id"], "<b>");
}

#[test]
fn only_images_that_are_harmless_stand_in_the_page() {
    let image = |mime: &str, data: &str| json!({"type": "image", "mimeType": mime, "base64": data});
    let html = made(
        &[said(
            "a",
            None,
            json!({"role": "user", "content": [
                image("image/png", "AAAA"),
                image("image/svg+xml", "AAAA"),
                image("image/png", "AA\" onerror=\"x"),
                image("text/html", "AAAA"),
            ]}),
        )],
        None,
    );
    let data = data_of(&html);
    let shown: Vec<&Value> = data["rows"][0]["b"]["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .filter_map(|part| part.get("data"))
        .collect();
    assert_eq!(shown, [&json!("data:image/png;base64,AAAA")]);
}

#[test]
fn the_policy_names_this_script_and_this_style_alone() {
    let html = made(&[], None);
    let between = |from: &str, to: &str| {
        let start = html.rfind(from).expect("there") + from.len();
        html[start..start + html[start..].find(to).expect("ends")].to_owned()
    };
    let script = between("<script>", "</script>");
    let style = between("<style>", "</style>");
    let policy = between("Content-Security-Policy\" content=\"", "\"").replace("&#39;", "'");
    assert!(policy.contains(&format!("script-src '{}'", hash(&script))), "{policy}");
    assert!(policy.contains(&format!("style-src '{}'", hash(&style))), "{policy}");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for inline in ["onclick=", "style=", "http:", "https:", "unsafe", "@import", "url("] {
        assert!(!html.contains(inline), "{inline}");
    }
}
