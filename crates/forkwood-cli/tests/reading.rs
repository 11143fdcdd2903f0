//! Every reading command on known sessions: all that it prints.

mod common;

use common::Sandbox;
use insta::assert_snapshot;

const ID: &str = "20010909-014640-0a0b0c0d";

#[test]
fn list() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["list"]), @r"20010909-014640-0a0b0c0d  2001-09-09 01:49      7  Plans");
    assert_snapshot!(sandbox.shown(&["list", "--dir", "pi"]), @r"01940000-0000-7000-8000-0000000000aa  2001-09-09 01:47      2  Greeting  [pi-v3]");
    assert_snapshot!(sandbox.shown(&["list", "--json"]), @r#"{"schema":1,"id":"20010909-014640-0a0b0c0d","path":"[DIR]/.forkwood/sessions/20010909-014640-0a0b0c0d.jsonl","dialect":"native","created":"2001-09-09T01:46:40Z","lastActivity":"2001-09-09T01:49:30Z","entries":11,"messages":7,"userMessages":3,"assistantMessages":3,"title":"Plans","firstUser":"Which plan?","model":"demo-model-2","cwd":"/proj/demo","size":1851,"forkedFrom":null,"agentType":null,"parentSession":null,"damage":0,"state":"good","pinned":false}"#);
    assert_snapshot!(sandbox.shown(&["list", "--cwd", "/proj/other"]), @r"
    --- stderr
    note: no sessions in [DIR]/.forkwood
    ");
    assert_snapshot!(sandbox.shown(&["list", "--cwd", "/proj/demo/", "-n", "1"]), @r"20010909-014640-0a0b0c0d  2001-09-09 01:49      7  Plans");
}

#[test]
fn list_of_other_tools() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["list", "--from", "pi"]), @r"
    --- stderr
    note: no sessions in Pi's folder [DIR]/home/.pi/agent/sessions
    ");
    sandbox.put("home/.pi/agent/sessions/--proj-demo--/s.jsonl", &common::data("pi.jsonl"));
    assert_snapshot!(sandbox.shown(&["list", "--from", "pi"]), @r"01940000-0000-7000-8000-0000000000aa  2001-09-09 01:47      2  Greeting  [pi-v3]");
    assert_snapshot!(sandbox.shown(&["list", "--all"]), @r"
    20010909-014640-0a0b0c0d              2001-09-09 01:49      7  Plans
    01940000-0000-7000-8000-0000000000aa  2001-09-09 01:47      2  Greeting  [pi-v3]
    ");
}

#[test]
fn list_names_what_is_no_session() {
    let sandbox = Sandbox::with_samples();
    sandbox.put("pi/empty.jsonl", b"");
    sandbox.put("pi/nul.jsonl", &[0; 40]);
    sandbox.put("pi/folder.jsonl/inner.txt", b"x");
    assert_snapshot!(sandbox.shown(&["list", "--dir", "pi"]), @r"
    01940000-0000-7000-8000-0000000000aa  2001-09-09 01:47      2  Greeting  [pi-v3]
    --- stderr
    note: [DIR]/pi/folder.jsonl: folder: a folder with the name of a session file
    note: [DIR]/pi/empty.jsonl: empty: is empty (0 bytes), so it is no session; nothing was changed
    note: [DIR]/pi/nul.jsonl: damaged: holds NUL bytes only: its data never reached the disk. It was left alone
    ");
}

#[test]
fn show() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["show", ID]), @r#"
    session 20010909-014640-0a0b0c0d  Plans

    model: demo/demo-model-1  2001-09-09 01:46  m1

    user  2001-09-09 01:47  u1
      Which plan?
      Be short.

    assistant demo-model-1  2001-09-09 01:47  a1
      (thinking)
      | Look first.
      I look.
      -> read
         {"path":"plans.md"}

    tool read  2001-09-09 01:47  t1
      ^[[31mA^[[0m and B<U+202E>

    assistant demo-model-2  2001-09-09 01:48  b1
      Plan B, rather.

    user  2001-09-09 01:49  u2
      Good <U+D83D>
      [image image/png, 6 B]
    "#);
    assert_snapshot!(sandbox.shown(&["show", "0a", "--at", "plan a"]), @r#"
    session 20010909-014640-0a0b0c0d  Plans

    model: demo/demo-model-1  2001-09-09 01:46  m1

    user  2001-09-09 01:47  u1
      Which plan?
      Be short.

    assistant demo-model-1  2001-09-09 01:47  a1
      (thinking)
      | Look first.
      I look.
      -> read
         {"path":"plans.md"}

    tool read  2001-09-09 01:47  t1
      ^[[31mA^[[0m and B<U+202E>

    assistant demo-model-1  2001-09-09 01:48  a2  [plan a]
      Plan A.
    "#);
    assert_snapshot!(sandbox.shown(&["show", "0a", "--at", "m1", "--json"]), @r#"{"schema":1,"session":"20010909-014640-0a0b0c0d","leaf":"m1","entries":[{"id":"r0","parentId":null,"timestamp":1000000000.0,"type":"session_info","sessionId":"20010909-014640-0a0b0c0d","version":1,"generation":"0000001a","title":"Plans","cwd":"/proj/demo","createdAt":1000000000.0,"metadata":{"issue":"DEMO-1"}},{"id":"m1","parentId":"r0","timestamp":1000000001.0,"type":"model_change","model":"demo-model-1","provider":"demo"}]}"#);
}

#[test]
fn tree() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["tree", ID]), @"
    session 20010909-014640-0a0b0c0d  Plans

    \u{25cf}  r0  session 20010909-014640-0a0b0c0d: Plans
    \u{25cf}  m1  model: demo/demo-model-1
    \u{25cf}  u1  user: Which plan? Be short.
    \u{25cf}  a1  assistant: I look. -> read
    \u{25cf}  t1  tool read: ^[[31mA^[[0m and B<U+202E>
    \u{251c}\u{2500}\u{25cb}  a2  assistant: Plan A.  [plan a]
    \u{2502} \u{25cb}  x1  user: And if A fails?  (try)
    \u{2514}\u{2500}\u{25cf}  b1  assistant: Plan B, rather.
      \u{25c9}  u2  user: Good <U+D83D> [image image/png]  (main)
    ");
    assert_snapshot!(sandbox.shown(&["tree", ID, "--ascii"]), @r"
    session 20010909-014640-0a0b0c0d  Plans

    *  r0  session 20010909-014640-0a0b0c0d: Plans
    *  m1  model: demo/demo-model-1
    *  u1  user: Which plan? Be short.
    *  a1  assistant: I look. -> read
    *  t1  tool read: ^[[31mA^[[0m and B<U+202E>
    |-o  a2  assistant: Plan A.  [plan a]
    | o  x1  user: And if A fails?  (try)
    `-*  b1  assistant: Plan B, rather.
      @  u2  user: Good <U+D83D> [image image/png]  (main)
    ");
    assert_snapshot!(sandbox.shown(&["tree", ID, "--json"]), @r#"{"leaf":"u2","rows":[{"id":"r0","parentId":null,"type":"session_info","role":null,"depth":0,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"session 20010909-014640-0a0b0c0d: Plans"},{"id":"m1","parentId":"r0","type":"model_change","role":null,"depth":1,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"model: demo/demo-model-1"},{"id":"u1","parentId":"m1","type":"message","role":"user","depth":2,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"user: Which plan? Be short."},{"id":"a1","parentId":"u1","type":"message","role":"assistant","depth":3,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"assistant: I look. -> read"},{"id":"t1","parentId":"a1","type":"message","role":"tool","depth":4,"indent":0,"label":null,"lanes":[],"children":2,"forkPoint":true,"active":true,"leaf":false,"text":"tool read: ^[[31mA^[[0m and B<U+202E>"},{"id":"a2","parentId":"t1","type":"message","role":"assistant","depth":5,"indent":1,"label":"plan a","lanes":[],"children":1,"forkPoint":false,"active":false,"leaf":false,"text":"assistant: Plan A."},{"id":"x1","parentId":"a2","type":"message","role":"user","depth":6,"indent":1,"label":null,"lanes":["try"],"children":0,"forkPoint":false,"active":false,"leaf":false,"text":"user: And if A fails?"},{"id":"b1","parentId":"t1","type":"message","role":"assistant","depth":5,"indent":1,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"assistant: Plan B, rather."},{"id":"u2","parentId":"b1","type":"message","role":"user","depth":6,"indent":1,"label":null,"lanes":["main"],"children":0,"forkPoint":false,"active":true,"leaf":true,"text":"user: Good <U+D83D> [image image/png]"}]}"#);
}

#[test]
fn tree_of_a_pi_file_has_its_own_types() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["tree", "pi/pi.jsonl", "--json"]), @r#"{"leaf":"aa000005","rows":[{"id":"aa000001","parentId":null,"type":"message","role":"user","depth":0,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"user: Hello"},{"id":"aa000002","parentId":"aa000001","type":"message","role":"assistant","depth":1,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"assistant: Hello you"},{"id":"aa000003","parentId":"aa000002","type":"custom","role":null,"depth":2,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"custom todo: {\"n\":1}"},{"id":"aa000004","parentId":"aa000003","type":"session_info","role":null,"depth":3,"indent":0,"label":null,"lanes":[],"children":1,"forkPoint":false,"active":true,"leaf":false,"text":"title: Greeting"},{"id":"aa000005","parentId":"aa000004","type":"from_the_future","role":null,"depth":4,"indent":0,"label":null,"lanes":["main"],"children":0,"forkPoint":false,"active":true,"leaf":true,"text":"from_the_future"}]}"#);
}

#[test]
fn context() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["context", ID]), @r#"
    session 20010909-014640-0a0b0c0d  Plans

    leaf      u2
    model     demo/demo-model-2
    messages  5

    user  u1
      Which plan?
      Be short.

    assistant demo-model-1  a1
      (thinking)
      | Look first.
      I look.
      -> read
         {"path":"plans.md"}

    tool read  t1
      ^[[31mA^[[0m and B<U+202E>

    assistant demo-model-2  b1
      Plan B, rather.

    user  u2
      Good <U+D83D>
      [image image/png, 6 B]
    "#);
    assert_snapshot!(sandbox.shown(&["context", ID, "--json"]), @r#"{"session":"20010909-014640-0a0b0c0d","leaf":"u2","path":["r0","m1","u1","a1","t1","b1","u2"],"model":{"provider":"demo","modelId":"demo-model-2"},"thinkingLevel":null,"activeToolNames":null,"label":null,"messages":[{"role":"user","content":"Which plan?\nBe short."},{"role":"assistant","content":[{"type":"thinking","thinking":"Look first."},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"plans.md"}}],"model":"demo-model-1","provider":"demo","stopReason":"toolUse"},{"role":"tool","content":"\u001b[31mA\u001b[0m and B\u202e","toolCallId":"c1","toolName":"read"},{"role":"assistant","content":"Plan B, rather.","model":"demo-model-2","provider":"demo"},{"role":"user","content":[{"type":"text","text":"Good \ud83d"},{"type":"image","base64":"AAAAAAAA","mimeType":"image/png"}]}],"entryIds":["u1","a1","t1","b1","u2"],"diagnostics":[]}"#);
    assert_snapshot!(sandbox.shown(&["context", ID, "--json", "--at", "x1"]), @r#"{"session":"20010909-014640-0a0b0c0d","leaf":"x1","path":["r0","m1","u1","a1","t1","a2","x1"],"model":{"provider":"demo","modelId":"demo-model-1"},"thinkingLevel":null,"activeToolNames":null,"label":"plan a","messages":[{"role":"user","content":"Which plan?\nBe short."},{"role":"assistant","content":[{"type":"thinking","thinking":"Look first."},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"plans.md"}}],"model":"demo-model-1","provider":"demo","stopReason":"toolUse"},{"role":"tool","content":"\u001b[31mA\u001b[0m and B\u202e","toolCallId":"c1","toolName":"read"},{"role":"assistant","content":"Plan A.","model":"demo-model-1","provider":"demo"},{"role":"user","content":"And if A fails?"}],"entryIds":["u1","a1","t1","a2","x1"],"diagnostics":[]}"#);
    assert_snapshot!(sandbox.shown(&["context", ID, "--json", "--lane", "try", "--at", "m1"]), @r#"{"session":"20010909-014640-0a0b0c0d","leaf":"m1","path":["r0","m1"],"model":{"provider":"demo","modelId":"demo-model-1"},"thinkingLevel":null,"activeToolNames":null,"label":null,"messages":[],"entryIds":[],"diagnostics":[]}"#);
}

#[test]
fn context_in_the_shape_of_pi() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["context", "pi/pi.jsonl", "--shape", "pi", "--json"]), @r#"{"session":"01940000-0000-7000-8000-0000000000aa","leaf":"aa000005","path":["aa000001","aa000002","aa000003","aa000004","aa000005"],"model":{"provider":"demo","modelId":"demo-model-1"},"thinkingLevel":"off","activeToolNames":null,"label":null,"messages":[{"role":"user","content":"Hello","timestamp":1000000020000},{"role":"assistant","content":[{"type":"text","text":"Hello you"}],"api":"demo","provider":"demo","model":"demo-model-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1000000030000}],"entryIds":["aa000001","aa000002"],"diagnostics":[]}"#);
    assert_snapshot!(sandbox.shown(&["context", ID, "--shape", "pi", "--json", "--at", "a1"]), @r#"{"session":"20010909-014640-0a0b0c0d","leaf":"a1","path":["r0","m1","u1","a1"],"model":{"provider":"demo","modelId":"demo-model-1"},"thinkingLevel":null,"activeToolNames":null,"label":null,"messages":[{"role":"user","content":"Which plan?\nBe short.","timestamp":1000000060000},{"role":"assistant","content":[{"type":"thinking","thinking":"Look first."},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"plans.md"}}],"api":"unknown","provider":"demo","model":"demo-model-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1000000070000}],"entryIds":["u1","a1"],"diagnostics":[]}"#);
}

#[test]
fn branches_and_lanes() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["branches", ID]), @r"
    * u2  7 entries, 2 after t1  (main)  user: Good <U+D83D> [image image/png]
      x1  7 entries, 2 after t1  [plan a]  (try)  user: And if A fails?
    ");
    assert_snapshot!(sandbox.shown(&["branches", ID, "--json"]), @r#"{"schema":1,"session":"20010909-014640-0a0b0c0d","leaf":"u2","branches":[{"tip":"u2","forkPoint":"t1","entries":7,"own":2,"lanes":["main"],"label":null,"current":true,"text":"user: Good <U+D83D> [image image/png]"},{"tip":"x1","forkPoint":"t1","entries":7,"own":2,"lanes":["try"],"label":"plan a","current":false,"text":"user: And if A fails?"}]}"#);
    assert_snapshot!(sandbox.shown(&["lanes", ID]), @r"
    main  u2  user: Good <U+D83D> [image image/png]
    try   x1  user: And if A fails?
    ");
    assert_snapshot!(sandbox.shown(&["lanes", ID, "--json"]), @r#"{"schema":1,"session":"20010909-014640-0a0b0c0d","lanes":[{"lane":"main","leaf":"u2"},{"lane":"try","leaf":"x1"}]}"#);
}

#[test]
fn diff() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["diff", ID, "try", "main"]), @r"
    5 in common, up to t1
    < a2  assistant: Plan A.
    < x1  user: And if A fails?
    > b1  assistant: Plan B, rather.
    > u2  user: Good <U+D83D> [image image/png]
    ");
    assert_snapshot!(sandbox.shown(&["diff", ID, "a2", "u2", "--json"]), @r#"{"schema":1,"session":"20010909-014640-0a0b0c0d","a":"a2","b":"u2","common":5,"lastCommon":"t1","onlyA":[{"id":"a2","text":"assistant: Plan A."}],"onlyB":[{"id":"b1","text":"assistant: Plan B, rather."},{"id":"u2","text":"user: Good <U+D83D> [image image/png]"}]}"#);
    assert_snapshot!(sandbox.shown(&["diff", ID, "a2", "a2"]), @r"6 in common, up to a2");
}

#[test]
fn resume() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["resume", ID]), @r#"
    session 20010909-014640-0a0b0c0d  Plans

    leaf      u2
    model     demo/demo-model-2
    messages  5
    folder    /proj/demo

    a1  assistant: I look. -> read
    t1  tool read: ^[[31mA^[[0m and B<U+202E>
    b1  assistant: Plan B, rather.
    u2  user: Good <U+D83D> [image image/png]

    The last message waits for an answer.
    To go on:
        forkwood append 20010909-014640-0a0b0c0d "..."
    "#);
    assert_snapshot!(sandbox.shown(&["resume", "pi/pi.jsonl"]), @r#"
    session 01940000-0000-7000-8000-0000000000aa  Greeting

    leaf      aa000005
    model     demo/demo-model-1
    messages  2
    folder    /proj/demo

    aa000002  assistant: Hello you
    aa000003  custom todo: {"n":1}
    aa000004  title: Greeting
    aa000005  from_the_future

    To go on:
        forkwood append [DIR]/pi/pi.jsonl "..."
        pi --session [DIR]/pi/pi.jsonl
    "#);
    assert_snapshot!(sandbox.shown(&["resume", ID, "--json"]), @r#"{"schema":1,"session":"20010909-014640-0a0b0c0d","path":"[DIR]/.forkwood/sessions/20010909-014640-0a0b0c0d.jsonl","dialect":"native","title":"Plans","leaf":"u2","model":{"provider":"demo","modelId":"demo-model-2"},"thinkingLevel":null,"messages":5,"unanswered":true,"last":"user: Good <U+D83D> [image image/png]","readOnly":null,"next":["forkwood append 20010909-014640-0a0b0c0d \"...\""]}"#);
}

#[test]
fn check() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["check", ID]), @r"
    --- stderr
    all is well
    ");
    let mut torn = common::data("native.jsonl");
    torn.truncate(torn.len() - 20);
    sandbox.put("torn.jsonl", &torn);
    assert_snapshot!(sandbox.shown(&["check", "torn.jsonl"]), @r"
    error: torn-tail line 11, offset 1714: the last line was cut while it was written, after 117 bytes; it is left out
    --- stderr
    1 error
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["check", "torn.jsonl", "--json"]), @r#"
    {"diagnostics":[{"kind":"torn-tail","severity":"error","entry":null,"line":11,"offset":1714,"message":"the last line was cut while it was written, after 117 bytes; it is left out"}]}
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["check", "torn.jsonl", "--repair"]), @r"
    --- stderr
    cut the torn tail at offset 1714 and kept its bytes beside the file
    all is well
    ");
    assert_snapshot!(sandbox.shown(&["check", "torn.jsonl"]), @r"
    --- stderr
    all is well
    ");
}

#[test]
fn path_and_watch() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(sandbox.shown(&["path", "0a0b"]), @r"[DIR]/.forkwood/sessions/20010909-014640-0a0b0c0d.jsonl");
    assert_snapshot!(sandbox.shown(&["path", "pi/pi.jsonl", "--json"]), @r#"{"schema":1,"session":"01940000-0000-7000-8000-0000000000aa","path":"[DIR]/pi/pi.jsonl"}"#);
    assert_snapshot!(sandbox.shown(&["watch", "pi/pi.jsonl", "--once", "--since", "start"]), @r#"
    aa000001  user: Hello
    aa000002  assistant: Hello you
    aa000003  custom todo: {"n":1}
    aa000004  title: Greeting
    aa000005  from_the_future
    --- stderr
    cursor [ID1].1071.aa000005
    "#);
    let cursor = sandbox.run(&["watch", ID, "--once"]).stderr;
    let cursor = cursor.trim().strip_prefix("cursor ").unwrap().to_owned();
    sandbox.ok(&["append", ID, "news"]);
    assert_snapshot!(sandbox.shown(&["watch", ID, "--once", "--since", &cursor, "-q"]), @r"[ID1]  user: news");
    let json = sandbox.ok(&["watch", ID, "--once", "--since", &cursor, "--json"]);
    let (first, last) = json.split_once('\n').unwrap();
    let event: serde_json::Value = serde_json::from_str(first).unwrap();
    assert_eq!((&event["schema"], &event["event"]), (&1.into(), &"entry".into()));
    assert_eq!(event["entry"]["message"]["content"], "news");
    let end: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!((&end["event"], &end["cursor"]), (&"end".into(), &event["cursor"]));
}

#[test]
fn reading_changes_nothing() {
    let sandbox = Sandbox::with_samples();
    let mut torn = common::data("pi.jsonl");
    torn.truncate(torn.len() - 9);
    sandbox.put("pi/torn.jsonl", &torn);
    let before = sandbox.files();
    for command in ["show", "tree", "context", "branches", "lanes", "resume", "check", "path"] {
        for session in [ID, "pi/pi.jsonl", "pi/torn.jsonl"] {
            let run = sandbox.run(&[command, session]);
            assert!(run.code <= 1, "{command} {session}: {}", run.stderr);
            sandbox.run(&[command, session, "--json"]);
        }
    }
    for args in [
        vec!["list"],
        vec!["list", "--dir", "."],
        vec!["trash"],
        vec!["watch", ID, "--once"],
        vec!["diff", ID, "a2", "u2"],
        vec!["rm", ID, "--dry-run"],
        vec!["prune", "--older-than", "1d", "--dry-run"],
    ] {
        assert_eq!(sandbox.run(&args).code, 0, "{args:?}");
    }
    assert!(sandbox.files() == before, "a file changed");
    // Not even the store's folder is made by looking for one.
    let empty = Sandbox::new();
    assert_snapshot!(empty.shown(&["list"]), @r"
    --- stderr
    note: no sessions in [DIR]/.forkwood
    ");
    assert_eq!(empty.files(), []);
    assert!(!empty.path(".forkwood").exists());
}

#[test]
fn no_content_acts_on_a_terminal() {
    let sandbox = Sandbox::with_samples();
    let acts = |text: &str| {
        text.chars().any(|c| {
            matches!(c, '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}' | '\u{202a}'..='\u{202e}')
        })
    };
    for command in ["show", "tree", "context", "branches", "lanes", "resume", "check"] {
        for json in [&["--json"][..], &[]] {
            let run = sandbox.run(&[&[command, ID][..], json].concat());
            assert!(!acts(&run.stdout) && !acts(&run.stderr), "{command}: {}", run.stdout);
        }
    }
}
