//! A naive reader of whole files, enough to hold the dialects against what other programs say
//! of the same files. The engine proper is in `forkwood-storage`.
#![allow(dead_code)]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::{Body, Entry, EntryId, SessionState, Text};
use forkwood_storage::Stored;
use forkwood_storage::jsonl::{
    Dialect, FileStart, Format, Header, LineContext, LineFault, Moves, ParentName, RecordHead,
};

/// A file, read whole.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) header: Header,
    pub(crate) dialect: Arc<dyn Dialect>,
    pub(crate) stored: Vec<Stored>,
    pub(crate) sidecar: Vec<bool>,
    pub(crate) lanes: HashMap<String, Option<String>>,
    pub(crate) faults: Vec<(u64, LineFault)>,
    pub(crate) lines: Vec<(u64, String)>,
    pub(crate) line_of: Vec<u64>,
    pub(crate) notes: usize,
}

/// Asks every foreign format.
pub(crate) fn recognise(
    path: &Path,
    lines: &[(u64, String)],
) -> Option<forkwood_storage::jsonl::Recognised> {
    let mut left = 65_536usize;
    let mut window: Vec<(u64, &[u8])> = Vec::new();
    for (number, line) in lines.iter().filter(|(_, line)| !line.trim().is_empty()).take(64) {
        if left == 0 {
            break;
        }
        let cut = line.len().min(left);
        window.push((*number, &line.as_bytes()[..cut]));
        left -= cut;
    }
    let start = FileStart { path, lines: &window };
    let found: Vec<_> = forkwood_formats::formats()
        .iter()
        .filter_map(|format: &Arc<dyn Format>| format.recognise(&start))
        .collect();
    assert!(found.len() < 2, "{}: two formats claim it", path.display());
    found.into_iter().next()
}

pub(crate) fn lines_of(bytes: &[u8]) -> Vec<(u64, String)> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    text.split('\n')
        .enumerate()
        .map(|(at, line)| (at as u64 + 1, line.strip_suffix('\r').unwrap_or(line).to_owned()))
        .collect()
}

pub(crate) fn open(path: &Path) -> Option<Session> {
    read(path, &std::fs::read(path).unwrap())
}

pub(crate) fn read(path: &Path, bytes: &[u8]) -> Option<Session> {
    let lines = lines_of(bytes);
    let found = recognise(path, &lines)?;
    let mut session = Session {
        lanes: HashMap::from([("main".into(), found.header.leaf.as_ref().map(|l| l.to_string()))]),
        header: found.header,
        dialect: found.dialect,
        stored: Vec::new(),
        sidecar: Vec::new(),
        faults: Vec::new(),
        lines,
        line_of: Vec::new(),
        notes: 0,
    };
    let mut known: HashSet<String> = HashSet::new();
    for (number, line) in session.lines.clone() {
        if line.trim().is_empty() {
            continue;
        }
        let line_of = session.line_of.clone();
        let lookup = |ordinal: u64| line_of.get(ordinal as usize).copied();
        let context = LineContext { line: number, ordinal: line_of.len() as u64, line_of: &lookup };
        let mut heads = Vec::new();
        let whole = session.dialect.heads(line.as_bytes(), &context, false, &mut heads);
        check_quick(&*session.dialect, &line, &context, whole.is_ok().then_some(&heads[..]));
        if let Err(fault) = whole {
            session.faults.push((number, fault));
            continue;
        }
        for head in heads {
            session.line_of.push(number);
            if head.header {
                continue;
            }
            let record = line.as_bytes()[head.span.clone()].to_vec();
            let decoded = session.dialect.decode(&record, &context).unwrap();
            let mut entry = decoded.entry;
            session.notes += decoded.notes.len();
            assert_eq!(head.sidecar, head.sidecar && entry.kind() == head.kind);
            if !head.id.starts_with("value-") {
                assert_eq!(entry.id.as_str(), head.id, "{}", path.display());
            }
            entry.id = EntryId::from(head.id.as_ref());
            entry.parent_id = match &head.parent {
                ParentName::Root => None,
                ParentName::Named(id) => Some(EntryId::from(id.as_ref())),
                ParentName::Previous => session.stored.last().map(|s| s.entry.id.clone()),
            };
            known.insert(head.id.to_string());
            let lane = head.lane.as_deref().unwrap_or("main").to_owned();
            match &head.moves {
                Moves::Nothing => {}
                Moves::ToSelf => {
                    session.lanes.insert(lane, Some(head.id.to_string()));
                }
                Moves::To(None) => {
                    session.lanes.insert(lane, None);
                }
                Moves::To(Some(target)) if known.contains(&**target) => {
                    session.lanes.insert(lane, Some(target.to_string()));
                }
                Moves::To(Some(_)) => {}
            }
            session.sidecar.push(head.sidecar);
            session.stored.push(Stored {
                entry,
                seq: 0,
                line: Some(number),
                offset: None,
                raw: Some(record.into()),
            });
        }
    }
    Some(session)
}

/// What the start of a line tells is what the whole of it tells.
fn check_quick(
    dialect: &dyn Dialect,
    line: &str,
    context: &LineContext<'_>,
    whole: Option<&[RecordHead<'_>]>,
) {
    let mut quick = Vec::new();
    match dialect.heads(line.as_bytes(), context, true, &mut quick) {
        Ok(()) => {
            if let Some(whole) = whole {
                assert_eq!(quick, whole, "{line}");
            }
        }
        Err(fault) => assert_eq!(fault, LineFault::NeedWhole),
    }
    let mut cut = Vec::new();
    let window = &line.as_bytes()[..line.len().min(300)];
    if dialect.heads(window, context, true, &mut cut).is_ok()
        && let Some(whole) = whole
    {
        assert_eq!((&cut[0].id, &cut[0].parent), (&whole[0].id, &whole[0].parent));
        assert_eq!((cut[0].kind, &cut[0].role), (whole[0].kind, &whole[0].role));
        assert_eq!(cut[0].moves, whole[0].moves);
    }
}

impl Session {
    pub(crate) fn leaf(&self) -> Option<String> {
        self.lanes["main"].clone()
    }

    /// The path to an entry, root first, by parent links alone; the last line of an id counts.
    pub(crate) fn path(&self, leaf: Option<&str>) -> Vec<Stored> {
        let at: HashMap<&str, usize> =
            self.stored.iter().enumerate().map(|(at, s)| (s.entry.id.as_str(), at)).collect();
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut next = leaf.and_then(|leaf| at.get(leaf).copied());
        while let Some(here) = next {
            if !seen.insert(here) {
                break;
            }
            if !self.sidecar[here] {
                path.push(self.stored[here].clone());
            }
            let parent = self.stored[here].entry.parent_id.as_ref();
            next = parent.and_then(|parent| at.get(parent.as_str()).copied());
        }
        path.reverse();
        path
    }

    pub(crate) fn state(&self, path: &[Stored]) -> SessionState {
        let path: Vec<Entry> = path.iter().map(|s| s.entry.clone()).collect();
        let labels: Vec<Entry> = self.stored.iter().map(|s| s.entry.clone()).collect();
        SessionState::from_path(&path, &labels, &self.dialect.rules())
    }

    pub(crate) fn labels(&self) -> HashMap<String, Text> {
        let mut labels = HashMap::new();
        for stored in &self.stored {
            if let Body::Label { label, target_id: Some(target) } = &stored.entry.body {
                match label {
                    Some(label) => labels.insert(target.to_string(), label.clone()),
                    None => labels.remove(target.as_str()),
                };
            }
        }
        labels
    }

    pub(crate) fn title(&self) -> Option<Text> {
        let titles = self.stored.iter().rev().filter_map(|stored| match &stored.entry.body {
            Body::SessionInfo(info) => info.title.clone(),
            _ => None,
        });
        titles.into_iter().next().filter(|title| !title.is_empty())
    }

    pub(crate) fn ids(&self, path: &[Stored]) -> Vec<String> {
        path.iter().map(|stored| stored.entry.id.to_string()).collect()
    }
}

/// JSON with keys in order and numbers as JavaScript sees them, for comparing.
pub(crate) fn canonical(text: &str) -> String {
    match json::kind_of(text) {
        JsonKind::Object => {
            let object = Object::parse(text).unwrap();
            let mut fields: Vec<(String, String)> =
                object.iter().map(|(k, v)| (k.to_json(), canonical(v.get()))).collect();
            fields.sort();
            let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!("{k}:{v}")).collect();
            format!("{{{}}}", fields.join(","))
        }
        JsonKind::Array => {
            let items = json::elements(text).unwrap();
            let items: Vec<String> = items.into_iter().map(|v| canonical(v.get())).collect();
            format!("[{}]", items.join(","))
        }
        JsonKind::String => json::text_of(text).unwrap().to_json(),
        JsonKind::Number => text.trim().parse::<f64>().unwrap().to_string(),
        _ => text.trim().to_owned(),
    }
}

/// The session files in the folders that are there.
pub(crate) fn files(folders: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut out = Vec::new();
    for folder in folders {
        for base in [root.clone(), PathBuf::from("/work/shared/cases")] {
            let Ok(entries) = std::fs::read_dir(base.join(folder)) else { continue };
            let mut found: Vec<PathBuf> = entries
                .map(|entry| entry.unwrap().path())
                .filter(|path| {
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    name.ends_with(".jsonl") && !name.contains(".expected")
                })
                .collect();
            found.sort();
            out.extend(found);
        }
    }
    out
}

/// The file beside `path` with another ending.
pub(crate) fn beside(path: &Path, ending: &str) -> Option<String> {
    let stem = path.to_string_lossy().strip_suffix(".jsonl")?.to_owned();
    std::fs::read_to_string(format!("{stem}{ending}")).ok()
}

pub(crate) fn sha16(text: &str) -> String {
    use sha2::Digest;
    let hash = sha2::Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
