//! Real processes that write one file at once, some of them killed while they do.
//!
//! The test starts itself again, with what to do in an environment variable.

#![allow(clippy::unwrap_used, clippy::print_stdout)]
#![cfg(unix)]

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use forkwood_core::{Draft, EntryId, Message, SessionId};
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{
    Append, Cursor, Durability, Expect, NewSession, SessionStorage, StorageError, WatchEvent,
};
use pollster::block_on as run;

const JOB: &str = "FORKWOOD_TEST_JOB";
const SIZES: [usize; 6] = [10, 4095, 4096, 4097, 65_536, 200_000];
const WRITERS: usize = 8;
const READERS: usize = 4;

fn full() -> bool {
    std::env::var_os("FORKWOOD_TEST_FULL").is_some()
}

fn open(root: &Path) -> JsonlStorage {
    let options = JsonlOptions::default().with_lock_wait(Duration::from_secs(60));
    JsonlStorage::store(root, options).unwrap()
}

fn session() -> SessionId {
    SessionId::new("20260101-000000-00000001").unwrap()
}

/// What a record says, out of its id: whoever reads it can tell whether it is whole.
fn text(id: &str) -> String {
    let size = SIZES[id.bytes().map(usize::from).sum::<usize>() % SIZES.len()];
    let mut text = String::with_capacity(size + id.len());
    while text.len() < size {
        text.push_str(id);
    }
    text.truncate(size);
    text
}

fn draft(id: &str) -> Draft {
    Draft::new(EntryId::from(id), Message::user(text(id)))
}

/// The command line by which this test starts itself.
fn start(job: &str, root: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture"])
        .env(JOB, format!("{job} {name}"))
        .env("FORKWOOD_TEST_ROOT", root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a started process does; nothing when the tests are run as tests.
#[test]
fn the_other_process() {
    let Ok(job) = std::env::var(JOB) else { return };
    let root = PathBuf::from(std::env::var_os("FORKWOOD_TEST_ROOT").unwrap());
    let (job, name) = job.split_once(' ').unwrap();
    match job {
        "write" => write_records(&root, name),
        "compete" => compete(&root, name),
        "hold" => hold(&root),
        "claim" => claim(&root),
        other => panic!("{other}"),
    }
}

/// Appends records for ever, each told when it was acknowledged.
fn write_records(root: &Path, name: &str) {
    let storage = open(root);
    let mut out = std::io::stdout();
    for n in 0.. {
        let ids = match n % 3 {
            0 => vec![format!("{name}-{n}")],
            _ => vec![format!("{name}-{n}a"), format!("{name}-{n}b")],
        };
        let mut append = Append::any(ids.iter().map(|id| draft(id)).collect());
        if n % 2 == 0 {
            append.durability = Durability::Group(Duration::ZERO);
        }
        run(storage.append(&session(), append)).unwrap();
        // The newline keeps what the test harness writes apart.
        let line = format!("\nacknowledged {}\n", ids.join(" "));
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// For each line on stdin, tries to write where it says.
fn compete(root: &Path, name: &str) {
    let storage = open(root);
    for (round, line) in std::io::stdin().lines().enumerate() {
        let expect = Expect::At(EntryId::from(line.unwrap()));
        let id = format!("{name}-{round}");
        let append = Append { expect, ..Append::any(vec![draft(&id)]) };
        let answer = match run(storage.append(&session(), append)) {
            Ok(_) => id,
            Err(StorageError::Conflict { .. }) => "conflict".to_owned(),
            Err(error) => panic!("{error}"),
        };
        println!("\nanswer {answer}");
    }
}

/// Takes the lock of the session and keeps it until it is killed.
fn hold(root: &Path) {
    let lock = root.join("sessions").join(format!(".{}.jsonl.lock", session()));
    let file = std::fs::File::options().append(true).create(true).open(lock).unwrap();
    file.lock().unwrap();
    println!("\nholding");
    let _ = std::io::stdin().lines().next();
}

/// Runs in the session until it is killed.
fn claim(root: &Path) {
    let _claim = run(open(root).claim(&session())).unwrap();
    println!("\nholding");
    let _ = std::io::stdin().lines().next();
}

fn create(root: &Path) -> JsonlStorage {
    let storage = open(root);
    let new = NewSession { id: Some(session()), ..NewSession::default() };
    run(storage.create(new)).unwrap();
    storage
}

/// Reads what processes acknowledge until all were ended.
fn collect(out: ChildStdout, into: &Mutex<Vec<String>>, counts: [&AtomicUsize; 2]) {
    // A line is told with one write, which a pipe takes whole.
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        let Some(ids) = line.strip_prefix("acknowledged ") else { continue };
        into.lock().unwrap().extend(ids.split(' ').map(str::to_owned));
        for count in counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A process that writes, and the thread that hears of it.
struct Writer<'s> {
    child: Child,
    /// How many writes were acknowledged to it.
    told: Arc<AtomicUsize>,
    reader: ScopedJoinHandle<'s, ()>,
}

impl Writer<'_> {
    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
    }
}

#[test]
fn what_was_acknowledged_is_there_once_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_path_buf();
    let storage = create(&root);
    let wanted = if full() { WRITERS * 500 } else { WRITERS * 20 };
    let (acknowledged, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let done = AtomicBool::new(false);
    let mut killed = 0;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(|| tail(&root, &done))).collect();
        let mut writers: VecDeque<Writer<'_>> = VecDeque::new();
        let mut started = 0;
        let patience = Instant::now() + Duration::from_secs(600);
        while count.load(Ordering::Relaxed) < wanted && Instant::now() < patience {
            while writers.len() < WRITERS {
                let mut child = start("write", &root, &format!("w{started}"));
                started += 1;
                let out = child.stdout.take().unwrap();
                let (acknowledged, count) = (&acknowledged, &count);
                let told = Arc::new(AtomicUsize::new(0));
                let mine = Arc::clone(&told);
                let reader = scope.spawn(move || collect(out, acknowledged, [count, &mine]));
                writers.push_back(Writer { child, told, reader });
            }
            std::thread::sleep(Duration::from_millis(50));
            // One that has not written anything yet is not worth killing.
            let victim = writers.iter().position(|w| w.told.load(Ordering::Relaxed) > 0);
            if let Some(victim) = victim.and_then(|at| writers.remove(at)) {
                victim.end();
                killed += 1;
            }
        }
        writers.into_iter().for_each(Writer::end);
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            let seen = reader.join().unwrap();
            let all = run(storage.heads(&session())).unwrap();
            let all: Vec<_> = all.into_iter().map(|head| head.id).collect();
            assert_eq!(seen, all, "a reader saw something else");
        }
    });
    assert!(count.load(Ordering::Relaxed) >= wanted && killed > 0);
    verify(&root, &acknowledged.into_inner().unwrap());
}

fn verify(root: &Path, acknowledged: &[String]) {
    let storage = open(root);
    let mut there: HashMap<String, usize> = HashMap::new();
    let mut from = 0;
    loop {
        let page = run(storage.read(&session(), from, 100)).unwrap();
        for stored in &page.entries {
            let id = stored.entry.id.to_string();
            if let Some(message) = stored.entry.message() {
                assert_eq!(*message, Message::user(text(&id)), "{id} is not whole");
                *there.entry(id).or_default() += 1;
            }
        }
        match page.next {
            Some(next) => from = next,
            None => break,
        }
    }
    for id in acknowledged {
        assert_eq!(there.get(id), Some(&1), "{id} was acknowledged");
    }
    assert!(there.values().all(|count| *count == 1));
    for (id, other) in [("a", "b"), ("b", "a")] {
        for half in there.keys().filter_map(|known| known.strip_suffix(id)) {
            assert!(there.contains_key(&format!("{half}{other}")), "half of a batch: {half}");
        }
    }
    let leaf = run(storage.facts(&session())).unwrap().lanes.remove(0).leaf.unwrap();
    let stop = forkwood_storage::PathStop::Root;
    let path = run(storage.path(&session(), &leaf, stop)).unwrap();
    assert_eq!(path.entries.len(), there.len() + 1);
    run(storage.append(&session(), Append::any(vec![draft("last")]))).unwrap();
    let found = run(storage.check(&session())).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

/// Watches from the start until told to end; the ids seen, in order.
fn tail(root: &Path, done: &AtomicBool) -> Vec<EntryId> {
    let storage = open(root);
    let generation = run(storage.facts(&session())).unwrap().generation;
    let mut watch = run(storage.watch(&session(), Cursor::start(generation))).unwrap();
    let mut seen = Vec::new();
    loop {
        let ending = done.load(Ordering::Relaxed);
        match watch.poll_event().unwrap() {
            Some(WatchEvent::Entry(stored)) => {
                if let Some(message) = stored.entry.message() {
                    let id = stored.entry.id.to_string();
                    assert_eq!(*message, Message::user(text(&id)), "half a record: {id}");
                }
                seen.push(stored.entry.id);
            }
            Some(other) => panic!("{other:?}"),
            None if ending => return seen,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[test]
fn of_two_that_expect_the_same_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let storage = create(dir.path());
    let mut leaf = run(storage.heads(&session())).unwrap()[0].id.to_string();
    let mut children: Vec<Child> =
        ["a", "b"].iter().map(|name| start("compete", dir.path(), name)).collect();
    let mut outs: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().unwrap()).lines())
        .collect();
    let rounds = if full() { 1000 } else { 60 };
    for _ in 0..rounds {
        for child in &mut children {
            writeln!(child.stdin.as_mut().unwrap(), "{leaf}").unwrap();
        }
        let answers: Vec<String> = outs
            .iter_mut()
            .map(|out| {
                let answer =
                    out.find_map(|line| Some(line.unwrap().strip_prefix("answer ")?.to_owned()));
                answer.unwrap()
            })
            .collect();
        let won: Vec<_> = answers.iter().filter(|answer| *answer != "conflict").collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        leaf.clone_from(won[0]);
        let facts = run(storage.facts(&session())).unwrap();
        assert_eq!(facts.lanes[0].leaf.as_ref().unwrap().as_str(), leaf);
    }
    assert_eq!(run(storage.heads(&session())).unwrap().len(), rounds + 1);
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path());
    let mut child = start("hold", dir.path(), "x");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap() == "holding").unwrap().unwrap();
    let options = JsonlOptions::default().with_lock_wait(Duration::from_millis(20));
    let hasty = JsonlStorage::store(dir.path(), options).unwrap();
    let append = || run(hasty.append(&session(), Append::any(vec![draft("x")])));
    assert_eq!(append().unwrap_err().kind().as_str(), "locked");
    assert_eq!(run(hasty.heads(&session())).unwrap().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    append().unwrap();
}

#[test]
fn the_claim_of_a_killed_process_is_free_and_keeps_no_writer_out() {
    let dir = tempfile::tempdir().unwrap();
    let storage = create(dir.path());
    let mut child = start("claim", dir.path(), "x");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap() == "holding").unwrap().unwrap();
    assert_eq!(run(storage.claim(&session())).unwrap_err().kind().as_str(), "locked");
    assert!(run(storage.is_claimed(&session())).unwrap());
    run(storage.append(&session(), Append::any(vec![draft("x")]))).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!run(storage.is_claimed(&session())).unwrap());
    drop(run(storage.claim(&session())).unwrap());
}
