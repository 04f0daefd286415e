//! Bulk transfers over TCP and MPTCP.

use crate::flow_record::Figures;
use crate::platform::{self, ZeroCopy};
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::waiting::Reader;
use anyhow::{Context, Result, ensure};
use nettrial_scenario::{SocketOptions, Transfer, Transport};
use std::io::{Read, Write};
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

/// Sends the flow's transfers and gathers their figures.
pub fn send(side: &Side, transfer: &Transfer, destination: SocketAddr, sampler: &Sampler) -> Result<Figures> {
    let mut figures = Figures::default();
    let deadline = transfer.duration.map(|duration| Instant::now() + duration.as_std());
    let block = vec![0; block_bytes(&side.flow.socket)?];
    loop {
        let begin = Instant::now();
        let sender = Sender::open(side, destination, sampler, &mut figures)?;
        let sent = sender.send(&block, transfer, deadline, &mut figures)?;
        let received = sender.confirmation()?;
        figures.active += sender.first_write.elapsed();
        ensure!(received == sent, "the receiver read {received} bytes of the {sent} that were sent");
        sampler.closing()?;
        figures.bytes += sent;
        if transfer.size.is_some() {
            figures.completion.record(u64::try_from(begin.elapsed().as_nanos())?);
        }
        let again = transfer.size.is_some() && deadline.is_some_and(|deadline| Instant::now() < deadline);
        if !again {
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

    /// Sends `block` repeatedly until the transfer's size or its end is reached. Returns the number of bytes.
    fn send(
        &self,
        block: &[u8],
        transfer: &Transfer,
        deadline: Option<Instant>,
        figures: &mut Figures,
    ) -> Result<u64> {
        let mut stream = &*self.stream;
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

    /// Waits until the receiver has read everything, and returns its number of bytes.
    pub fn confirmation(&self) -> Result<u64> {
        let mut confirmation = [0; 8];
        (&*self.stream).read_exact(&mut confirmation).context("waiting for the receiver's confirmation")?;
        Ok(u64::from_be_bytes(confirmation))
    }
}

/// Reads a transfer to its end and confirms its number of bytes.
pub fn receive(mut stream: &TcpStream, side: &Side) -> Result<()> {
    let mut block = vec![0; block_bytes(&side.flow.socket)?];
    let reader = Reader::new(stream, &side.flow.socket);
    let mut received: u64 = 0;
    loop {
        match reader.read(&mut block).context("receiving")? {
            0 => break,
            count => received += count as u64,
        }
    }
    stream.write_all(&received.to_be_bytes()).context("confirming the transfer")?;
    linger(side);
    Ok(())
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
