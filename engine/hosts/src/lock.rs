//! The right to change settings of a machine, which only one process has at a time.

use crate::journal::directory;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval between attempts to take a lock that another process holds.
const TRY: Duration = Duration::from_millis(20);

/// The right to change settings of this machine: a locked file, which one process holds at a time, together with
/// the processes with which it shares the file.
pub struct Lock(Held);

/// The file, locked for as long as any process has it open.
#[cfg(unix)]
type Held = nix::fcntl::Flock<File>;
#[cfg(windows)]
type Held = File;

impl Lock {
    /// Takes the lock, and waits at most `patience` while another process holds it; returns `None` if that process
    /// still holds it.
    ///
    /// # Errors
    /// Fails if the file can't be created.
    pub fn take(patience: Duration) -> Result<Option<Self>> {
        let directory = directory()?;
        fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
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

    /// Returns the lock's file, for another process that is to hold the lock as well.
    ///
    /// # Errors
    /// Fails if no file descriptors are left.
    pub fn share(&self) -> Result<File> {
        self.0.try_clone().context("sharing the journal's lock")
    }
}

/// Locks the file at `path` (flock(2)); returns `None` while another process holds the lock.
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

/// Opens the file at `path` so that no other process can open it (CreateFile without sharing); returns `None`
/// while another process has it open.
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
