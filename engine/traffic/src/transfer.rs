//! Bulk transfers over TCP and MPTCP.

use crate::error::{Context, Error, Result};
use crate::flow_record::{Cut, Figures};
use crate::platform::{self, ZeroCopy};
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::waiting::Reader;
use nettrial_scenario::{SocketOptions, Transfer, Transport};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes of a read or a write, unless the flow has a setting for it.
const BLOCK_BYTES: u64 = 128 << 10;

/// The bytes that a TCP sender's kernel may have accepted and not sent. Unsent data leaves in one burst when an
/// acknowledgment arrives, and only after the burst is the receiver's CPU notified (receive packet steering). If
/// the burst is as long as the queue between two CPUs (net.core.netdev_max_backlog), packets are lost there and
/// both CPUs wait.
const UNSENT_BYTES: i32 = 256 << 10;

/// The time for which an MPTCP receiver keeps the connection open after its confirmation. When both ends have
/// closed it, the sender's kernel removes the subflows, but the sender has yet to read their counters.
const LINGER: Duration = Duration::from_millis(20);

/// The time before the end of a flow's duration from which a receiver reads each segment by itself. Before, in virtual
/// time, it reads whole blocks, whose timeouts are multiples of a millisecond (sock_set_timeout in net/core/sock.c).
const LAST_NS: u64 = 5_000_000;

/// The bytes with which a transfer begins: the end of the flow's duration by the receiver's clock, in nanoseconds, or
/// the largest number if it has none or the clocks' offset is not known; and the time left until then, or the largest
/// number if the flow has no duration.
pub const END_BYTES: usize = 16;

/// Returns the bytes that tell the receiver of a transfer when the flow's duration ends.
pub fn told_end(side: &Side, deadline: Option<Instant>) -> [u8; END_BYTES] {
    let left_ns = deadline.map(|deadline| {
        u64::try_from(deadline.saturating_duration_since(Instant::now()).as_nanos()).unwrap_or(u64::MAX)
    });
    let at_ns = left_ns.zip(side.ahead_ns()).and_then(|(left_ns, ahead_ns)| {
        platform::now_ns().saturating_add(left_ns).checked_add_signed(ahead_ns)
    });
    let mut told = [u8::MAX; END_BYTES];
    told[..8].copy_from_slice(&at_ns.unwrap_or(u64::MAX).to_be_bytes());
    told[8..].copy_from_slice(&left_ns.unwrap_or(u64::MAX).to_be_bytes());
    told
}

/// Returns the end of the flow's duration by this host's clock, in nanoseconds, from the bytes of [`told_end`]. If the
/// offset of the clocks is not known, the time left counts from now: from the arrival of the transfer's first bytes.
pub fn end_ns(told: [u8; END_BYTES]) -> u64 {
    let (numbers, _) = told.as_chunks::<8>();
    match [0, 1].map(|index: usize| u64::from_be_bytes(numbers[index])) {
        [u64::MAX, left_ns] => platform::now_ns().saturating_add(left_ns),
        [at_ns, _] => at_ns,
    }
}

/// Sends the flow's transfers and gathers their figures.
pub fn send(side: &Side, transfer: &Transfer, destination: SocketAddr, sampler: &Sampler) -> Result<Figures> {
    let mut figures = Figures::default();
    let deadline = transfer.duration.map(|duration| Instant::now() + duration.as_std());
    let block = vec![0; block_bytes(&side.flow.socket)?];
    let (mut active_in_time, mut bytes_in_time) = (Duration::ZERO, 0);
    loop {
        let begin = Instant::now();
        let sender = Sender::open(side, destination, sampler, &mut figures)?;
        let sent = sender.send(side, &block, transfer, deadline, &mut figures)?;
        let received = sender.confirmation()?;
        bytes_in_time += sender.confirmation()?;
        let (first_write, end) = (sender.first_write, Instant::now());
        figures.active += end - first_write;
        figures.ended = Some(end);
        let is_late = deadline.is_some_and(|deadline| first_write >= deadline);
        // If no connection opened in time, nothing arrived in all of the duration.
        let from = if is_late && figures.began.is_none() { begin } else { first_write };
        figures.began.get_or_insert(from);
        let until = deadline.map_or(end, |deadline| end.min(deadline));
        active_in_time += until.saturating_duration_since(from);
        if received != sent {
            return Err(Error::Peer(format!(
                "the receiver read {received} bytes of the {sent} that were sent"
            )));
        }
        sampler.closing()?;
        figures.bytes += sent;
        if transfer.size.is_some() {
            figures.completion.record(u64::try_from(begin.elapsed().as_nanos())?);
        }
        let again = transfer.size.is_some() && deadline.is_some_and(|deadline| Instant::now() < deadline);
        if !again {
            figures.cut = deadline.map(|ended| Cut { ended, active: active_in_time, bytes: bytes_in_time });
            return Ok(figures);
        }
    }
}

/// The sending end of one transfer.
pub struct Sender {
    /// The connection.
    pub stream: Arc<TcpStream>,
    /// The time at which the first byte was handed to the kernel, or is about to be.
    pub first_write: Instant,
}

impl Sender {
    /// Opens the connection of a transfer of the flow of `side`.
    pub fn open(
        side: &Side,
        destination: SocketAddr,
        sampler: &Sampler,
        figures: &mut Figures,
    ) -> Result<Self> {
        let stream = figures.connect(side, destination, sampler)?;
        if side.flow.transport == Transport::Tcp {
            platform::limit_unsent(&stream, UNSENT_BYTES)
                .context("limiting what is unsent (TCP_NOTSENT_LOWAT)")?;
        }
        if side.flow.socket.zerocopy {
            ZeroCopy::allow(&stream)?;
        }
        Ok(Self { stream, first_write: Instant::now() })
    }

    /// Tells the receiver when the flow's duration ends, and sends `block` repeatedly until the transfer's size or its end is reached. Returns the number of bytes.
    fn send(
        &self,
        side: &Side,
        block: &[u8],
        transfer: &Transfer,
        deadline: Option<Instant>,
        figures: &mut Figures,
    ) -> Result<u64> {
        let mut stream = &*self.stream;
        stream.write_all(&told_end(side, deadline)).context("telling the receiver when the flow ends")?;
        let mut zero_copy = ZeroCopy::of(stream);
        let mut sent = 0;
        let is_over = |sent: u64| match transfer.size {
            Some(size) => sent >= size.0,
            None => deadline.is_none_or(|deadline| Instant::now() >= deadline),
        };
        while !is_over(sent) {
            let left = transfer.size.map_or(u64::MAX, |size| size.0 - sent);
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
            let taken = match &mut zero_copy {
                Some(zero_copy) => zero_copy.write(stream, &block[..length]),
                None => stream.write(&block[..length]),
            };
            sent += taken.context("sending")? as u64;
        }
        stream.shutdown(Shutdown::Write).context("ending the transfer")?;
        if let Some(zero_copy) = zero_copy {
            figures.zero_copy += zero_copy.finish(stream)?;
        }
        Ok(sent)
    }

    /// Waits until the receiver has read everything, and returns its number of bytes. For a transfer, the next call
    /// returns the number that it had read by the end of the flow's duration.
    pub fn confirmation(&self) -> Result<u64> {
        let mut confirmation = [0; 8];
        (&*self.stream).read_exact(&mut confirmation).context("waiting for the receiver's confirmation")?;
        Ok(u64::from_be_bytes(confirmation))
    }
}

/// Reads a transfer to its end. Confirms its number of bytes, and the number of those that had been read by the end of
/// the flow's duration.
pub fn receive(mut stream: &TcpStream, side: &Side) -> Result<()> {
    let mut block = vec![0; block_bytes(&side.flow.socket)?];
    let reader = Reader::new(stream, &side.flow.socket);
    let mut told = [0; END_BYTES];
    reader.read_exact(&mut told).context("receiving the end of the flow's duration")?;
    let end_ns = end_ns(told);
    let (mut received, mut has_ended) = match side.virtual_time && reader.is_plain() {
        true => receive_blocks(stream, side, &mut block, end_ns)?,
        false => (0, false),
    };
    let mut in_time = received;
    while !has_ended {
        let count = reader.read(&mut block).context("receiving")?;
        has_ended = count == 0;
        received += count as u64;
        if !has_ended && platform::now_ns() <= end_ns {
            in_time = received;
        }
    }
    let counts = [received.to_be_bytes(), in_time.to_be_bytes()].concat();
    stream.write_all(&counts).context("confirming the transfer")?;
    linger(side);
    Ok(())
}

/// Reads whole blocks until shortly before `end_ns`, and returns the number of bytes, and whether the stream has ended.
/// In virtual time it makes no difference whether the kernel or this program waits for the next segment, but each
/// return to a program costs more than all of TCP for that segment.
fn receive_blocks(stream: &TcpStream, side: &Side, block: &mut [u8], end_ns: u64) -> Result<(u64, bool)> {
    let (patience, mut received) = (side.patience(), 0);
    loop {
        let left = Duration::from_nanos(end_ns.saturating_sub(LAST_NS).saturating_sub(platform::now_ns()));
        if left.is_zero() {
            stream.set_read_timeout(Some(patience))?;
            return Ok((received, false));
        }
        stream.set_read_timeout(Some(left.min(patience)))?;
        match platform::receive_full(stream, block) {
            Ok(0) => return Ok((received, true)),
            Ok(count) => received += count as u64,
            Err(error) if error.kind() == ErrorKind::TimedOut && left < patience => {}
            Err(error) => return Err(error).context("receiving"),
        }
    }
}

/// Keeps an MPTCP connection open until its sender has read the kernel's counters.
pub fn linger(side: &Side) {
    if side.flow.transport == Transport::Mptcp {
        std::thread::sleep(LINGER);
    }
}

fn block_bytes(options: &SocketOptions) -> Result<usize> {
    Ok(usize::try_from(options.block.map_or(BLOCK_BYTES, |block| block.0))?)
}
