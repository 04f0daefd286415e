//! Files without names, and files into sockets.

use super::unsupported;
use anyhow::Result;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Bytes read and written at a time.
const BLOCK_BYTES: u64 = 256 << 10;

/// Sends up to `left` bytes of `file` from its position on; returns how many, 0 at the file's end.
pub fn send_file(mut stream: &TcpStream, file: &mut File, left: u64) -> io::Result<u64> {
    let mut block = Vec::new();
    let count = file.take(left.min(BLOCK_BYTES)).read_to_end(&mut block)?;
    stream.write_all(&block)?;
    Ok(count as u64)
}

/// Opens a file in the directory for temporary ones that is gone when it is closed.
pub fn nameless_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("nettrial-{:032x}", rand::random::<u128>()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    // Windows keeps the file until it is closed.
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// A file that other processes can open, which this system doesn't make.
pub struct SharedFile {
    /// The file.
    pub file: File,
    /// Its path.
    pub path: String,
}

impl SharedFile {
    /// Refuses to make one.
    pub fn new(_name: &str) -> Result<Self> {
        Err(unsupported("a file in memory").into())
    }
}
