//! Sends and receives datagrams with the times that the kernel states for each (SO_TIMESTAMPING, Linux
//! Documentation/networking/timestamping.rst), all by the wall clock.

use super::options;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, send};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// The kinds of times that are wanted: of a datagram's arrival, of reaching a queue, and of leaving the interface; each of the
/// last two with the datagram's number and without its bytes.
const WANTED: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_SCHED
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
// include/uapi/linux/errqueue.h
const SCM_TSTAMP_SND: u32 = 0;
const SCM_TSTAMP_SCHED: u32 = 1;

/// Returns the time of the wall clock, with which the kernel stamps packets, in nanoseconds.
pub fn wall_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or(0, ns)
}

fn ns(time: TimeSpec) -> u64 {
    u64::try_from(time.num_nanoseconds()).unwrap_or(0)
}

/// The times at which a datagram reached a queue, and left the interface, in nanoseconds of the wall clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Departure {
    /// The time at which it reached the queue.
    pub queued_ns: u64,
    /// The time at which it left the interface.
    pub left_ns: u64,
}

/// A connected socket whose datagrams have times.
pub struct Stamped<'a> {
    socket: &'a UdpSocket,
    /// The number of the next datagram, as the kernel counts.
    next: u32,
}

impl<'a> Stamped<'a> {
    /// Lets the kernel state the times of the datagrams of `socket` from now on.
    pub fn new(socket: &'a UdpSocket) -> io::Result<Self> {
        options::set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, WANTED.cast_signed())?;
        Ok(Self { socket, next: 0 })
    }

    /// Sends a datagram, and returns its number.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<u32> {
        send(self.socket.as_raw_fd(), bytes, MsgFlags::empty())?;
        let number = self.next;
        self.next = number.wrapping_add(1);
        Ok(number)
    }

    /// Receives a datagram, and returns its length and the time of its arrival, if the kernel states it. Fails with an error of
    /// the kind `TimedOut` if nothing arrives within the socket's timeout.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        loop {
            match self.read(buffer, MsgFlags::empty()) {
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "no data arrived within the time limit",
                    ));
                }
                Err(error) => return Err(error.into()),
                Ok((length, notes)) => return Ok((length, notes.at_ns)),
            }
        }
    }

    /// Returns the times of the sent datagram with this number, if the kernel has stated both.
    pub fn departure(&self, number: u32) -> io::Result<Option<Departure>> {
        let mut departure = Departure::default();
        loop {
            match self.read(&mut [], MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
                Ok((_, Notes { at_ns: Some(at_ns), about: Some((kind, of)) })) if of == number => {
                    match kind {
                        SCM_TSTAMP_SCHED => departure.queued_ns = at_ns,
                        SCM_TSTAMP_SND => departure.left_ns = at_ns,
                        _ => {}
                    }
                }
                Ok(_) => {}
            }
        }
        Ok((departure.queued_ns > 0 && departure.left_ns > 0).then_some(departure))
    }

    fn read(&self, buffer: &mut [u8], flags: MsgFlags) -> Result<(usize, Notes), Errno> {
        let mut control = nix::cmsg_space!([TimeSpec; 3], [u8; 64], [u8; 64]);
        let mut parts = [IoSliceMut::new(buffer)];
        let message =
            recvmsg::<SockaddrStorage>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
        let mut notes = Notes::default();
        for note in message.cmsgs()? {
            match note {
                ControlMessageOwned::ScmTimestampsns(times) => notes.at_ns = Some(ns(times.system)),
                ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                    notes.about = Some((error.ee_info, error.ee_data));
                }
                _ => {}
            }
        }
        Ok((message.bytes, notes))
    }
}

/// The kernel's notes about a datagram.
#[derive(Default)]
struct Notes {
    at_ns: Option<u64>,
    /// The kind of the time, and the number of the sent datagram.
    about: Option<(u32, u32)>,
}
