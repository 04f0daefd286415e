//! Bulk transfers over TCP.

use crate::cookie::Purpose;
use crate::figures::Figures;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::tcp;
use anyhow::{Context, Result, ensure};
use nettrial_scenario::Transfer;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

/// Bytes handed to the kernel, or taken from it, at a time.
const BLOCK_BYTES: usize = 128 << 10;

/// Sends the flow's transfers and gathers their figures.
pub fn send(side: &Side, transfer: &Transfer, destination: SocketAddr, sampler: &Sampler) -> Result<Figures> {
    let mut figures = Figures::default();
    let deadline = transfer.duration.map(|duration| Instant::now() + duration.as_std());
    loop {
        send_one(side, transfer, deadline, destination, sampler, &mut figures)?;
        let again = transfer.size.is_some() && deadline.is_some_and(|deadline| Instant::now() < deadline);
        if !again {
            return Ok(figures);
        }
    }
}

fn send_one(
    side: &Side,
    transfer: &Transfer,
    deadline: Option<Instant>,
    destination: SocketAddr,
    sampler: &Sampler,
    figures: &mut Figures,
) -> Result<()> {
    let begin = Instant::now();
    let (stream, connect_time) = tcp::connect(side, destination, Purpose::Traffic)?;
    let stream = Arc::new(stream);
    sampler.opened(Arc::clone(&stream));
    figures.opened(&stream, connect_time)?;

    let first_write = Instant::now();
    let sent = match transfer.size {
        Some(size) => write_bytes(&stream, size.0)?,
        None => write_until(&stream, deadline.context("a transfer without an end")?)?,
    };
    stream.shutdown(Shutdown::Write).context("ending the transfer")?;
    let mut confirmation = [0; 8];
    (&*stream).read_exact(&mut confirmation).context("waiting for the receiver's confirmation")?;
    let active = first_write.elapsed();
    let received = u64::from_be_bytes(confirmation);
    ensure!(received == sent, "the receiver read {received} bytes of the {sent} that were sent");

    sampler.closing()?;
    figures.bytes += sent;
    figures.active += active;
    if transfer.size.is_some() {
        figures.completion.record(u64::try_from(begin.elapsed().as_nanos())?);
    }
    Ok(())
}

fn write_bytes(mut stream: &TcpStream, size: u64) -> Result<u64> {
    let block = [0; BLOCK_BYTES];
    let mut left = size;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        left -= stream.write(&block[..length]).context("sending")? as u64;
    }
    Ok(size)
}

fn write_until(mut stream: &TcpStream, deadline: Instant) -> Result<u64> {
    let block = [0; BLOCK_BYTES];
    let mut sent = 0;
    while Instant::now() < deadline {
        sent += stream.write(&block).context("sending")? as u64;
    }
    Ok(sent)
}

/// Reads a transfer to its end and confirms how many bytes it had.
pub fn receive(mut stream: &TcpStream) -> Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut received: u64 = 0;
    loop {
        match stream.read(&mut block).context("receiving")? {
            0 => break,
            count => received += count as u64,
        }
    }
    stream.write_all(&received.to_be_bytes()).context("confirming the transfer")
}
