use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, EntryId, Image, Json, Message, Role, Text};
use proptest::prelude::*;

use super::{MicroConfig, SnipConfig, Spill, SpillConfig, SpillItem, fit, micro, snip, spill};
use crate::estimate::Estimator;
use crate::{View, is_paired, pair_tools};

/// Files in memory, by the rule that a real one must keep.
#[derive(Default)]
struct Files(Mutex<BTreeMap<String, Text>>);

impl Spill for Files {
    fn put(&self, item: &SpillItem<'_>) -> io::Result<String> {
        let mut files = self.0.lock().unwrap();
        let name = match files.get(item.name) {
            Some(there) if there != item.text => item.other_name,
            _ => item.name,
        };
        files.insert(name.to_owned(), item.text.clone());
        Ok(format!("/r/{name}"))
    }
}

struct Full;

impl Spill for Full {
    fn put(&self, _: &SpillItem<'_>) -> io::Result<String> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

fn view(messages: Vec<Message>) -> View {
    let ids = (0..messages.len()).map(|at| EntryId::from(format!("e{at}"))).collect();
    View::new(messages, ids)
}

fn image() -> Block {
    Block::Image(Image {
        source: ImageSource::Inline("AAAA".into()),
        mime_type: "image/png".into(),
        extra: Vec::new(),
    })
}

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| Block::tool_call(*id, "f", Json::empty_object());
    Message::new(Role::Assistant, Content::Blocks(ids.iter().map(call).collect()))
}

#[test]
fn one_id_for_two_outputs_makes_two_files() {
    let long = |c: &str| c.repeat(20_001);
    let messages = vec![
        Message::tool("call_0", long("a")),
        Message::tool("call_0", long("b")),
        Message::tool("../../x", long("c")),
    ];
    let files = Files::default();
    let mut first = view(messages.clone());
    assert_eq!(spill(&mut first, &SpillConfig::default(), &files), 3);
    let kept = files.0.lock().unwrap().clone();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept["call_0.txt"], Text::from(long("a")));
    assert!(kept.keys().all(|name| !name.contains('/') && !name.starts_with('.')));
    // The same on the next request, whatever was added or has gone before it.
    let mut second = view(messages[1..].to_vec());
    assert_eq!(spill(&mut second, &SpillConfig::default(), &files), 2);
    assert_eq!(second.messages, first.messages[1..]);
    assert_eq!(*files.0.lock().unwrap(), kept);
}

#[test]
fn images_stay_and_a_full_disk_changes_nothing() {
    let blocks = vec![Block::text("x".repeat(30_000)), image()];
    let mut message = Message::tool("c", "");
    message.content = Content::Blocks(blocks);
    let before = view(vec![message]);
    let mut out = before.clone();
    assert_eq!(spill(&mut out, &SpillConfig::default(), &Full), 0);
    assert_eq!(out, before);
    assert_eq!(spill(&mut out, &SpillConfig::default(), &Files::default()), 1);
    let Content::Blocks(blocks) = &out.messages[0].content else { panic!() };
    assert_eq!((blocks.len(), &blocks[1]), (2, &image()));
}

#[test]
fn a_snip_counts_an_earlier_one_on() {
    let mut out = view((0..60).map(|at| Message::user(format!("{at}"))).collect());
    assert_eq!(snip(&mut out, &SnipConfig::default()), 11);
    assert_eq!(out.len(), 50);
    assert_eq!(out.entry_ids[3], EntryId::new(""));
    out.messages.extend((0..10).map(|at| Message::user(format!("more {at}"))));
    out.entry_ids.resize(60, EntryId::new("n"));
    // Ten new messages: ten more go, and the marker of the first eleven with them.
    assert_eq!(snip(&mut out, &SnipConfig::default()), 10);
    assert_eq!(out.messages[3].content.text(), "[snipped 21 messages from conversation middle]");
    assert_eq!(out.len(), 50);
}

#[test]
fn micro_keeps_the_last_the_short_and_what_they_answer() {
    let mut messages: Vec<Message> =
        (0..7).map(|at| Message::tool(format!("c{at}"), "y".repeat(201))).collect();
    messages[0].content = Content::Blocks(vec![image()]);
    messages[1].content = Content::Text("z".repeat(200).into());
    messages.push(Message::user("y".repeat(999)));
    let mut out = view(messages.clone());
    assert_eq!(micro(&mut out, &MicroConfig::default()), 1);
    assert_eq!(out.messages[0].content.text(), "[Earlier tool result compacted]");
    assert_eq!(out.messages[0].tool_call_id, Some("c0".into()));
    assert_eq!(out.messages[1..], messages[1..]);
}

#[test]
fn fit_keeps_the_question_and_the_last_group() {
    let mut messages = vec![Message::user("the question")];
    for at in 0..40 {
        messages.push(calls(&[&format!("c{at}")]));
        messages.push(Message::tool(format!("c{at}"), "r".repeat(4_000)));
    }
    let estimator = Estimator::new();
    let meter = estimator.meter(None, false);
    let mut out = view(messages.clone());
    assert!(fit(&mut out, 1_000, &meter));
    assert!(meter.messages(&out.messages) <= 1_000);
    assert_eq!(out.messages[0], messages[0]);
    assert!(is_paired(&out.messages));
    let last = out.messages.last().unwrap().content.text().to_string();
    assert!(last.starts_with("rrr") && last.ends_with("rrr"), "{last}");
    assert!(!fit(&mut out, 1_000, &meter));
}

#[test]
fn fit_shortens_one_giant_message() {
    let estimator = Estimator::new();
    let meter = estimator.meter(None, false);
    let mut out = view(vec![Message::user("\u{e9}".repeat(1_000_000))]);
    assert!(fit(&mut out, 500, &meter));
    let tokens = meter.messages(&out.messages);
    assert!((400..=500).contains(&tokens), "{tokens}");
    let mut pictures = view(vec![Message::new(Role::User, Content::Blocks(vec![image(); 9]))]);
    assert!(fit(&mut pictures, 500, &meter));
    assert!(meter.messages(&pictures.messages) <= 500);
}

/// Turns of a conversation: a question, then groups of calls, some without results.
pub(crate) fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let group = (1..4_usize, 0..3_000_usize, prop::bool::weighted(0.9));
    let turn = (0..2_000_usize, prop::collection::vec(group, 0..4));
    prop::collection::vec(turn, 1..30).prop_map(|turns| {
        let mut out = Vec::new();
        let mut next = 0;
        for (text, groups) in turns {
            out.push(Message::user("q".repeat(text)));
            for (count, len, answered) in groups {
                let ids: Vec<String> = (0..count).map(|at| format!("c{}", next + at)).collect();
                next += count;
                out.push(calls(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
                if answered {
                    out.extend(ids.iter().map(|id| Message::tool(id.as_str(), "r".repeat(len))));
                }
            }
            out.push(Message::assistant("a"));
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_layer_alone_keeps_pairs_and_is_done_once(messages in conversation()) {
        let ids = vec![EntryId::new("e"); messages.len()];
        let paired = View::new(pair_tools(&messages, &ids).messages, Vec::new());
        let files = Files::default();
        let small = SpillConfig { over_chars: 1_000, preview_chars: 100 };
        let estimator = Estimator::new();
        let meter = estimator.meter(None, false);
        let layers: [&dyn Fn(&mut View); 4] = [
            &|view| { spill(view, &small, &files); },
            &|view| { snip(view, &SnipConfig::default()); },
            &|view| { micro(view, &MicroConfig::default()); },
            &|view| { fit(view, 2_000, &meter); },
        ];
        for layer in layers {
            let mut once = paired.clone();
            layer(&mut once);
            prop_assert!(is_paired(&once.messages));
            prop_assert_eq!(once.messages.len(), once.entry_ids.len());
            let mut twice = once.clone();
            layer(&mut twice);
            prop_assert_eq!(twice, once);
        }
        // And one after the other, in the pipeline's order.
        let mut all = paired;
        layers.iter().for_each(|layer| layer(&mut all));
        prop_assert!(is_paired(&all.messages));
    }

    #[test]
    fn fit_fits(messages in conversation(), room in 600_u64..5_000) {
        let estimator = Estimator::new();
        let meter = estimator.meter(None, false);
        let mut out = view(messages);
        fit(&mut out, room, &meter);
        prop_assert!(meter.messages(&out.messages) <= room);
    }
}
