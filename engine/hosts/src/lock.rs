//! The right to change settings of a machine, which one process has at a time.

use crate::journal::directory;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval at which a lock that another process holds is tried.
const TRY: Duration = Duration::from_millis(20);

/// The right to change settings of this machine, which one process has at a time, and the one that it gives it to: a
/// locked file.
pub struct Lock(Held);

/// The file, locked for as long as any process has it open.
#[cfg(unix)]
type Held = nix::fcntl::Flock<File>;
#[cfg(windows)]
type Held = File;

impl Lock {
    /// Takes it, and waits for `patience` while another process has it: `None` if that still has it.
    ///
    /// # Errors
    /// Fails if the file can't be made.
    pub fn take(patience: Duration) -> Result<Option<Self>> {
        let directory = directory()?;
        fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
        let path = directory.join("lock");
        let deadline = Instant::now() + patience;
        loop {
            match hold(&path).with_context(|| format!("locking {}", path.display()))? {
                Some(held) => return Ok(Some(Self(held))),
                None if Instant::now() < deadline => std::thread::sleep(TRY),
                None => return Ok(None),
            }
        }
    }

    /// The lock's file, for a process that is to hold it, too.
    ///
    /// # Errors
    /// Fails if there are no descriptors left.
    pub fn share(&self) -> Result<File> {
        self.0.try_clone().context("sharing the journal's lock")
    }
}

/// Locks the file at `path` (flock(2)); `None` while another process holds it.
#[cfg(unix)]
fn hold(path: &Path) -> io::Result<Option<Held>> {
    use nix::errno::Errno;
    use nix::fcntl::{Flock, FlockArg};
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(held) => Ok(Some(held)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Opens the file at `path` so that no other process can open it (CreateFile without sharing); `None` while another one
/// has it open.
#[cfg(windows)]
fn hold(path: &Path) -> io::Result<Option<Held>> {
    use std::os::windows::fs::OpenOptionsExt;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    match OpenOptions::new().create(true).truncate(false).write(true).share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}
