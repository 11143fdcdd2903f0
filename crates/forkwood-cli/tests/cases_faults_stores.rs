//! Faults that people reported of other tools, through the program: cases 35 to 49 and 55, which
//! are about folders, lists, ids and deletion.
//! Export and cost steps belong to the formats issue, search and serve steps to later ones.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use cases_common::faults::fault;
use cases_common::{Desk, mode, wait};

#[test]
fn case_35_symlinked_cwd() {
    let case = fault("35");
    case.sh("setup.sh", &["w"]);
    for cwd in ["w/link", "w/real"] {
        let rows = case.desk.listed(&["--dir", "w/store", "--cwd", cwd]);
        assert_eq!(rows, ["01940000-0000-7000-8000-000000000034"], "{cwd}");
    }
    // And a store of a workspace is one store by either name.
    let id = case.desk.run(&["new", "-C", "w/link"]).ok().to_owned();
    assert_eq!(case.desk.listed(&["-C", "w/real"]), [id.as_str()]);
    assert_eq!(case.desk.listed(&["-C", "w/link", "--cwd", "w/real"]), [id.as_str()]);
}

#[test]
fn case_37_directory_named_jsonl() {
    let case = fault("37");
    let (rows, notes) = case.desk.list(&["--dir", "."]);
    assert_eq!(rows.len(), 1);
    assert!(notes.contains("01940000-dead-7000-8000-000000000000.jsonl: folder"), "{notes}");
    let run = case.desk.run(&["append", "./01940000-dead-7000-8000-000000000000.jsonl", "x"]);
    assert_eq!(run.code, 1);
    assert!(case.desk.file("01940000-dead-7000-8000-000000000000.jsonl/keep.txt").exists());
}

/// Runs as another user than root. `None` where that cannot be done here.
fn as_nobody(desk: &Desk, args: &[&str]) -> Option<cases_common::Run> {
    if Path::new("/proc/self").metadata().ok()?.uid() != 0 {
        return Some(desk.run(args));
    }
    let drop = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let program = env!("CARGO_BIN_EXE_forkwood");
    let mut probe = Command::new("setpriv");
    probe.args(drop).args([program, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().ok()?.success() {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(drop).arg(program).args(args);
    desk.prepare(&mut command);
    Some(desk.watched(command, b"", args))
}

#[test]
fn case_38_unreadable_file() {
    let case = fault("38");
    let desk = &case.desk;
    case.sh("setup.sh", &["w"]);
    mode(desk.work().parent().unwrap(), 0o755);
    mode(&desk.work(), 0o755);
    mode(&desk.file("w/good.jsonl"), 0o644);
    let all = desk.run(&["list", "--json", "--dir", "w", "--recursive"]);
    all.ok();
    let Some(run) = as_nobody(desk, &["list", "--json", "--dir", "w", "--recursive"]) else {
        // Root reads all.
        assert_eq!(all.stdout.lines().count(), 3);
        mode(&desk.file("w/locked"), 0o700);
        return;
    };
    run.ok();
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains("good.jsonl"));
    let notes: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(notes.len(), 2, "{}", run.stderr);
    for name in ["secret.jsonl", "w/locked"] {
        let note =
            notes.iter().find(|note| note.contains(name)).unwrap_or_else(|| panic!("{name}"));
        assert!(note.contains("ermission"), "{note}");
    }
    for name in ["./w/secret.jsonl", "./w/locked/inner.jsonl"] {
        let run = as_nobody(desk, &["context", name, "--json"]).unwrap();
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains("ermission"), "{}", run.stderr);
    }
    // Whoever may not read it may not clear it away.
    let prune = ["prune", "--dir", "w", "--older-than", "1d", "--dry-run", "--json"];
    let run = as_nobody(desk, &prune).unwrap();
    assert!(!run.stdout.contains("secret"), "{}", run.stdout);
    mode(&desk.file("w/locked"), 0o700);
}

#[test]
fn case_40_ambiguous_id_prefix() {
    let case = fault("40");
    let desk = &case.desk;
    let resume = |id: &str| desk.reading(&["resume", "--dir", "store", id, "--json"]);
    let (old, new) =
        ("01940000-1111-7000-8000-00000000003a", "01940000-2222-7000-8000-00000000003b");
    let ambiguous = resume("01940000");
    assert_eq!(ambiguous.refused(), "ambiguous");
    assert!(ambiguous.stderr.contains(old) && ambiguous.stderr.contains(new));
    assert_eq!(resume("01940000-1111").json().get("session").text(), old);
    assert_eq!(resume("deadbeef").refused(), "not_found");
    assert_eq!(resume("").refused(), "invalid");
    let prune = ["prune", "--dir", "store", "--older-than", "30d", "--now", "2026-05-10T00:00:00Z"];
    let dry = desk.reading(&[&prune[..], &["--dry-run", "--json"]].concat());
    assert_eq!(dry.json().get("removed").texts(), [old]);
    let done = desk.run(&[&prune[..], &["--json"]].concat());
    assert_eq!(done.json().get("removed").texts(), [old]);
    assert_eq!(desk.listed(&["--dir", "store"]), [new]);
    desk.run(&["restore", "--dir", "store", old]).ok();
    assert_eq!(desk.listed(&["--dir", "store"]), [new, old]);
}

#[test]
fn case_41_mtime_versus_content() {
    let case = fault("41");
    case.sh("setup.sh", &["w"]);
    let wanted = case.case.get("expected").get("order").texts();
    assert_eq!(case.desk.listed(&["--dir", "w"]), wanted);
    // A title, a label and another file time later, it is the same.
    let last = format!("./w/2026-05-01T10-00-00-000Z_{}.jsonl", wanted[2]);
    case.desk.run(&["rename", &last, "Renamed"]).ok();
    case.desk.run(&["label", &last, "3c000001", "mark"]).ok();
    assert_eq!(case.desk.listed(&["--dir", "w"]), wanted);
}

/// Its scripts are for browsers; on a terminal it is text.
#[test]
fn case_43_html_and_script_in_content() {
    let case = fault("43");
    case.holds("session.jsonl");
    for command in ["show", "tree", "context"] {
        let run = case.desk.reading(&[command, "./session.jsonl"]);
        let odd = |c: char| c.is_control() && c != '\n' || ('\u{2028}'..='\u{202e}').contains(&c);
        assert!(!run.ok().contains(odd), "{command}");
    }
}

fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        found.push((path.display().to_string(), meta.permissions().mode() & 0o777));
        if meta.is_dir() {
            modes(&path, found);
        }
    }
}

#[test]
fn case_45_file_modes() {
    let case = fault("45");
    let desk = &case.desk;
    let under_umask = |args: &[&str]| {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_forkwood");
        command.args(["-c", "umask 022; exec \"$0\" \"$@\"", program]).args(args);
        desk.prepare(&mut command);
        desk.watched(command, b"", args).ok().to_owned()
    };
    let id = under_umask(&["new"]);
    for text in ["one", "two", "three"] {
        under_umask(&["append", &id, text]);
    }
    under_umask(&["list"]);
    under_umask(&["fork", &id]);
    under_umask(&["reset", &id]);
    let gone = under_umask(&["new"]);
    under_umask(&["rm", &gone]);
    std::fs::remove_file(desk.file("make.py")).unwrap();
    let mut found = Vec::new();
    modes(&desk.work(), &mut found);
    modes(desk.work().parent().unwrap(), &mut found);
    for (path, mode) in &found {
        if path == desk.work().to_str().unwrap() {
            continue;
        }
        let wanted = if Path::new(path).is_dir() { 0o700 } else { 0o600 };
        // Folders that are not ours alone are left as the system makes them.
        let shared = path.ends_with("/cache") || path.ends_with("/home");
        assert!(*mode == wanted || shared, "{path}: {mode:o}");
    }
    assert!(found.len() > 6);
}

#[test]
fn case_45_looser_files_are_told() {
    let case = fault("45");
    let desk = &case.desk;
    let Some(secrets) = case.make(&["session.jsonl"]) else { return };
    mode(&desk.file("session.jsonl"), 0o644);
    let run = desk.reading(&["check", "./session.jsonl"]);
    assert!(run.ok().contains("loose-mode"), "{}", run.stdout);
    let old = desk.bytes("session.jsonl");
    for command in ["show", "tree", "context", "check"] {
        desk.reading(&[command, "./session.jsonl"]).ok();
    }
    assert_eq!(desk.bytes("session.jsonl"), old);
    assert!(secrets.lines().count() >= 8);
    assert_eq!(desk.read(&["tree", "./session.jsonl", "--json"]).get("rows").list().len(), 4);
}

#[test]
fn case_46_path_traversal_id() {
    let case = fault("46");
    let desk = &case.desk;
    case.holds("session.jsonl");
    case.holds("parent.jsonl");
    let outside: Vec<String> = names_above(desk);
    let shown = desk.reading(&["show", "./parent.jsonl"]);
    assert!(!shown.ok().contains("root:"), "{}", shown.stdout);
    for file in ["./session.jsonl", "./parent.jsonl"] {
        let fork = desk.run(&["fork", file]).ok().to_owned();
        let path = desk.run(&["path", &fork]).ok().to_owned();
        let store = desk.work().canonicalize().unwrap().join(".forkwood/sessions");
        assert_eq!(Path::new(&path).parent(), Some(store.as_path()));
    }
    desk.run(&["append", "./session.jsonl", "x"]).ok();
    desk.run(&["rewind", "./session.jsonl", "43000001"]).ok();
    desk.run(&["rm", "./session.jsonl"]).ok();
    assert_eq!(names_above(desk), outside);
}

fn names_above(desk: &Desk) -> Vec<String> {
    let above = std::fs::read_dir(desk.work().parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        above.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "cache");
    names.sort();
    names
}

/// A NUL cannot be in an argument at all; the system refuses it before the program runs.
#[test]
fn case_46_each_id() {
    let case = fault("46");
    let desk = &case.desk;
    let step = case.case.get("steps").list().iter().find(|step| step.get("op").text() == "each-id");
    let ids = step.unwrap().get("ids").texts();
    assert!(ids.len() > 8);
    desk.run(&["new"]).ok();
    let before = desk.files();
    let above = names_above(desk);
    for id in ids.iter().filter(|id| !id.contains('\0')) {
        for args in [
            vec!["resume", "--", id],
            vec!["rm", "--", id],
            vec!["restore", "--", id],
            vec!["purge", "--", id],
            vec!["append", "--", id, "text"],
            vec!["fork", "--", id],
        ] {
            let run = desk.run(&args);
            assert!(run.code == 1 || run.code == 2, "{args:?}");
            assert!(run.stderr.contains("not a valid id"), "{args:?}: {}", run.stderr);
        }
        let created = format!("--id={id}");
        let run = desk.run(&["new", &created]);
        assert!(run.code != 0 && run.stderr.contains("not a valid id"), "{id:?}: {}", run.stderr);
        assert!(desk.files() == before, "{id:?}");
        assert_eq!(names_above(desk), above, "{id:?}");
    }
}

/// The cost and search of it belong to later issues.
#[test]
fn case_47_fork_usage() {
    let case = fault("47");
    assert_eq!(case.desk.list(&["--dir", "store"]).0.len(), 2);
    for file in case.case.get("facts").fields() {
        case.holds(&file.0.to_string_lossy());
    }
}

#[test]
fn case_49_stale_lock() {
    let case = fault("49");
    let desk = &case.desk;
    let lock = desk.file(".session.jsonl.lock");
    // A file with the name of a lock, of a process that is long gone or is another by now.
    std::fs::write(&lock, b"{\"pid\":1,\"started\":\"1999-01-01T00:00:00Z\"}").unwrap();
    desk.append_reads_back("session.jsonl");
    // A holder that is killed.
    let mut command = Command::new("flock");
    command.arg("--no-fork").arg(&lock).args(["sleep", "600"]);
    let Ok(mut holder) = command.spawn() else { return };
    // Until it holds the lock.
    let held = |_| {
        let mut probe = Command::new("flock");
        !probe.args(["-n"]).arg(&lock).arg("true").status().unwrap().success()
    };
    assert!((0..2000).any(|try_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        held(try_)
    }));
    // Reading takes no lock.
    desk.context("./session.jsonl");
    holder.kill().unwrap();
    wait(&mut holder).unwrap();
    desk.append_reads_back("session.jsonl");
}

#[test]
fn case_55_retention_and_empty_sessions() {
    let case = fault("55");
    let desk = &case.desk;
    let (old, fresh) =
        ("01940000-0000-7000-8000-00000000004e", "01940000-0000-7000-8000-00000000004f");
    let prune = ["prune", "--dir", "store", "--older-than", "30d", "--now", "2026-06-15T00:00:00Z"];
    // File times say nothing: neither a new one of the old talk, nor an old one of the empty file.
    let status = Command::new("touch")
        .args(["-d", "2001-01-01"])
        .arg(desk.file(&format!("store/2026-05-01T10-19-00-000Z_{fresh}.jsonl")))
        .status();
    assert!(status.unwrap().success());
    let dry = desk.reading(&[&prune[..], &["--dry-run", "--json"]].concat()).json();
    assert_eq!(dry.get("removed").texts(), [old]);
    let damaged = desk.bytes("store/damaged.jsonl");
    let text = desk.bytes(&format!("store/2026-05-01T10-18-00-000Z_{old}.jsonl"));
    let done = desk.run(&[&prune[..], &["--json"]].concat()).json();
    assert_eq!(done.get("removed").texts(), [old]);
    assert_eq!(desk.bytes("store/damaged.jsonl"), damaged);
    assert_eq!(desk.listed(&["--dir", "store"]), [fresh]);
    let files = desk.files();
    assert!(files.values().any(|bytes| *bytes == text), "nothing in the trash");
    let log = files.iter().find(|(path, _)| path.ends_with("deletions.log")).unwrap();
    assert!(String::from_utf8_lossy(log.1).contains(old));
    let again = desk.run(&[&prune[..], &["--json"]].concat()).json();
    assert_eq!(again.get("removed").texts(), [""; 0]);
    desk.run(&["restore", "--dir", "store", old]).ok();
    assert_eq!(desk.listed(&["--dir", "store"]), [fresh, old]);
    // A pin keeps it.
    desk.run(&["pin", "--dir", "store", old]).ok();
    let pinned = desk.run(&[&prune[..], &["--json"]].concat()).json();
    assert_eq!(pinned.get("removed").texts(), [""; 0]);
    // A session that somebody writes to is left alone too.
    desk.run(&["unpin", "--dir", "store", old]).ok();
    let lock = desk.file(&format!("store/.2026-05-01T10-18-00-000Z_{old}.jsonl.lock"));
    let mut command = Command::new("flock");
    command.arg("--no-fork").arg(&lock).args(["sleep", "600"]).stdout(Stdio::null());
    let Ok(mut holder) = command.spawn() else { return };
    assert!((0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        !Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap().success()
    }));
    let open = desk.run(&[&prune[..], &["--json"]].concat());
    holder.kill().unwrap();
    wait(&mut holder).unwrap();
    assert_eq!(open.json().get("removed").texts(), [""; 0]);
}
