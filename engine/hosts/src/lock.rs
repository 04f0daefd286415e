//! The right to change settings of a machine, which only one session has at a time, whoever runs it.

use crate::error::{Context, Error, Result};
use crate::state;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The interval between attempts to take a lock that another process holds.
const TRY: Duration = Duration::from_millis(20);

/// The right to change settings of this machine. It has two parts: a name, which excludes the sessions of users who
/// can't create the journal's directory, and a locked file in that directory, which a guard shares.
pub struct Lock {
    /// The journal's directory; `None` if there is none and this user can't create it.
    directory: Option<PathBuf>,
    file: Option<Held>,
    _name: Option<name::Held>,
}

/// The file, locked for as long as any process has it open.
#[cfg(unix)]
type Held = nix::fcntl::Flock<File>;
#[cfg(windows)]
type Held = File;

/// The outcome of an attempt to take the lock.
pub enum Taken {
    /// This process holds it.
    Lock(Lock),
    /// Another process holds it, which is described here.
    By(String),
}

impl Lock {
    /// Takes the lock, and waits at most `patience` while another process holds it.
    ///
    /// # Errors
    /// Fails if the lock can't be created, or if somebody else could have made the journal.
    pub fn take(patience: Duration) -> Result<Taken> {
        let deadline = Instant::now() + patience;
        let Some(name) = until(deadline, name::take)? else { return Ok(Taken::By(name::holder())) };
        let directory = state::directory();
        if !state::prepare(&directory)? {
            return Ok(Taken::Lock(Self { directory: None, file: None, _name: name }));
        }
        let path = directory.join("lock");
        let locking = || format!("locking {}", path.display());
        let Some(file) = until(deadline, || hold(&path)).with_context(locking)? else {
            return Ok(Taken::By("a process of nettrial".into()));
        };
        Ok(Taken::Lock(Self { directory: Some(directory), file, _name: name }))
    }

    /// Returns the directory of the journal.
    ///
    /// # Errors
    /// Fails if there is none and this user can't create it.
    pub fn directory(&self) -> Result<&Path> {
        self.directory.as_deref().ok_or_else(|| Error::Journal({
            format!(
                "this user can't create {}, where the old values of changed settings are kept: run nettrial \
                 there as root",
                state::directory().display()
            )
        }))
    }

    /// Returns true if the journal has a directory.
    pub fn has_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// Returns the lock's file, for another process that is to hold the lock as well.
    ///
    /// # Errors
    /// Fails if there is none, or if no file descriptors are left.
    pub fn share(&self) -> Result<File> {
        let file = self
            .file
            .as_ref()
            .ok_or_else(|| Error::Journal("this user can't create the journal's lock".into()))?;
        file.try_clone().context("sharing the journal's lock")
    }
}

/// Tries until `deadline`. Returns `None` if the lock is still held then.
fn until<T>(deadline: Instant, mut attempt: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    loop {
        match attempt()? {
            Some(held) => return Ok(Some(held)),
            None if Instant::now() < deadline => std::thread::sleep(TRY),
            None => return Ok(None),
        }
    }
}

/// Opens the lock's file at `path`, and creates it if there is none. Returns `None` if this user can't.
fn open(path: &Path, options: &OpenOptions) -> io::Result<Option<File>> {
    // A user who may not write to it can still lock it.
    match state::own::file(path, options.clone().read(true)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened.map(Some),
    }
    match state::own::file(path, options.clone().write(true).create(true).truncate(false)) {
        Err(error) if state::is_refused(&error) => Ok(None),
        made => made.map(Some),
    }
}

/// Locks the file at `path` (flock(2)). Returns `None` while another process holds the lock, and no file if there is
/// none and this user can't create one.
#[cfg(unix)]
fn hold(path: &Path) -> io::Result<Option<Option<Held>>> {
    use nix::errno::Errno;
    use nix::fcntl::{Flock, FlockArg};
    let Some(file) = open(path, &OpenOptions::new())? else { return Ok(Some(None)) };
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(held) => Ok(Some(Some(held))),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Opens the file at `path` so that no other process can open it (CreateFile without sharing). Returns `None` while
/// another process has it open, and no file if there is none and this user can't create one.
#[cfg(windows)]
fn hold(path: &Path) -> io::Result<Option<Option<Held>>> {
    use std::os::windows::fs::OpenOptionsExt;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    match open(path, OpenOptions::new().share_mode(0)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A name that one process of a network namespace has at a time, whatever its user, its mounts and its environment:
/// an abstract socket (unix(7)). It has no file that somebody could have made before, and is free when the process
/// ends.
#[cfg(target_os = "linux")]
pub mod name {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    use std::io::{self, ErrorKind};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    /// The name.
    const NAME: &str = "nettrial-machine";

    /// The name, held.
    pub type Held = UnixListener;

    /// Takes the name; returns `None` while another process has it.
    ///
    /// # Errors
    /// Fails if no socket can be created.
    pub fn take() -> io::Result<Option<Option<Held>>> {
        match SocketAddr::from_abstract_name(NAME).and_then(|name| UnixListener::bind_addr(&name)) {
            Ok(held) => Ok(Some(Some(held))),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Describes the process that took the name (SO_PEERCRED, unix(7)).
    pub fn holder() -> String {
        let name = SocketAddr::from_abstract_name(NAME);
        let peer = name.and_then(|name| UnixStream::connect_addr(&name));
        match peer.map(|peer| getsockopt(&peer, PeerCredentials)) {
            Ok(Ok(credentials)) => format!("process {} of user {}", credentials.pid(), credentials.uid()),
            _ => "a process of nettrial".into(),
        }
    }
}

/// Other systems have no such names: users who can't create the journal's directory do not exclude each other
/// there.
#[cfg(not(target_os = "linux"))]
pub mod name {
    use std::io;

    /// Nothing.
    pub struct Held;

    /// Takes nothing.
    #[expect(clippy::unnecessary_wraps, reason = "it fails on other systems")]
    pub fn take() -> io::Result<Option<Option<Held>>> {
        Ok(Some(None))
    }

    /// Describes the process that holds the lock.
    pub fn holder() -> String {
        "a process of nettrial".into()
    }
}
