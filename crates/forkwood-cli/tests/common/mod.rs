//! A folder of its own for each test, and what the program prints in it.

#![allow(dead_code, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

pub(crate) struct Sandbox {
    folder: TempDir,
}

/// What one run of the program gave.
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { folder: tempfile::tempdir().unwrap() }
    }

    /// With `native.jsonl` in the store, and `pi.jsonl` in a folder of its own.
    pub(crate) fn with_samples() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.put(".forkwood/sessions/20010909-014640-0a0b0c0d.jsonl", &data("native.jsonl"));
        sandbox.put("pi/pi.jsonl", &data("pi.jsonl"));
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        private(&path);
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::cargo_bin("forkwood").unwrap();
        command.current_dir(self.folder.path());
        for name in [
            "FORKWOOD_DIR",
            "FORKWOOD_PAGER",
            "PAGER",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "PI_CODING_AGENT_DIR",
            "PI_CODING_AGENT_SESSION_DIR",
            "PICOCLAW_HOME",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "GEMINI_CLI_HOME",
            "GOOSE_PATH_ROOT",
            "OPENCODE_DB",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
        ] {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home")).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], stdin: &str) -> Run {
        let output = self.command().args(args).write_stdin(stdin).output().unwrap();
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }

    /// Runs the program and gives all it printed, with what differs from run to run replaced.
    pub(crate) fn shown(&self, args: &[&str]) -> String {
        self.shown_with(args, "")
    }

    pub(crate) fn shown_with(&self, args: &[&str], stdin: &str) -> String {
        let run = self.run_with(args, stdin);
        let mut out = run.stdout;
        if !run.stderr.is_empty() {
            write!(out, "--- stderr\n{}", run.stderr).unwrap();
        }
        if run.code != 0 {
            writeln!(out, "--- exit {}", run.code).unwrap();
        }
        self.redacted(&out)
    }

    /// The output of a run that must go well, without its line end.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
        run.stdout.trim_end().to_owned()
    }

    /// Every file below the folder, with its content.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.starts_with(self.path("cache")) {
                    continue;
                }
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let bytes = std::fs::read(&path).unwrap();
                        found.push((path, bytes.escape_ascii().to_string()));
                    }
                }
            }
        }
        found.sort();
        found
    }

    fn redacted(&self, text: &str) -> String {
        let here = self.folder.path().canonicalize().unwrap();
        let mut text = text.replace(here.to_str().unwrap(), "[DIR]");
        text = text.replace(self.folder.path().to_str().unwrap(), "[DIR]");
        let mut tails: Vec<String> = Vec::new();
        let mut out = String::new();
        for word in words(&text) {
            let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            let made = match word.len() {
                8 => !KNOWN.contains(&word) && !word.starts_with("aa00000"),
                16 => word.bytes().all(|b| b.is_ascii_digit()),
                32 => true,
                _ => false,
            };
            if !made || !word.bytes().all(hex) {
                out.push_str(word);
                continue;
            }
            // The same name for an id and for its last eight characters.
            let tail = &word[word.len() - 8..];
            let at = tails.iter().position(|known| known == tail).unwrap_or_else(|| {
                tails.push(tail.to_owned());
                tails.len() - 1
            });
            write!(out, "[ID{}]", at + 1).unwrap();
        }
        // Offsets follow from times, whose digits differ in number.
        if let Some((before, after)) = out.split_once("\"seq\":") {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            out = format!("{before}\"seq\":[SEQ]{rest}");
        }
        times(&out)
    }
}

/// Words of eight hex digits that stand in the samples and the tests.
const KNOWN: &[&str] = &[
    "20010909", "20010910", "0a0b0c0d", "0a0bffff", "11111111", "01940000", "deadbeef", "0000001a",
];

/// Runs of letters and digits, and what stands between them.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut inside = false;
    for (at, c) in text.char_indices() {
        if at > start && c.is_ascii_alphanumeric() != inside {
            out.push(&text[start..at]);
            start = at;
        }
        inside = c.is_ascii_alphanumeric();
    }
    out.push(&text[start..]);
    out
}

/// Times, but those of the samples, which lie in 2001.
fn times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let shape = |pattern: &str| {
            rest.len() >= pattern.len()
                && rest.bytes().zip(pattern.bytes()).all(|(b, p)| match p {
                    b'0' => b.is_ascii_digit(),
                    b'_' => b == b' ' || b == b'T',
                    p => b == p,
                })
        };
        if shape("0000-00-00_00:00") && !rest.starts_with("2001") {
            out.push_str("[TIME]");
            rest = &rest[16..];
            if rest.starts_with(':') {
                let end = rest.find('Z').map_or(0, |at| at + 1);
                rest = &rest[end..];
            }
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

pub(crate) fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(path).unwrap()
}

#[cfg(unix)]
fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
fn private(_: &Path) {}
