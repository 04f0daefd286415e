//! Creates files without names, and sends files over sockets.

use super::unsupported;
use crate::error::Result;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The number of bytes read and written at a time.
const BLOCK_BYTES: u64 = 256 << 10;

/// Sends up to `left` bytes of `file` from its position on; returns the number of bytes sent, which is 0 at the
/// end of the file.
pub fn send_file(mut stream: &TcpStream, file: &mut File, left: u64) -> io::Result<u64> {
    let mut block = Vec::new();
    let count = file.take(left.min(BLOCK_BYTES)).read_to_end(&mut block)?;
    stream.write_all(&block)?;
    Ok(count as u64)
}

/// Opens a file in the directory for temporary files, which disappears when it is closed.
pub fn nameless_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("nettrial-{:032x}", rand::random::<u128>()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    // Windows keeps the file until it is closed.
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// A file that other processes can open, which this system doesn't support.
pub struct SharedFile {
    /// The file.
    pub file: File,
    /// The file's path.
    pub path: String,
}

impl SharedFile {
    /// Fails, because this system doesn't support such files.
    pub fn new(_name: &str) -> Result<Self> {
        Err(unsupported("a file in memory").into())
    }
}
