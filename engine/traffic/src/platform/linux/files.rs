//! Creates files without names, and sends files over sockets.

use crate::error::{Context, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// The largest number of bytes passed to one call.
const MOST_BYTES: u64 = 1 << 30;

/// Sends up to `left` bytes of `file` from its position on, without copying them through this program's memory
/// (sendfile(2)). Returns the number of bytes sent, which is 0 at the end of the file.
pub fn send_file(stream: &TcpStream, file: &mut File, left: u64) -> io::Result<u64> {
    let piece = usize::try_from(left.min(MOST_BYTES)).unwrap_or(usize::MAX);
    Ok(sendfile(stream, &*file, None, piece)? as u64)
}

/// Opens a file in the directory for temporary files, which disappears when it is closed.
pub fn nameless_file() -> io::Result<File> {
    let directory = std::env::temp_dir();
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE).open(&directory) {
        // Not every file system has files without names.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            let path = directory.join(format!("nettrial-{:032x}", rand::random::<u128>()));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        result => result,
    }
}

/// A file in memory without a name (memfd_create(2)), with a path through which other processes of this user can
/// open it.
pub struct SharedFile {
    /// The file.
    pub file: File,
    /// The file's path, which is that of this process's descriptor.
    pub path: String,
}

impl SharedFile {
    /// Creates an empty file, which /proc shows as `name`.
    pub fn new(name: &str) -> Result<Self> {
        let file =
            File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC).context("creating a file in memory")?);
        // /proc has this process's ID in the PID namespace of its mount, whatever the process's own namespace.
        let process = std::fs::read_link("/proc/self").context("reading /proc/self")?;
        let path = format!("/proc/{}/fd/{}", process.display(), file.as_raw_fd());
        Ok(Self { file, path })
    }
}
