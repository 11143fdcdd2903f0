//! The `forkwood` program: sessions of AI agents as trees, on the command line.
//!
//! Data goes to stdout, messages go to stderr. Exit codes: 0 done, 1 failed or nothing found or
//! damaged, 2 wrong usage, 3 the reader of stdout went away, 130 a chat was stopped, 255 a fault of
//! this program.

mod args;
#[cfg(feature = "agent")]
mod chat;
mod commands;
mod conversations;
mod ctx;
mod entries;
mod error;
mod every;
mod foreign;
mod ids;
mod input;
mod json;
#[cfg(feature = "agent")]
mod model;
mod output;
mod place;
#[cfg(feature = "agent")]
mod prices;
mod render;
mod style;
mod target;
mod time;
mod tree;
mod usage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, code};

fn main() -> ExitCode {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(code) => ExitCode::from(code),
        // The panic hook has told where.
        Err(_) => ExitCode::from(code::INTERNAL),
    }
}

fn run() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error),
    };
    let Cli { globals, command } = cli;
    let json = globals.json;
    let color = globals.color;
    let mut ctx = match Ctx::new(globals) {
        Ok(ctx) => ctx,
        Err(error) => return failed(&error, color, json),
    };
    let outcome = pollster::block_on(commands::run(&mut ctx, command));
    let finished = ctx.out.finish();
    match outcome.and_then(|outcome| finished.map(|()| outcome)) {
        Ok(Outcome::Done) => code::DONE,
        Ok(Outcome::Found) => code::FAILED,
        Err(error) => failed(&error, color, json),
    }
}

fn failed(error: &CliError, color: args::Color, json: bool) -> u8 {
    output::report(error, color, json);
    error.code
}
