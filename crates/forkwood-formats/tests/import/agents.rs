//! Sessions of Claude Code and Codex.

use std::path::{Path, PathBuf};

use forkwood::Body;
use forkwood_formats::import::Outcome;
use pollster::block_on as run;

use crate::world::{World, context, entries};

/// The files below a folder of fixtures, with their names there.
fn files(folder: &str) -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let mut out = Vec::new();
    let mut todo = vec![root.clone()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            out.push((path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), path));
        }
    }
    out.sort();
    out
}

fn claude(number: u64) -> (String, String) {
    let name = format!("{number:08x}-0000-4000-8000-{number:012x}.jsonl");
    let all = files("claude-code");
    let (_, path) = all.iter().find(|(file, _)| file.ends_with(&name)).unwrap();
    (name, std::fs::read_to_string(path).unwrap())
}

/// What the engine makes of a file where it lies.
fn in_place(path: &Path) -> Vec<String> {
    let formats = forkwood_formats::formats();
    context(&run(forkwood::SessionStore::open_file(path, &formats)).unwrap())
}

#[test]
fn every_session_has_the_context_that_it_has_in_place() {
    for folder in ["claude-code", "codex"] {
        let mut taken = 0;
        for (name, path) in files(folder) {
            if !name.ends_with(".jsonl") || name.contains("agent-") || name == "session_index.jsonl"
            {
                continue;
            }
            let world = World::new();
            world.put(&name, std::fs::read(&path).unwrap());
            let reports = world.import();
            assert_eq!(reports[0].outcome, Outcome::New, "{name}: {reports:?}");
            let session = world.session();
            assert_eq!(context(&session), in_place(&path), "{name}");
            assert_eq!(world.import()[0].outcome, Outcome::Unchanged);
            taken += 1;
        }
        assert!(taken > 7);
    }
}

#[test]
fn a_whole_folder_with_its_sub_agents() {
    let world = World::new();
    for (name, path) in files("claude-code").into_iter().chain(files("codex")) {
        world.put(&name, std::fs::read(path).unwrap());
    }
    world.import();
    let sessions = world.sessions();
    let of =
        |id: &str| sessions.iter().find(|session| session.id().as_str().starts_with(id)).unwrap();
    let title = |id: &str| of(id).facts().info.title.as_ref().map(ToString::to_string);
    assert_eq!(title("00000001").as_deref(), Some("Parser: the last line"));
    assert_eq!(title("01990001").as_deref(), Some("The last line"));
    let store = world.store();
    let page =
        forkwood::Page { parent: Some(of("00000009").id().clone()), ..forkwood::Page::default() };
    let agents = run(store.list(page)).unwrap().rows;
    let kinds: Vec<String> =
        agents.iter().filter_map(|row| Some(row.agent_type.as_ref()?.to_string())).collect();
    assert!(kinds.contains(&"reviewer".to_owned()), "{kinds:?}");
    let codex =
        forkwood::Page { parent: Some(of("01990001").id().clone()), ..forkwood::Page::default() };
    let agents = run(store.list(codex)).unwrap().rows;
    assert_eq!(agents[0].agent_type, Some("explorer".into()));
    assert!(world.import().iter().all(|report| report.outcome != Outcome::New));
}

/// However often a growing file is looked at, the context at its end is the same.
#[test]
fn files_are_taken_as_they_grow() {
    for number in [3, 4, 5] {
        let (name, text) = claude(number);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for step in [1, 2, 3] {
            let world = World::new();
            for end in (1..lines.len()).step_by(step).chain([lines.len()]) {
                world.put(&name, lines[..end].concat());
                let reports = world.import();
                assert!(reports[0].error.is_none(), "{reports:?}");
            }
            let whole = World::new();
            whole.put(&name, &text);
            whole.import();
            assert_eq!(context(&world.session()), context(&whole.session()), "{number} by {step}");
            assert_eq!(world.import()[0].outcome, Outcome::Unchanged);
        }
    }
}

#[test]
fn nothing_of_a_line_is_lost() {
    let (name, text) = claude(1);
    let world = World::new();
    world.put(&name, &text);
    world.import();
    let session = world.session();
    let kept: String = entries(&session)
        .iter()
        .map(|stored| match &stored.entry.body {
            Body::Message(body) => {
                let foreign =
                    body.foreign.as_ref().map(|foreign| foreign.raw.get()).unwrap_or_default();
                forkwood::core::message::encode(&body.message) + foreign
            }
            Body::Custom { data, .. } => data.get().to_owned(),
            Body::SessionInfo(info) => format!("{info:?}"),
            _ => String::new(),
        })
        .collect();
    for what in [
        "req_msg_1a",
        "toolUseResult",
        "trackedFileBackups",
        "Also look",
        "5021",
        "promptId",
        "skill_listing",
        "lastPrompt",
    ] {
        assert!(kept.contains(what), "{what}");
    }
    let leaf = run(session.current_leaf()).unwrap().unwrap();
    let state = run(session.state_at(&leaf)).unwrap();
    assert_eq!(state.settings().model, Some("claude-opus-4-6".into()));
}
