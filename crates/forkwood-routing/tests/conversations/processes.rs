//! Many senders in several processes: what was acknowledged is there once, in order.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use forkwood::conversation::ConversationStore;
use forkwood::{Durability, Role};
use forkwood_routing::{ConversationOptions, PersistentConversations};

use crate::common::*;

const PROCESS: &str = "FORKWOOD_TEST_PROCESS";
const FOLDER: &str = "FORKWOOD_TEST_ROOT";
const PROCESSES: usize = 4;
const SENDERS: usize = 16;
const SESSIONS: usize = 1000;
/// Messages of each sender.
const MESSAGES: usize = 40;

fn store(root: &Path) -> PersistentConversations {
    // A killed process loses nothing that the system took; only a machine that stops would.
    let options = ConversationOptions::default()
        .with_durability(Durability::Os)
        .with_lock_wait(Duration::from_secs(120));
    PersistentConversations::open_with(root, options).unwrap()
}

fn start(root: &Path, process: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process", "--nocapture"])
        .env(PROCESS, process.to_string())
        .env(FOLDER, root)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a started process does; nothing when the tests are run as tests.
#[test]
fn the_other_process() {
    let Ok(process) = std::env::var(PROCESS) else { return };
    let store = store(&PathBuf::from(std::env::var_os(FOLDER).unwrap()));
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (store, process) = (&store, &process);
            scope.spawn(move || send(store, &format!("{process}.{sender}")));
        }
    });
}

/// Turns in conversations all over the place, each told when it was acknowledged.
fn send(store: &PersistentConversations, sender: &str) {
    let seed = sender.bytes().fold(7, |sum: usize, byte| sum * 31 + usize::from(byte));
    for n in 0..MESSAGES {
        // Each meets some conversations often and all of them are met.
        let chat = match n % 4 {
            0 => n / 4 % 3,
            _ => (seed * 37 + n * 251) % SESSIONS,
        };
        let (chat, text) = (chat.to_string(), format!("{sender} {n}"));
        let key = run(store.ensure_metadata(&scope(&chat).key(), &identity(&chat))).unwrap().key;
        run(store.add_message(&key, Role::User, &text)).unwrap();
        let line = format!("\nacknowledged {chat} {text}\n");
        let mut out = std::io::stdout().lock();
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[test]
fn what_was_acknowledged_to_any_sender_is_there_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".forkwood");
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    let listen = |process: usize| {
        let mut child = start(&root, process);
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut told = Vec::new();
        for line in out.lines().map_while(std::result::Result::ok) {
            let Some(what) = line.strip_prefix("acknowledged ") else { continue };
            let (chat, text) = what.split_once(' ').unwrap();
            told.push((chat.to_owned(), text.to_owned()));
            // One of them dies at its work.
            if process == 0 && told.len() == SENDERS * MESSAGES / 2 {
                child.kill().unwrap();
            }
        }
        let ended = child.wait().unwrap();
        assert_eq!(ended.success(), process != 0);
        told
    };
    std::thread::scope(|scope| {
        let listeners: Vec<_> =
            (0..PROCESSES).map(|process| scope.spawn(move || listen(process))).collect();
        for listener in listeners {
            acknowledged.extend(listener.join().unwrap());
        }
    });
    assert!(acknowledged.len() >= (PROCESSES - 1) * SENDERS * MESSAGES);
    let store = store(&root);
    let mut there: HashMap<(String, String), usize> = HashMap::new();
    let mut chats: Vec<String> = acknowledged.iter().map(|(chat, _)| chat.clone()).collect();
    chats.sort();
    chats.dedup();
    for chat in &chats {
        let alias = format!("agent:main:telegram:direct:{chat}");
        assert_eq!(run(store.resolve_key(&alias)).unwrap(), scope(chat).key());
        let mut last: HashMap<String, usize> = HashMap::new();
        for text in texts(&store, &alias) {
            let (sender, n) = text.split_once(' ').unwrap();
            let n: usize = n.parse().unwrap();
            let before = last.insert(sender.to_owned(), n);
            assert!(before.is_none_or(|before| before < n), "{chat}: {sender} is out of order");
            *there.entry((chat.clone(), text)).or_default() += 1;
        }
    }
    assert!(there.values().all(|count| *count == 1), "something is there twice");
    for told in &acknowledged {
        assert!(there.contains_key(told), "{told:?} was acknowledged");
    }
    // What is there and was not acknowledged was on its way when its process died.
    assert!(there.len() - acknowledged.len() <= SENDERS);
    assert!(run(store.list_sessions()).unwrap().len() - chats.len() <= SENDERS);
    assert!(chats.len() > SESSIONS * 3 / 4, "{} conversations", chats.len());
}
