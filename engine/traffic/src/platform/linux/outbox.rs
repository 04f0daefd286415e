//! Sends datagrams over a socket, many with one call (sendmmsg(2)); if requested, packets of one size in GSO
//! packets, which the kernel segments (UDP_SEGMENT, udp(7)).

use super::options;
use crate::error::{Context, Result};
use crate::platform::Datagrams;
use crate::platform::gso::{GSO_PACKET_PACKETS, Message, join};
use std::io::Error;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// The number of 64-bit words of a control message with a segment's size.
const CONTROL_WORDS: usize = 3;

/// A connected socket, and the memory for its calls, allocated once.
pub struct Outbox<'a> {
    socket: &'a UdpSocket,
    /// The size of the largest packet that may be in a GSO packet; 0 for no GSO packets.
    segment_limit: usize,
    messages: Vec<Message>,
    headers: Vec<libc::mmsghdr>,
    buffers: Vec<libc::iovec>,
    controls: Vec<[u64; CONTROL_WORDS]>,
}

impl<'a> Outbox<'a> {
    /// Creates an outbox for batches of up to `most` packets. Packets of at most `segment_limit` bytes share GSO
    /// packets.
    pub fn new(socket: &'a UdpSocket, most: usize, segment_limit: usize) -> Self {
        Self {
            socket,
            segment_limit,
            messages: Vec::with_capacity(most),
            headers: Vec::with_capacity(most),
            buffers: Vec::with_capacity(most),
            controls: Vec::with_capacity(most),
        }
    }

    /// Verifies that the kernel segments GSO packets for `socket`; kernels before 4.18 do not have the option.
    pub fn verify_gso(socket: &UdpSocket) -> Result<()> {
        let mut segment = 0i32;
        options::get(socket, libc::SOL_UDP, libc::UDP_SEGMENT, &mut segment)
            .context("udp_gso: this kernel does not segment UDP GSO packets (UDP_SEGMENT)")
    }

    /// Describes `batch` to the kernel. The pointers are valid until the batch is changed.
    fn prepare(&mut self, batch: &impl Datagrams) {
        join(batch.places(), self.segment_limit, &mut self.messages);
        self.headers.clear();
        self.buffers.clear();
        self.controls.clear();
        for message in &self.messages {
            let bytes = &batch.bytes()[message.offset..message.offset + message.bytes];
            // sendmmsg only reads its arguments.
            self.buffers
                .push(libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
            self.controls.push([0; CONTROL_WORDS]);
        }
        for (index, message) in self.messages.iter().enumerate() {
            // SAFETY: a message header of zeros has no address, no data and no control messages.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = &raw mut self.buffers[index];
            header.msg_hdr.msg_iovlen = 1;
            if message.packets > 1 {
                let segment = u16::try_from(message.segment).unwrap_or(u16::MAX);
                write_segment_size(&mut header.msg_hdr, &mut self.controls[index], segment);
            }
            self.headers.push(header);
        }
    }

    /// Passes the datagrams of `batch` to the kernel. Removes the ones that the kernel refuses, and returns their
    /// number.
    pub fn send(&mut self, batch: &mut impl Datagrams) -> Result<u64> {
        self.prepare(batch);
        let (mut done, mut kept, mut refused) = (0, 0, 0);
        while done < self.headers.len() {
            let left = &mut self.headers[done..];
            let count = libc::c_uint::try_from(left.len()).unwrap_or(libc::c_uint::MAX);
            // SAFETY: the headers point to buffers and control messages of this outbox and to bytes of `batch`,
            // none of which have been moved or changed since then.
            let status = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), left.as_mut_ptr(), count, 0) };
            if let Ok(taken) = usize::try_from(status) {
                kept +=
                    self.messages[done..done + taken].iter().map(|message| message.packets).sum::<usize>();
                done += taken;
                continue;
            }
            let error = Error::last_os_error();
            match error.raw_os_error() {
                // The next call reports an ICMP error about an earlier datagram, which does not concern this one.
                Some(libc::EINTR | libc::ECONNREFUSED) => {}
                Some(libc::ENOBUFS | libc::EAGAIN) => {
                    let packets = self.messages[done].packets;
                    batch.refuse(kept, packets);
                    refused += packets as u64;
                    done += 1;
                }
                _ => {
                    let size = self.messages[done].segment;
                    return Err(error).with_context(|| format!("sending a datagram of {size} bytes"));
                }
            }
        }
        Ok(refused)
    }

    /// Returns the largest number of packets that share a GSO packet, which passes through the kernel as one;
    /// `None` without GSO packets.
    pub fn packets_as_one(&self) -> Option<usize> {
        (self.segment_limit > 0).then_some(GSO_PACKET_PACKETS)
    }
}

fn write_segment_size(header: &mut libc::msghdr, control: &mut [u64; CONTROL_WORDS], segment: u16) {
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: `control` is as large as the space of one control message with two bytes, and aligned for it, so the
    // first message's header and data lie within it.
    unsafe {
        let length = libc::c_uint::try_from(size_of::<u16>()).unwrap_or(2);
        header.msg_controllen = libc::CMSG_SPACE(length) as _;
        let message = libc::CMSG_FIRSTHDR(header);
        (*message).cmsg_level = libc::SOL_UDP;
        (*message).cmsg_type = libc::UDP_SEGMENT;
        (*message).cmsg_len = libc::CMSG_LEN(length) as _;
        libc::CMSG_DATA(message).cast::<u16>().write_unaligned(segment);
    }
}
