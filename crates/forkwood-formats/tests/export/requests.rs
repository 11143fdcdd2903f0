//! Requests of other programs, taken in.

use std::path::Path;
use std::sync::Arc;

use forkwood::storage::MemoryStorage;
use forkwood::storage::disk::{Disk, SimDisk};
use forkwood::{Session, SessionStore};
use forkwood_formats::export::{Scope, Target};
use forkwood_formats::import::{self, Import};
use pollster::block_on as run;

use crate::compare::flat;
use crate::world::{gather, write};

/// The dialect, and the session that is made of a document; `None` where no tool knows it.
fn read(text: &str) -> Option<(&'static str, Session)> {
    let disk = SimDisk::new();
    disk.put(Path::new("/in/request.json"), text.as_bytes());
    let shared: Arc<dyn Disk> = Arc::new(disk);
    let found = import::find(shared.as_ref(), Path::new("/in"), &import::tools());
    let store = SessionStore::new(Arc::new(MemoryStorage::new().unwrap()));
    let mut reports = Vec::new();
    let mut import = run(Import::start(&store, shared, None)).unwrap();
    run(import.take(&found.units, &mut |report| reports.push(report))).unwrap();
    let report = reports.pop()?;
    assert!(report.error.is_none(), "{report:?}");
    Some((report.format?, run(store.open(report.session?.as_str())).unwrap()))
}

fn words(session: &Session) -> Vec<String> {
    let context = run(session.context()).unwrap();
    let words = flat(context.messages());
    words.into_iter().map(|(role, kind, text)| format!("{role} {kind} {text}")).collect()
}

const CHAT: &str = r#"{"model":"m","temperature":1,"messages":[
  {"role":"system","content":"rules"},
  {"role":"user","name":"me","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}}]},
  {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ \"a\": 1 }"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"no json"}}]},
  {"role":"tool","tool_call_id":"c1","content":"one"},
  {"role":"assistant","content":"done","refusal":null}
]}"#;

const RESPONSES: &str = r#"{"model":"m","instructions":"rules","input":[
  {"role":"user","content":"hi"},
  {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"},
  {"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"},
  {"type":"function_call_output","call_id":"c1","output":"one"},
  {"type":"web_search_call","id":"ws_1","status":"completed"},
  {"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"done","annotations":[]}]}
]}"#;

const ANTHROPIC: &str = r#"{"model":"m","max_tokens":10,"system":[{"type":"text","text":"rules"}],"messages":[
  {"role":"user","content":"hi"},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"r"},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}},{"type":"tool_use","id":"c2","name":"f","input":{}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one","cache_control":{"type":"ephemeral"}},{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"two"}]},{"type":"text","text":"go on"}]},
  {"role":"assistant","content":[{"type":"text","text":"done"},{"type":"server_tool_use","id":"x","name":"web_search","input":{}}]}
]}"#;

#[test]
fn each_is_known_and_read_whole() {
    let (format, chat) = read(CHAT).unwrap();
    assert_eq!(format, "openai-chat");
    assert_eq!(
        words(&chat),
        [
            r#"system text "rules""#,
            r#"user text "see""#,
            r#"user image Inline("AAAA")"#,
            r#"user other {"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}}"#,
            r#"assistant thinking "hm""#,
            r#"assistant call c1 f {"a":1}"#,
            r#"assistant call c2 f "no json""#,
            r#"tool text "one""#,
            r#"assistant text "done""#,
        ]
    );
    let model = run(chat.settings(&run(chat.current_leaf()).unwrap().unwrap())).unwrap().model;
    assert_eq!(model.unwrap(), "m");
    let (format, responses) = read(RESPONSES).unwrap();
    assert_eq!(format, "openai-responses");
    assert_eq!(
        words(&responses),
        [
            r#"system text "rules""#,
            r#"user text "hi""#,
            r#"assistant thinking "hm""#,
            "assistant call c1 f {}",
            r#"tool text "one""#,
            r#"assistant other {"type":"web_search_call","id":"ws_1","status":"completed"}"#,
            r#"assistant text "done""#,
        ]
    );
    let (format, anthropic) = read(ANTHROPIC).unwrap();
    assert_eq!(format, "anthropic");
    assert_eq!(
        words(&anthropic),
        [
            r#"system text "rules""#,
            r#"user text "hi""#,
            r#"assistant thinking "hm""#,
            r#"assistant thinking """#,
            r#"assistant call c1 f {"a":1}"#,
            "assistant call c2 f {}",
            r#"tool text "one""#,
            r#"tool text "two""#,
            r#"user text "go on""#,
            r#"assistant text "done""#,
            r#"assistant other {"type":"server_tool_use","id":"x","name":"web_search","input":{}}"#,
        ]
    );
}

/// JSON with keys in order.
fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn each_goes_back_as_it_came() {
    for (text, target, key) in [
        (CHAT, Target::OpenAiChat, "messages"),
        (RESPONSES, Target::OpenAiResponses, "input"),
        (ANTHROPIC, Target::Anthropic, "messages"),
    ] {
        let (_, session) = read(text).unwrap();
        let written = write(&gather(&session, &Scope::Current), target);
        let (before, after) = (value(text), value(&written.files[0].text));
        let mut before = before[key].clone();
        let mut after = after[key].clone();
        if target == Target::OpenAiResponses {
            // Instructions are the first message, and messages have types and parts.
            after.as_array_mut().unwrap().remove(0);
            let first = &mut before[0];
            first["type"] = "message".into();
            first["content"] = serde_json::json!([{"type": "input_text", "text": "hi"}]);
        }
        if target == Target::Anthropic {
            // What the person said besides the results is a message of its own.
            let both = after.as_array_mut().unwrap();
            let said = both.remove(3);
            let blocks = said["content"].as_array().unwrap().clone();
            both[2]["content"].as_array_mut().unwrap().extend(blocks);
        }
        assert_eq!(before, after, "{target:?}");
    }
}

#[test]
fn other_documents_are_none() {
    for text in [
        r#"{"messages":[]}"#,
        r#"{"messages":["role"]}"#,
        r#"{"messages":[{"role":"robot","content":"x"}]}"#,
        r#"{"messages":[{"role":"user"}]}"#,
        r#"{"input":[{"type":"role"}]}"#,
        r#"{"input":"role"}"#,
        r#"["role"]"#,
        r#"{"name":"x","role":"y"}"#,
        "{\"role\"",
        "[]",
    ] {
        assert!(read(text).is_none(), "{text}");
    }
}

#[test]
fn deep_nesting_is_read_without_recursion() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let text = format!(r#"{{"messages":[{{"role":"user","content":{deep}}}]}}"#);
    let (_, session) = read(&text).unwrap();
    for target in Target::ALL {
        write(&gather(&session, &Scope::AllBranches), target);
    }
}
