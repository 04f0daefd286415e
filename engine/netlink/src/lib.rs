//! Sends route netlink requests in batches: many requests in one message to the kernel, and one answer for all of
//! them. Reads the state of Wi-Fi interfaces by generic netlink, and the offloads of interfaces by the ethtool ioctl.

mod addressing;
mod error;
mod ethtool;
#[cfg(fuzzing)]
pub mod fuzzing;
mod icmp;
mod interfaces;
mod wireless;

pub use addressing::{
    InterfaceRoute, Network, address_message, addresses, family, route_address, routes, set_addresses,
    set_routes,
};
pub use error::{Error, Result};
pub use ethtool::Ethtool;
pub use icmp::{filter_icmp, originate_no_icmp, originates_no_icmp};
pub use interfaces::{Counters, Interface, interfaces, set_mtu};
pub use wireless::{Wireless, wireless};

use error::Context;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nettrial_scenario::During;

/// The number of bytes of requests sent at once; the kernel refuses a message larger than the socket's send buffer
/// (212,992 bytes by default).
const BATCH_BYTES: usize = 64 << 10;
/// The number of requests sent at once: a refusal takes up to 1280 bytes of the socket's receive buffer (212,992
/// bytes by default), and every request of a batch may be refused.
const BATCH_REQUESTS: usize = 128;
/// The largest size of an answer of the kernel, in bytes.
const ANSWER_BYTES: usize = 64 << 10;
/// The position of a request's flags (`struct nlmsghdr`).
const FLAGS: std::ops::Range<usize> = 6..8;

/// A netlink socket to the network namespace in which it was opened.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    pending: Vec<u8>,
    /// The position at which the latest pending request begins.
    latest: usize,
    /// The purpose of each pending request; the last one has the number `sequence`.
    purposes: Vec<String>,
}

impl Netlink {
    /// Opens a socket to the calling thread's namespace.
    pub fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE).context("opening a netlink socket")?;
        // With this option a refusal repeats only the header of the request (netlink(7)).
        socket.set_cap_ack(true).context("shortening a netlink socket's answers")?;
        socket.bind_auto().context("binding a netlink socket")?;
        socket.connect(&SocketAddr::new(0, 0)).context("connecting a netlink socket")?;
        Ok(Self { socket, sequence: 0, pending: Vec::new(), latest: 0, purposes: Vec::new() })
    }

    fn encode(&mut self, request: RouteNetlinkMessage, flags: u16) -> usize {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        self.latest = self.pending.len();
        // Messages of a batch begin at multiples of four bytes.
        self.pending.resize(self.latest + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut self.pending[self.latest..]);
        self.pending.len()
    }

    /// Queues a request that creates an object; errors name its `purpose`.
    pub fn create(&mut self, request: RouteNetlinkMessage, purpose: impl Into<String>) -> Result<()> {
        self.queue(request, NLM_F_CREATE | NLM_F_EXCL, purpose)
    }

    /// Queues a request that changes an object; errors name its `purpose`.
    pub fn change(&mut self, request: RouteNetlinkMessage, purpose: impl Into<String>) -> Result<()> {
        self.queue(request, 0, purpose)
    }

    fn queue(&mut self, request: RouteNetlinkMessage, flags: u16, purpose: impl Into<String>) -> Result<()> {
        let length = self.encode(request, flags);
        self.purposes.push(purpose.into());
        if length >= BATCH_BYTES || self.purposes.len() >= BATCH_REQUESTS { self.flush() } else { Ok(()) }
    }

    /// Sends the queued requests and waits until the kernel has carried out all of them.
    ///
    /// The kernel carries out the requests in order and reports each one that it refuses. The last request also
    /// asks for an acknowledgement.
    ///
    /// # Errors
    /// Fails with the first request that the kernel refused.
    pub fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let header = &mut self.pending[self.latest..];
        let flags = u16::from_ne_bytes([header[FLAGS.start], header[FLAGS.start + 1]]) | NLM_F_ACK;
        header[FLAGS].copy_from_slice(&flags.to_ne_bytes());
        self.send()?;
        let purposes = std::mem::take(&mut self.purposes);
        let (mut failure, mut done) = (None, false);
        while !done {
            self.receive(|message| {
                let left = self.sequence.wrapping_sub(message.header.sequence_number) as usize;
                done |= left == 0;
                if let NetlinkPayload::Error(error) = message.payload
                    && error.code.is_some()
                    && let Some(purpose) = purposes.iter().rev().nth(left)
                {
                    failure.get_or_insert_with(|| Error::from(error.to_io()).during(purpose));
                }
                true
            })?;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Requests one object and returns the kernel's answer.
    pub fn get(&mut self, request: RouteNetlinkMessage) -> Result<RouteNetlinkMessage> {
        self.flush()?;
        self.encode(request, 0);
        self.send()?;
        let mut answer = None;
        self.receive(|message| {
            answer = match message.payload {
                NetlinkPayload::InnerMessage(inner) => Some(Ok(inner)),
                NetlinkPayload::Error(error) => Some(Err(error.to_io())),
                _ => None,
            };
            false
        })?;
        answer
            .ok_or_else(|| Error::Answer("the kernel gave no answer".into()))?
            .context("requesting an object from the kernel")
    }

    /// Requests all objects of a kind and returns the kernel's answers.
    pub fn dump(&mut self, request: RouteNetlinkMessage) -> Result<Vec<RouteNetlinkMessage>> {
        self.flush()?;
        self.encode(request, NLM_F_DUMP);
        self.send()?;
        let (mut answers, mut refused, mut done) = (Vec::new(), None, false);
        while !done {
            self.receive(|message| {
                match message.payload {
                    NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                    NetlinkPayload::Error(error) => {
                        refused = Some(error.to_io());
                        done = true;
                    }
                    NetlinkPayload::Done(_) => done = true,
                    _ => {}
                }
                !done
            })?;
        }
        match refused {
            Some(error) => Err(error).context("listing the kernel's objects"),
            None => Ok(answers),
        }
    }

    fn send(&mut self) -> Result<()> {
        let sent = self.socket.send(&self.pending, 0).context("sending to the kernel");
        self.pending.clear();
        sent.map(|_| ())
    }

    /// Reads one datagram and passes its messages to `take` until `take` returns false.
    fn receive(&self, take: impl FnMut(NetlinkMessage<RouteNetlinkMessage>) -> bool) -> Result<()> {
        let mut buffer = Vec::with_capacity(ANSWER_BYTES);
        self.socket.recv(&mut buffer, 0).context("receiving from the kernel")?;
        messages(&buffer, take)
    }
}

/// Passes the messages of a datagram to `take` until `take` returns false.
fn messages(
    mut rest: &[u8],
    mut take: impl FnMut(NetlinkMessage<RouteNetlinkMessage>) -> bool,
) -> Result<()> {
    while !rest.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
            .map_err(|error| Error::Answer(format!("reading the kernel's answer: {error}")))?;
        let length = (message.header.length as usize).next_multiple_of(4).min(rest.len());
        rest = &rest[length..];
        if !take(message) {
            break;
        }
    }
    Ok(())
}

/// Returns the bytes of one netlink attribute: length, kind, value and padding.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len() + 4).expect("an attribute is short");
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::{LinkAttribute, LinkMessage};
    use nettrial_scenario::chain;

    fn link(index: u32) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message
    }

    /// Returns a request that the kernel refuses, because no interface has this number or nobody may change it.
    fn refused(index: u32) -> RouteNetlinkMessage {
        let mut message = link(1_000_000 + index);
        message.attributes = vec![LinkAttribute::Mtu(1500)];
        RouteNetlinkMessage::SetLink(message)
    }

    #[test]
    fn the_first_refusal_is_told_however_many_there_are() {
        let mut netlink = Netlink::open().unwrap();
        for first in [0, 1000] {
            let mut queue =
                (first..).map(|number| netlink.change(refused(number), format!("change {number}")));
            let told = queue.by_ref().take(2 * BATCH_REQUESTS).find_map(Result::err);
            assert!(chain(&told.unwrap()).starts_with(&format!("change {first}: ")));
        }
        assert!(netlink.flush().is_ok());
    }

    #[test]
    fn what_was_refused_does_not_answer_what_is_asked_later() {
        let mut netlink = Netlink::open().unwrap();
        netlink.change(refused(0), "a change").unwrap();
        netlink.flush().unwrap_err();
        let loopback = netlink.get(RouteNetlinkMessage::GetLink(link(1))).unwrap();
        assert!(matches!(loopback, RouteNetlinkMessage::NewLink(found) if found.header.index == 1));
        assert!(netlink.get(RouteNetlinkMessage::GetLink(link(1_000_000))).is_err());
    }
}
