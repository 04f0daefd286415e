//! Sending without copying, which these systems do not support: the type has no value.

use super::unsupported;
use crate::error::Result;
use crate::platform::Copied;
use std::io;
use std::net::TcpStream;

/// The blocks of a connection that sends without copying.
pub enum ZeroCopy {}

impl ZeroCopy {
    /// Fails, because this system can't send without copying.
    pub fn allow(_stream: &TcpStream) -> Result<()> {
        Err(unsupported("sending without copying").into())
    }

    /// Returns `None`, because no connection is allowed to send without copying.
    pub fn of(_stream: &TcpStream) -> Option<Self> {
        None
    }

    /// Passes part of `block` to the system; returns the number of bytes passed.
    pub fn write(&mut self, _stream: &TcpStream, _block: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    /// Waits until the system is done with all blocks.
    pub fn finish(self, _stream: &TcpStream) -> io::Result<Copied> {
        match self {}
    }
}
