//! Datagrams out of a socket, many with one call (sendmmsg(2)); packets of one size in bundles that the
//! kernel cuts, if asked (UDP_SEGMENT, udp(7)).

use super::batch::{Batch, Packet};
use super::sender::Carrier;
use anyhow::{Context, Result, bail};
use std::io::Error;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Packets of a bundle at most (UDP_MAX_SEGMENTS, include/linux/udp.h).
const BUNDLE_PACKETS: usize = 64;
/// Bytes of a bundle at most: those of a datagram over IPv4.
const BUNDLE_BYTES: usize = 65_507;
/// 64-bit words of a control message that holds a segment's size.
const CONTROL_WORDS: usize = 3;

/// A connected socket and what its calls need, made once.
pub struct Outbox<'a> {
    socket: &'a UdpSocket,
    /// The largest packet that may be in a bundle; 0 for no bundles.
    segment_limit: usize,
    messages: Vec<Message>,
    headers: Vec<libc::mmsghdr>,
    buffers: Vec<libc::iovec>,
    controls: Vec<[u64; CONTROL_WORDS]>,
}

/// A run of packets that one message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    packets: usize,
    offset: usize,
    bytes: usize,
    segment: usize,
}

impl<'a> Outbox<'a> {
    /// For batches of up to `most` packets. Those of at most `segment_limit` bytes are bundled.
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

    /// Describes `batch` to the kernel. The pointers hold until it is changed.
    fn prepare(&mut self, batch: &Batch) {
        join(batch.packets(), self.segment_limit, &mut self.messages);
        self.headers.clear();
        self.buffers.clear();
        self.controls.clear();
        for message in &self.messages {
            let bytes = &batch.bytes()[message.offset..message.offset + message.bytes];
            // sendmmsg only reads what it is given.
            self.buffers
                .push(libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
            self.controls.push([0; CONTROL_WORDS]);
        }
        for (index, message) in self.messages.iter().enumerate() {
            // SAFETY: a message header of zeros is one that has no address, no data and no control.
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
}

impl Carrier for Outbox<'_> {
    fn hand_over(&mut self, batch: &mut Batch) -> Result<u64> {
        self.prepare(batch);
        let (mut done, mut kept, mut refused) = (0, 0, 0);
        while done < self.headers.len() {
            let left = &mut self.headers[done..];
            let count = libc::c_uint::try_from(left.len()).unwrap_or(libc::c_uint::MAX);
            // SAFETY: the headers point to buffers and controls of this outbox and bytes of `batch`, none
            // of which were moved or changed since.
            let status = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), left.as_mut_ptr(), count, 0) };
            if let Ok(taken) = usize::try_from(status) {
                kept +=
                    self.messages[done..done + taken].iter().map(|message| message.packets).sum::<usize>();
                done += taken;
                continue;
            }
            let error = Error::last_os_error();
            match error.raw_os_error() {
                // An ICMP error to an earlier datagram shows at the next call: not this one's fate.
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

    fn paced_together(&self) -> usize {
        // A bundle goes through the kernel as one.
        if self.segment_limit > 0 { BUNDLE_PACKETS } else { 8 }
    }
}

/// The messages that carry `packets`: neighbours of one size are joined as far as bundles go.
fn join(packets: &[Packet], segment_limit: usize, messages: &mut Vec<Message>) {
    messages.clear();
    for packet in packets {
        match messages.last_mut() {
            Some(last)
                if last.segment == packet.size
                    && packet.size <= segment_limit
                    && last.packets < BUNDLE_PACKETS
                    && last.bytes + packet.size <= BUNDLE_BYTES =>
            {
                last.packets += 1;
                last.bytes += packet.size;
            }
            _ => messages.push(Message {
                packets: 1,
                offset: packet.offset,
                bytes: packet.size,
                segment: packet.size,
            }),
        }
    }
}

fn write_segment_size(header: &mut libc::msghdr, control: &mut [u64; CONTROL_WORDS], segment: u16) {
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: `control` is as large as the space of one control message with two bytes, and aligned for
    // it, so the first message's header and data lie within.
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

/// Verifies that the kernel cuts bundles for `socket`.
///
/// # Errors
/// Fails on a kernel before 4.18, which does not know the option.
pub fn verify_bundling(socket: &UdpSocket) -> Result<()> {
    let (mut value, mut length): (libc::c_int, libc::socklen_t) = (0, 4);
    // SAFETY: `value` is a writable integer of `length` bytes, and the descriptor is open.
    let status = unsafe {
        let value = (&raw mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, value, &raw mut length)
    };
    if status != 0 {
        bail!("udp_gso: this kernel does not cut UDP bundles (UDP_SEGMENT): {}", Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(sizes: &[usize], segment_limit: usize) -> Vec<(usize, usize)> {
        let mut batch = Batch::new(sizes.len(), 1 << 16, [0; 4]);
        sizes.iter().for_each(|size| batch.add(*size));
        let mut messages = Vec::new();
        join(batch.packets(), segment_limit, &mut messages);
        messages.iter().map(|message| (message.packets, message.bytes)).collect()
    }

    #[test]
    fn only_neighbours_of_one_size_that_need_no_fragments_are_bundled() {
        assert_eq!(joined(&[64, 64, 100, 64], 1472), [(2, 128), (1, 100), (1, 64)]);
        assert_eq!(joined(&[64, 64], 0), [(1, 64), (1, 64)]);
        assert_eq!(joined(&[2000, 2000], 1472), [(1, 2000), (1, 2000)]);
        assert_eq!(joined(&[64; 70], 1472), [(64, 4096), (6, 384)]);
        assert_eq!(joined(&[1400; 50], 1472), [(46, 64_400), (4, 5600)]);
    }
}
