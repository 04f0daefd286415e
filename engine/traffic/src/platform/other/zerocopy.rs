//! Sending without copying, which no system does here: there is no value of the type.

use super::unsupported;
use crate::platform::Copied;
use anyhow::Result;
use std::io;
use std::net::TcpStream;

/// A connection's blocks that are sent without copying.
pub enum ZeroCopy {}

impl ZeroCopy {
    /// Refuses to let `stream` send so.
    pub fn allow(_stream: &TcpStream) -> Result<()> {
        Err(unsupported("sending without copying").into())
    }

    /// The state of a connection that is allowed to send so: none is.
    pub fn of(_stream: &TcpStream) -> Option<Self> {
        None
    }

    /// Hands over some of `block`; returns how much.
    pub fn write(&mut self, _stream: &TcpStream, _block: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    /// Waits until the kernel is done with all blocks.
    pub fn finish(self, _stream: &TcpStream) -> io::Result<Copied> {
        match self {}
    }
}
