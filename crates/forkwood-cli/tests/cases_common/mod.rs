//! A folder of its own for each case, the real program run in it under a watchdog, and what a
//! user may always count on: it ends, it does not panic, and reading changes nothing.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub(crate) mod faults;
pub(crate) mod json;
pub(crate) mod pi;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use json::Json;
use tempfile::TempDir;

/// When a command counts as hanging. Far above what any takes, even on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(90);

/// What one run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
    shown: String,
}

impl Run {
    /// The output of a run that must go well, without its line end.
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "{}: {}", self.shown, self.stderr);
        self.stdout.trim_end()
    }

    pub(crate) fn json(&self) -> Json {
        Json::parse(self.ok()).unwrap_or_else(|| panic!("{}: {}", self.shown, self.stdout))
    }

    /// The kind of the error of a run with `--json` that must fail.
    pub(crate) fn refused(&self) -> String {
        assert!(self.code == 1 || self.code == 2, "{} was not refused", self.shown);
        assert_eq!(self.stdout, "", "{}", self.shown);
        let error = self.stderr.lines().last().unwrap_or_default();
        let error = Json::parse(error).unwrap_or_else(|| panic!("{}: {error}", self.shown));
        assert!(!error.get("message").text().is_empty());
        error.get("kind").text()
    }
}

/// A folder with the files of one case.
pub(crate) struct Desk {
    folder: TempDir,
    name: String,
}

impl Desk {
    pub(crate) fn new(name: &str) -> Desk {
        let desk = Desk { folder: tempfile::tempdir().unwrap(), name: name.to_owned() };
        std::fs::create_dir(desk.path("work")).unwrap();
        desk
    }

    /// With one file, `s.jsonl`.
    pub(crate) fn with(name: &str, bytes: impl Into<Vec<u8>>) -> Desk {
        let desk = Desk::new(name);
        desk.put("s.jsonl", bytes);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder in which the program runs.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes.into()).unwrap();
        mode(&path, 0o600);
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap()
    }

    /// Copies a file, or a folder and all in it, into the working folder.
    pub(crate) fn copy(&self, from: &Path) {
        self.copy_to(from, &self.work());
    }

    fn copy_to(&self, from: &Path, folder: &Path) {
        let to = folder.join(from.file_name().unwrap());
        if from.is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            for entry in std::fs::read_dir(from).unwrap() {
                self.copy_to(&entry.unwrap().path(), &to);
            }
        } else {
            std::fs::write(&to, std::fs::read(from).unwrap()).unwrap();
            mode(&to, 0o600);
        }
    }

    /// The program, not yet started.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forkwood"));
        self.prepare(&mut command);
        command
    }

    /// Another program that runs ours, in the same surroundings.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.current_dir(self.work());
        for name in [
            "FORKWOOD_DIR",
            "FORKWOOD_PAGER",
            "PAGER",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "PI_CODING_AGENT_DIR",
            "PI_CODING_AGENT_SESSION_DIR",
        ] {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home")).env("XDG_CACHE_HOME", self.path("cache"));
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, b"")
    }

    pub(crate) fn run_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command();
        command.args(args);
        self.watched(command, stdin, args)
    }

    /// Runs a command to its end, which must come, and be neither a panic nor a signal.
    pub(crate) fn watched(&self, mut command: Command, stdin: &[u8], args: &[&str]) -> Run {
        let shown = format!("{}: {}", self.name, args.join(" "));
        let shown: String = shown.chars().take(300).collect();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let stdin = stdin.to_vec();
        let feed = std::thread::spawn(move || drop(input.write_all(&stdin)));
        let stdout = drain(child.stdout.take().unwrap());
        let stderr = drain(child.stderr.take().unwrap());
        let status = wait(&mut child).unwrap_or_else(|| panic!("{shown} hangs"));
        feed.join().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_else(|_| panic!("{shown}"));
        let (stdout, stderr) = (text(stdout.join().unwrap()), text(stderr.join().unwrap()));
        let code = status.code().unwrap_or_else(|| panic!("{shown} died: {status} {stderr}"));
        assert!((0..=2).contains(&code), "{shown}: exit {code}: {stderr}");
        assert!(!stderr.contains("panicked"), "{shown}: {stderr}");
        Run { stdout, stderr, code, shown }
    }

    /// Runs a reading command: not a byte of the folder changes, and no file comes or goes.
    pub(crate) fn reading(&self, args: &[&str]) -> Run {
        let before = self.files();
        let run = self.run(args);
        assert_eq!(self.files().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        assert!(self.files() == before, "{} changed a file", run.shown);
        run
    }

    pub(crate) fn read(&self, args: &[&str]) -> Json {
        self.reading(args).json()
    }

    /// The context of a session, in its native shape.
    pub(crate) fn context(&self, session: &str) -> Json {
        self.read(&["context", session, "--json"])
    }

    /// What `check` finds, and whether it calls the session damaged.
    pub(crate) fn check(&self, session: &str) -> (Vec<Found>, bool) {
        let run = self.reading(&["check", session, "--json"]);
        assert!(run.code <= 1 && run.stderr.is_empty(), "{}: {}", run.shown, run.stderr);
        let all = Json::parse(&run.stdout).unwrap();
        let found = all.get("diagnostics").list().iter().map(|one| Found {
            kind: one.get("kind").text(),
            entry: one.get("entry").as_text(),
            line: one.get("line").as_number().map(|line| line as u64),
            offset: one.get("offset").as_number().map(|offset| offset as u64),
            message: one.get("message").text(),
        });
        (found.filter(|found| found.kind != "loose-mode").collect(), run.code == 1)
    }

    /// The kinds of what `check` finds, in its order.
    pub(crate) fn kinds(&self, session: &str) -> Vec<String> {
        self.check(session).0.into_iter().map(|found| found.kind).collect()
    }

    /// The rows of `list`, and its notes.
    pub(crate) fn list(&self, args: &[&str]) -> (Vec<Json>, String) {
        let all: Vec<&str> = ["list", "--json"].iter().chain(args).copied().collect();
        let run = self.reading(&all);
        run.ok();
        (run.stdout.lines().map(|line| Json::parse(line).unwrap()).collect(), run.stderr)
    }

    /// Ids of the rows of `list`.
    pub(crate) fn listed(&self, args: &[&str]) -> Vec<String> {
        self.list(args).0.iter().map(|row| row.get("id").text()).collect()
    }

    /// Every file below the working folder with its content.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.work()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap().file_type();
                if kind.is_dir() {
                    folders.push(path.clone());
                }
                let bytes = if kind.is_file() {
                    std::fs::read(&path).unwrap_or_default()
                } else {
                    Vec::new()
                };
                found.insert(path, bytes);
            }
        }
        found
    }

    /// Names of the files in the working folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let work = self.work();
        let name = |path: PathBuf| path.strip_prefix(&work).unwrap().to_string_lossy().into_owned();
        self.files().into_keys().map(name).collect()
    }
}

/// One finding of `check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: String,
    pub(crate) entry: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) message: String,
}

/// The end of a child, or `None` when the watchdog had to kill it.
pub(crate) fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > WATCHDOG {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn drain(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Sets the mode of a file or folder, where there are modes.
pub(crate) fn mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
}

/// `fixtures/` of the project.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The folder with all cases, where it exists.
pub(crate) fn cases() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let set = std::env::var_os("FORKWOOD_CASES").map(PathBuf::from);
    Some(set.unwrap_or(beside)).filter(|path| path.is_dir())
}

/// The session files of a folder of cases, each once: those of the project, and where all
/// cases are at hand, the others too.
pub(crate) fn session_files(folder: &str) -> Vec<PathBuf> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for base in [cases(), Some(fixtures())].into_iter().flatten() {
        let Ok(entries) = std::fs::read_dir(base.join(folder)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".jsonl") && !name.contains(".expected") {
                found.insert(name, path);
            }
        }
    }
    found.into_values().collect()
}

pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The file beside a case with another ending, as JSON.
pub(crate) fn beside(path: &Path, ending: &str) -> Option<Json> {
    let stem = path.to_string_lossy().strip_suffix(".jsonl")?.to_owned();
    let text = std::fs::read_to_string(format!("{stem}{ending}")).ok()?;
    Some(Json::parse(&text).unwrap())
}
