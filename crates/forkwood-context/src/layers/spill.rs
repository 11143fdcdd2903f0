//! L3: long outputs of tools are put into files.

use std::io;

use forkwood_core::Text;

/// One output to put away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillItem<'a> {
    /// The file name to use: safe on every system, made from the id of the call.
    pub name: &'a str,
    /// The name to use where a file called `name` holds something else, as happens where a
    /// provider gives two calls one id. Made from the name and a hash of the text.
    pub other_name: &'a str,
    /// The whole output.
    pub text: &'a Text,
}

/// Puts outputs into files: passed in, since it writes.
///
/// In a workspace the folder is `<workspace>/.forkwood/tool-results/<session id>/`, its files
/// readable by their owner only (0600), and it goes with the session.
pub trait Spill: Send + Sync {
    /// Writes an output and returns the path by which the model can read it. The same output
    /// under the same names must give the same path every time; a file that is there already
    /// with the same bytes need not be written again.
    ///
    /// # Errors
    /// Where it cannot be written; the output then stays in the context.
    fn put(&self, item: &SpillItem<'_>) -> io::Result<String>;
}
