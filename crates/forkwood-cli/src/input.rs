//! What comes in on stdin.

use std::io::{IsTerminal, Read};

use forkwood::ErrorKind;

use crate::error::{CliError, Result};

/// Whether something other than a terminal is there to be read.
pub(crate) fn is_piped() -> bool {
    !std::io::stdin().is_terminal()
}

/// Reads stdin to its end.
pub(crate) fn all() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::new(ErrorKind::Io, format!("cannot read stdin: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new(ErrorKind::Invalid, format!("stdin is not UTF-8 at byte {at}"))
    })
}
