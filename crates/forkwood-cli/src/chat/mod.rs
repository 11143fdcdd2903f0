//! Talking with a model.

use forkwood::ErrorKind;

use crate::error::{CliError, Result};

/// What providers run on. The rest of the program needs no such thing.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CliError::new(ErrorKind::Io, format!("cannot start what asks models: {error}"))
    })
}
