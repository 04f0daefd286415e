//! Sockets that send packets which may not be fragmented, and that read the ICMP errors that these cause.
//!
//! The options are those of ip(7), ipv6(7) and icmp(7). IP_RECVERR keeps each error, with the part of the packet
//! that it quotes, in a queue of the socket, which needs no privileges. IP_PMTUDISC_PROBE sets "don't fragment"
//! and ignores the path MTU that the kernel has learned. IP_RECVFRAGSIZE reports the size of the fragments in
//! which a packet arrived.

use crate::error::{Context, Result};
use nettrial_scenario::IpVersion;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

/// The size of a buffer for one packet, in bytes.
const PACKET_BYTES: usize = 1 << 16;
/// The size of a buffer for the control messages of one packet, such as an error with its sender's address, in bytes.
const CONTROL_BYTES: usize = 512;

/// An ICMP error that a packet of this program caused.
pub struct IcmpError {
    /// The address of the error's sender; absent for errors from this host.
    pub from: Option<IpAddr>,
    /// The ICMP type and code.
    pub kind: (u8, u8),
    /// The MTU that a "packet too big" claims.
    pub mtu: u64,
    /// The destination of the packet that caused the error.
    pub destination: Option<SocketAddr>,
    /// The quoted part of that packet, beginning with its transport header (ICMP) or its payload (UDP).
    pub quoted: Vec<u8>,
}

/// A packet that was received.
pub struct Received {
    /// The packet's sender.
    pub from: Option<SocketAddr>,
    /// The packet's bytes, in the form that the kind of socket returns.
    pub bytes: Vec<u8>,
    /// The size of the packet's largest fragment; absent if the packet arrived whole.
    pub fragment: Option<u64>,
}

/// Opens a socket of that type, which forbids fragmentation and keeps errors.
pub fn open(version: IpVersion, kind: Type, protocol: Protocol) -> Result<Socket> {
    let domain = if version == IpVersion::V4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, kind, Some(protocol)).context("opening a socket")?;
    socket.set_nonblocking(true)?;
    let options = match version {
        IpVersion::V4 => [
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
            (libc::IPPROTO_IP, libc::IP_RECVERR, 1),
            (libc::IPPROTO_IP, libc::IP_RECVFRAGSIZE, 1),
        ],
        IpVersion::V6 => [
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVFRAGSIZE, 1),
        ],
    };
    for (level, option, value) in options {
        set(&socket, level, option, value).context("preparing a socket for probes")?;
    }
    if version == IpVersion::V6 {
        set(&socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, 1).context("forbidding fragmentation")?;
    }
    // The send buffer has room for a whole round of the largest packets.
    let _ = socket.set_send_buffer_size(8 * PACKET_BYTES);
    let _ = socket.set_recv_buffer_size(8 * PACKET_BYTES);
    Ok(socket)
}

fn set(socket: &Socket, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(&value)).expect("the size of an integer");
    // SAFETY: `value` is a readable integer of `length` bytes, and the descriptor is open.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if status != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(())
}

/// Returns the path MTU that the kernel holds for a connected socket.
pub fn kernel_mtu(socket: &Socket, version: IpVersion) -> Result<u64> {
    let (level, option) = match version {
        IpVersion::V4 => (libc::IPPROTO_IP, libc::IP_MTU),
        IpVersion::V6 => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mut value: libc::c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of_val(&value)).expect("the size of an integer");
    // SAFETY: `value` is a writable integer of `length` bytes, and the descriptor is open.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut length)
    };
    if status != 0 {
        return Err(std::io::Error::last_os_error()).context("reading the kernel's path MTU");
    }
    Ok(u64::try_from(value)?)
}

/// Sends one packet, which expires after `hops` links. Returns `Ok(None)` if it is larger than the interface can
/// send.
pub fn send(
    socket: &Socket,
    version: IpVersion,
    packet: &[u8],
    destination: SocketAddr,
    hops: Option<u8>,
) -> Result<Option<()>> {
    let hops = hops.map_or(64, u32::from);
    match version {
        IpVersion::V4 => socket.set_ttl_v4(hops)?,
        IpVersion::V6 => socket.set_unicast_hops_v6(hops)?,
    }
    let destination = SockAddr::from(destination);
    for _ in 0..16 {
        let Err(error) = socket.send_to(packet, &destination) else { return Ok(Some(())) };
        match error.raw_os_error() {
            Some(libc::EMSGSIZE) => return Ok(None),
            // The next call reports an error that an earlier packet caused, which is in the queue of errors too.
            Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::EPROTO | libc::EACCES) => {}
            Some(libc::ENOBUFS | libc::EAGAIN | libc::ENOMEM) => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            _ => return Err(error).context("sending a probe"),
        }
    }
    Ok(Some(())) // a packet that could not be sent counts as lost
}

/// Returns the next error in the socket's queue.
pub fn next_error(socket: &Socket) -> Option<IcmpError> {
    let mut bytes = vec![0; PACKET_BYTES];
    let mut control = [0u8; CONTROL_BYTES];
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags).ok()?;
    let destination = message.address.as_ref().and_then(socket_address);
    let mut reported = None;
    for part in message.cmsgs().ok()? {
        let (error, from) = match part {
            ControlMessageOwned::Ipv4RecvErr(error, from) => {
                (error, from.map(|from| IpAddr::from(u32::from_be(from.sin_addr.s_addr).to_be_bytes())))
            }
            ControlMessageOwned::Ipv6RecvErr(error, from) => {
                (error, from.map(|from| IpAddr::from(from.sin6_addr.s6_addr)))
            }
            _ => continue,
        };
        let is_icmp = matches!(error.ee_origin, libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6);
        reported = Some((error, from.filter(|_| is_icmp)));
    }
    let length = message.bytes;
    let (error, from) = reported?;
    bytes.truncate(length);
    Some(IcmpError {
        from,
        kind: (error.ee_type, error.ee_code),
        mtu: u64::from(error.ee_info),
        destination,
        quoted: bytes,
    })
}

/// Returns the next packet that the socket received.
pub fn next_packet(socket: &Socket) -> Option<Received> {
    let mut bytes = vec![0; PACKET_BYTES];
    let mut control = [0u8; CONTROL_BYTES];
    loop {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_DONTWAIT;
        match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags) {
            Ok(message) => {
                let from = message.address.as_ref().and_then(socket_address);
                let fragment = message.cmsgs().ok()?.find_map(|part| fragment_size(&part));
                let length = message.bytes;
                bytes.truncate(length);
                return Some(Received { from, bytes, fragment });
            }
            Err(Errno::EAGAIN) => return None,
            // The kernel reports the error of an earlier packet once, and it is in the queue of errors too.
            Err(
                Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::EMSGSIZE | Errno::EPROTO | Errno::EINTR,
            ) => {}
            Err(_) => return None,
        }
    }
}

fn fragment_size(part: &ControlMessageOwned) -> Option<u64> {
    let ControlMessageOwned::Unknown(part) = part else { return None };
    let kind = (part.cmsg_header.cmsg_level, part.cmsg_header.cmsg_type);
    let wanted = [(libc::IPPROTO_IP, libc::IP_RECVFRAGSIZE), (libc::IPPROTO_IPV6, libc::IPV6_RECVFRAGSIZE)];
    if !wanted.contains(&kind) {
        return None;
    }
    let bytes = part.data_bytes.get(..4)?.try_into().ok()?;
    u64::try_from(i32::from_ne_bytes(bytes)).ok().filter(|&size| size > 0)
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(SocketAddr::from((v4.ip(), v4.port())));
    }
    let v6 = address.as_sockaddr_in6()?;
    Some(SocketAddr::from((v6.ip(), v6.port())))
}
