//! The tools that come with the crate.

use std::path::Path;
use std::time::Duration;

use forkwood::Json;
use forkwood_agent::tool::builtin::{BashLimits, bash, reading, writing};
use forkwood_agent::{Access, Replay, ToolCall, ToolRun, Workspace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

async fn call_with(
    workspace: &Workspace,
    name: &str,
    arguments: Value,
    cancel: CancellationToken,
) -> Result<String, String> {
    let mut tools = reading(workspace);
    tools.extend(writing(workspace));
    tools.push(bash(
        workspace,
        BashLimits { output: 200, confined: false, ..BashLimits::default() },
    ));
    let tool = tools.iter().find(|tool| tool.spec().name == *name).unwrap();
    let call = ToolCall::new("c", name, Json::from_value(&arguments).unwrap());
    let run = ToolRun { call, cancel, prepared: None, replayed: false };
    match tool.call(run).await {
        Ok(output) if output.is_error => Err(output.content.text().to_string()),
        Ok(output) => Ok(output.content.text().to_string()),
        Err(failure) => Err(failure.0),
    }
}

async fn call(workspace: &Workspace, name: &str, arguments: Value) -> Result<String, String> {
    call_with(workspace, name, arguments, CancellationToken::new()).await
}

fn workspace() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(folder.path()).unwrap();
    (folder, workspace)
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
async fn files_are_written_read_and_edited() {
    let (folder, workspace) = workspace();
    let wrote =
        call(&workspace, "write", json!({"path": "a/b.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(wrote.unwrap(), "Wrote 8 bytes to a/b.txt");
    assert_eq!(call(&workspace, "read", json!({"path": "a/b.txt"})).await.unwrap(), "one\ntwo\n");
    let edit = json!({"path": "a/b.txt", "old": "two", "new": "three"});
    call(&workspace, "edit", edit.clone()).await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("a/b.txt")).unwrap(), "one\nthree\n");
    assert!(call(&workspace, "edit", edit).await.unwrap_err().contains("does not stand there"));
    let twice = json!({"path": "a/b.txt", "old": "e", "new": "E"});
    assert!(call(&workspace, "edit", twice).await.unwrap_err().contains("3 times"));
    let all = json!({"path": "a/b.txt", "old": "e", "new": "E", "all": true});
    call(&workspace, "edit", all).await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("a/b.txt")).unwrap(), "onE\nthrEE\n");
    // And nothing lies beside it.
    assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_keeps_its_rights() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, workspace) = workspace();
    put(folder.path(), "run.sh", "old");
    let path = folder.path().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    call(&workspace, "write", json!({"path": "run.sh", "content": "new"})).await.unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn long_files_come_in_parts() {
    let (folder, workspace) = workspace();
    let text: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    put(folder.path(), "long.txt", &text);
    let part = call(&workspace, "read", json!({"path": "long.txt"})).await.unwrap();
    assert!(part.ends_with("[lines 1-2000 of 5000; go on with offset 2001]"), "{}", part.len());
    let part =
        call(&workspace, "read", json!({"path": "long.txt", "offset": 2001, "limit": 2})).await;
    assert!(part.unwrap().starts_with("line 2001\nline 2002\n"));
    put(folder.path(), "wide.txt", &"x".repeat(200_000));
    assert!(call(&workspace, "read", json!({"path": "wide.txt"})).await.unwrap().len() <= 51_300);
    put(folder.path(), "binary", "a\0b");
    assert!(call(&workspace, "read", json!({"path": "binary"})).await.is_err());
    assert!(call(&workspace, "read", json!({"path": "."})).await.unwrap_err().contains("no file"));
}

#[tokio::test]
async fn folders_are_listed_and_searched_without_ignored_files() {
    let (folder, workspace) = workspace();
    put(folder.path(), ".gitignore", "target/\n");
    put(folder.path(), "src/main.rs", "fn main() {}\nfn Other() {}\n");
    put(folder.path(), "notes.md", "fn in text\n");
    put(folder.path(), "target/out.rs", "fn hidden() {}\n");
    let listed = call(&workspace, "list", json!({})).await.unwrap();
    assert_eq!(listed, "notes.md\nsrc/\n");
    let deep = call(&workspace, "list", json!({"depth": 3})).await.unwrap();
    assert_eq!(deep, "notes.md\nsrc/\nsrc/main.rs\n");
    let found = call(&workspace, "search", json!({"pattern": "^fn \\w+", "glob": "*.rs"})).await;
    assert_eq!(found.unwrap(), "src/main.rs:1: fn main() {}\nsrc/main.rs:2: fn Other() {}\n");
    let found = call(&workspace, "search", json!({"pattern": "OTHER", "ignore_case": true})).await;
    assert_eq!(found.unwrap(), "src/main.rs:2: fn Other() {}\n");
    let none = call(&workspace, "search", json!({"pattern": "nowhere"})).await;
    assert_eq!(none.unwrap(), "(nothing found)");
    assert!(call(&workspace, "search", json!({"pattern": "("})).await.is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn no_way_leads_out_of_the_workspace() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "secret", "s");
    let (folder, workspace) = workspace();
    symlink(outside.path(), folder.path().join("door")).unwrap();
    symlink(outside.path().join("secret"), folder.path().join("file")).unwrap();
    symlink(outside.path().join("not yet"), folder.path().join("dangling")).unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    put(folder.path(), "in/x", "x");
    symlink("in", folder.path().join("inner")).unwrap();
    let secret = outside.path().join("secret").display().to_string();
    for path in [
        "../x",
        "/etc/passwd",
        "door/secret",
        "file",
        "in/../../x",
        "door/../x",
        "loop",
        secret.as_str(),
        "a\0b",
    ] {
        assert!(call(&workspace, "read", json!({"path": path})).await.is_err(), "{path:?}");
        let write = json!({"path": path, "content": "x"});
        assert!(call(&workspace, "write", write).await.is_err(), "{path:?}");
        assert!(call(&workspace, "list", json!({"path": path})).await.is_err(), "{path:?}");
    }
    for path in ["dangling", "door/new", "missing/../../x"] {
        let write = json!({"path": path, "content": "x"});
        assert!(call(&workspace, "write", write).await.is_err(), "{path:?}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(call(&workspace, "read", json!({"path": "inner/x"})).await.unwrap(), "x");
    let searched = call(&workspace, "search", json!({"pattern": "s"})).await.unwrap();
    assert_eq!(searched, "(nothing found)");
    let free = workspace.clone().unconfined();
    assert_eq!(call(&free, "read", json!({"path": secret})).await.unwrap(), "s");
}

#[tokio::test]
async fn sessions_are_not_written_by_tools() {
    let (folder, workspace) = workspace();
    put(folder.path(), ".forkwood/tool-results/s/c.txt", "long output");
    let read = json!({"path": ".forkwood/tool-results/s/c.txt"});
    assert_eq!(call(&workspace, "read", read).await.unwrap(), "long output");
    for path in [".forkwood/sessions/x.jsonl", ".forkwood/tool-results/s/c.txt"] {
        let write = json!({"path": path, "content": "x"});
        assert!(call(&workspace, "write", write).await.unwrap_err().contains("sessions"));
    }
    assert!(workspace.resolve(".forkwood", Access::Write).is_err());
}

#[tokio::test]
async fn what_git_would_run_is_not_written_by_tools() {
    let (folder, workspace) = workspace();
    put(folder.path(), ".git/config", "[core]");
    put(folder.path(), "sub/.git", "gitdir: elsewhere");
    assert_eq!(call(&workspace, "read", json!({"path": ".git/config"})).await.unwrap(), "[core]");
    for path in [".git/hooks/pre-commit", ".git/config", "sub/.git", "a/.GIT/config", ".git"] {
        let write = json!({"path": path, "content": "x"});
        let refused = call(&workspace, "write", write).await.unwrap_err();
        assert!(refused.contains("git"), "{path}: {refused}");
    }
    let edit = json!({"path": ".git/config", "old": "[core]", "new": "x"});
    assert!(call(&workspace, "edit", edit).await.is_err());
    let other = json!({"path": ".gitignore", "content": "x"});
    assert!(call(&workspace, "write", other).await.is_ok());
    assert!(workspace.clone().unconfined().resolve(".git/config", Access::Write).is_ok());
}

#[tokio::test]
async fn stores_elsewhere_in_the_workspace_can_be_guarded_too() {
    let (folder, workspace) = workspace();
    put(folder.path(), "chats/sessions/x.jsonl", "{}");
    put(folder.path(), "talk.jsonl", "{}");
    let root = folder.path();
    let workspace = workspace.guarded(&root.join("chats")).guarded(&root.join("talk.jsonl"));
    for path in ["chats/sessions/x.jsonl", "chats/new", "talk.jsonl"] {
        let write = json!({"path": path, "content": "x"});
        assert!(call(&workspace, "write", write).await.unwrap_err().contains("sessions"), "{path}");
    }
    let other = json!({"path": "talk.jsonl.txt", "content": "x"});
    assert!(call(&workspace, "write", other).await.is_ok());
}

#[tokio::test]
async fn which_tools_may_run_again() {
    let (_folder, workspace) = workspace();
    assert!(
        reading(&workspace).iter().all(|tool| tool.replay() == Replay::Safe && tool.parallel())
    );
    assert!(
        writing(&workspace).iter().all(|tool| tool.replay() == Replay::Never && !tool.parallel())
    );
    assert_eq!(bash(&workspace, BashLimits::default()).replay(), Replay::Never);
}

#[cfg(unix)]
mod commands {
    use super::*;

    #[tokio::test]
    async fn a_command_runs_in_the_workspace_with_nothing_of_our_environment() {
        let (folder, workspace) = workspace();
        put(folder.path(), "here", "");
        let told = call(&workspace, "bash", json!({"command": "ls; echo err >&2"})).await.unwrap();
        assert!(told.contains("here") && told.contains("err"), "{told}");
        let told = call(&workspace, "bash", json!({"command": "env"})).await.unwrap();
        assert!(!told.contains("CARGO"), "{told}");
        let failed = call(&workspace, "bash", json!({"command": "echo no; exit 3"})).await;
        assert_eq!(failed.unwrap_err(), "no\n[exit code 3]");
        let silent = call(&workspace, "bash", json!({"command": "true"})).await;
        assert_eq!(silent.unwrap(), "(no output)");
    }

    async fn run(workspace: &Workspace, limits: BashLimits, command: &str) -> (bool, String) {
        let arguments = Json::from_value(&json!({ "command": command })).unwrap();
        let call = ToolCall::new("c", "bash", arguments);
        let cancel = CancellationToken::new();
        let run = ToolRun { call, cancel, prepared: None, replayed: false };
        match bash(workspace, limits).call(run).await {
            Ok(output) => (output.is_error, output.content.text().to_string()),
            Err(failure) => (true, failure.0),
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_command_writes_in_the_workspace_and_nowhere_else() {
        let outside = tempfile::tempdir().unwrap();
        put(outside.path(), "secret", "s");
        let (folder, workspace) = workspace();
        let limits = BashLimits::default();
        let told = run(&workspace, limits.clone(), "mkdir a && echo x > a/b && cat a/b").await;
        if told.1.contains("cannot be confined") {
            // A system without Landlock: nothing may run there.
            assert!(told.0 && !folder.path().join("a").exists());
            return;
        }
        assert_eq!(told, (false, "x\n".to_owned()));
        let temporary = "f=$(mktemp) && echo y > $f && cat $f && echo $TMPDIR > where";
        assert_eq!(run(&workspace, limits.clone(), temporary).await, (false, "y\n".to_owned()));
        let place = std::fs::read_to_string(folder.path().join("where")).unwrap();
        assert!(!Path::new(place.trim()).exists(), "it goes with the command");
        assert!(!run(&workspace, limits.clone(), "echo quiet > /dev/null").await.0);
        let out = outside.path().display();
        for command in [
            format!("echo x > {out}/new"),
            format!("echo x >> {out}/secret"),
            format!("rm {out}/secret"),
            format!("mv {out}/secret ."),
            format!("ln -s {out} door && echo x > door/new"),
            format!("(exec bash -c 'mkdir {out}/d')"),
        ] {
            let told = run(&workspace, limits.clone(), &command).await;
            assert!(told.0, "{command}: {told:?}");
        }
        assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        // Who may, may.
        let writable = vec![outside.path().to_path_buf()];
        let wider = BashLimits { writable, ..limits.clone() };
        assert!(!run(&workspace, wider, &format!("echo x > {out}/new")).await.0);
        let free = BashLimits { confined: false, ..limits };
        assert!(!run(&workspace, free, &format!("rm {out}/new")).await.0);
        // Nor are we bound ourselves.
        std::fs::write(outside.path().join("ours"), "x").unwrap();
    }

    #[tokio::test]
    async fn long_output_keeps_its_start_and_end() {
        let (_folder, workspace) = workspace();
        let told = call(&workspace, "bash", json!({"command": "seq 1 100000"})).await.unwrap();
        assert!(told.starts_with("1\n2\n") && told.ends_with("100000\n"), "{told}");
        assert!(told.contains("bytes left out]") && told.len() < 300);
    }

    #[tokio::test]
    async fn time_is_limited_and_nothing_outlives_it() {
        let (folder, workspace) = workspace();
        let command = "echo begun; (sleep 600; echo late > late) & sleep 600";
        let tools = bash(
            &workspace,
            BashLimits {
                time: Duration::from_millis(300),
                confined: false,
                ..BashLimits::default()
            },
        );
        let call =
            ToolCall::new("c", "bash", Json::from_value(&json!({"command": command})).unwrap());
        let run =
            ToolRun { call, cancel: CancellationToken::new(), prepared: None, replayed: false };
        let output = tools.call(run).await.unwrap();
        assert!(output.is_error);
        assert_eq!(output.content.text().to_string(), "begun\n[stopped after 0.3 seconds]");
        assert!(!folder.path().join("late").exists());
    }

    #[tokio::test]
    async fn a_cancelled_command_ends() {
        let (_folder, workspace) = workspace();
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let running = call_with(&workspace, "bash", json!({"command": "sleep 600"}), cancel);
        let (told, ()) = tokio::join!(running, async move {
            tokio::task::yield_now().await;
            stop.cancel();
        });
        assert!(told.unwrap_err().contains("interrupted by user"));
    }
}
