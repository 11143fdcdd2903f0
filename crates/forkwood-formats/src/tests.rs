use std::path::Path;

use forkwood_core::DiagnosticKind;
use forkwood_storage::jsonl::{FileStart, Format, Native, Recognised};

use super::formats;

/// Asks a format for a file that begins with these lines.
pub(crate) fn ask(format: &dyn Format, lines: &[&str]) -> Option<Recognised> {
    let lines: Vec<(u64, &[u8])> =
        lines.iter().enumerate().map(|(at, line)| (at as u64 + 1, line.as_bytes())).collect();
    format.recognise(&FileStart { path: Path::new("x.jsonl"), lines: &lines })
}

/// The dialect that any format gives a file.
fn dialect(lines: &[&str]) -> Option<&'static str> {
    let mut found = formats().into_iter().filter_map(|format| ask(&*format, lines));
    let first = found.next()?;
    assert!(found.next().is_none(), "two formats claim {lines:?}");
    Some(first.dialect.name())
}

const PI: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:00:00.000Z","cwd":"/w"}"#;
const PI_MESSAGE: &str = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-15T09:00:01.000Z","message":{"role":"user","content":"x"}}"#;
const SNAP: &str = r#"{"id": "20261130-064036-5a10cbd5", "created_at": "2026-11-30T06:40:36.857580", "cwd": "/w"}"#;
const SNAP_MESSAGE: &str =
    r#"{"id":"a","timestamp":"2026-11-30T06:40:36.857609","role":"user","content":"x"}"#;
const NINE: &str =
    r#"{"id":"i0","timestamp":1788000000.0,"type":"session_info","createdAt":1788000000.0}"#;
const NINE_MESSAGE: &str = r#"{"id":"m1","parentId":"i0","timestamp":1788000001.0,"type":"message","message":{"role":"user","content":"x"}}"#;
const NATIVE: &str = r#"{"id":"0192","parentId":null,"timestamp":1.5,"type":"session_info","sessionId":"s","version":1}"#;

#[test]
fn each_file_is_of_one_format() {
    assert_eq!(dialect(&[PI, PI_MESSAGE]), Some("pi-v3"));
    assert_eq!(dialect(&[PI]), Some("pi-v3"));
    assert_eq!(dialect(&[SNAP, SNAP_MESSAGE]), Some("my-pi-agent-header"));
    assert_eq!(dialect(&[SNAP]), Some("my-pi-agent-header"));
    let old = SNAP.replacen('{', "{\"type\":\"session\",", 1);
    assert_eq!(dialect(&[&old, SNAP_MESSAGE]), Some("my-pi-agent-header"));
    assert_eq!(dialect(&[NINE, NINE_MESSAGE]), Some("my-pi-agent"));
    assert_eq!(dialect(&[NINE]), Some("my-pi-agent"));
    assert_eq!(dialect(&[NATIVE, NINE_MESSAGE]), None);
    assert!(ask(&Native, &[NATIVE]).is_some());
}

#[test]
fn other_files_are_left_alone() {
    let log = r#"{"type":"event","at":"2026-05-01T09:00:00.000Z","level":"info","data":"x"}"#;
    let typed = r#"{"type":"message","timestamp":"2026-05-01T09:00:00.000Z","text":"x"}"#;
    let claude = r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-05-01T09:00:00.000Z","message":{"role":"user","content":"x"}}"#;
    for lines in [
        &[][..],
        &[""],
        &["garbage"],
        &["null", "42", "[]"],
        &[log, log, log],
        &[typed, typed],
        &[claude, claude],
        &[r#"{"type":"session","id":"x"}"#],
        &[r#"{"id":"x","created_at":7}"#],
        &[r#"{"type":"session_info","id":"i0","timeS"#],
        &[r#"{"type":"session_info","timestamp":1}"#],
        &["{broken", SNAP_MESSAGE],
        &["{broken", NINE_MESSAGE, "torn"],
        // A native one, whose ids say so.
        &["{broken", &NINE_MESSAGE.replace("i0", "01a22ff6139b7206baf0360b1cd79ffd")],
    ] {
        assert_eq!(dialect(lines), None, "{lines:?}");
    }
}

#[test]
fn a_lost_header_of_nine_types_is_told() {
    assert_eq!(dialect(&["{broken", NINE_MESSAGE]), Some("my-pi-agent"));
    assert_eq!(dialect(&["{broken", NINE_MESSAGE, NINE_MESSAGE]), Some("my-pi-agent"));
}

#[test]
fn a_lost_header_is_told_and_the_entries_stay() {
    let numeric = PI.replace("\"s\"", "5");
    for lines in [
        &[PI_MESSAGE][..],
        &["{broken header", PI_MESSAGE],
        &["", PI_MESSAGE, PI_MESSAGE, "torn"],
        &[&numeric, PI_MESSAGE],
        &[&numeric],
    ] {
        let found = ask(&crate::pi::PiFormat, lines).unwrap();
        assert_eq!(found.dialect.name(), "pi-v3");
        assert!(found.header.read_only.is_some());
        assert_eq!(found.header.diagnostics[0].kind, DiagnosticKind::NoHeader);
        assert!(found.header.session_id.is_empty());
    }
}

/// Files of many kinds, from reports of other programs' users.
#[test]
fn recognises_the_collected_faults() {
    let folder = Path::new("/work/shared/cases/faults");
    let Ok(cases) = std::fs::read_dir(folder) else { return };
    for case in cases {
        let case = case.unwrap().path();
        let Ok(files) = std::fs::read_dir(&case) else { continue };
        for file in files.map(|file| file.unwrap().path()) {
            let name = format!("{}", file.strip_prefix(folder).unwrap().display());
            let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
            let Ok(bytes) = std::fs::read(&file) else { continue };
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(65_536)]).into_owned();
            let lines: Vec<&str> =
                text.split('\n').filter(|line| !line.trim().is_empty()).take(64).collect();
            let found = dialect(&lines);
            if ending == "log" || ending == "json" || name.contains("utf16") {
                assert_eq!(found, None, "{name}");
            }
            if name.starts_with("08") || name.starts_with("10") || name.starts_with("29") {
                let expected = (ending == "jsonl").then_some("pi-v3");
                assert_eq!(found, expected, "{name}");
            }
        }
    }
}
