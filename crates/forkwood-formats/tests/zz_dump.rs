mod common;
use forkwood_formats::pi::fork::*;
use forkwood_formats::pi::shape::pi_context;
#[test]
fn dump() {
    for path in common::files(&["pi", "my-pi-agent/new"]) {
        let Some(s) = common::open(&path) else { continue };
        let p = s.path(s.leaf().as_deref());
        let labels: Vec<_> = s.stored.iter().filter(|x| x.entry.kind() == forkwood_core::EntryKind::Label).cloned().collect();
        let f = NewFork { session_id: "01a22b53-2800-7353-88f2-80f00c1b6d34", created: forkwood_core::Timestamp::from_millis(1796023199745), cwd: "/w", parent_session: Some("/x.jsonl") };
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        match new_fork_file(&f, &p, &labels) {
            Ok(t) => { std::fs::write(format!("/tmp/pinpm/out/{stem}.jsonl"), t).unwrap();
            // anew
            let mut anew = header(&f); anew.push('\n');
            let pi3 = common::open(&std::path::PathBuf::from("/work/shared/cases/pi/01-linear.jsonl")).unwrap().dialect;
            let mut ok = true;
            for x in &p { match pi3.encode(&x.entry) { Ok(Some(l)) => { anew += &l; anew.push('\n'); } Ok(None) => {}, Err(_) => ok = false } }
            if ok { std::fs::write(format!("/tmp/pinpm/out/{stem}.anew.jsonl"), anew).unwrap(); }
            let c: Vec<String> = pi_context(&p, &s.dialect.rules()).into_iter().map(|m| m.json).collect();
            std::fs::write(format!("/tmp/pinpm/out/{stem}.ctx"), format!("[{}]", c.join(","))).unwrap();
            }
            Err(e) => println!("{stem}: {e}"),
        }
    }
}
