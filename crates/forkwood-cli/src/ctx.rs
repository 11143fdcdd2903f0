//! What a command is given besides its own arguments.

use std::path::{Path, PathBuf};

use crate::args::Globals;
use crate::error::{CliError, Result};
use crate::output::Output;

/// The surroundings of a command.
pub(crate) struct Ctx {
    /// The arguments that every command takes.
    pub(crate) globals: Globals,
    /// Where to print.
    pub(crate) out: Output,
    /// The folder that the user means: `--workspace`, or the current one.
    pub(crate) folder: PathBuf,
}

impl Ctx {
    /// Looks at the environment, once.
    pub(crate) fn new(globals: Globals) -> Result<Ctx> {
        let here = std::env::current_dir()
            .map_err(|error| CliError::io("find the current folder", Path::new("."), &error))?;
        let folder = match &globals.workspace {
            Some(workspace) => here.join(workspace),
            None => here,
        };
        if !folder.is_dir() {
            return Err(CliError::new(
                forkwood::ErrorKind::NotFound,
                format!("{}: there is no such folder", folder.display()),
            ));
        }
        let out = Output::new(&globals);
        Ok(Ctx { globals, out, folder })
    }

    /// Whether JSON is asked for.
    pub(crate) fn json(&self) -> bool {
        self.globals.json
    }

    /// A path of an argument, which is meant from where the program was started.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
    }
}
