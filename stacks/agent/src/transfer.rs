//! Bulk transfers over TCP, with the bytes of `engine/traffic/src/transfer.rs`.

use crate::Context;
use crate::connection::Connection;
use crate::host::Host;
use crate::stack::Stack;
use nettrial_scenario::{SocketOptions, Transfer};
use nettrial_traffic::parts::{Cut, END_BYTES, Figures, Samples, end_ns, told_end};
use nettrial_traffic::{Error, Result, Side, now_ns};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes of a read or a write, unless the flow has a setting for it.
const BLOCK_BYTES: u64 = 128 << 10;

/// Sends the flow's transfers and gathers their figures.
pub fn send<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    transfer: &Transfer,
    destination: SocketAddr,
    samples: &mut Samples,
) -> Result<Figures> {
    let mut figures = Figures::default();
    let deadline = transfer.duration.map(|duration| Instant::now() + duration.as_std());
    let block = vec![0; block_bytes(&side.flow.socket)?];
    let (mut active_in_time, mut bytes_in_time) = (Duration::ZERO, 0);
    loop {
        let begin = Instant::now();
        let made = Connection::carry(host, side, destination, &mut figures)?;
        let first_write = Instant::now();
        let sent = send_blocks(&made, side, &block, transfer, deadline)?;
        let mut confirmation = [0; 16];
        made.read_exact(&mut confirmation).context("waiting for the receiver's confirmation")?;
        let end = Instant::now();
        let (numbers, _) = confirmation.as_chunks::<8>();
        let [received, in_time] = [0, 1].map(|index: usize| u64::from_be_bytes(numbers[index]));
        bytes_in_time += in_time;
        figures.active += end - first_write;
        figures.ended = Some(end);
        // If no connection opened in time, nothing arrived in all of the duration.
        let is_late = deadline.is_some_and(|deadline| first_write >= deadline);
        let from = if is_late && figures.began.is_none() { begin } else { first_write };
        figures.began.get_or_insert(from);
        let until = deadline.map_or(end, |deadline| end.min(deadline));
        active_in_time += until.saturating_duration_since(from);
        if received != sent {
            return Err(Error::Peer(format!(
                "the receiver read {received} bytes of the {sent} that were sent"
            )));
        }
        close(made, samples);
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

/// Adds to `samples` what the frames of a connection say, which the other end has closed or is about to, and closes it.
pub fn close<S: Stack>(made: Connection<S>, samples: &mut Samples) {
    // The other end's last segment is acknowledged first.
    let _ = made.read(&mut [0]);
    let counts = made.counts();
    samples.weight += counts.weight;
    samples.retransmissions_pkts += counts.retransmissions;
    samples.peer_window_bytes = samples.peer_window_bytes.max(Some(counts.peer_window_bytes));
    samples.mss_bytes = made.segment_bytes(&counts).unwrap_or(0);
}

/// Tells the receiver when the flow's duration ends, and sends `block` repeatedly until the transfer's size or its end is
/// reached. Returns the number of bytes.
fn send_blocks<S: Stack>(
    made: &Connection<S>,
    side: &Side,
    block: &[u8],
    transfer: &Transfer,
    deadline: Option<Instant>,
) -> Result<u64> {
    made.write_all(&told_end(side, deadline)).context("telling the receiver when the flow ends")?;
    let mut sent = 0;
    let is_over = |sent: u64| match transfer.size {
        Some(size) => sent >= size.0,
        None => deadline.is_none_or(|deadline| Instant::now() >= deadline),
    };
    while !is_over(sent) {
        let left = transfer.size.map_or(u64::MAX, |size| size.0 - sent);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        sent += made.write(&block[..length]).context("sending")? as u64;
    }
    made.finish();
    Ok(sent)
}

/// Reads a transfer to its end. Confirms its number of bytes, and the number of those that had been read by the end of the
/// flow's duration.
pub fn receive<S: Stack>(made: &Connection<S>, side: &Side) -> Result<()> {
    let mut block = vec![0; block_bytes(&side.flow.socket)?];
    let mut told = [0; END_BYTES];
    made.read_exact(&mut told).context("receiving the end of the flow's duration")?;
    let end_ns = end_ns(told);
    let (mut received, mut in_time) = (0u64, 0);
    loop {
        let count = made.read(&mut block).context("receiving")?;
        if count == 0 {
            break;
        }
        received += count as u64;
        if now_ns() <= end_ns {
            in_time = received;
        }
    }
    let counts = [received.to_be_bytes(), in_time.to_be_bytes()].concat();
    made.write_all(&counts).context("confirming the transfer")
}

fn block_bytes(options: &SocketOptions) -> Result<usize> {
    Ok(usize::try_from(options.block.map_or(BLOCK_BYTES, |block| block.0))?)
}
