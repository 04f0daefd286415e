//! The lock that one session at a time has, and a journal that stays empty.

use super::unsupported;
use crate::settings::Setting;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// Time between two tries at a lock that another process holds.
const TRY: Duration = Duration::from_millis(20);

/// The right to use this machine for trials: a file that no other process can open meanwhile.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, and waits for `patience` while another process has it: `None` if that still has it.
    ///
    /// # Errors
    /// Fails if the file can't be made.
    pub fn take(patience: Duration) -> Result<Option<Self>> {
        let variable = if cfg!(windows) { "LOCALAPPDATA" } else { "HOME" };
        let home = std::env::var_os(variable);
        let home =
            home.with_context(|| format!("{variable} is not set, so there is no place for the lock"))?;
        let directory = std::path::Path::new(&home).join(if cfg!(windows) {
            "nettrial"
        } else {
            ".local/state/nettrial"
        });
        fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
        let path = directory.join("lock");
        let deadline = Instant::now() + patience;
        loop {
            match open_alone(&path) {
                Ok(file) => return Ok(Some(Self { _file: file })),
                Err(error) if !is_held(&error) => {
                    return Err(error).with_context(|| format!("locking {}", path.display()));
                }
                Err(_) if Instant::now() < deadline => std::thread::sleep(TRY),
                Err(_) => return Ok(None),
            }
        }
    }
}

#[cfg(windows)]
fn open_alone(path: &std::path::Path) -> std::io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    OpenOptions::new().create(true).truncate(false).write(true).share_mode(0).open(path)
}

#[cfg(windows)]
fn is_held(error: &std::io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) || error.kind() == ErrorKind::WouldBlock
}

#[cfg(unix)]
fn open_alone(path: &std::path::Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let options = libc::O_EXLOCK | libc::O_NONBLOCK;
    OpenOptions::new().create(true).truncate(false).write(true).custom_flags(options).open(path)
}

#[cfg(unix)]
fn is_held(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

/// The journal.
pub struct Journal;

impl Journal {
    /// Opens that of this machine, which is empty.
    pub fn open() -> Result<Self> {
        Ok(Self)
    }

    /// Refuses: nothing is changed here.
    pub fn note(&mut self, setting: &Setting) -> Result<()> {
        unsupported(&format!("changing {}", setting.in_words()))
    }
}

/// The outcome of restoring.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// The settings that have their old value again, in words.
    pub restored: Vec<String>,
    /// The settings that could not be restored, each with the reason.
    pub failed: Vec<String>,
}

/// Restores nothing: nothing is changed here.
pub fn restore() -> Result<Restored> {
    Ok(Restored::default())
}
