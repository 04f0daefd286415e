//! Receives datagrams into memory, many with one call (recvmmsg(2)), each with the time at which it arrived.
//!
//! The time is the kernel's (SO_TIMESTAMPNS, socket(7)): the interface delivered the packet at that time, before
//! the packet waited in the socket's buffer for this program. A clock that is read here, once for many datagrams,
//! would count that wait as delay of the network. The kernel takes time stamps from the wall clock. Its difference
//! to the monotonic clock is read with each call, so a step of the wall clock affects the datagrams of one call at
//! most. Datagrams that the kernel coalesced (UDP_GRO) have the same time.

use super::{clock, options};
use crate::error::{Context, Result};
use std::io::{Error, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// The number of datagrams taken with one call.
const SLOTS: usize = 64;
/// The number of messages taken with one call if each may be a GSO packet of 64 KiB.
const GSO_PACKET_SLOTS: usize = 16;
/// The size of the largest GSO packet, in bytes.
const GSO_PACKET_BYTES: usize = 1 << 16;
/// The number of 64-bit words for the control messages: a time stamp (32 bytes) and a segment's size (24 bytes).
const CONTROL_WORDS: usize = 7;
/// The size of the socket's buffer, in bytes, for datagrams that arrive while this program is busy.
const BUFFER_BYTES: i32 = 32 << 20;
/// The time for which one call waits for a datagram.
const WAIT: Duration = Duration::from_millis(20);

/// The memory for the datagrams of one call, allocated once.
pub struct Inbox {
    bytes: Vec<u8>,
    slot_bytes: usize,
    headers: Vec<libc::mmsghdr>,
    buffers: Vec<libc::iovec>,
    controls: Vec<[u64; CONTROL_WORDS]>,
    busy_poll: Duration,
    arrived: usize,
    /// The time of the monotonic clock minus that of the wall clock.
    offset_ns: i64,
}

/// The kernel's control messages about a message.
#[derive(Default)]
struct Notes {
    wall_ns: Option<i64>,
    segment: Option<usize>,
}

impl Inbox {
    /// Creates an inbox for datagrams of up to `largest` bytes, or for GSO packets. A read retries for `busy_poll`
    /// before it sleeps.
    pub fn new(largest: usize, gso_packets: bool, busy_poll: Duration) -> Self {
        // The additional byte shows that a datagram is longer than expected.
        let (slots, slot_bytes) =
            if gso_packets { (GSO_PACKET_SLOTS, GSO_PACKET_BYTES) } else { (SLOTS, largest + 1) };
        // SAFETY: a message header of zeros has no address, no data and no control messages; the same goes for a
        // buffer.
        let (header, buffer) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        Self {
            bytes: vec![0; slots * slot_bytes],
            slot_bytes,
            headers: vec![header; slots],
            buffers: vec![buffer; slots],
            controls: vec![[0; CONTROL_WORDS]; slots],
            busy_poll,
            arrived: 0,
            offset_ns: 0,
        }
    }

    /// Sets `socket` up for an inbox: time stamps, a large buffer, and GSO packets if requested.
    pub fn set_up(socket: &UdpSocket, gso_packets: bool, busy_poll: Option<Duration>) -> Result<()> {
        socket.set_read_timeout(Some(WAIT)).context("setting the receive timeout")?;
        let set = |level, option, value| options::set(socket, level, option, value);
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).context("enabling time stamps (SO_TIMESTAMPNS)")?;
        if set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES).is_err() {
            // Without the privilege to exceed it, net.core.rmem_max is the limit.
            set(libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER_BYTES).context("setting the receive buffer")?;
        }
        if gso_packets {
            set(libc::SOL_UDP, libc::UDP_GRO, 1).context("udp_gro: enabling GSO packets (UDP_GRO)")?;
        }
        if let Some(busy_poll) = busy_poll {
            let microseconds = i32::try_from(busy_poll.as_micros()).unwrap_or(i32::MAX);
            // Without the privilege for it the inbox itself still retries, and a virtual link has nothing to poll.
            let _ = set(libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds);
        }
        Ok(())
    }

    /// Receives the messages that have arrived, or waits for a short time for one; returns their number.
    pub fn receive(&mut self, socket: &UdpSocket) -> Result<usize> {
        let polling = (!self.busy_poll.is_zero()).then(Instant::now);
        self.arrived = loop {
            let flags = if self.busy_poll.is_zero() { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
            match self.call(socket, flags) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && polling.is_some() => {
                    if polling.is_some_and(|begin| begin.elapsed() >= self.busy_poll) {
                        break self.call(socket, libc::MSG_WAITFORONE).or_else(nothing)?;
                    }
                }
                other => break other.or_else(nothing)?,
            }
        };
        self.offset_ns = clock::offset_ns();
        Ok(self.arrived)
    }

    fn call(&mut self, socket: &UdpSocket, flags: libc::c_int) -> Result<usize, Error> {
        let slots = self.bytes.chunks_exact_mut(self.slot_bytes);
        let memory = slots.zip(&mut self.buffers).zip(&mut self.controls);
        for (header, ((slot, buffer), control)) in self.headers.iter_mut().zip(memory) {
            *buffer = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            header.msg_hdr.msg_iov = buffer;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of_val(control);
        }
        let count = libc::c_uint::try_from(self.headers.len()).unwrap_or(0);
        // SAFETY: the headers point to buffers, control messages and bytes of this inbox, each of the given
        // length, and none of them is accessed during the call.
        let status = unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::recvmmsg(socket.as_raw_fd(), headers, count, flags as _, std::ptr::null_mut())
        };
        usize::try_from(status).map_err(|_| Error::last_os_error())
    }

    /// Returns the datagrams of the latest call, each with its arrival time of the monotonic clock.
    pub fn datagrams(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let messages = self.headers[..self.arrived].iter().zip(self.bytes.chunks_exact(self.slot_bytes));
        messages.flat_map(|(header, slot)| {
            let notes = notes(&header.msg_hdr);
            let arrival_ns = match notes.wall_ns {
                Some(wall_ns) => wall_ns.wrapping_add(self.offset_ns).cast_unsigned(),
                None => clock::now_ns(),
            };
            let bytes = &slot[..(header.msg_len as usize).min(slot.len())];
            let segment = notes.segment.unwrap_or(bytes.len()).max(1);
            bytes.chunks(segment).map(move |datagram| (arrival_ns, datagram))
        })
    }
}

/// Returns 0 if no datagram arrived, or an ICMP error instead of one; any other error is returned.
fn nothing(error: Error) -> Result<usize> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused => Ok(0),
        _ => Err(error).context("receiving datagrams"),
    }
}

fn notes(header: &libc::msghdr) -> Notes {
    let mut notes = Notes::default();
    // SAFETY: the kernel wrote whole control messages of the reported length into the header's control buffer,
    // which lives as long as the header; their data has the length of their type.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(control) = message.as_ref() {
            let data = libc::CMSG_DATA(message);
            match (control.cmsg_level, control.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    notes.wall_ns = Some(time.tv_sec * 1_000_000_000 + time.tv_nsec);
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    notes.segment = usize::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    notes
}
