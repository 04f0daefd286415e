//! A sweep over TCP or MPTCP.

use super::{Line, Reply};
use crate::error::{Context, Error, Result};
use crate::flow_record::Figures;
use crate::message::{HEADER_BYTES, Header};
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::waiting::Reader;
use nettrial_scenario::{Answer, SocketOptions, Sweep};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

/// The sweep's connection.
pub struct Connected {
    stream: Arc<TcpStream>,
    options: SocketOptions,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Connected {
    /// Opens the connection.
    pub fn open(
        side: &Side,
        sweep: &Sweep,
        destination: SocketAddr,
        sampler: &Sampler,
        figures: &mut Figures,
    ) -> Result<Self> {
        let stream = figures.connect(side, destination, sampler)?;
        let largest = usize::try_from(sweep.last.0)?;
        Ok(Self { stream, options: side.flow.socket, message: vec![0; largest], answer: vec![0; largest] })
    }
}

impl Line for Connected {
    fn request(&mut self, number: u64, size: usize, answer: usize) -> Result<Reply> {
        let begin = Instant::now();
        Header { number, sent_ns: 0, third: size as u64 }.put(&mut self.message);
        (&*self.stream).write_all(&self.message[..size]).context("sending a request")?;
        let reader = Reader::new(&*self.stream, &self.options);
        reader.read_exact(&mut self.answer[..answer]).context("waiting for an answer")?;
        let rtt_ns = u64::try_from(begin.elapsed().as_nanos())?;
        let header = Header::get(&self.answer[..answer])
            .ok_or_else(|| Error::Peer("an answer without a header".into()))?;
        if header.number != number {
            return Err(Error::Peer("an answer to another request came".into()));
        }
        Ok(Reply { rtt_ns, resent: 0 })
    }
}

/// Answers the requests of a connection until it is closed.
pub fn respond(mut stream: &TcpStream, side: &Side, sweep: &Sweep) -> Result<()> {
    let largest = usize::try_from(sweep.last.0)?;
    let reader = Reader::new(stream, &side.flow.socket);
    let mut message = vec![0; largest];
    loop {
        let mut filled = 0;
        while filled < HEADER_BYTES {
            match reader.read(&mut message[filled..]) {
                Ok(0) => return Ok(()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error).context("waiting for a request"),
            }
        }
        let header = Header::get(&message).ok_or_else(|| Error::Peer("a request without a header".into()))?;
        let size = usize::try_from(header.third).unwrap_or(usize::MAX);
        if !(HEADER_BYTES..=largest).contains(&size) {
            return Err(Error::Peer(format!("a request claims to have {size} bytes")));
        }
        if filled > size {
            return Err(Error::Peer("a request came before the one before it was answered".into()));
        }
        reader.read_exact(&mut message[filled..size]).context("reading a request")?;
        let answer = if sweep.answer == Answer::Echo { size } else { HEADER_BYTES };
        stream.write_all(&message[..answer]).context("sending an answer")?;
    }
}
