//! The reference page: the long help of every command. `FORKWOOD_UPDATE=1 cargo test` writes it.

#![cfg(feature = "agent")]

mod common;

use std::fmt::Write;
use std::path::Path;

use common::Sandbox;

#[test]
fn the_reference_page_is_up_to_date() {
    let sandbox = Sandbox::new();
    let main = sandbox.ok(&["--help"]);
    let mut page = String::from(
        "# forkwood: command reference\n\nMade from `forkwood help`; a test keeps it so.\n",
    );
    write!(page, "\n## forkwood\n\n```text\n{main}\n```\n").unwrap();
    let commands = main
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let mut count = 0;
    for name in commands {
        let help = sandbox.ok(&["help", name]);
        // What every command takes is told once, above.
        let own = help.split("\nWhere sessions are:").next().unwrap().trim_end();
        write!(page, "\n## forkwood {name}\n\n```text\n{own}\n```\n").unwrap();
        count += 1;
    }
    assert!(count > 30, "only {count} commands were found");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("FORKWOOD_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(kept == page, "{} is out of date; run the test with FORKWOOD_UPDATE=1", path.display());
}
