//! House rules of the repository. `cargo xtask tidy` checks them all.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a developer tool talks on both

mod ascii;
mod direction;
mod leftovers;
mod length;
mod manifest;
mod outside;
mod packaging;
mod tree;
mod violation;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tree::Tree;
use violation::Violation;

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: &[(&str, Rule)] = &[
    ("length", length::check),
    ("direction", direction::check),
    ("ascii", ascii::check),
    ("packaging", packaging::check),
    ("leftovers", leftovers::check),
    ("outside", outside::check),
];

const USAGE: &str = "usage: cargo xtask tidy";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn tidy() -> ExitCode {
    let tree = match Tree::from_git(&root()) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let mut violations = 0;
    for (name, rule) in RULES {
        let mut found = rule(&tree);
        found.sort();
        for violation in &found {
            println!("{violation} [{name}]");
        }
        violations += found.len();
    }
    println!("tidy: {} files, {} rules, {violations} violations", tree.files().len(), RULES.len());
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The folder of the workspace: the parent of this crate's own.
fn root() -> PathBuf {
    let own = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| own.clone(), Path::to_path_buf)
}
