//! Errors: words, hints, exit codes, and what they look like as JSON.

mod common;

use common::Sandbox;
use insta::assert_snapshot;

const ID: &str = "20010909-014640-0a0b0c0d";

#[test]
fn nothing_is_found() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["show", "deadbeef"]), @r"
    --- stderr
    error: session not found: deadbeef in [DIR]/.forkwood
    hint: `forkwood list` shows what is there; --from pi looks among the sessions of Pi, --dir DIR in any folder
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["show", "deadbeef", "--dir", "pi"]), @r"
    --- stderr
    error: session not found: deadbeef in [DIR]/pi
    hint: `forkwood list` with the same switches shows what is there
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["show", "deadbeef", "--json"]), @r#"
    --- stderr
    {"kind":"not_found","message":"session not found: deadbeef in [DIR]/.forkwood","hint":"`forkwood list` shows what is there; --from pi looks among the sessions of Pi, --dir DIR in any folder","retryable":false}
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["show", ID, "--at", "nope"]), @r"
    --- stderr
    error: session 20010909-014640-0a0b0c0d: entry nope not found
    hint: `forkwood tree` shows the entries
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["list", "--dir", "nowhere"]), @r"
    --- stderr
    error: [DIR]/nowhere: there is no such folder
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["list", "-C", "nowhere"]), @r"
    --- stderr
    error: [DIR]/nowhere: there is no such folder
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["restore", "deadbeef"]), @r"
    --- stderr
    error: session not found: deadbeef (in the trash)
    --- exit 1
    ");
}

#[test]
fn ids_are_ambiguous() {
    let sandbox = Sandbox::with_samples();
    sandbox.ok(&["new", "--id", "20010909-014640-0a0bffff"]);
    assert_snapshot!(sandbox.shown(&["show", "0a0b"]), @r#"
    --- stderr
    error: ambiguous session prefix "0a0b": 20010909-014640-0a0b0c0d, 20010909-014640-0a0bffff
    hint: give more of it
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["show", ID, "--at", "a"]), @r#"
    --- stderr
    error: session 20010909-014640-0a0b0c0d: ambiguous entry prefix "a": a1, a2
    hint: give more of it
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["show", ID, "--at", ""]), @r"
    --- stderr
    error: an empty entry id names no entry
    --- exit 1
    ");
}

#[test]
fn hostile_ids_are_refused() {
    let sandbox = Sandbox::with_samples();
    let before = sandbox.files();
    let long = "x".repeat(300);
    for id in [
        "../../outside/evil",
        "..\\..\\evil",
        "/etc/cron.d/evil",
        long.as_str(),
        "CON",
        "-rf",
        "",
        ".",
        "..",
        "id with\nnewline",
        "%2e%2e%2fevil",
        "missing.jsonl",
    ] {
        for command in
            [&["resume"][..], &["rm"], &["restore"], &["purge", "-y"], &["fork"], &["new", "--id"]]
        {
            for json in [&[][..], &["--json"]] {
                let args = [command, &[id], json].concat();
                let run = sandbox.run(&args);
                // Where only ids are taken, this one is simply not there.
                let plain = id == "missing.jsonl" && matches!(command[0], "restore" | "purge");
                assert_ne!(run.code, 0, "{args:?}");
                assert!(run.stdout.is_empty(), "{args:?}: {}", run.stdout);
                assert!(plain || run.stderr.contains("not a valid id"), "{args:?}: {}", run.stderr);
            }
        }
    }
    assert!(sandbox.files() == before, "a file changed");
}

#[test]
fn usage() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["tree"]), @r"
    --- stderr
    error: the following required arguments were not provided:
      <SESSION>

    Usage: forkwood tree <SESSION>

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(sandbox.shown(&["tree", "x", "--no-such"]), @r"
    --- stderr
    error: unexpected argument '--no-such' found

      tip: to pass '--no-such' as a value, use '-- --no-such'

    Usage: forkwood tree <SESSION>

    For more information, try '--help'.
    hint: what starts with a dash is an option; as the id of a session it is not a valid id
    --- exit 2
    ");
    assert_snapshot!(sandbox.shown(&["tree", "x", "--no-such", "--json"]), @r#"
    --- stderr
    {"kind":"usage","message":"unexpected argument '--no-such' found","hint":"what starts with a dash is an option; as the id of a session it is not a valid id","retryable":false}
    --- exit 2
    "#);
    assert_snapshot!(sandbox.shown(&["prune", "--older-than", "soon"]), @r#"
    --- stderr
    error: invalid value 'soon' for '--older-than <AGE>': "soon" is not an age: write a number and s, m, h, d or w, like 30d

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(sandbox.shown(&["append", ID]), @r"
    --- stderr
    error: there is nothing to append: the text is empty
    hint: give a TEXT, pipe one in, or use --entry JSON
    --- exit 2
    ");
    assert_snapshot!(sandbox.shown(&["label", ID, "u2"]), @r"
    --- stderr
    error: the following required arguments were not provided:
      <LABEL>

    Usage: forkwood label <SESSION> <ENTRY> <LABEL>

    For more information, try '--help'.
    --- exit 2
    ");
    assert_eq!(sandbox.run(&[]).code, 2);
}

#[test]
fn files_that_are_no_sessions() {
    let sandbox = Sandbox::with_samples();
    sandbox.put("service.log", b"{\"level\":\"info\"}\n");
    sandbox.put("empty.jsonl", b"");
    let before = sandbox.files();
    assert_snapshot!(sandbox.shown(&["append", "service.log", "hi"]), @r"
    --- stderr
    error: [DIR]/service.log: not a session file of any known format (native, pi, my-pi-agent, claude-code, codex); it was left alone
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["show", "empty.jsonl"]), @r"
    --- stderr
    error: [DIR]/empty.jsonl: is empty (0 bytes), so it is no session; nothing was changed
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["show", "./pi"]), @r"
    --- stderr
    error: [DIR]/pi: is a folder, not a session file
    --- exit 1
    ");
    assert!(sandbox.files() == before, "a file changed");
}

#[test]
fn colours_follow_the_switch_then_the_environment() {
    let sandbox = Sandbox::with_samples();
    let coloured = |args: &[&str], set: &[(&str, &str)]| {
        let mut command = sandbox.command();
        command.args(args).envs(set.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains('\u{1b}')
    };
    assert!(!coloured(&["list"], &[]));
    assert!(coloured(&["list", "--color", "always"], &[]));
    assert!(coloured(&["list", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["list", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["list", "--json", "--color", "always"], &[]));
    let list = sandbox.run(&["list", "--color", "always"]).stdout;
    assert_snapshot!(list.escape_debug().to_string(), @r"\u{1b}[2m20010909-014640-\u{1b}[0m\u{1b}[1m\u{1b}[36m0\u{1b}[0m\u{1b}[2ma0b0c0d\u{1b}[0m  \u{1b}[2m2001-09-09 01:49\u{1b}[0m      7  \u{1b}[1mPlans\u{1b}[0m\n");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_told_by_the_exit_code() {
    let sandbox = Sandbox::with_samples();
    sandbox.ok(&["append", ID, &"many words ".repeat(9_000)]);
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("forkwood"))
        .args(["show", ID, "--full"])
        .current_dir(sandbox.path("."))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn completions_and_manual() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(sandbox.ok(&["completion", shell]).contains("forkwood"), "{shell}");
    }
    assert!(sandbox.ok(&["man"]).contains(".TH forkwood 1"));
    assert!(sandbox.ok(&["man", "tree"]).contains("forkwood\\-tree"));
    sandbox.ok(&["man", "--out", "pages"]);
    assert!(sandbox.path("pages/forkwood-tree.1").is_file());
    assert_snapshot!(sandbox.shown(&["man", "nope"]), @r#"
    --- stderr
    error: there is no command "nope"
    --- exit 2
    "#);
}
