//! The program under which guests run.

use std::path::PathBuf;

/// The program under which guests run.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// Returns the path of QEMU, if it is on PATH.
pub fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(PROGRAM)).find(|file| file.is_file())
}
