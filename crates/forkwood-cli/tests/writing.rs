//! Every writing command: what it prints, and what it leaves behind.

mod common;

use common::Sandbox;
use insta::assert_snapshot;

const ID: &str = "20010909-014640-0a0b0c0d";
const NEW: &str = "20010910-000000-11111111";

#[test]
fn a_session_from_new_to_purge() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.shown(&["new", "--title", "First", "--id", NEW, "--metadata", "{\"a\":1}"]), @r"20010910-000000-11111111");
    assert_snapshot!(sandbox.shown(&["append", NEW, "Hello"]), @r"[ID1]");
    assert_snapshot!(sandbox.shown_with(&["append", NEW, "--role", "assistant"], "Hi\nthere\n"), @r"[ID1]");
    assert_snapshot!(sandbox.shown(&["context", NEW]), @r"
    session 20010910-000000-11111111  First

    leaf      [ID1]
    model     none
    messages  2

    user  [ID2]
      Hello

    assistant  [ID1]
      Hi
      there
    ");
    assert_snapshot!(sandbox.shown(&["rename", NEW, "Second"]), @r#"
    --- stderr
    the session is called "Second"
    "#);
    assert_snapshot!(sandbox.shown(&["pin", NEW]), @r"
    --- stderr
    the session is pinned: prune leaves it alone
    ");
    assert_snapshot!(sandbox.shown(&["list"]), @r"20010910-000000-11111111  [TIME]      2  Second  [pinned]");
    assert_snapshot!(sandbox.shown(&["unpin", NEW, "--json"]), @r#"{"schema":1,"session":"20010910-000000-11111111","pinned":false}"#);
    assert_snapshot!(sandbox.shown(&["rm", NEW]), @r"
    20010910-000000-11111111
    --- stderr
    moved to the trash; `forkwood restore 20010910-000000-11111111` brings it back
    ");
    assert_snapshot!(sandbox.shown(&["list"]), @r"
    --- stderr
    note: no sessions in [DIR]/.forkwood
    ");
    assert_snapshot!(sandbox.shown(&["trash"]), @r"20010910-000000-11111111  [TIME]");
    assert_snapshot!(sandbox.shown(&["restore", "1111"]), @r"20010910-000000-11111111");
    assert_snapshot!(sandbox.shown(&["rm", NEW, "--json"]), @r#"{"schema":1,"session":"20010910-000000-11111111","removed":true,"trash":"[DIR]/.forkwood/trash/[ID1]-20010910-000000-11111111/20010910-000000-11111111.jsonl"}"#);
    assert_snapshot!(sandbox.shown(&["purge", NEW]), @r"
    --- stderr
    error: this removes for good, and nobody can be asked
    hint: say -y to do it without a question
    --- exit 2
    ");
    assert_snapshot!(sandbox.shown(&["purge", NEW, "-y"]), @r"
    20010910-000000-11111111  [TIME]
    --- stderr
    1 removed for good
    ");
    assert_snapshot!(sandbox.shown(&["trash"]), @r"
    --- stderr
    note: the trash is empty
    ");
}

#[test]
fn new_as_json() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.shown(&["new", "--id", NEW, "--json"]), @r#"{"schema":1,"session":"20010910-000000-11111111","path":"[DIR]/.forkwood/sessions/20010910-000000-11111111.jsonl"}"#);
    assert_snapshot!(sandbox.shown(&["new", "--id", NEW]), @r"
    --- stderr
    error: session 20010910-000000-11111111 exists already
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["new", "--metadata", "[]"]), @r"
    --- stderr
    error: metadata must be a JSON object
    --- exit 1
    ");
    let made = sandbox.ok(&["new"]);
    assert_eq!(made.len(), NEW.len(), "{made}");
    let elsewhere = sandbox.ok(&["new", "--store", "elsewhere"]);
    assert!(sandbox.path(&format!("elsewhere/sessions/{elsewhere}.jsonl")).is_file());
    let from_environment = sandbox
        .command()
        .env("FORKWOOD_DIR", sandbox.path("environment"))
        .arg("new")
        .output()
        .unwrap();
    assert!(from_environment.status.success() && sandbox.path("environment/sessions").is_dir());
}

#[test]
fn rewind_and_branch() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["rewind", ID, "a2"]), @r"
    a2
    --- stderr
    the next append grows a branch here
    ");
    assert_snapshot!(sandbox.shown(&["append", ID, "Go on with A.", "--id", "u3"]), @r"u3");
    assert_snapshot!(sandbox.shown(&["append", ID, "Or with C?", "--parent", "t1", "--id", "u4", "--json"]), @r#"{"schema":1,"session":"20010909-014640-0a0b0c0d","entries":[{"id":"u4","parentId":"t1","seq":[SEQ]}],"lane":"main","leaf":"u4","repeated":false}"#);
    assert_snapshot!(sandbox.shown(&["tree", ID, "--ascii"]), @r"
    session 20010909-014640-0a0b0c0d  Plans

    *  r0  session 20010909-014640-0a0b0c0d: Plans
    *  m1  model: demo/demo-model-1
    *  u1  user: Which plan? Be short.
    *  a1  assistant: I look. -> read
    *  t1  tool read: ^[[31mA^[[0m and B<U+202E>
    |-o  a2  assistant: Plan A.  [plan a]
    | |-o  x1  user: And if A fails?  (try)
    | `-o  u3  user: Go on with A.
    |-o  b1  assistant: Plan B, rather.
    | o  u2  user: Good <U+D83D> [image image/png]
    `-@  u4  user: Or with C?  (main)
    ");
    assert_snapshot!(sandbox.shown(&["append", ID, "Go on with A.", "--id", "u3"]), @r"
    u3
    --- stderr
    note: it was there already, from an earlier try
    ");
}

#[test]
fn entries_as_json() {
    let sandbox = Sandbox::with_samples();
    let model = r#"{"type":"model_change","model":"demo-model-3"}"#;
    assert_snapshot!(sandbox.shown(&["append", ID, "--entry", model]), @r"[ID1]");
    let batch = concat!(
        r#"{"id":"n1","type":"thinking_level_change","thinkingLevel":"high"}"#,
        "\n",
        r#"{"id":"n2","type":"message","message":{"role":"user","content":"Batch"}}"#,
        "\n",
    );
    assert_snapshot!(sandbox.shown_with(&["append", ID, "--entry", "-"], batch), @r"
    n1
    n2
    ");
    assert_snapshot!(sandbox.shown(&["context", ID, "--json", "--at", "n2"]), @r#"{"session":"20010909-014640-0a0b0c0d","leaf":"n2","path":["r0","m1","u1","a1","t1","b1","u2","[ID1]","n1","n2"],"model":{"provider":"demo","modelId":"demo-model-3"},"thinkingLevel":"high","activeToolNames":null,"label":null,"messages":[{"role":"user","content":"Which plan?\nBe short."},{"role":"assistant","content":[{"type":"thinking","thinking":"Look first."},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"plans.md"}}],"model":"demo-model-1","provider":"demo","stopReason":"toolUse"},{"role":"tool","content":"\u001b[31mA\u001b[0m and B\u202e","toolCallId":"c1","toolName":"read"},{"role":"assistant","content":"Plan B, rather.","model":"demo-model-2","provider":"demo"},{"role":"user","content":[{"type":"text","text":"Good \ud83d"},{"type":"image","base64":"AAAAAAAA","mimeType":"image/png"}]},{"role":"user","content":"Batch"}],"entryIds":["u1","a1","t1","b1","u2","n2"],"diagnostics":[]}"#);
    assert_snapshot!(sandbox.shown(&["append", ID, "--entry", r#"{"role":"user","content":"x"}"#]), @r#"
    --- stderr
    error: entry.type: is missing; say for example "message"
    hint: an entry looks like {"type":"message","message":{"role":"user","content":"..."}}
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["append", ID, "--entry", r#"{"type":"label","lable":"x"}"#]), @r#"
    --- stderr
    error: entry: unknown field lable
    hint: an entry looks like {"type":"message","message":{"role":"user","content":"..."}}
    --- exit 1
    "#);
}

#[test]
fn expectations() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["append", ID, "x", "--expect", "a2"]), @r"
    --- stderr
    error: session 20010909-014640-0a0b0c0d: lane main stands at u2, not at a2; another writer was first. Reload and try again, or append with branch on conflict
    hint: look at it with `forkwood tree`, or use --on-conflict branch
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["append", ID, "x", "--expect", "a2", "--json"]), @r#"
    --- stderr
    {"kind":"conflict","message":"session 20010909-014640-0a0b0c0d: lane main stands at u2, not at a2; another writer was first. Reload and try again, or append with branch on conflict","hint":"look at it with `forkwood tree`, or use --on-conflict branch","retryable":false}
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["append", ID, "y", "--expect", "u2", "--id", "y1"]), @r"y1");
    assert_snapshot!(sandbox.shown(&["append", ID, "z", "--expect", "any", "--id", "z1"]), @r"z1");
    assert_snapshot!(
        sandbox.shown(&["append", ID, "w", "--expect", "a2", "--on-conflict", "branch", "--id", "w1"]),
        @r"
    w1
    --- stderr
    note: written to lane main-w1
    "
    );
    assert_snapshot!(sandbox.shown(&["append", ID, "v", "--lane", "new", "--id", "v1"]), @r"
    v1
    --- stderr
    note: written to lane new
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID]), @r"
    main     z1  user: z
    try      x1  user: And if A fails?
    main-w1  w1  user: w
    new      v1  user: v
    ");
}

#[test]
fn labels_and_lanes() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["label", ID, "u2", "here"]), @r#"
    --- stderr
    u2 is labelled "here"
    "#);
    assert_snapshot!(sandbox.shown(&["label", ID, "plan a", "--clear"]), @r"
    --- stderr
    a2 has no label any more
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID, "--create", "side", "--at", "a1"]), @r"
    main  u2  user: Good <U+D83D> [image image/png]
    try   x1  user: And if A fails?
    side  a1  assistant: I look. -> read
    --- stderr
    lane side stands at a1
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID, "--move", "side", "--to", "a2"]), @r"
    main  u2  user: Good <U+D83D> [image image/png]
    try   x1  user: And if A fails?
    side  a2  assistant: Plan A.
    --- stderr
    lane side stands at a2
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID, "--create", "side"]), @r"
    --- stderr
    error: session 20010909-014640-0a0b0c0d: lane side exists already; move it, or choose another name
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["tree", ID, "--ascii"]), @r"
    session 20010909-014640-0a0b0c0d  Plans

    *  r0  session 20010909-014640-0a0b0c0d: Plans
    *  m1  model: demo/demo-model-1
    *  u1  user: Which plan? Be short.
    *  a1  assistant: I look. -> read
    *  t1  tool read: ^[[31mA^[[0m and B<U+202E>
    |-o  a2  assistant: Plan A.  (side)
    | o  x1  user: And if A fails?  (try)
    `-*  b1  assistant: Plan B, rather.
      @  u2  user: Good <U+D83D> [image image/png]  [here]  (main)
    ");
}

#[test]
fn fork() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["fork", ID, "a2", "--id", NEW, "--title", "Only A"]), @r"20010910-000000-11111111");
    assert_snapshot!(sandbox.shown(&["context", NEW]), @r#"
    session 20010910-000000-11111111  Only A

    leaf      [ID1]
    model     demo/demo-model-1
    label     plan a
    messages  4

    user  [ID2]
      Which plan?
      Be short.

    assistant demo-model-1  [ID3]
      (thinking)
      | Look first.
      I look.
      -> read
         {"path":"plans.md"}

    tool read  [ID4]
      ^[[31mA^[[0m and B<U+202E>

    assistant demo-model-1  [ID1]
      Plan A.
    "#);
    assert_snapshot!(sandbox.shown(&["list"]), @r"
    20010909-014640-0a0b0c0d  2001-09-09 01:49      7  Plans
    20010910-000000-11111111  2001-09-09 01:48      4  Only A  [fork]
    ");
    let from_pi = sandbox.ok(&["fork", "pi/pi.jsonl"]);
    assert!(sandbox.path(&format!(".forkwood/sessions/{from_pi}.jsonl")).is_file());
}

#[test]
fn fork_into_a_file_of_pi() {
    let sandbox = Sandbox::with_samples();
    let id = sandbox.ok(&["fork", "pi/pi.jsonl", "--format", "pi", "-q"]);
    let context = sandbox.ok(&["context", &id, "--dir", "pi", "--shape", "pi", "--json"]);
    let source = sandbox.ok(&["context", "pi/pi.jsonl", "--shape", "pi", "--json"]);
    let messages =
        |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap()["messages"].clone();
    assert_eq!(messages(&context), messages(&source));
    assert_snapshot!(sandbox.shown(&["fork", "pi/pi.jsonl", "--format", "pi", "--at", "aa000001"]), @r"
    --- stderr
    error: no model has answered on the path to this entry; Pi writes such a file a second time
    hint: fork at a later entry, or into a session of Forkwood with --format native
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["fork", ID, "--format", "pi"]), @r"
    --- stderr
    error: --format pi forks files of Pi, and this is none
    hint: leave --format out: the fork is then a session of Forkwood
    --- exit 1
    ");
}

#[test]
fn entries_are_checked_however_they_are_written() {
    let sandbox = Sandbox::with_samples();
    let before = sandbox.ok(&["tree", ID, "--json"]);
    for (entry, named) in [
        (r#"{"type":"label","label":"x","targetId":"ghost"}"#, "label.targetId names ghost"),
        (r#"{"type":"leaf","leafId":"u1","leaf_id":"u1"}"#, "leafId and leaf_id both stand"),
        (r#"{"type":"custom","namespace":"n","data":[]}"#, "custom.data"),
        (r#"{"type":"session_info","cwd":"/elsewhere"}"#, "session_info.cwd"),
        (
            r#"{"type":"message","message":{"role":"user","content":[{"type":"image","base64":"*","mimeType":"image/png"}]}}"#,
            "image.base64",
        ),
    ] {
        for how in [&[][..], &["--expect", "u2"], &["--lane", "new"], &["--parent", "a1"]] {
            let run = sandbox.run(&[&["append", ID, "--entry", entry], how].concat());
            assert_eq!(run.code, 1, "{entry} {how:?}: {}", run.stderr);
            assert!(run.stderr.contains(named), "{how:?}: {}", run.stderr);
        }
    }
    assert_eq!(sandbox.ok(&["tree", ID, "--json"]), before);
}

#[test]
fn compactions_have_a_floor() {
    let sandbox = Sandbox::with_samples();
    let compaction =
        r#"{"id":"k1","type":"compaction","summary":"So far","firstKeptEntryId":"u2"}"#;
    sandbox.ok(&["append", ID, "--entry", compaction]);
    assert_snapshot!(sandbox.shown(&["rewind", ID, "u1"]), @r"
    --- stderr
    error: session 20010909-014640-0a0b0c0d: u1 lies before the latest compaction, whose floor is u2; say past-compaction to go there all the same
    hint: --past-compaction goes there all the same
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID, "--move", "main", "--to", "u1"]), @r"
    --- stderr
    error: session 20010909-014640-0a0b0c0d: u1 lies before the latest compaction, whose floor is u2; say past-compaction to go there all the same
    hint: --past-compaction goes there all the same
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID, "--move", "main", "--to", "u1", "--past-compaction"]), @r"
    main  u1  user: Which plan? Be short.
    try   x1  user: And if A fails?
    --- stderr
    lane main stands at u1
    ");
    sandbox.ok(&["lanes", ID, "--move", "main", "--to", "k1"]);
    assert_snapshot!(sandbox.shown(&["rewind", ID, "u1", "--past-compaction"]), @r"
    u1
    --- stderr
    the next append grows a branch here
    ");
}

#[test]
fn rewrites() {
    let sandbox = Sandbox::with_samples();
    sandbox.ok(&["rewind", ID, "a2"]);
    sandbox.ok(&["rewind", ID, "u2"]);
    let shown = sandbox.ok(&["vacuum", ID, "--json"]);
    let done: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(done["entriesAfter"].as_u64() < done["entriesBefore"].as_u64(), "{shown}");
    assert!(sandbox.ok(&["context", ID]).contains("Plan B"));
    let run = sandbox.run(&["reset", ID]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert_snapshot!(sandbox.shown(&["tree", ID, "--ascii"]), @r"
    session 20010909-014640-0a0b0c0d  Plans

    @  r0  session 20010909-014640-0a0b0c0d: Plans  (main)
    ");
}

#[test]
fn prune() {
    let sandbox = Sandbox::with_samples();
    sandbox.ok(&["new", "--id", NEW]);
    assert_snapshot!(
        sandbox.shown(&["prune", "--older-than", "30d", "--now", "2001-09-10T00:00:00Z"]), @r"
    --- stderr
    note: 20010910-000000-11111111 stays: empty
    0 moved to the trash
    "
    );
    assert_snapshot!(
        sandbox.shown(&["prune", "--older-than", "30d", "--now", "2001-12-24T00:00:00Z", "--dry-run", "--json"]), @r#"{"schema":1,"dryRun":true,"before":"2001-11-24T00:00:00Z","removed":["20010909-014640-0a0b0c0d"],"skipped":[{"session":"20010910-000000-11111111","why":"empty"}],"kept":0}"#
    );
    assert_snapshot!(
        sandbox.shown(&["prune", "--older-than", "30d", "--now", "2001-12-24T00:00:00Z"]), @r"
    20010909-014640-0a0b0c0d  2001-09-09 01:49
    --- stderr
    note: 20010910-000000-11111111 stays: empty
    1 moved to the trash
    "
    );
    assert_snapshot!(sandbox.shown(&["purge", "--older-than", "0s", "-y"]), @r"
    20010909-014640-0a0b0c0d  [TIME]
    --- stderr
    1 removed for good
    ");
}

#[test]
fn pi_files_in_place() {
    let sandbox = Sandbox::with_samples();
    let id = sandbox.ok(&["append", "pi/pi.jsonl", "More"]);
    assert_eq!(id.len(), 8, "{id}");
    let text = std::fs::read_to_string(sandbox.path("pi/pi.jsonl")).unwrap();
    assert!(text.starts_with(std::str::from_utf8(&common::data("pi.jsonl")).unwrap()));
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "message");
    assert_eq!(last["parentId"], "aa000005");
    assert_snapshot!(sandbox.shown(&["rewind", "pi/pi.jsonl", "aa000002"]), @r"
    aa000002
    --- stderr
    the next append grows a branch here
    note: Pi itself goes on at the last entry of the file, until something is appended here
    ");
    assert_snapshot!(sandbox.shown(&["context", "01940000-0000", "--dir", "pi"]), @r"
    session 01940000-0000-7000-8000-0000000000aa  Greeting

    leaf      aa000002
    model     demo/demo-model-1
    thinking  off
    messages  2

    user  aa000001
      Hello

    assistant demo-model-1  aa000002
      Hello you
    ");
}

/// What `rm` advises brings the session back, run as it stands, wherever its trash is.
#[cfg(unix)]
#[test]
fn the_advice_of_rm_works_as_it_stands() {
    let sandbox = Sandbox::with_samples();
    sandbox.put("my files/it's.jsonl", &common::data("pi.jsonl"));
    let native = format!(".forkwood/sessions/{ID}.jsonl");
    std::fs::create_dir_all(sandbox.path("elsewhere/.forkwood")).unwrap();
    let absolute = sandbox.path(&native).display().to_string();
    for (args, file) in [
        (&["rm", "pi/pi.jsonl"][..], "pi/pi.jsonl"),
        (&["rm", "my files/it's.jsonl"], "my files/it's.jsonl"),
        (&["rm", ID], &native),
        (&["-C", "elsewhere", "rm", &absolute], &native),
        (&["--store", ".forkwood", "rm", ID], &native),
    ] {
        let run = sandbox.run(args);
        assert!(run.code == 0 && !sandbox.path(file).exists(), "{args:?}: {}", run.stderr);
        let advice = run.stderr.split('`').nth(1).unwrap();
        let program = assert_cmd::cargo::cargo_bin("forkwood").display().to_string();
        let line = advice.replacen("forkwood", &program, 1);
        let shell = std::process::Command::new("sh")
            .args(["-c", &line])
            .current_dir(sandbox.path(""))
            .env_remove("FORKWOOD_DIR")
            .output()
            .unwrap();
        assert!(shell.status.success() && sandbox.path(file).exists(), "{advice}: {shell:?}");
    }
}

#[test]
fn an_answer_written_by_hand_is_of_the_model_in_force() {
    let sandbox = Sandbox::with_samples();
    let model = || -> serde_json::Value {
        let context = sandbox.ok(&["context", "pi/pi.jsonl", "--json"]);
        serde_json::from_str::<serde_json::Value>(&context).unwrap()["model"].clone()
    };
    let before = model();
    assert!(before["modelId"].is_string());
    sandbox.ok(&["append", "pi/pi.jsonl", "--role", "assistant", "by hand"]);
    assert_eq!(model(), before);
}

#[test]
fn where_pi_itself_would_go_on_is_told() {
    let sandbox = Sandbox::with_samples();
    let resume = || sandbox.ok(&["resume", "pi/pi.jsonl"]);
    assert!(resume().contains("pi --session"));
    let first = sandbox.ok(&["tree", "pi/pi.jsonl", "--json"]);
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    let first = first["rows"][0]["id"].as_str().unwrap();
    let moved = sandbox.run(&["rewind", "pi/pi.jsonl", first]);
    assert!(moved.stderr.contains("Pi itself goes on at the last entry"), "{}", moved.stderr);
    assert!(!resume().contains("pi --session"), "there the rewind would be lost");
    sandbox.ok(&["append", "pi/pi.jsonl", "again"]);
    assert!(resume().contains("pi --session"));
}
