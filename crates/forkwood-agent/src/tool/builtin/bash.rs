//! `bash`: commands.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use forkwood_context::ToolSpec;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::agent::CANCELLED;
use crate::tool::{Tool, ToolFailure, ToolOutput, ToolRun, Workspace, arguments, schema_of};

/// What a command may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BashLimits {
    /// The shell.
    pub shell: String,
    /// How long, where the model says nothing, and at most.
    pub time: Duration,
    /// How many bytes of output the model sees: the start and the end of it.
    pub output: usize,
    /// Its environment. Keys of services have no place in it.
    pub env: Vec<(String, String)>,
    /// Whether it may write only in the workspace, in `writable`, and in a folder for temporary
    /// files that goes with it. On by default; where the system cannot do it (Landlock, Linux
    /// 6.2 and later), no command runs. What it reads, and the network, are not confined. Nor is
    /// what lies inside the workspace: Landlock can allow a folder, and not a folder without
    /// some of those in it, so that a command may change `.forkwood` and `.git` there, which no
    /// other tool does. Where the store must be out of reach, keep it outside of the workspace
    /// (`--store`, `FORKWOOD_DIR`).
    pub confined: bool,
    /// Where else it may write.
    pub writable: Vec<PathBuf>,
    /// Where folders for temporary files are made.
    pub temporary: PathBuf,
}

impl Default for BashLimits {
    fn default() -> BashLimits {
        BashLimits {
            shell: "bash".to_owned(),
            time: Duration::from_secs(120),
            output: 30_000,
            env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
            confined: true,
            writable: Vec::new(),
            temporary: PathBuf::from("/tmp"),
        }
    }
}

impl BashLimits {
    /// The same, with those variables of this process that hold no secrets.
    pub fn from_env() -> BashLimits {
        const PASSED: &[&str] = &[
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "LC_ALL",
            "LC_CTYPE",
            "TERM",
            "TZ",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "SYSTEMROOT",
            "COMSPEC",
            "PATHEXT",
        ];
        let passed = PASSED
            .iter()
            .filter_map(|name| std::env::var(name).ok().map(|value| ((*name).to_owned(), value)));
        BashLimits { env: passed.collect(), ..BashLimits::default() }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command.
    command: String,
    /// After how many seconds to stop it.
    #[serde(default)]
    timeout: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Bash {
    spec: ToolSpec,
    workspace: Workspace,
    limits: BashLimits,
}

impl Bash {
    pub(super) fn new(workspace: Workspace, limits: BashLimits) -> Bash {
        let description = format!(
            "Runs a command with {} in the workspace. It gets no input, and at most {} seconds. \
             Leave .forkwood alone: this conversation is stored there.",
            limits.shell,
            limits.time.as_secs()
        );
        let spec = ToolSpec {
            name: "bash".into(),
            description: description.into(),
            schema: schema_of::<Arguments>(),
        };
        Bash { spec, workspace, limits }
    }
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn ends_itself(&self) -> bool {
        true
    }

    async fn call(&self, run: ToolRun) -> Result<ToolOutput, ToolFailure> {
        let wanted: Arguments = arguments(&run)?;
        let asked = wanted.timeout.map(Duration::from_secs);
        let time = asked.unwrap_or(self.limits.time).min(self.limits.time);
        let mut command = Command::new(&self.limits.shell);
        command
            .arg("-c")
            .arg(&wanted.command)
            .current_dir(self.workspace.root())
            .env_clear()
            .envs(self.limits.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let failed = |error: std::io::Error| ToolFailure(format!("{}: {error}", self.limits.shell));
        let temporary = match self.limits.confined {
            true => Some(tempfile::tempdir_in(&self.limits.temporary).map_err(failed)?),
            false => None,
        };
        let child = match &temporary {
            Some(folder) => {
                command.env("TMPDIR", folder.path());
                let mut writable = self.limits.writable.clone();
                writable.push(self.workspace.root().to_path_buf());
                writable.push(folder.path().to_path_buf());
                super::confine::spawn(&mut command, &writable)
            }
            None => command.spawn(),
        };
        let child = child.map_err(failed)?;
        let mut group = Group::new(child);
        let (send, mut receive) = mpsc::channel::<Vec<u8>>(16);
        group.pump(send);
        let mut kept = Kept::new(self.limits.output);
        let deadline = tokio::time::sleep(time);
        tokio::pin!(deadline);
        let mut status = None;
        let mut closed = false;
        // Until the shell has ended and all that it started has closed its output, or time is up.
        let ended = loop {
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => break End::Cancelled,
                () = &mut deadline => break End::TimeUp,
                bytes = receive.recv(), if !closed => match bytes {
                    Some(bytes) => kept.take(&bytes),
                    None => closed = true,
                },
                exit = group.child.wait(), if status.is_none() => status = Some(exit?),
            }
            if closed && status.is_some() {
                break End::Itself;
            }
        };
        group.kill();
        let status = match status {
            Some(status) => Some(status),
            None => group.child.wait().await.ok(),
        };
        while let Ok(bytes) = receive.try_recv() {
            kept.take(&bytes);
        }
        let mut text = kept.text();
        let mut say = |what: String| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&what);
        };
        let failed = match ended {
            End::Cancelled => {
                say(CANCELLED.to_owned());
                true
            }
            End::TimeUp => {
                say(format!("[stopped after {} seconds]", time.as_secs_f64()));
                true
            }
            End::Itself => match status.and_then(|status| status.code()) {
                Some(0) => false,
                Some(code) => {
                    say(format!("[exit code {code}]"));
                    true
                }
                None => {
                    say("[killed by a signal]".to_owned());
                    true
                }
            },
        };
        if text.is_empty() {
            text.push_str("(no output)");
        }
        Ok(ToolOutput { is_error: failed, ..ToolOutput::text(text) })
    }
}

enum End {
    Itself,
    TimeUp,
    Cancelled,
}

/// A command and all that it started. Nothing of it outlives the value.
struct Group {
    child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
    pumps: Vec<tokio::task::JoinHandle<()>>,
}

impl Group {
    fn new(child: Child) -> Group {
        Group {
            #[cfg(unix)]
            id: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
            child,
            pumps: Vec::new(),
        }
    }

    /// Sends what it says.
    fn pump(&mut self, send: mpsc::Sender<Vec<u8>>) {
        if let Some(out) = self.child.stdout.take() {
            self.pumps.push(tokio::spawn(pump(out, send.clone())));
        }
        if let Some(out) = self.child.stderr.take() {
            self.pumps.push(tokio::spawn(pump(out, send)));
        }
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.id.take() {
            // Fails where all of them have ended.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        for pump in &self.pumps {
            pump.abort();
        }
    }
}

async fn pump(mut from: impl AsyncRead + Unpin, to: mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; 8192];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 || to.send(buffer[..count].to_vec()).await.is_err() {
            break;
        }
    }
}

/// The start and the end of an output.
struct Kept {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    half: usize,
    dropped: usize,
}

impl Kept {
    fn new(limit: usize) -> Kept {
        let half = (limit / 2).max(1);
        Kept { head: Vec::new(), tail: std::collections::VecDeque::new(), half, dropped: 0 }
    }

    fn take(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[room..]);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.dropped += over;
    }

    fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.dropped > 0 {
            text.push_str(&format!("\n[{} bytes left out]\n", self.dropped));
        }
        text.push_str(&String::from_utf8_lossy(&tail));
        text
    }
}
