//! How much memory a log takes, counted at the allocator.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use forkwood_core::SessionId;
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{Page, SessionStorage};
use pollster::block_on as run;

/// The system's allocator, counting.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grew(by: usize) {
    let now = NOW.fetch_add(by, Ordering::Relaxed) + by;
    MOST.fetch_max(now, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe; this one only counts")]
// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new one may both be there for a moment.
        grew(size);
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One at a time: the numbers are those of the whole process.
static TURN: Mutex<()> = Mutex::new(());

const NAME: &str = "20260101-000000-00000001";

fn file(lines: impl Iterator<Item = String>) -> (tempfile::TempDir, PathBuf) {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sessions")).unwrap();
    let path = dir.path().join("sessions").join(format!("{NAME}.jsonl"));
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let id = id(0);
    writeln!(out, r#"{{"id":"{id}","parentId":null,"timestamp":1.0,"type":"session_info","sessionId":"{NAME}","version":1,"generation":"g"}}"#).unwrap();
    for line in lines {
        writeln!(out, "{line}").unwrap();
    }
    out.into_inner().unwrap().sync_all().unwrap();
    (dir, path)
}

fn id(n: u64) -> String {
    format!("0192f0c1a2b37000{n:016x}")
}

fn says(n: u64, text: &str) -> String {
    let role = if n.is_multiple_of(2) { "assistant" } else { "user" };
    format!(
        r#"{{"id":"{}","parentId":"{}","timestamp":2.5,"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#,
        id(n),
        id(n - 1)
    )
}

fn open(root: &Path) -> (JsonlStorage, SessionId) {
    let storage = JsonlStorage::store(root, JsonlOptions::default()).unwrap();
    (storage, SessionId::new(NAME).unwrap())
}

#[test]
fn an_index_takes_64_bytes_an_entry() {
    const COUNT: u64 = 200_000;
    let _turn = TURN.lock().unwrap();
    let (dir, _) = file((1..=COUNT).map(|n| says(n, "hello")));
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let (storage, s) = open(dir.path());
    assert_eq!(run(storage.facts(&s)).unwrap().entries, COUNT + 1);
    let kept = NOW.load(Ordering::Relaxed) - before;
    let most = MOST.load(Ordering::Relaxed) - before;
    println!("{kept} bytes kept, {:.1} an entry; {most} at most", kept as f64 / COUNT as f64);
    assert!(kept < COUNT as usize * 64 + 1024 * 1024, "{kept}");
    assert!(most < COUNT as usize * 128 + 2 * 1024 * 1024, "{most}");
    drop(Arc::new(storage));
}

#[test]
fn a_long_line_is_not_held_to_list_it_or_to_append() {
    const LONG: usize = 20 * 1024 * 1024;
    let _turn = TURN.lock().unwrap();
    let long = "x".repeat(LONG);
    for last in [false, true] {
        let count = if last { 3 } else { 5 };
        let (dir, path) = file((1..=count).map(|n| match n {
            3 => says(n, &long),
            _ => says(n, "short"),
        }));
        assert!(path.metadata().unwrap().len() > LONG as u64);
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let (storage, s) = open(dir.path());
        let row = run(storage.list(Page::default())).unwrap().rows.remove(0);
        assert_eq!((row.messages, row.damage), (count, 0));
        assert_eq!(row.first_user.as_deref(), Some("short"));
        assert_eq!(run(storage.heads(&s)).unwrap().len() as u64, count + 1);
        let draft = forkwood_core::Draft::new("new".into(), forkwood_core::Message::user("on"));
        run(storage.append(&s, forkwood_storage::Append::any(vec![draft]))).unwrap();
        let most = MOST.load(Ordering::Relaxed) - before;
        println!("{most} bytes at most");
        assert!(most < 8 * 1024 * 1024, "{most}");
    }
    // The first thing that the user said may be the long one.
    let (dir, _) = file(std::iter::once(says(1, &format!("first\\nsecond{long}"))));
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let (storage, _) = open(dir.path());
    let row = run(storage.list(Page::default())).unwrap().rows.remove(0);
    assert_eq!(row.first_user.as_deref(), Some("first"));
    assert!(row.last_activity.is_some());
    assert!(MOST.load(Ordering::Relaxed) - before < 8 * 1024 * 1024);
}
