//! Route netlink in batches: many requests in one message to the kernel, all answers read after it.

use anyhow::{Context, Result, bail};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Bytes of requests sent at once; the kernel refuses a message larger than its socket's send buffer
/// (212,992 bytes by default).
const BATCH_BYTES: usize = 64 << 10;
/// Bytes one answer of the kernel may have.
const ANSWER_BYTES: usize = 64 << 10;

/// A socket to the namespace it was opened in.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    pending: Vec<u8>,
    /// What each pending request was to do, with its number.
    purposes: Vec<(u32, String)>,
}

impl Netlink {
    /// Opens a socket to the calling thread's namespace.
    pub fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE).context("opening a netlink socket")?;
        socket.bind_auto().context("binding a netlink socket")?;
        socket.connect(&SocketAddr::new(0, 0)).context("connecting a netlink socket")?;
        Ok(Self { socket, sequence: 0, pending: Vec::new(), purposes: Vec::new() })
    }

    fn encode(&mut self, request: RouteNetlinkMessage, flags: u16) -> usize {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let start = self.pending.len();
        // Messages of a batch begin at multiples of four bytes.
        self.pending.resize(start + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut self.pending[start..]);
        self.pending.len()
    }

    /// Queues a request that makes something; `purpose` says what, for the error.
    pub fn create(&mut self, request: RouteNetlinkMessage, purpose: impl Into<String>) -> Result<()> {
        self.queue(request, NLM_F_CREATE | NLM_F_EXCL, purpose)
    }

    /// Queues a request that changes something; `purpose` says what, for the error.
    pub fn change(&mut self, request: RouteNetlinkMessage, purpose: impl Into<String>) -> Result<()> {
        self.queue(request, 0, purpose)
    }

    fn queue(&mut self, request: RouteNetlinkMessage, flags: u16, purpose: impl Into<String>) -> Result<()> {
        let length = self.encode(request, NLM_F_ACK | flags);
        self.purposes.push((self.sequence, purpose.into()));
        if length >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Sends what is queued and waits until the kernel has done all of it.
    ///
    /// # Errors
    /// Fails with the first request that the kernel refused.
    pub fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.purposes);
        self.socket.send(&self.pending, 0).context("sending to the kernel")?;
        self.pending.clear();
        let mut failure = None;
        while !waiting.is_empty() {
            self.receive(|message| {
                let number = message.header.sequence_number;
                let Some(at) = waiting.iter().position(|(sequence, _)| *sequence == number) else {
                    return true;
                };
                let (_, purpose) = waiting.swap_remove(at);
                if let NetlinkPayload::Error(error) = message.payload
                    && error.code.is_some()
                {
                    failure.get_or_insert_with(|| format!("{purpose}: {}", error.to_io()));
                }
                true
            })?;
        }
        match failure {
            Some(text) => bail!(text),
            None => Ok(()),
        }
    }

    /// Asks for every object of a kind and gives the answers.
    pub fn dump(&mut self, request: RouteNetlinkMessage) -> Result<Vec<RouteNetlinkMessage>> {
        self.flush()?;
        self.encode(request, NLM_F_DUMP);
        self.socket.send(&self.pending, 0).context("sending to the kernel")?;
        self.pending.clear();
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

    /// Reads one datagram and hands its messages to `take` until that says to stop.
    fn receive(&self, mut take: impl FnMut(NetlinkMessage<RouteNetlinkMessage>) -> bool) -> Result<()> {
        let mut buffer = Vec::with_capacity(ANSWER_BYTES);
        self.socket.recv(&mut buffer, 0).context("receiving from the kernel")?;
        let mut rest = buffer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|error| anyhow::anyhow!("reading the kernel's answer: {error}"))?;
            let length = (message.header.length as usize).next_multiple_of(4).min(rest.len());
            rest = &rest[length..];
            if !take(message) {
                break;
            }
        }
        Ok(())
    }
}

/// One netlink attribute: length, kind, value, padding.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len() + 4).expect("an attribute is short");
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
