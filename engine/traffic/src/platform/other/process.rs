//! Other programs, which are not run: nothing here would end them with the agent.

use super::unsupported;
use std::io;
use std::path::Path;
use std::process::Child;

/// Refuses to end with the thread that started this process; the end of the input ends it.
///
/// # Errors
/// Always: it needs Linux.
pub fn die_with_parent() -> io::Result<()> {
    Err(unsupported("ending with the parent"))
}

/// Returns whether `path` is a file.
pub fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Refuses to start a program.
pub fn spawn(_words: &[String]) -> io::Result<Child> {
    Err(unsupported("running another program so that it ends with the agent"))
}

/// The congestion control of a program that chooses none, which is not known.
pub fn default_congestion_control() -> String {
    String::new()
}

/// Refuses to tell whether a socket listens at `port`.
pub fn listens(_port: u16) -> io::Result<bool> {
    Err(unsupported("looking up who listens"))
}
