//! Any calls, in any order, give what a list of messages and a summary would give: by every store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forkwood::conversation::ConversationStore;
use forkwood::storage::disk::SimDisk;
use forkwood::{ManualClock, Role};
use forkwood_formats::picoclaw::{FolderOptions, JsonConversations, PicoConversations};
use proptest::prelude::*;

use crate::common::*;

#[derive(Clone, Debug)]
enum Call {
    Add,
    AddThought,
    Summary(&'static str),
    Truncate(usize),
    Replace(usize),
    Save,
    Again,
}

fn calls() -> impl Strategy<Value = Vec<(bool, bool, Call)>> {
    let call = prop_oneof![
        6 => Just(Call::Add),
        1 => Just(Call::AddThought),
        2 => prop_oneof![Just("so far"), Just(""), Just("later")].prop_map(Call::Summary),
        3 => (0..5_usize).prop_map(Call::Truncate),
        2 => (0..4_usize).prop_map(Call::Replace),
        1 => Just(Call::Save),
        1 => Just(Call::Again),
    ];
    prop::collection::vec((any::<bool>(), any::<bool>(), call), 1..40)
}

type Opened = Box<dyn ConversationStore>;

/// Makes the calls, of two conversations by key and alias, and holds what is shown against lists.
fn check(calls: &[(bool, bool, Call)], open: impl Fn() -> Opened) -> Result<(), TestCaseError> {
    let mut store = open();
    let chats = ["1", "2"].map(|chat| (scope(chat).key(), identity(chat), chat));
    let mut model = [(Vec::<String>::new(), String::new()), (Vec::new(), String::new())];
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("message {number}")
    };
    for (key, identity, _) in &chats {
        run(store.ensure_metadata(key, identity)).unwrap();
    }
    for (which, by_alias, call) in calls {
        let which = usize::from(*which);
        let (key, identity, chat) = &chats[which];
        let alias = format!("agent:main:direct:{chat}");
        let key = if *by_alias { alias.as_str() } else { key };
        let (messages, summary) = &mut model[which];
        match call {
            Call::Add => {
                let text = next();
                run(store.add_message(key, Role::User, &text)).unwrap();
                messages.push(text);
            }
            Call::AddThought => {
                run(store.add_full_message(key, thought())).unwrap();
            }
            Call::Summary(text) => {
                run(store.set_summary(key, text)).unwrap();
                *summary = (*text).to_owned();
            }
            Call::Truncate(keep) => {
                run(store.truncate_history(key, *keep)).unwrap();
                messages.drain(..messages.len().saturating_sub(*keep));
            }
            Call::Replace(count) => {
                *messages = (0..*count).map(|_| next()).collect();
                let texts: Vec<&str> = messages.iter().map(String::as_str).collect();
                let mut new = said(&texts);
                new.insert(count / 2, thought());
                run(store.set_history(key, new)).unwrap();
            }
            Call::Save => run(store.save(key)).unwrap(),
            Call::Again => {
                store = open();
                run(store.ensure_metadata(key, identity)).unwrap();
            }
        }
        for ((key, _, chat), (messages, summary)) in chats.iter().zip(&model) {
            prop_assert_eq!(&texts(store.as_ref(), key), messages);
            let alias = format!("agent:main:telegram:direct:{chat}");
            prop_assert_eq!(&run(store.get_summary(&alias)).unwrap(), summary);
        }
    }
    Ok(())
}

fn in_folder(disk: &SimDisk) -> FolderOptions {
    FolderOptions {
        disk: Arc::new(disk.clone()),
        clock: Arc::new(ManualClock::new(START)),
        lock_wait: Duration::ZERO,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn native_sessions(calls in calls()) {
        let place = Place::new();
        check(&calls, || Box::new(place.again()))?;
    }

    #[test]
    fn files_of_picoclaw(calls in calls()) {
        let disk = SimDisk::new();
        let folder = Path::new("/sessions");
        let open = || Box::new(PicoConversations::open_with(folder, in_folder(&disk)));
        check(&calls, || open())?;
    }

    #[test]
    fn json_files(calls in calls()) {
        let disk = SimDisk::new();
        let folder = Path::new("/sessions");
        let open = || Box::new(JsonConversations::open_with(folder, in_folder(&disk)));
        check(&calls, || open())?;
    }
}
