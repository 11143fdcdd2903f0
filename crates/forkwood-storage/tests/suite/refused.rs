//! A folder or a disk that may only be read.

use std::io::ErrorKind;

use forkwood_storage::disk::SimDisk;
use forkwood_storage::{NewSession, Rewrite, SessionStorage};

use crate::common::*;

#[test]
fn what_may_not_be_written_is_read_only_and_stays_as_it_is() {
    for refusal in [ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied] {
        let disk = SimDisk::new();
        let storage = on(&disk);
        let s = create(&storage, "s1");
        append(&storage, &s, vec![user(1, "one"), leaf(2, &id(1)), answer(3, "three")]);
        let gone = create(&storage, "gone");
        run(storage.delete(&gone, false)).unwrap();
        let before: Vec<_> =
            disk.files().into_iter().map(|path| (disk.bytes(&path), path)).collect();
        disk.refuse_writes(Some(refusal));
        let error = run(storage.append(&s, write(vec![user(4, "four")]))).unwrap_err();
        assert_eq!(error.kind().as_str(), "read_only", "{error}");
        assert!(error.to_string().contains("s1.jsonl"), "{error}");
        let new = NewSession { id: Some(sid("s2")), ..NewSession::default() };
        assert_eq!(kind(run(storage.create(new))), "read_only");
        assert_eq!(kind(run(storage.put_blob(b"x"))), "read_only");
        assert_eq!(kind(run(storage.delete(&s, false))), "read_only");
        assert_eq!(kind(run(storage.restore(&gone))), "read_only");
        assert_eq!(kind(run(storage.purge(Some(&gone), Default::default()))), "read_only");
        for rewrite in [Rewrite::Reset, Rewrite::Vacuum { prune_branches: false }] {
            assert_eq!(kind(run(storage.rewrite(&s, rewrite))), "read_only");
        }
        // Reading goes on.
        assert_eq!(leaf_of(&storage, &s, "main"), Some(id(3)));
        assert_eq!(heads(&on(&disk), &s).len(), 4);
        let after: Vec<_> =
            disk.files().into_iter().map(|path| (disk.bytes(&path), path)).collect();
        assert_eq!(after, before);
        disk.refuse_writes(None);
        append(&storage, &s, vec![user(4, "four")]);
    }
}
