//! Commands that write only where they may.

use std::io;
use std::path::PathBuf;

use tokio::process::{Child, Command};

/// Starts a command that may write only beneath some folders, and into `/dev/null` and the like.
///
/// The thread that starts it is bound first, and what it starts inherits that; the thread ends.
///
/// # Errors
/// `unsupported` where the system cannot do it, and whatever keeps a command from starting.
#[cfg(target_os = "linux")]
pub(super) fn spawn(command: &mut Command, writable: &[PathBuf]) -> io::Result<Child> {
    let runtime = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            let _entered = runtime.enter();
            bind(writable).map_err(|error| {
                let what = format!("commands cannot be confined to the workspace here: {error}");
                io::Error::new(io::ErrorKind::Unsupported, what)
            })?;
            command.spawn()
        });
        started.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it died")))
    })
}

#[cfg(target_os = "linux")]
fn bind(writable: &[PathBuf]) -> Result<(), landlock::RulesetError> {
    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
        path_beneath_rules,
    };
    const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random"];
    // The first in which a file cannot be cut off either.
    let write = AccessFs::from_write(ABI::V3);
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(write)?
        .create()?
        .add_rules(path_beneath_rules(writable, write))?
        .add_rules(path_beneath_rules(DEVICES, write))?
        .restrict_self()?;
    Ok(())
}

/// The same where there is no such thing.
///
/// # Errors
/// `unsupported`.
#[cfg(not(target_os = "linux"))]
pub(super) fn spawn(_command: &mut Command, _writable: &[PathBuf]) -> io::Result<Child> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "commands cannot be confined to the workspace on this system",
    ))
}
