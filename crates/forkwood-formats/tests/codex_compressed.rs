//! Rollouts of Codex that were compressed.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::storage::disk::{Disk, RealDisk};
use forkwood::storage::{MemoryStorage, SessionStorage};
use forkwood::{EntryId, SessionStore};
use forkwood_formats::import::{self, Import, Outcome, Report};
use pollster::block_on;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const NAME: &str = "rollout-2026-03-01T09-00-00-01990001-0000-7000-8000-000000000001.jsonl";
const ID: &str = "01990001-0000-7000-8000-000000000001";

fn plain() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/codex/sessions/2026/03/01")
        .join(NAME);
    std::fs::read(path).unwrap()
}

fn take(store: &SessionStore, path: &Path) -> Vec<Report> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let found = import::find(disk.as_ref(), path, &import::tools());
    let mut reports = Vec::new();
    block_on(async {
        let mut import = Import::start(store, disk, None).await.unwrap();
        import.take(&found.units, &mut |report| reports.push(report)).await.unwrap();
    });
    reports
}

fn store() -> SessionStore {
    SessionStore::new(Arc::new(MemoryStorage::new().unwrap()) as Arc<dyn SessionStorage>)
}

fn ids(store: &SessionStore) -> Vec<EntryId> {
    block_on(block_on(store.open(ID)).unwrap().heads()).unwrap().into_iter().map(|h| h.id).collect()
}

fn put(folder: &Path, bytes: &[u8]) -> PathBuf {
    let archived = folder.join("archived_sessions");
    std::fs::create_dir_all(&archived).unwrap();
    let path = archived.join(format!("{NAME}.zst"));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_compressed_rollout_is_the_same_session() {
    let folder = tempfile::tempdir().unwrap();
    let plain = plain();
    let file = folder.path().join(NAME);
    std::fs::write(&file, &plain).unwrap();
    let expected = store();
    take(&expected, &file);
    std::fs::remove_file(&file).unwrap();

    let packed = compress_to_vec(plain.as_slice(), CompressionLevel::Fastest);
    let path = put(folder.path(), &packed);
    let fresh = store();
    let reports = take(&fresh, folder.path());
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!((reports[0].outcome, reports[0].format), (Outcome::New, Some("codex")));
    let kept = |store: &SessionStore| -> Vec<EntryId> {
        ids(store).into_iter().filter(|id| id.as_str().starts_with("line-")).collect()
    };
    assert_eq!(kept(&fresh), kept(&expected));
    // Taken before it was put away: nothing is taken twice.
    let again = take(&expected, &path);
    assert_eq!(again[0].outcome, Outcome::Unchanged);
    assert_eq!(std::fs::read(&path).unwrap(), packed);
    let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "reading left something behind");
}

#[test]
fn frames_follow_one_another_and_a_cut_file_gives_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let plain = plain();
    let half = plain.iter().take(plain.len() / 2).position(|b| *b == b'\n').unwrap() + 1;
    let mut frames = compress_to_vec(&plain[..half], CompressionLevel::Fastest);
    frames.extend(compress_to_vec(&plain[half..], CompressionLevel::Fastest));
    put(folder.path(), &frames);
    let whole = store();
    assert_eq!(take(&whole, folder.path())[0].outcome, Outcome::New);
    let all = ids(&whole).len();
    frames.truncate(frames.len() - 20);
    put(folder.path(), &frames);
    let cut = store();
    take(&cut, folder.path());
    let left = ids(&cut).len();
    assert!(left < all && left > 0, "{left} of {all}");
    // No frame at all.
    let path = put(folder.path(), &[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]);
    let reports = take(&store(), &path);
    assert_eq!(reports[0].outcome, Outcome::Failed);
}
