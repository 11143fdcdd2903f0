//! Errors of the argument parser, and the help that it prints.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Color;
use crate::error::{CliError, code};
use crate::output;

/// Tells what the parser has to say: help and version on stdout, errors on stderr.
pub(crate) fn report(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => code::DONE,
            Err(problem) => CliError::output(&problem).code,
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nothing is left to be told where stderr is gone.
            let _ = error.print();
            code::USAGE
        }
        _ => {
            // The parser failed, so the switch is looked for by hand.
            if std::env::args_os().skip(1).any(|arg| arg == "--json") {
                output::report(&as_error(error), Color::Never, true);
            } else {
                let _ = error.print();
                if let Some(hint) = hint(error) {
                    output::hint(&hint);
                }
            }
            code::USAGE
        }
    }
}

fn as_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    // What is missing stands on lines of its own, up to the first blank one.
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|l| !l.is_empty()).collect();
    let message = lines.join(" ");
    let told = CliError::usage(message.strip_prefix("error: ").unwrap_or(&message));
    match hint(error) {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// What an id that looks like an option is.
fn hint(error: &clap::Error) -> Option<String> {
    let unknown = error.kind() == ErrorKind::UnknownArgument;
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) if unknown && arg.starts_with('-') => Some(
            "what starts with a dash is an option; as the id of a session it is not a valid id"
                .to_owned(),
        ),
        _ => None,
    }
}
