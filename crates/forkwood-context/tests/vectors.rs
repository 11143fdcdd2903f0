//! my-pi-agent's context vectors, in full.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use async_trait::async_trait;
use forkwood_context::compaction::{
    BRIEF_SYSTEM, BRIEF_TEMPLATE, CutRule, PromptStyle, SummaryOptions, Transcript, cut_after_user,
    extract_summary,
};
use forkwood_context::estimate::{Estimator, conversation_chars};
use forkwood_context::layers::{
    MicroConfig, SnipConfig, SpillConfig, SpillItem, micro, snip, spill,
};
use forkwood_context::{
    Config, Input, Pipeline, Prepared, Spill, Summariser, SummaryError, SummaryReply,
    SummaryRequest, TurnSnapshot, View,
};
use forkwood_core::{
    Block, Body, Content, Entry, EntryId, FoldRules, Json, Lane, Message, Role, Settings, Text,
};
use serde_json::Value;

fn vectors() -> Value {
    let path = "../../fixtures/my-pi-agent/context-vectors.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn json(value: &Value) -> Json {
    Json::parse(&value.to_string()).unwrap()
}

/// A message of the reference: calls and the call that is answered stand in its metadata.
fn message(value: &Value) -> Message {
    let role = Role::from_text(&value["role"].as_str().unwrap().into());
    let text: Text = value["content"].as_str().unwrap().into();
    let mut message = Message::new(role, Content::Text(text.clone()));
    let Some(metadata) = value["metadata"].as_object() else { return message };
    let mut rest = metadata.clone();
    if let Some(calls) = rest.remove("tool_calls") {
        let calls = calls.as_array().unwrap().iter().map(|call| {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            Block::tool_call(
                call["id"].as_str().unwrap(),
                call["function"]["name"].as_str().unwrap(),
                Json::parse(arguments).unwrap(),
            )
        });
        message.content =
            Content::Blocks(std::iter::once(Block::text(text)).chain(calls).collect());
    }
    message.tool_call_id = rest.remove("tool_call_id").map(|id| id.as_str().unwrap().into());
    message.metadata = (!rest.is_empty()).then(|| json(&Value::Object(rest)));
    message
}

fn messages(value: &Value) -> Vec<Message> {
    value.as_array().unwrap().iter().map(message).collect()
}

fn view(messages: Vec<Message>) -> View {
    let ids = (0..messages.len()).map(|at| EntryId::from(at.to_string())).collect();
    View::new(messages, ids)
}

#[test]
fn estimates() {
    for (name, case) in vectors()["estimate_tokens"].as_object().unwrap() {
        let messages = messages(&case["messages"]);
        assert_eq!(Value::from(conversation_chars(&messages)), case["json_chars"], "{name}");
        let mut estimator = Estimator::new();
        assert_eq!(Value::from(estimator.estimate(&messages)), case["tokens"], "{name}");
        estimator.set_ratio(Some(0.5));
        assert_eq!(Value::from(estimator.estimate(&messages)), case["tokens_ratio_0.5"], "{name}");
    }
}

/// `[role, content, the call it answers, its calls]`
fn of_shape(shape: &Value) -> Message {
    let role = Role::from_text(&shape[0].as_str().unwrap().into());
    let text: Text = shape[1].as_str().unwrap().into();
    let calls = shape[3].as_array().unwrap();
    let mut message = Message::new(role, Content::Text(text));
    message.tool_call_id = shape[2].as_str().map(Text::from);
    if !calls.is_empty() {
        let call = |id: &Value| Block::tool_call(id.as_str().unwrap(), "f", Json::empty_object());
        message.content = Content::Blocks(calls.iter().map(call).collect());
    }
    message
}

fn shape(message: &Message) -> Value {
    let calls: Vec<String> =
        message.content.tool_calls().map(|(id, _, _)| id.to_string()).collect();
    serde_json::json!([
        message.role.as_text().to_string(),
        message.content.text().to_string(),
        message.tool_call_id.as_ref().map(ToString::to_string),
        calls,
    ])
}

#[test]
fn snips() {
    let vectors = vectors();
    let cases = vectors["snip_L1"].as_object().unwrap();
    assert_eq!(cases.len(), 5);
    for (name, case) in cases {
        let input: Vec<Message> =
            case["input_shape"].as_array().unwrap().iter().map(of_shape).collect();
        assert_eq!(Value::from(input.len()), case["n"], "{name}");
        let mut snipped = view(input);
        snip(&mut snipped, &SnipConfig::default());
        let shapes: Vec<Value> = snipped.messages.iter().map(shape).collect();
        assert_eq!(Value::from(shapes), case["fixed"], "{name}");
        let once = snipped.clone();
        snip(&mut snipped, &SnipConfig::default());
        assert_eq!(snipped, once, "{name}: twice");
    }
}

#[test]
fn leaves_results_out() {
    let case = &vectors()["micro_L2"];
    let config = MicroConfig::default();
    assert_eq!(Value::from(config.keep), case["keep_recent"]);
    assert_eq!(Value::from(config.over_chars), case["min_chars"]);
    let mut out = view(messages(&case["in"]));
    micro(&mut out, &config);
    assert_eq!(out.messages, messages(&case["out"]));
    assert_eq!(micro(&mut out, &config), 0);
}

#[derive(Default)]
struct Files(Mutex<BTreeMap<String, Text>>);

impl Spill for Files {
    fn put(&self, item: &SpillItem<'_>) -> io::Result<String> {
        self.0.lock().unwrap().insert(item.name.to_owned(), item.text.clone());
        Ok(format!("<results_dir>/{}", item.name))
    }
}

#[test]
fn spills() {
    let case = &vectors()["spill_L3"];
    let long = |ch: &str, count: usize| ch.repeat(count);
    let mut input = vec![
        Message::user("q"),
        Message::tool("big1", long("\u{e9}", 20_001)),
        Message::tool("big2", long("z", 20_000)),
        Message::tool("", long("w", 20_001)),
    ];
    input[3].tool_call_id = None;
    let lens: Vec<usize> =
        input.iter().map(|m| m.content.text().to_string().chars().count()).collect();
    assert_eq!(serde_json::json!(lens), case["lens"]);
    let files = Files::default();
    let mut out = view(input);
    assert_eq!(spill(&mut out, &SpillConfig::default(), &files), 2);
    for (message, wanted) in out.messages.iter().zip(case["out"].as_array().unwrap()) {
        // `beginning...<N chars>`, where `<results_dir>` stands for the folder.
        let (start, count) = wanted.as_str().unwrap().rsplit_once("...<").unwrap();
        let text = message.content.text().to_string();
        assert!(text.starts_with(start), "{start}");
        let count: usize = count.strip_suffix(" chars>").unwrap().parse().unwrap();
        // The vectors were made in a folder with a path of its own length.
        let spilled = text.starts_with("<persisted-output>");
        let own = if spilled { text.chars().count() - "<results_dir>".len() } else { count };
        let folder = if spilled { count.checked_sub(own).unwrap() } else { 0 };
        assert!(!spilled || folder > 0);
        assert_eq!(own + folder, count);
    }
    let names: Vec<String> = files.0.lock().unwrap().keys().cloned().collect();
    assert_eq!(serde_json::json!(names), case["files"]);
    let once = out.clone();
    assert_eq!(spill(&mut out, &SpillConfig::default(), &files), 0);
    assert_eq!(out, once);
}

#[test]
fn cuts() {
    for (name, case) in vectors()["find_cut"].as_object().unwrap() {
        let messages: Vec<Message> = case["roles_lens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| {
                let role = Role::from_text(&pair[0].as_str().unwrap().into());
                let len = pair[1].as_u64().unwrap() as usize;
                Message::new(role, Content::Text("x".repeat(len).into()))
            })
            .collect();
        let keep = case["keep_recent_tokens"].as_u64().unwrap();
        assert_eq!(serde_json::json!(cut_after_user(&messages, keep)), case["cut"], "{name}");
    }
}

#[test]
fn writes_conversations_down() {
    let case = &vectors()["serialize"];
    let out = Transcript::Lines.write(&messages(&case["in"]));
    assert_eq!(Value::from(out.chars().count()), case["out_len_and_head"][0]);
    assert!(out.starts_with(case["out_len_and_head"][1].as_str().unwrap()));
}

#[test]
fn extracts_summaries() {
    for (answer, wanted) in vectors()["extract_summary"].as_object().unwrap() {
        let answer: Text = answer.as_str().into();
        assert_eq!(extract_summary(&answer), wanted.as_str().unwrap(), "{answer}");
    }
}

#[test]
fn asks_in_its_words() {
    let vectors = vectors();
    let prompts = &vectors["prompts"];
    assert_eq!(prompts["system"], BRIEF_SYSTEM);
    assert_eq!(prompts["template"], BRIEF_TEMPLATE);
}

/// Answers from a list; an empty one fails.
struct Scripted {
    answers: Mutex<Vec<&'static str>>,
    prompts: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(answers: &[&'static str]) -> Scripted {
        let answers = Mutex::new(answers.iter().rev().copied().collect());
        Scripted { answers, prompts: Mutex::default() }
    }
}

#[async_trait]
impl Summariser for Scripted {
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError> {
        self.prompts.lock().unwrap().push(request.prompt.to_string());
        match self.answers.lock().unwrap().pop() {
            None | Some("fail") => Err(SummaryError::new("down")),
            Some(text) => Ok(SummaryReply { text: text.into(), ..SummaryReply::default() }),
        }
    }
}

/// A session in memory: a path, and what is folded from it.
struct Session {
    path: Vec<Entry>,
    pipeline: Pipeline,
    snapshot: TurnSnapshot,
}

impl Session {
    fn new(system: &str, budget: u64, keep: Option<u64>) -> Session {
        let mut config = Config::without_layers(budget);
        config.keep_recent = keep;
        config.cut = CutRule::AfterUser;
        config.summary =
            Some(SummaryOptions { style: PromptStyle::Brief, ..SummaryOptions::default() });
        Session {
            path: Vec::new(),
            pipeline: Pipeline::new(config),
            snapshot: TurnSnapshot::new(system, Vec::new(), Vec::new()),
        }
    }

    fn push(&mut self, body: impl Into<Body>) {
        let id = EntryId::from(format!("e{}", self.path.len()));
        let parent_id = self.path.last().map(|entry| entry.id.clone());
        self.path.push(Entry {
            id,
            parent_id,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body: body.into(),
            extra: Vec::new(),
        });
    }

    fn prepare(&mut self, summariser: &Scripted, force: bool) -> Prepared {
        let view = View::from_path(&self.path, &FoldRules::NATIVE);
        let settings = Settings::default();
        let input =
            Input { view: &view, path: &self.path, snapshot: &self.snapshot, settings: &settings };
        let out = pollster::block_on(async {
            match force {
                true => self.pipeline.compact(input, None, summariser).await.unwrap(),
                false => self.pipeline.prepare(input, None, Some(summariser)).await,
            }
        });
        if let Some(compaction) = &out.compaction {
            let mut compaction = compaction.clone();
            if !compaction.is_boundary() {
                compaction.first_kept_entry_id = Some(format!("e{}", self.path.len()).into());
            }
            self.push(compaction);
            let folded = View::from_path(&self.path, &FoldRules::NATIVE);
            assert_eq!(folded.messages, out.view.messages);
            assert_eq!(folded.entry_ids[1..], out.view.entry_ids[1..]);
        }
        out
    }
}

/// The view in the vectors' form, the summary in the words of the fold.
fn shown(view: &View, system: &str) -> Value {
    let row = |role: String, text: String| {
        let start: String = text.chars().take(70).collect();
        serde_json::json!([role, start, text.chars().count()])
    };
    let mut out = Vec::new();
    if !system.is_empty() {
        out.push(row("system".into(), system.into()));
    }
    for message in &view.messages {
        let text = message.content.text().to_string();
        // Theirs is another prefix: ours is that of the fold.
        let text = match text.strip_prefix("Previous conversation summary:\n") {
            Some(summary) => {
                format!("[Context summary \u{2014} earlier conversation compacted]\n\n{summary}")
            }
            None => text,
        };
        out.push(row(message.role.as_text().to_string(), text));
    }
    Value::from(out)
}

fn check_step(step: &Value, out: &Prepared, system: &str, name: &str) {
    assert_eq!(shown(&out.view, system), step["view"], "{name}: {:?}", out.failure);
    match step["pending"].as_object() {
        None => assert_eq!(out.compaction, None, "{name}"),
        Some(pending) => {
            let compaction = out.compaction.as_ref().unwrap();
            assert_eq!(compaction.summary, pending["summary"].as_str().unwrap(), "{name}");
            let kept = out.view.len() - 1;
            assert_eq!(Value::from(kept), pending["retained"], "{name}");
        }
    }
}

fn words(letter: &str, at: usize, repeat: usize) -> String {
    format!("{letter}{at} {}", letter.repeat(repeat))
}

#[test]
fn prepares_with_a_rolling_summary() {
    let vectors = vectors();
    let case = &vectors["prepare"]["summary_then_cache_then_resummary"]["gated"];
    let steps = case["steps"].as_array().unwrap();
    let mut session = Session::new("sys", 1_000, Some(100));
    let summariser = Scripted::new(&["<summary>first</summary>", "<summary>second</summary>"]);
    for at in 0..30 {
        session.push(match at % 2 {
            0 => Message::user(words("u", at, 200)),
            _ => Message::assistant(words("a", at, 200)),
        });
    }
    let out = session.prepare(&summariser, false);
    check_step(&steps[0], &out, "sys", "first");
    assert_eq!(Value::from(out.tokens_before), steps[0]["pending"]["tokens_before"]);
    // Theirs counts the kept messages alone, ours the whole request.
    let kept = Estimator::new().estimate(&out.view.messages[1..]);
    assert_eq!(Value::from(kept), steps[0]["pending"]["tokens_after"]);
    check_step(&steps[1], &session.prepare(&summariser, false), "sys", "again");
    session.push(Message::user("new question"));
    session.push(Message::assistant("new answer"));
    check_step(&steps[2], &session.prepare(&summariser, false), "sys", "new");
    for at in 0..30 {
        session.push(match at % 2 {
            0 => Message::user(words("g", at, 300)),
            _ => Message::assistant(words("h", at, 300)),
        });
    }
    let out = session.prepare(&summariser, false);
    check_step(&steps[3], &out, "sys", "second");
    let prompts = summariser.prompts.lock().unwrap();
    let previous: Vec<&str> = prompts
        .iter()
        .map(|prompt| {
            let (_, rest) = prompt.split_once("Previous summary:\n").unwrap();
            rest.split_once("\n\nConversation:").unwrap().0
        })
        .collect();
    assert_eq!(serde_json::json!(previous), case["second_call_prev_summary"]);
    // Theirs reads everything again, ours what is new: nothing that the first summary holds.
    assert!(!prompts[1].contains("u0 ") && prompts[1].contains("a27 "));
    let compaction = out.compaction.unwrap();
    assert_eq!(compaction.replaces_entry_ids, [EntryId::from("e30")]);
}

#[test]
fn a_failed_summary_leaves_the_view() {
    let vectors = vectors();
    let case = &vectors["prepare"]["llm_fails_then_works"]["gated"];
    let mut session = Session::new("", 1_000, Some(100));
    (0..20).for_each(|_| session.push(Message::user("x".repeat(300))));
    let summariser = Scripted::new(&["fail", "<summary>ok</summary>"]);
    let out = session.prepare(&summariser, false);
    check_step(&case["steps"][0], &out, "", "fails");
    assert_eq!(out.failure.unwrap().kind(), "summary_failed");
    let out = session.prepare(&summariser, false);
    check_step(&case["steps"][1], &out, "", "works");
    assert_eq!(Value::from(out.tokens_before), case["steps"][1]["pending"]["tokens_before"]);

    let case = &vectors["prepare"]["empty_summary"]["gated"];
    let mut session = Session::new("", 1_000, Some(100));
    (0..20).for_each(|_| session.push(Message::user("x".repeat(300))));
    let out = session.prepare(&Scripted::new(&["<summary></summary>"]), false);
    check_step(&case["steps"][0], &out, "", "empty");
    assert_eq!(out.failure.unwrap().kind(), "empty_summary");
}

#[test]
fn nothing_happens_below_the_threshold() {
    let vectors = vectors();
    let case = &vectors["prepare"]["below_threshold_60_messages"]["gated"];
    let mut session = Session::new("", 1_000_000, Some(100));
    session.pipeline.config_mut().snip = Some(SnipConfig::default());
    (0..60).for_each(|_| session.push(Message::user("xxx")));
    let out = session.prepare(&Scripted::new(&[]), false);
    check_step(&case["steps"][0], &out, "", "below");
    assert!(out.layers.is_empty());
}

#[test]
fn forced_on_a_short_conversation() {
    let vectors = vectors();
    let case = &vectors["prepare"]["force_short"]["gated"];
    let mut session = Session::new("s", 100_000, None);
    session.push(Message::user("q1"));
    session.push(Message::assistant("a1"));
    let summariser = Scripted::new(&["<summary>all</summary>"]);
    let out = session.prepare(&summariser, true);
    check_step(&case["steps"][0], &out, "s", "forced");
    assert_eq!(Value::from(out.tokens_before), case["steps"][0]["pending"]["tokens_before"]);
    session.push(Message::user("next"));
    check_step(&case["steps"][1], &session.prepare(&summariser, false), "s", "next");
}

#[test]
fn one_giant_turn_has_no_cut() {
    let vectors = vectors();
    let case = &vectors["prepare"]["no_user_cut"]["gated"];
    let mut session = Session::new("", 300, Some(100));
    session.push(Message::user("u"));
    for call in ["1", "2"] {
        let block = Block::tool_call(call, "f", Json::empty_object());
        session.push(Message::new(Role::Assistant, Content::Blocks(vec![block])));
        session.push(Message::tool(call, "r".repeat(900)));
    }
    let out = session.prepare(&Scripted::new(&[]), false);
    check_step(&case["steps"][0], &out, "", "giant");
    assert_eq!(out.failure.unwrap().kind(), "nothing_to_compact");
}
