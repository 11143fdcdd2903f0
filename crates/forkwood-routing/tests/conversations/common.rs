//! What the tests of conversations share.

use std::path::Path;
use std::sync::Arc;

use forkwood::conversation::{ConversationMessage, ConversationStore, Identity, SessionScope};
use forkwood::storage::disk::{Disk, SimDisk};
use forkwood::{Block, Content, ManualClock, Message, Role, Timestamp};
use forkwood_routing::{ConversationOptions, PersistentConversations};
pub(crate) use pollster::block_on as run;

/// 2027-01-15, 08:00 UTC.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(crate) const ROOT: &str = "/bot/.forkwood";

/// A store on a disk in memory, with a clock of its own.
pub(crate) struct Place {
    pub(crate) disk: SimDisk,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: PersistentConversations,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place::on(&SimDisk::new())
    }

    pub(crate) fn on(disk: &SimDisk) -> Place {
        let clock = Arc::new(ManualClock::new(START));
        let store = open(Arc::new(disk.clone()), &clock);
        Place { disk: disk.clone(), clock, store }
    }

    /// Another store on the same disk, as another process would open it.
    pub(crate) fn again(&self) -> PersistentConversations {
        open(Arc::new(self.disk.clone()), &self.clock)
    }
}

pub(crate) fn open(disk: Arc<dyn Disk>, clock: &Arc<ManualClock>) -> PersistentConversations {
    let options = ConversationOptions::default()
        .with_disk(disk)
        .with_clock(Arc::clone(clock) as Arc<dyn forkwood::Clock>)
        .with_lock_wait(std::time::Duration::from_secs(60));
    PersistentConversations::open_with(Path::new(ROOT), options).unwrap()
}

pub(crate) fn say(store: &dyn ConversationStore, key: &str, text: &str) {
    run(store.add_message(key, Role::User, text)).unwrap();
}

pub(crate) fn said(texts: &[&str]) -> Vec<ConversationMessage> {
    texts.iter().map(|text| Message::user(*text).into()).collect()
}

/// The texts that a conversation shows.
pub(crate) fn texts(store: &dyn ConversationStore, key: &str) -> Vec<String> {
    let history = run(store.get_history(key)).unwrap();
    history.iter().map(text_of).collect()
}

pub(crate) fn text_of(message: &ConversationMessage) -> String {
    message.message.content.text().to_string_lossy().into_owned()
}

pub(crate) fn thought() -> ConversationMessage {
    let thinking = Block::Thinking { thinking: "Hm.".into(), signature: None, extra: Vec::new() };
    Message::new(Role::Assistant, Content::Blocks(vec![thinking])).into()
}

/// A direct chat on Telegram.
pub(crate) fn scope(chat: &str) -> SessionScope {
    SessionScope {
        version: 1,
        agent_id: "main".to_owned(),
        channel: "telegram".to_owned(),
        account: "default".to_owned(),
        dimensions: vec!["chat".to_owned()],
        values: [("chat".to_owned(), format!("direct:{chat}"))].into(),
    }
}

/// What routing says of that chat: as of a message of a person whose id is the chat's.
pub(crate) fn identity(chat: &str) -> Identity {
    let names = ["main", "direct:{}", "telegram:direct:{}", "telegram:default:direct:{}"];
    let aliases = names.iter().map(|name| format!("agent:main:{}", name.replace("{}", chat)));
    Identity { scope: Some(scope(chat)), aliases: aliases.collect() }
}
