//! A real process is killed at random points, and another one goes on.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use forkwood::{CreateOptions, Message, SessionStore};

use crate::script::{Log, agent, check, conversation, go};

const FOLDER: &str = "FORKWOOD_AGENT_KILL_FOLDER";
const SESSION: &str = "FORKWOOD_AGENT_KILL_SESSION";

/// One life of the process: what its tools do stands in a file.
async fn live(root: &Path, id: &str, log: &Log) {
    let store = SessionStore::open_root(root).unwrap();
    let session = store.open(id).await.unwrap();
    let effects = root.join("effects");
    let mut agent = agent(&store, session, log, move |call| {
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(&effects).unwrap();
        file.write_all(format!("{call}\n").as_bytes()).unwrap();
        file.sync_all().unwrap();
    })
    .await;
    go(&mut agent).await.unwrap();
}

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn child() {
    let (Some(folder), Ok(session)) = (std::env::var_os(FOLDER), std::env::var(SESSION)) else {
        return;
    };
    println!("ready");
    live(Path::new(&folder), &session, &Log::default()).await;
}

async fn fresh(root: &Path) -> String {
    let store = SessionStore::open_root(root).unwrap();
    store.create(CreateOptions::default()).await.unwrap().id().to_string()
}

/// Starts the process; gives the time from when it was ready to its end, or to its death.
fn run(root: &Path, id: &str, kill_after: Option<Duration>) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, root)
        .env(SESSION, id)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("ready")));
    let start = Instant::now();
    if let Some(wait) = kill_after {
        std::thread::sleep(wait);
        let _ = child.kill();
    }
    child.wait().unwrap();
    start.elapsed()
}

fn effects(root: &Path) -> Log {
    let text = std::fs::read_to_string(root.join("effects")).unwrap_or_default();
    let log = Log::default();
    log.lock().unwrap().extend(text.lines().map(str::to_owned));
    log
}

async fn checked(root: &Path, id: &str, whole: &[Message], what: &str) -> Vec<Message> {
    let store = SessionStore::open_root(root).unwrap();
    let session = store.open(id).await.unwrap();
    let now = conversation(&session).await;
    let whole = if whole.is_empty() { &now } else { whole };
    check(&store, &session, whole, &effects(root), what).await;
    now
}

#[tokio::test]
async fn a_killed_process_is_followed_by_one_that_goes_on() {
    let full = std::env::var_os("FORKWOOD_TEST_FULL").is_some();
    let folder = tempfile::tempdir().unwrap();
    let id = fresh(folder.path()).await;
    let time = run(folder.path(), &id, None);
    let whole = checked(folder.path(), &id, &[], "whole").await;
    assert_eq!(whole.len(), 12);
    let kills: u32 = if full { 200 } else { 25 };
    for kill in 0..kills {
        let folder = tempfile::tempdir().unwrap();
        let id = fresh(folder.path()).await;
        // Spread over the run by the golden ratio, and a little past its end.
        let part = (f64::from(kill) * 0.618_033_988_75).fract();
        run(folder.path(), &id, Some(time.mul_f64(part)));
        live_on(folder.path(), &id).await;
        checked(folder.path(), &id, &whole, &format!("kill {kill} at {part:.2}")).await;
    }
}

async fn live_on(root: &Path, id: &str) {
    live(root, id, &Log::default()).await;
}
