//! Sends without copying (Linux Documentation/networking/msg_zerocopy.rst).

use super::options;
use crate::error::{Context, Result};
use crate::platform::Copied;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

const MSG_ZEROCOPY: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_ZEROCOPY);
// From include/uapi/linux/errqueue.h, because the library does not define it.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;
/// The time to wait until the kernel is done with a block, in milliseconds.
const WAIT_MS: u16 = 100;
/// The number of blocks that the kernel may hold before it is asked which ones are done.
const MOST_PENDING: u32 = 64;

/// The blocks of a connection that sends without copying.
#[derive(Default)]
pub struct ZeroCopy {
    pending: u32,
    seen: Copied,
}

impl ZeroCopy {
    /// Allows `stream` to send without copying.
    pub fn allow(stream: &TcpStream) -> Result<()> {
        options::set(stream, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1).context("setting SO_ZEROCOPY")
    }

    /// Returns the state of a connection, if it is allowed to send without copying.
    pub fn of(stream: &TcpStream) -> Option<Self> {
        let mut allowed = 0i32;
        let known = options::get(stream, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &mut allowed).is_ok();
        (known && allowed != 0).then(Self::default)
    }

    /// Passes part of `block` to the kernel, and returns the number of bytes passed. `block` must not change while
    /// the kernel holds it.
    pub fn write(&mut self, stream: &TcpStream, block: &[u8]) -> io::Result<usize> {
        loop {
            if self.pending >= MOST_PENDING {
                self.collect(stream)?;
            }
            match send(stream.as_raw_fd(), block, MSG_ZEROCOPY | MsgFlags::MSG_NOSIGNAL) {
                Ok(count) => {
                    self.pending += 1;
                    return Ok(count);
                }
                // The kernel holds as many blocks as it may (net.core.optmem_max), and must release some first.
                Err(Errno::ENOBUFS) if self.pending > 0 => {
                    wait(stream)?;
                    self.collect(stream)?;
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until the kernel is done with all blocks, or until it has made no progress for a while.
    pub fn finish(mut self, stream: &TcpStream) -> io::Result<Copied> {
        self.collect(stream)?;
        while self.pending > 0 {
            let before = self.pending;
            wait(stream)?;
            self.collect(stream)?;
            if self.pending == before {
                break;
            }
        }
        Ok(self.seen)
    }

    /// Reads the kernel's notices about blocks that it is done with.
    fn collect(&mut self, stream: &TcpStream) -> io::Result<()> {
        let mut space = cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6);
        loop {
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let message = match recvmsg::<()>(stream.as_raw_fd(), &mut [], Some(&mut space), flags) {
                Ok(message) => message,
                Err(Errno::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            for control in message.cmsgs()? {
                let (ControlMessageOwned::Ipv4RecvErr(notice, _)
                | ControlMessageOwned::Ipv6RecvErr(notice, _)) = control
                else {
                    continue;
                };
                if notice.ee_origin == SO_EE_ORIGIN_ZEROCOPY {
                    // The notice is about blocks `ee_info` to `ee_data`, whose numbers may wrap around.
                    let blocks = notice.ee_data.wrapping_sub(notice.ee_info).wrapping_add(1);
                    self.pending = self.pending.saturating_sub(blocks);
                    self.seen.blocks += u64::from(blocks);
                    if notice.ee_code == SO_EE_CODE_ZEROCOPY_COPIED {
                        self.seen.copied += u64::from(blocks);
                    }
                }
            }
        }
    }
}

/// Waits for a limited time for an entry in the error queue.
fn wait(stream: &TcpStream) -> io::Result<()> {
    // poll(2) always waits for errors, even if no event is requested.
    match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::empty())], PollTimeout::from(WAIT_MS)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
