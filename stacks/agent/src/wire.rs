//! The host's frames: a packet socket on its interface (packet(7)).

use crate::Context;
use crate::meter::Meter;
use crate::order::InterfaceOrder;
use nettrial_traffic::{Error, Result};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrLike, bind, recv, send, setsockopt,
    socket, sockopt,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The size of the buffers of the packet socket, bytes. The queue of the interface, and not the socket, limits the frames
/// that wait.
const BUFFER_BYTES: usize = 64 << 20;
/// The bytes of an Ethernet header.
const ETHERNET_BYTES: usize = 14;

/// The frames of an interface.
pub struct Wire {
    socket: OwnedFd,
    /// The interface's Ethernet address.
    pub address: [u8; 6],
    /// The largest length of a frame, Ethernet's header included, bytes.
    pub largest: usize,
    /// The measurements of the frames.
    pub meter: Meter,
}

impl Wire {
    /// Opens the frames of an interface of this process's namespace.
    ///
    /// # Errors
    /// Fails if this user may not read them, or there is no such interface.
    pub fn open(interface: &InterfaceOrder) -> Result<Self> {
        let name = interface.name.as_str();
        let index = nix::net::if_::if_nametoindex(name).context("finding the interface")?;
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
            .context("opening a packet socket")?;
        enlarge(&socket)?;
        ignore_own(&socket)?;
        bind(socket.as_raw_fd(), &link_address(index)?).context("binding a packet socket")?;
        let mut all = nix::ifaddrs::getifaddrs().context("reading the addresses of interfaces")?;
        let of_link = all.find_map(|one| {
            let own = one.address.filter(|_| one.interface_name == name)?;
            own.as_link_addr()?.addr()
        });
        let address = of_link.ok_or_else(|| Error::Unsupported(format!("{name} is no Ethernet")))?;
        let largest = usize::try_from(interface.mtu_bytes)? + ETHERNET_BYTES;
        Ok(Self { socket, address, largest, meter: Meter::default() })
    }

    /// Returns the descriptor that can be read when a frame has arrived.
    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Copies the next frame that has arrived to `frame`, which has room for one byte more than the largest, and returns its
    /// length; `None` if there is none.
    pub fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        loop {
            match recv(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
                Ok(length) if length <= self.largest => {
                    self.meter.arrived(&frame[..length]);
                    return Some(length);
                }
                // A frame that is larger than the interface's MTU allows is dropped, as by any host.
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Sends a frame. One that the interface has no room for is lost, as with any host's queue.
    pub fn send(&mut self, frame: &[u8]) {
        self.meter.departed(frame);
        let _ = send(self.socket.as_raw_fd(), frame, MsgFlags::empty());
    }
}

fn enlarge(socket: &OwnedFd) -> Result<()> {
    // Without privileges on the machine, the size is as large as the system allows.
    if setsockopt(socket, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
        setsockopt(socket, sockopt::RcvBuf, &BUFFER_BYTES)
            .context("sizing the buffers of a packet socket")?;
    }
    if setsockopt(socket, sockopt::SndBufForce, &BUFFER_BYTES).is_err() {
        setsockopt(socket, sockopt::SndBuf, &BUFFER_BYTES)
            .context("sizing the buffers of a packet socket")?;
    }
    Ok(())
}

/// Leaves out the frames that leave the interface.
fn ignore_own(socket: &OwnedFd) -> Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: the option is an int, which lives through the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            (&raw const yes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()).context("leaving out frames that leave") }
}

/// Returns the address of all frames of an interface.
fn link_address(index: libc::c_uint) -> Result<LinkAddr> {
    // SAFETY: an address of zeros is one.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = i32::try_from(index)?;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of an address of this family.
    let link_address = unsafe { LinkAddr::from_raw((&raw const address).cast(), Some(length)) };
    link_address.ok_or_else(|| Error::Unsupported("a packet socket has no such address".into()))
}
