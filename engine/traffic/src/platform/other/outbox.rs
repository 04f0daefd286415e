//! Sends datagrams over a socket, one with each call; if requested, packets of one size in GSO packets, on systems
//! that segment these.

use super::system;
use crate::error::{Context, Error, Result};
use crate::platform::Datagrams;
use crate::platform::gso::{GSO_PACKET_PACKETS, Message, join};
use std::io::ErrorKind;
use std::net::UdpSocket;

/// The system's error number for "No buffer space available".
const NO_BUFFERS: i32 = if cfg!(windows) {
    10_055
} else if cfg!(target_os = "linux") {
    105
} else {
    55
};

/// A connected socket, and the messages of one batch.
pub struct Outbox<'a> {
    socket: &'a UdpSocket,
    /// The size of the largest packet that may be in a GSO packet; 0 for no GSO packets.
    segment_limit: usize,
    /// The current segment size of GSO packets on the socket; 0 if the system does not segment.
    segment: usize,
    messages: Vec<Message>,
}

impl<'a> Outbox<'a> {
    /// Creates an outbox for batches of up to `most` packets. Packets of at most `segment_limit` bytes share GSO
    /// packets.
    pub fn new(socket: &'a UdpSocket, most: usize, segment_limit: usize) -> Self {
        Self { socket, segment_limit, segment: 0, messages: Vec::with_capacity(most) }
    }

    /// Verifies that the system segments GSO packets for `socket`, and that it reports how large each packet may
    /// be.
    pub fn verify_gso(socket: &UdpSocket) -> Result<()> {
        system::cut_datagrams(socket, 0).context("udp_gso: enabling segmentation of GSO packets")?;
        let mtu = system::path_mtu(socket).context("udp_gso: reading the path MTU")?;
        if mtu.is_none() {
            return Err(Error::Unsupported("udp_gso: this system does not report the path MTU".into()));
        }
        Ok(())
    }

    /// Passes the datagrams of `batch` to the system. Removes the ones that the system refuses, and returns their
    /// number.
    pub fn send(&mut self, batch: &mut impl Datagrams) -> Result<u64> {
        join(batch.places(), self.segment_limit, &mut self.messages);
        let (mut kept, mut refused) = (0, 0);
        for &Message { packets, offset, bytes, segment } in &self.messages {
            let cut = if packets > 1 { segment } else { 0 };
            if cut != self.segment {
                system::cut_datagrams(self.socket, cut)
                    .with_context(|| format!("setting the segment size of GSO packets to {cut} bytes"))?;
                self.segment = cut;
            }
            loop {
                let sent = self.socket.send(&batch.bytes()[offset..offset + bytes]);
                match sent.map_err(|error| (error.kind(), error.raw_os_error(), error)) {
                    Ok(_) => kept += packets,
                    // The next call reports an ICMP error about an earlier datagram, which does not concern this
                    // one.
                    Err((
                        ErrorKind::Interrupted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset,
                        ..,
                    )) => continue,
                    Err((ErrorKind::WouldBlock | ErrorKind::TimedOut, ..))
                    | Err((_, Some(NO_BUFFERS), _)) => {
                        batch.refuse(kept, packets);
                        refused += packets as u64;
                    }
                    Err((_, _, error)) => {
                        return Err(error).with_context(|| format!("sending a datagram of {segment} bytes"));
                    }
                }
                break;
            }
        }
        Ok(refused)
    }

    /// Returns the largest number of packets that share a GSO packet, which passes through the system as one;
    /// `None` without GSO packets.
    pub fn packets_as_one(&self) -> Option<usize> {
        (self.segment_limit > 0).then_some(GSO_PACKET_PACKETS)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::Inbox;
    use super::*;
    use std::time::Duration;

    /// Consecutive datagrams of these sizes.
    struct Row(Vec<u8>, Vec<usize>);

    impl Datagrams for Row {
        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn places(&self) -> impl Iterator<Item = (usize, usize)> {
            self.1.iter().scan(0, |end, &size| {
                *end += size;
                Some((*end - size, size))
            })
        }

        fn refuse(&mut self, _index: usize, _count: usize) {
            panic!("loopback refuses nothing");
        }
    }

    #[test]
    fn packets_are_the_same_whether_they_share_gso_packets_or_not() {
        for (segment_limit, coalesces) in [(0, false), (0, true), (1472, false), (1472, true)] {
            let (here, there) =
                (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
            here.connect(there.local_addr().unwrap()).unwrap();
            Inbox::set_up(&there, coalesces, None).unwrap();
            let mut inbox = Inbox::new(2000, coalesces, Duration::ZERO);
            let sizes = [vec![200; 70], vec![1900, 300, 300, 100]].concat();
            let bytes: Vec<u8> =
                sizes.iter().zip(0u8..).flat_map(|(&size, value)| vec![value; size]).collect();
            let mut row = Row(bytes, sizes);
            assert_eq!(Outbox::new(&here, 80, segment_limit).send(&mut row).unwrap(), 0);
            let (mut arrived, mut messages) = (Vec::new(), 0);
            while arrived.len() < row.1.len() {
                messages += inbox.receive(&there).unwrap();
                arrived.extend(inbox.datagrams().map(|(_, bytes)| (bytes.len(), bytes[0])));
            }
            let expected: Vec<(usize, u8)> = row.1.iter().copied().zip(0u8..).collect();
            assert_eq!(arrived, expected);
            let is_shared = segment_limit > 0 && coalesces;
            assert_eq!(messages < row.1.len(), is_shared, "{messages} messages");
        }
    }
}
