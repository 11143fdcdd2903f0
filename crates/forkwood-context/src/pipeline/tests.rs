use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use forkwood_core::{
    Block, Body, Content, Entry, EntryId, FoldRules, Json, Lane, Message, Role, Settings, Text,
};
use proptest::prelude::*;

use super::{Input, Pipeline, Prepared};
use crate::layers::{MicroConfig, SnipConfig, SpillConfig};
use crate::{
    Api, Config, Layer, RequestOptions, Spill, SpillItem, Summariser, SummaryError, SummaryReply,
    SummaryRequest, TurnSnapshot, View, is_paired,
};

mod long_run;
mod properties;

/// A session in memory, which appends what comes back as the real one does.
pub(super) struct Session {
    pub(super) path: Vec<Entry>,
    pub(super) next: usize,
    pub(super) pipeline: Pipeline,
    pub(super) snapshot: TurnSnapshot,
    pub(super) settings: Settings,
}

impl Session {
    pub(super) fn new(config: Config) -> Session {
        Session {
            path: Vec::new(),
            next: 0,
            pipeline: Pipeline::new(config),
            snapshot: TurnSnapshot::new("You help.", Vec::new(), Vec::new()),
            settings: Settings::default(),
        }
    }

    pub(super) fn push(&mut self, body: impl Into<Body>) {
        let id = EntryId::from(format!("e{}", self.next));
        self.next += 1;
        self.path.push(Entry {
            id,
            parent_id: None,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body: body.into(),
            extra: Vec::new(),
        });
    }

    pub(super) fn view(&self) -> View {
        View::from_path(&self.path, &FoldRules::NATIVE)
    }

    pub(super) fn input<'a>(&'a self, view: &'a View) -> Input<'a> {
        Input { view, path: &self.path, snapshot: &self.snapshot, settings: &self.settings }
    }

    /// Prepares and appends.
    pub(super) fn prepare(
        &mut self,
        spill: Option<&dyn Spill>,
        summariser: Option<&dyn Summariser>,
    ) -> Prepared {
        let view = self.view();
        let mut pipeline = std::mem::take(&mut self.pipeline);
        let out = pollster::block_on(pipeline.prepare(self.input(&view), spill, summariser));
        self.pipeline = pipeline;
        self.append(&out);
        out
    }

    pub(super) fn append(&mut self, out: &Prepared) {
        if let Some(compaction) = &out.compaction {
            let mut compaction = compaction.clone();
            if !compaction.is_boundary() {
                compaction.first_kept_entry_id = Some(format!("e{}", self.next).into());
            }
            self.push(compaction);
        }
    }
}

/// Counts the requests, and answers with their number; fails where it is told to.
#[derive(Default)]
pub(super) struct Counting {
    pub(super) asked: AtomicUsize,
    fails: bool,
    prompts: Mutex<Vec<String>>,
}

#[async_trait]
impl Summariser for Counting {
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.prompts.lock().unwrap().push(request.prompt.to_string());
        if self.fails {
            return Err(SummaryError::new("down"));
        }
        let text = format!("<summary>summary {number}</summary>").into();
        Ok(SummaryReply { text, ..SummaryReply::default() })
    }
}

struct Disk;

impl Spill for Disk {
    fn put(&self, item: &SpillItem<'_>) -> io::Result<String> {
        Ok(format!("/r/{}", item.name))
    }
}

fn call(id: &str) -> Message {
    let block = Block::tool_call(id, "f", Json::empty_object());
    Message::new(Role::Assistant, Content::Blocks(vec![block]))
}

/// Sixty short messages, ten results of 1,000 characters, one of 30,000.
fn busy(config: Config) -> Session {
    let mut session = Session::new(config);
    (0..60).for_each(|at| session.push(Message::user(format!("question {at}"))));
    for at in 0..11 {
        let id = format!("c{at}");
        session.push(call(&id));
        session.push(Message::tool(id, "r".repeat(if at == 5 { 30_000 } else { 1_000 })));
    }
    session
}

#[test]
fn every_subset_of_layers() {
    for mask in 0..32_u8 {
        let on = |bit: u8| mask & (1 << bit) != 0;
        let mut config = Config::without_layers(2_000);
        config.spill = on(0).then(SpillConfig::default);
        config.snip = on(1).then(SnipConfig::default);
        config.micro = on(2).then(MicroConfig::default);
        config.summary = on(3).then(Default::default);
        config.fit = on(4);
        let mut session = busy(config);
        let before = session.view();
        let counting = Counting::default();
        let out = session.prepare(Some(&Disk), Some(&counting));
        let allowed = [
            (Layer::Spill, on(0)),
            (Layer::Snip, on(1)),
            (Layer::Micro, on(2)),
            (Layer::Summary, on(3)),
            (Layer::Fit, on(4)),
        ];
        for layer in &out.layers {
            assert!(allowed.contains(&(*layer, true)), "{mask}: {layer:?}");
        }
        assert_eq!(out.layers.is_empty(), mask == 0, "{mask}: {:?}", out.layers);
        assert_eq!(out.compaction.is_some(), out.layers.contains(&Layer::Summary));
        assert_eq!(out.view == before, mask == 0);
        assert!(is_paired(&out.view.messages));
        if on(4) {
            assert!(out.tokens_after <= 2_000, "{mask}");
        }
    }
}

#[test]
fn cheapest_first_and_no_more_than_is_needed() {
    let layers = |budget: u64| {
        busy(Config { fit: false, ..Config::with_budget(budget) })
            .prepare(Some(&Disk), Some(&Counting::default()))
            .layers
    };
    assert_eq!(layers(100_000), []);
    assert_eq!(layers(9_000), [Layer::Spill]);
    assert_eq!(layers(5_600), [Layer::Spill, Layer::Snip]);
    assert_eq!(layers(4_500), [Layer::Spill, Layer::Snip, Layer::Micro]);
    assert_eq!(layers(2_500)[0], Layer::Summary);
}

#[test]
fn the_threshold_is_a_gate() {
    let config = Config::with_budget(100_000);
    assert_eq!(config.threshold(), 80_000);
    assert_eq!(Config::with_budget(7).threshold(), 5);
    assert_eq!(Config::with_budget(u64::MAX).threshold(), u64::MAX / 5 * 4);
    assert_eq!((config.keep_recent(0), config.keep_recent(60_000)), (25_000, 10_000));
    let mut session = Session::new(config);
    (0..60).for_each(|_| session.push(Message::user("x".repeat(5_000))));
    let view = session.view();
    let tokens = session.pipeline.tokens(session.input(&view));
    for (threshold, works) in [(tokens, false), (tokens - 1, true)] {
        session.pipeline.config_mut().threshold = Some(threshold);
        let out = session.prepare(None, None);
        assert_eq!(!out.layers.is_empty(), works, "{threshold}");
    }
}

#[test]
fn a_learned_ratio_sets_it_off() {
    let mut session = Session::new(Config { snip: None, ..Config::with_budget(10_000) });
    (0..10).for_each(|_| session.push(Message::user("x".repeat(2_000))));
    let counting = Counting::default();
    assert_eq!(session.prepare(None, Some(&counting)).layers, []);
    // The provider counted one token a character.
    session.pipeline.record_usage(20_600);
    let ratio = session.pipeline.estimator().ratio().unwrap();
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    let out = session.prepare(None, Some(&counting));
    assert_eq!(out.layers, [Layer::Summary]);
    assert!(out.tokens_after < out.tokens_before / 2);
    let made = out.compaction.unwrap();
    assert_eq!(made.tokens_before, Some(out.tokens_before));
    assert_eq!(made.tokens_after, Some(out.tokens_after));
}

#[test]
fn the_breaker_opens_after_three_failures() {
    let mut session = Session::new(Config { fit: false, ..Config::with_budget(1_000) });
    (0..20).for_each(|_| session.push(Message::user("x".repeat(400))));
    let failing = Counting { fails: true, ..Counting::default() };
    let before = session.view();
    for _ in 0..3 {
        let out = session.prepare(None, Some(&failing));
        assert_eq!(out.failure.unwrap().kind(), "summary_failed");
        assert_eq!((out.compaction, out.view), (None, before.clone()));
    }
    let out = session.prepare(None, Some(&failing));
    assert_eq!(out.failure.unwrap().kind(), "breaker_open");
    assert_eq!(failing.asked.load(Ordering::Relaxed), 3);
    // A person may still ask, and a success closes it.
    let working = Counting::default();
    let view = session.view();
    let mut pipeline = std::mem::take(&mut session.pipeline);
    let out = pollster::block_on(pipeline.compact(session.input(&view), None, &working)).unwrap();
    assert!(out.compaction.is_some() && !pipeline.breaker().is_open());
}

#[test]
fn failures_in_between_are_forgotten() {
    let mut session = Session::new(Config { fit: false, ..Config::with_budget(1_000) });
    let failing = Counting { fails: true, ..Counting::default() };
    let working = Counting::default();
    for round in 0..4 {
        (0..20).for_each(|_| session.push(Message::user("x".repeat(400))));
        for _ in 0..2 {
            assert!(session.prepare(None, Some(&failing)).failure.is_some());
        }
        assert!(session.prepare(None, Some(&working)).compaction.is_some(), "{round}");
    }
    assert_eq!(failing.asked.load(Ordering::Relaxed), 8);
}

#[test]
fn the_delta_alone_is_summed_up_again() {
    let mut session = Session::new(Config::with_budget(1_000));
    let counting = Counting::default();
    for round in 1..=3 {
        (0..12).for_each(|at| {
            session.push(Message::user(format!("{round}.{at} {}", "x".repeat(400))))
        });
        let out = session.prepare(None, Some(&counting));
        let made = out.compaction.unwrap();
        assert_eq!(made.summary, format!("summary {round}").as_str());
        // Each names the one before it.
        assert_eq!(made.replaces_entry_ids.len(), usize::from(round > 1));
        assert_eq!(session.view().messages, out.view.messages);
    }
    let prompts = counting.prompts.lock().unwrap();
    assert!(!prompts[2].contains("1.0 ") && prompts[2].contains("summary 2"));
    assert!(prompts[2].contains("3.0 "));
}

#[test]
fn a_summary_that_helps_nothing_is_not_taken() {
    struct Long;
    #[async_trait]
    impl Summariser for Long {
        async fn summarise(&self, _: SummaryRequest) -> Result<SummaryReply, SummaryError> {
            Ok(SummaryReply { text: "x".repeat(50_000).into(), ..SummaryReply::default() })
        }
    }
    let mut session = Session::new(Config::with_budget(1_000));
    (0..20).for_each(|_| session.push(Message::user("x".repeat(400))));
    let out = session.prepare(None, Some(&Long));
    assert_eq!(out.failure.unwrap().kind(), "summary_too_long");
    assert_eq!(session.pipeline.breaker().failures(), 1);
    assert!(out.tokens_after <= 1_000);
}

#[test]
fn with_a_summary_that_is_written_already() {
    let mut session = Session::new(Config::default());
    ["a", "b", "c"].into_iter().for_each(|text| session.push(Message::user(text)));
    let view = session.view();
    let mut pipeline = std::mem::take(&mut session.pipeline);
    let input = session.input(&view);
    let error = pipeline.compact_with(input, &" ".into()).unwrap_err();
    assert_eq!(error.kind(), "empty_summary");
    let out = pipeline.compact_with(input, &" by hand\n".into()).unwrap();
    assert_eq!(out.view.messages, [Message::user("Previous conversation summary:\nby hand")]);
    session.append(&out);
    assert_eq!(session.view().messages, out.view.messages);
    let view = session.view();
    let error = pipeline.compact_with(session.input(&view), &"again".into()).unwrap_err();
    assert_eq!(error.kind(), "nothing_to_compact");
}

#[test]
fn manual_with_instructions_and_files() {
    let mut session = Session::new(Config::default());
    session.push(Message::user("fix it"));
    let block = Block::tool_call("c", "edit", Json::parse(r#"{"path":"a.rs"}"#).unwrap());
    session.push(Message::new(Role::Assistant, Content::Blocks(vec![block])));
    session.push(Message::tool("c", "ok"));
    session.settings.model = Some("m".into());
    let view = session.view();
    let counting = Counting::default();
    let wish = Text::from("mind the tests");
    let mut pipeline = std::mem::take(&mut session.pipeline);
    let out =
        pollster::block_on(pipeline.compact(session.input(&view), Some(&wish), &counting)).unwrap();
    let made = out.compaction.unwrap();
    assert_eq!(made.state.unwrap().model, Some("m".into()));
    assert!(made.summary.to_string().ends_with("<modified-files>\na.rs\n</modified-files>"));
    assert!(made.details.unwrap().get().contains("mind the tests"));
    assert!(counting.prompts.lock().unwrap()[0].ends_with("Additional focus: mind the tests"));
}

#[test]
fn images_of_the_session_stay_behind_a_summary() {
    let image = |source| {
        let image =
            forkwood_core::Image { source, mime_type: "image/png".into(), extra: Vec::new() };
        Message::new(Role::User, Content::Blocks(vec![Block::Image(image)]))
    };
    use forkwood_core::message::ImageSource::{Blob, Inline};
    let mut session = Session::new(Config::with_budget(10_000));
    (0..30).for_each(|_| session.push(Message::user("x".repeat(2_000))));
    session.push(image(Blob { name: "sha256-a".into(), bytes: 70_000 }));
    // The session puts the bytes in.
    let mut view = session.view();
    *view.messages.last_mut().unwrap() = image(Inline("AAAA".into()));
    let counting = Counting::default();
    let mut pipeline = std::mem::take(&mut session.pipeline);
    let out = pollster::block_on(pipeline.prepare(session.input(&view), None, Some(&counting)));
    assert!(out.compaction.is_some());
    assert_eq!(out.view.messages.last(), view.messages.last());
}

#[cfg(feature = "exact")]
#[test]
fn exact_counts_where_they_matter() {
    let mut session = Session::new(Config::with_budget(1_000));
    session.settings.model = Some("gpt-4o".into());
    session.push(Message::user("hello ".repeat(300)));
    let view = session.view();
    let exact = session.pipeline.tokens(session.input(&view));
    // "hello " is one token and not six quarters of one.
    assert!((300..330).contains(&exact), "{exact}");
    session.pipeline.config_mut().budget = 100_000;
    let fast = session.pipeline.tokens(session.input(&view));
    assert!((450..500).contains(&fast), "{fast}");
}

#[test]
fn requests_share_their_start_until_a_layer_works() {
    let mut session = Session::new(Config::with_budget(3_000));
    let counting = Counting::default();
    let mut before: Option<(String, bool)> = None;
    let mut changes = 0;
    for at in 0..60 {
        session.push(Message::user(format!("q{at} {}", "x".repeat(300))));
        let out = session.prepare(None, Some(&counting));
        let input = session.snapshot.provider_input(&out.view, &session.settings);
        let body = input.body(Api::Anthropic, &RequestOptions::default());
        let all = input.messages(Api::Anthropic);
        let end = body.rfind(&all[1..]).unwrap() + all.len() - 2;
        if let Some((before, quiet)) = &before {
            let changed = !body.starts_with(before.as_str());
            assert!(!changed || !out.layers.is_empty() || !quiet);
            changes += usize::from(changed);
        }
        before = Some((body[..end].to_owned(), out.layers.is_empty() || out.compaction.is_some()));
        session.push(Message::assistant("a"));
    }
    assert_eq!(changes, counting.asked.load(Ordering::Relaxed));
    assert!((2..10).contains(&changes), "{changes}");
}
