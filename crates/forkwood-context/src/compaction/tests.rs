use std::sync::Mutex;

use async_trait::async_trait;
use forkwood_core::entry::Compaction;
use forkwood_core::{
    Block, Body, Content, Entry, EntryId, FoldRules, Json, Lane, Message, Role, Settings, Text,
    fold,
};
use proptest::prelude::*;

use super::{
    CutRule, Plan, PlanOptions, PromptStyle, Purpose, Summariser, Summary, SummaryError,
    SummaryOptions, SummaryReply, SummaryRequest, compaction_entry, plan, summarise, view_behind,
};
use crate::{View, is_paired};

fn entry(at: usize, body: impl Into<Body>) -> Entry {
    Entry {
        id: EntryId::from(format!("e{at}")),
        parent_id: at.checked_sub(1).map(|before| EntryId::from(format!("e{before}"))),
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    }
}

/// A path of words: `u` a user, `a` an answer, `c:x,y` calls, `r:x` a result, `m` a model change,
/// `b` a branch summary, `C:e3` a compaction that keeps from there, `R:e1,e2` one in place, `C`
/// one that keeps nothing, `T` one that keeps a tail of two messages.
fn path(words: &str) -> Vec<Entry> {
    let ids = |list: &str| list.split(',').map(EntryId::new).collect::<Vec<_>>();
    let make = |(at, word): (usize, &str)| {
        let summary = Text::from(format!("S{at}"));
        let body = match word.split_once(':').unwrap_or((word, "")) {
            ("a", _) => Body::message(Message::assistant(format!("a{at}"))),
            ("c", calls) => {
                let call = |id| Block::tool_call(id, "f", Json::empty_object());
                let blocks = calls.split(',').map(call).collect();
                Body::message(Message::new(Role::Assistant, Content::Blocks(blocks)))
            }
            ("r", call) => Body::message(Message::tool(call, format!("r{at}"))),
            ("m", _) => Body::ModelChange { model: "m".into(), provider: None },
            ("b", _) => Body::BranchSummary { summary, from_id: None, details: None },
            ("C", first) => {
                let own = format!("e{at}");
                let first = if first.is_empty() { own.as_str() } else { first };
                let first_kept_entry_id = Some(first.into());
                Body::Compaction(Compaction { summary, first_kept_entry_id, ..Default::default() })
            }
            ("R", replaced) => Body::Compaction(Compaction {
                summary,
                replaces_entry_ids: ids(replaced),
                ..Default::default()
            }),
            ("T", _) => Body::Compaction(Compaction {
                summary,
                retained_tail: Some(vec![Message::user("t1"), Message::assistant("t2")]),
                ..Default::default()
            }),
            _ => Body::message(Message::user(format!("u{at}"))),
        };
        entry(at, body)
    };
    words.split_whitespace().enumerate().map(make).collect()
}

fn planned(words: &str, keep: u64, force: bool) -> Option<Plan> {
    let options =
        PlanOptions { rules: &FoldRules::NATIVE, cut: CutRule::Messages, keep_tokens: keep, force };
    // One message, one token.
    plan(&path(words), &options, &|_| 1)
}

/// first kept | summed up | start of a turn | earlier summary | replaced
fn shown(plan: &Plan) -> String {
    let texts = |messages: &[Message]| {
        let one = |message: &Message| {
            let calls: Vec<String> =
                message.content.tool_calls().map(|(id, _, _)| id.to_string()).collect();
            format!("{}{}", message.content.text(), calls.join("+"))
        };
        messages.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    format!(
        "{}|{}|{}|{}|{}",
        plan.first_kept_entry_id.as_ref().map_or("-", EntryId::as_str),
        texts(&plan.to_summarise),
        texts(&plan.turn_prefix),
        plan.previous_summary.clone().unwrap_or_default(),
        plan.replaces.iter().map(EntryId::as_str).collect::<Vec<_>>().join(","),
    )
}

#[test]
fn cuts_are_safe() {
    for (words, keep, wanted) in [
        ("u a u a", 2, Some("e2|u0 a1|||")),
        // A turn is split where it must be; its start is told apart.
        ("u a u a u", 2, Some("e3|u0 a1|u2||")),
        // Never between a call and its results.
        ("u c:x r:x a u", 3, Some("e3||u0 x r2||")),
        ("u c:x,y r:x r:y a u", 4, Some("e4||u0 x+y r2 r3||")),
        // Results apart from their call hold all between them together.
        ("u c:x u r:x a u a", 3, Some("e4|u0 x|u2 r3||")),
        // Settings stay with what follows them.
        ("u a m u a", 2, Some("e2|u0 a1|||")),
        // All fits, or ends with a compaction.
        ("u a", 9, None),
        ("", 1, None),
        ("u a u C", 1, None),
        // The delta alone, and the earlier summary.
        ("u a u a C:e2 u a u a", 2, Some("e7|u2 a3 u5 a6||S4|e4")),
        ("u a C u a u a", 2, Some("e5|u3 a4||S2|e2")),
        ("u T u a u a", 2, Some("e4|t1 t2 u2 a3||S1|e1")),
        ("u a u a R:e0,e1 u a u", 2, Some("e6|u2 a3|u5|S4|e4")),
        // What was replaced in place must not come back.
        ("u a u a R:e1,e3 u a", 9, Some("e5|u0 Previous conversation summary:\nS4 u2|||e4")),
        ("u a u a R:e1,e3 u a", 4, Some("e5|u0 Previous conversation summary:\nS4 u2|||e4")),
        // A turn starts with the summary of a branch, too.
        (
            "u a b a u a",
            3,
            Some(
                "e3|u0 a1|The following is a summary of a branch that this conversation came back from:\n\n<summary>\nS2</summary>||",
            ),
        ),
    ] {
        let plan = planned(words, keep, false);
        assert_eq!(plan.as_ref().map(shown).as_deref(), wanted, "{words} {keep}");
    }
}

#[test]
fn forced_where_nothing_would_be_cut() {
    assert_eq!(planned("u a", 9, true).as_ref().map(shown).as_deref(), Some("-|u0 a1|||"));
    assert_eq!(
        planned("u a C:e1 u", 9, true).as_ref().map(shown).as_deref(),
        Some("-|a1 u3||S2|e2")
    );
    assert_eq!(planned("u C", 1, true), None);
    assert_eq!(planned("", 1, true), None);
}

#[test]
fn what_is_written_folds_to_what_was_planned() {
    for words in [
        "u a u a",
        "u a u a C:e2 u a u a",
        "u a u a R:e0,e1 u a u",
        "u a u a R:e1,e3 u a u a",
        "u T u a u a",
        "u c:x,y r:x r:y a u m b u",
        "u a C u a u a",
    ] {
        for keep in 0..6 {
            for force in [false, true] {
                let Some(plan) = planned(words, keep, force) else { continue };
                check_fold(&path(words), &plan);
            }
        }
    }
}

fn check_fold(path: &[Entry], plan: &Plan) {
    let summary = Summary { text: "sum".into(), ..Summary::default() };
    let settings = Settings { model: Some("m".into()), ..Settings::default() };
    let mut made = compaction_entry(plan, &summary, None, &settings, &FoldRules::NATIVE);
    let wanted = view_behind(&made, &plan.kept);
    assert_eq!(made.state.as_ref().unwrap().model, Some("m".into()));
    let at = path.len();
    if !made.is_boundary() {
        // As the session does.
        assert!(made.replaces_entry_ids.is_empty());
        made.first_kept_entry_id = Some(format!("e{at}").into());
    }
    let mut longer = path.to_vec();
    longer.push(entry(at, made));
    let folded = View::from_path(&longer, &FoldRules::NATIVE);
    assert_eq!(folded.messages, wanted.messages);
    assert_eq!(folded.entry_ids[1..], wanted.entry_ids[1..]);
    // A reader that stops there sees the same.
    let boundary = fold::latest_boundary(&longer).unwrap();
    assert_eq!(boundary, at);
    check_fold_in_place(path, plan, &wanted);
}

/// The same in a file whose compactions say only what they replace.
fn check_fold_in_place(path: &[Entry], plan: &Plan, wanted: &View) {
    let summary = Summary { text: "sum".into(), ..Summary::default() };
    let rules = FoldRules { compaction_in_place: true, ..FoldRules::NATIVE };
    let made = compaction_entry(plan, &summary, None, &Settings::default(), &rules);
    assert!(!made.is_boundary() && !made.replaces_entry_ids.is_empty(), "{made:?}");
    let at = path.len();
    let longer: Vec<Entry> = path.iter().cloned().chain([entry(at, made)]).collect();
    let folded = View::from_path(&longer, &rules);
    assert_eq!(folded.messages, wanted.messages);
    assert_eq!(folded.entry_ids[0], EntryId::from(format!("e{at}")));
    assert_eq!(folded.entry_ids[1..], wanted.entry_ids[1..]);
}

#[test]
fn files_of_an_outside_format_keep_nothing_by_naming_themselves() {
    let plan = planned("u a C:e1 u", 9, true).unwrap();
    let rules = FoldRules { default_thinking_level: Some("off"), ..FoldRules::NATIVE };
    let made = compaction_entry(&plan, &Summary::default(), None, &Settings::default(), &rules);
    assert!(!made.is_boundary() && made.replaces_entry_ids.is_empty());
}

type Answer = dyn Fn(&SummaryRequest) -> Result<SummaryReply, SummaryError> + Send + Sync;

struct Scripted {
    answer: Box<Answer>,
    requests: Mutex<Vec<SummaryRequest>>,
}

impl Scripted {
    fn new(
        answer: impl Fn(&SummaryRequest) -> Result<SummaryReply, SummaryError> + Send + Sync + 'static,
    ) -> Scripted {
        Scripted { answer: Box::new(answer), requests: Mutex::default() }
    }
}

#[async_trait]
impl Summariser for Scripted {
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError> {
        let answer = (self.answer)(&request);
        self.requests.lock().unwrap().push(request);
        answer
    }
}

fn reply(text: &str) -> Result<SummaryReply, SummaryError> {
    Ok(SummaryReply {
        text: text.into(),
        usage: Some(Json::parse(r#"{"input":10,"cost":{"total":0.5}}"#).unwrap()),
        model: Some("small".into()),
        provider: Some("p".into()),
    })
}

#[test]
fn a_split_turn_is_two_requests() {
    let plan = planned("u a u a C:e0 u a u a u", 2, false).unwrap();
    let scripted = Scripted::new(|request| match request.purpose {
        Purpose::TurnPrefix => reply("<summary>prefix</summary>"),
        _ => reply("<analysis>x</analysis><summary>history</summary>"),
    });
    let options = SummaryOptions::default();
    let instructions = Text::from("mind the files");
    let summary =
        pollster::block_on(summarise(&plan, &options, Some(&instructions), &scripted)).unwrap();
    assert_eq!(summary.text, "history\n\n---\n\n**Turn Context (split turn):**\n\nprefix");
    assert_eq!(summary.usage.unwrap().get(), r#"{"input":20,"cost":{"total":1.0}}"#);
    assert_eq!(summary.model, Some("small".into()));
    let requests = scripted.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    let first = requests[0].prompt.to_string();
    assert!(first.contains("<previous-summary>\nS4\n</previous-summary>"));
    assert!(first.ends_with("Additional focus: mind the files"));
    assert!(!first.contains("[User]: u9"));
    assert_eq!((requests[0].max_tokens, requests[1].max_tokens), (13_107, 8_190));
}

#[test]
fn only_the_start_of_a_turn_keeps_the_earlier_summary() {
    let plan = planned("u a C u a a a", 2, false).unwrap();
    assert_eq!(shown(&plan), "e5||u3 a4|S2|e2");
    let scripted = Scripted::new(|_| reply("prefix"));
    let summary = pollster::block_on(summarise(&plan, &SummaryOptions::default(), None, &scripted));
    let text = summary.unwrap().text.to_string();
    assert_eq!(text, "S2\n\n---\n\n**Turn Context (split turn):**\n\nprefix");
    let plan = planned("u a a a", 2, false).unwrap();
    let summary = pollster::block_on(summarise(&plan, &SummaryOptions::default(), None, &scripted));
    assert!(summary.unwrap().text.to_string().starts_with("No prior history.\n\n---"));
}

#[test]
fn files_are_carried_on() {
    let call = |tool: &str, file: &str| {
        let arguments = Json::parse(&format!(r#"{{"path":"{file}"}}"#)).unwrap();
        let block = Block::tool_call("c", tool, arguments);
        Body::message(Message::new(Role::Assistant, Content::Blocks(vec![block])))
    };
    let mut path = path("u a C u a");
    if let Body::Compaction(compaction) = &mut path[2].body {
        compaction.summary = "S2\n\n<read-files>\nold.rs\n</read-files>\n\n<modified-files>\nm.rs\n</modified-files>".into();
        compaction.details =
            Some(Json::parse(r#"{"readFiles":["old.rs"],"modifiedFiles":["m.rs"]}"#).unwrap());
    }
    path[3] = entry(3, call("read", "new.rs"));
    path[4] = entry(4, call("write", "old.rs"));
    path.push(entry(5, Message::user("go on")));
    let options = PlanOptions {
        rules: &FoldRules::NATIVE,
        cut: CutRule::Messages,
        keep_tokens: 1,
        force: false,
    };
    let plan = plan(&path, &options, &|_| 1).unwrap();
    assert_eq!(plan.previous_summary, Some("S2".into()));
    let scripted = Scripted::new(|_| reply("sum"));
    let summary =
        pollster::block_on(summarise(&plan, &SummaryOptions::default(), None, &scripted)).unwrap();
    assert_eq!(
        summary.text,
        "sum\n\n<read-files>\nnew.rs\n</read-files>\n\n<modified-files>\nm.rs\nold.rs\n</modified-files>"
    );
    let wish = Text::from("short");
    let made =
        compaction_entry(&plan, &summary, Some(&wish), &Settings::default(), &FoldRules::NATIVE);
    assert_eq!(
        made.details.unwrap().get(),
        r#"{"readFiles":["new.rs"],"modifiedFiles":["m.rs","old.rs"],"instructions":"short","model":"small","provider":"p"}"#
    );
    assert_eq!(made.usage.unwrap().get(), r#"{"input":10,"cost":{"total":0.5}}"#);
}

#[test]
fn a_long_conversation_is_summed_up_piece_by_piece() {
    let plan = Plan {
        to_summarise: (0..40)
            .map(|at| Message::user(format!("{at:04}{}", "x".repeat(500))))
            .collect(),
        ..Plan::default()
    };
    let scripted = Scripted::new(|request| {
        let prompt = request.prompt.to_string();
        assert!(prompt.len() < 6_000, "{}", prompt.len());
        let count = prompt.matches("[User]").count();
        let before = prompt
            .split_once("<previous-summary>\n")
            .map_or(0, |(_, rest)| rest.lines().next().unwrap().parse::<usize>().unwrap());
        reply(&format!("<summary>{}</summary>", before + count))
    });
    let options = SummaryOptions { max_chars: 3_000, ..SummaryOptions::default() };
    let summary = pollster::block_on(summarise(&plan, &options, None, &scripted)).unwrap();
    assert_eq!(summary.text, "40");
    assert!(scripted.requests.lock().unwrap().len() >= 7);
}

#[test]
fn failures_have_their_kinds() {
    let plan = planned("u a u a", 2, false).unwrap();
    let options = SummaryOptions { style: PromptStyle::Brief, ..SummaryOptions::default() };
    let down = Scripted::new(|_| Err(SummaryError::new("down")));
    let error = pollster::block_on(summarise(&plan, &options, None, &down)).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        ("summary_failed", "the summary failed: down")
    );
    let empty = Scripted::new(|_| reply("<analysis>only</analysis>"));
    let error = pollster::block_on(summarise(&plan, &options, None, &empty)).unwrap_err();
    assert_eq!(error.kind(), "empty_summary");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_folds_as_it_says(
        words in prop::collection::vec(
            prop::sample::select(vec!["u", "a", "c:x", "r:x", "c:x,y", "r:y", "m", "b", "C", "T", "C:e2", "R:e1,e3", "R:e0"]),
            0..14,
        ),
        keep in 0_u64..8,
        force: bool,
    ) {
        let words = words.join(" ");
        if let Some(plan) = planned(&words, keep, force) {
            check_fold(&path(&words), &plan);
            let view = View::from_path(&path(&words), &FoldRules::NATIVE);
            if is_paired(&view.messages) {
                prop_assert!(is_paired(&plan.kept.messages), "{}", words);
            }
        }
    }
}
