//! Sending without copying (Linux Documentation/networking/msg_zerocopy.rst).

use super::options;
use crate::platform::Copied;
use anyhow::{Context, Result};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

const MSG_ZEROCOPY: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_ZEROCOPY);
// Not in the library: include/uapi/linux/errqueue.h.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;
/// Time to wait for the kernel to be done with a block, milliseconds.
const WAIT_MS: u16 = 100;
/// Blocks that the kernel may have before it is asked which ones it is done with.
const MOST_PENDING: u32 = 64;

/// A connection's blocks that are sent without copying.
#[derive(Default)]
pub struct ZeroCopy {
    pending: u32,
    seen: Copied,
}

impl ZeroCopy {
    /// Allows `stream` to send so.
    pub fn allow(stream: &TcpStream) -> Result<()> {
        options::set(stream, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1).context("setting SO_ZEROCOPY")
    }

    /// The state of a connection, if it is allowed to send so.
    pub fn of(stream: &TcpStream) -> Option<Self> {
        let mut allowed = 0i32;
        let known = options::get(stream, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &mut allowed).is_ok();
        (known && allowed != 0).then(Self::default)
    }

    /// Hands over some of `block`, which is not changed as long as the kernel has it; how much.
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
                // The kernel has as many blocks as it may (net.core.optmem_max): it must give some back.
                Err(Errno::ENOBUFS) if self.pending > 0 => {
                    wait(stream)?;
                    self.collect(stream)?;
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until the kernel is done with all blocks, or is not for a while.
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

    /// Takes what the kernel says of blocks that it is done with.
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
                    // Blocks `ee_info` to `ee_data`, whose numbers may wrap around.
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

/// Waits a while for something in the error queue.
fn wait(stream: &TcpStream) -> io::Result<()> {
    // Errors are waited for without being asked for.
    match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::empty())], PollTimeout::from(WAIT_MS)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
