use std::sync::Mutex;

use async_trait::async_trait;
use forkwood_core::{Block, Body, Content, Entry, EntryId, FoldRules, Json, Lane, Message, Role};

use super::{BranchOptions, MAX_TOKENS, PREAMBLE, collect, entry, plan, summarise};
use crate::estimate::pi::estimate_item;
use crate::{Purpose, Summariser, SummaryError, SummaryReply, SummaryRequest};

fn path(bodies: &[(&str, Body)]) -> Vec<Entry> {
    let make = |(id, body): &(&str, Body)| Entry {
        id: EntryId::new(id),
        parent_id: None,
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: body.clone(),
        extra: Vec::new(),
    };
    bodies.iter().map(make).collect()
}

fn user(text: &str) -> Body {
    Body::message(Message::user(text))
}

fn call(tool: &str, file: &str) -> Body {
    let arguments = Json::from_value(&std::collections::BTreeMap::from([("path", file)])).unwrap();
    let block = Block::tool_call("c", tool, arguments);
    Body::message(Message::new(Role::Assistant, Content::Blocks(vec![block])))
}

fn earlier(text: &str, files: &str) -> Body {
    Body::BranchSummary {
        summary: text.into(),
        from_id: None,
        details: Some(Json::parse(files).unwrap()),
    }
}

#[test]
fn from_the_common_ancestor() {
    let left = path(&[("a", user("1")), ("b", user("2")), ("c", user("3"))]);
    let target = path(&[("a", user("1")), ("x", user("4"))]);
    let branch = collect(&left, &target);
    assert_eq!(branch.common_ancestor, Some("a".into()));
    assert_eq!(branch.entries.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(collect(&left, &left).entries, []);
    let none = collect(&left, &path(&[("z", user("0"))]));
    assert_eq!((none.common_ancestor, none.entries.len()), (None, 3));
    // Forward along the same path: nothing is left.
    assert_eq!(collect(&left[..2], &left).entries, []);
}

#[test]
fn newest_first_until_the_budget_is_full() {
    let long = "x".repeat(400);
    let left = path(&[
        ("a", earlier(&long, r#"{"readFiles":["r"],"modifiedFiles":["m"]}"#)),
        ("b", user(&long)),
        ("c", Body::message(Message::tool("c", "result"))),
        ("d", user(&long)),
    ]);
    let branch = collect(&left, &[]);
    let of = |budget| plan(&branch, budget, &FoldRules::NATIVE, &estimate_item).unwrap();
    assert_eq!((of(0).messages.len(), of(0).tokens), (3, 300));
    assert_eq!(of(200).messages.len(), 2);
    assert_eq!(of(100).messages.len(), 1);
    // A summary tells most: it comes along while less than nine tenths are full.
    assert_eq!(of(230).messages.len(), 3);
    assert_eq!(of(210).messages.len(), 2);
    let files = of(100).files;
    assert_eq!((files.read(), files.modified()), (vec!["r".into()], vec!["m".into()]));
    assert_eq!(of(0).from_id, Some("d".into()));
}

#[test]
fn edits_count_and_nothing_said_is_nothing_to_sum_up() {
    let edit =
        |target: &str, replacement| Body::ContextEdit { target_id: target.into(), replacement };
    let left = path(&[
        ("a", user("secret")),
        ("b", user("plain")),
        ("c", edit("b", None)),
        ("d", edit("b", Some(Content::Text("edited".into())))),
        ("e", edit("a", None)),
    ]);
    let of =
        |entries: &[Entry]| plan(&collect(entries, &[]), 0, &FoldRules::NATIVE, &estimate_item);
    assert_eq!(of(&left).unwrap().messages, [Message::user("edited")]);
    assert_eq!(of(&path(&[("a", Body::message(Message::tool("x", "y")))])), None);
    assert_eq!(of(&[]), None);
}

struct Scripted(&'static str, Mutex<Vec<SummaryRequest>>);

#[async_trait]
impl Summariser for Scripted {
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError> {
        self.1.lock().unwrap().push(request);
        let usage = Some(Json::parse(r#"{"input":5}"#).unwrap());
        Ok(SummaryReply { text: self.0.into(), usage, ..SummaryReply::default() })
    }
}

#[test]
fn becomes_an_entry() {
    let left = path(&[("a", user("try it")), ("b", call("read", "r")), ("c", call("edit", "m"))]);
    let plan = plan(&collect(&left, &[]), 0, &FoldRules::NATIVE, &estimate_item).unwrap();
    let scripted = Scripted("<summary>tried</summary>", Mutex::default());
    let options =
        BranchOptions { instructions: Some("the files".into()), ..BranchOptions::default() };
    let made = pollster::block_on(summarise(&plan, &options, &scripted)).unwrap();
    let Body::BranchSummary { summary, from_id, details } = &made.body else { panic!() };
    assert_eq!(
        summary.to_string(),
        format!(
            "{PREAMBLE}tried\n\n<read-files>\nr\n</read-files>\n\n<modified-files>\nm\n</modified-files>"
        )
    );
    assert_eq!(from_id, &Some("c".into()));
    assert_eq!(details.as_ref().unwrap().get(), r#"{"readFiles":["r"],"modifiedFiles":["m"]}"#);
    assert!(matches!(made.usage, Some(Body::Usage { .. })));
    let requests = scripted.1.lock().unwrap();
    assert_eq!((requests[0].purpose, requests[0].max_tokens), (Purpose::Branch, MAX_TOKENS));
    let prompt = requests[0].prompt.to_string();
    assert!(prompt.starts_with("<conversation>\n[User]: try it\n\n[Assistant tool calls]: read("));
    assert!(prompt.ends_with("Additional focus: the files"));
    assert!(!prompt.contains("Critical Context"));
    let empty = Scripted("<summary> </summary>", Mutex::default());
    let error = pollster::block_on(summarise(&plan, &options, &empty)).unwrap_err();
    assert_eq!(error.kind(), "empty_summary");
    // One that is written already says the same, once.
    let again = entry(&plan, &format!("{PREAMBLE}tried").into());
    assert_eq!(again, made.body);
}
