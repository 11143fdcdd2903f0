//! `forkwood chat` on a terminal.

#![cfg(all(unix, feature = "agent"))]
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use common::Sandbox;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The program on a terminal of its own.
struct Terminal {
    screen: File,
    child: Child,
    shown: String,
}

impl Terminal {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let side = || File::options().read(true).write(true).open(&name).unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin("forkwood"))
            .current_dir(sandbox.path(""))
            .args(args)
            .env_remove("FORKWOOD_DIR")
            .env("HOME", sandbox.path("home"))
            .env("XDG_STATE_HOME", sandbox.path("state"))
            .env("TERM", "xterm")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        Terminal { screen: File::from(master), child, shown: String::new() }
    }

    /// Reads until something is shown that was not yet.
    fn until(&mut self, text: &str) {
        let mut some = [0; 4096];
        let end = loop {
            if let Some(at) = self.shown.find(text) {
                break at + text.len();
            }
            let read = self.screen.read(&mut some).unwrap_or(0);
            assert_ne!(read, 0, "no {text:?} in {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&some[..read]));
        };
        // What came with it, the next prompt perhaps, is not seen yet.
        self.shown.drain(..end);
    }

    fn types(&mut self, keys: &[u8]) {
        self.until("> ");
        self.screen.write_all(keys).unwrap();
    }
}

#[test]
fn a_line_is_edited_and_what_is_no_text_ends_nothing() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, &["chat", "--provider", "scripted"]);
    terminal.types(b"\xff\xfe\r");
    terminal.until("not UTF-8");
    // A letter is taken back, and Ctrl-C at rest ends nothing.
    terminal.types(b"hellx\x7fo\r");
    terminal.until("You said: hello");
    terminal.types(b"\x03");
    terminal.until("ends the chat");
    // The line before comes back.
    terminal.types(b"\x1b[A\r");
    terminal.until("You said: hello");
    terminal.types(b"\x04");
    terminal.until("goes on with it");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}
