//! Sweeps over TCP and UDP, with the bytes of `engine/traffic/src/sweep`.

use crate::Context;
use crate::connection::Connection;
use crate::datagram::{self, Socket};
use crate::host::Host;
use crate::stack::Stack;
use crate::transfer::close;
use nettrial_flows::sweep::Reply;
use nettrial_scenario::{Answer, Sweep, Transport};
use nettrial_traffic::parts::{Figures, HEADER_BYTES, Header, LARGEST_BYTES, Line, Samples, measure_all};
use nettrial_traffic::{Error, Result, Side};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the flow's sweep and gathers its figures.
pub fn run<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    sweep: &Sweep,
    destination: SocketAddr,
    samples: &mut Samples,
) -> Result<Figures> {
    let mut figures = Figures::default();
    let message = vec![0; usize::try_from(sweep.last.0)?];
    let begin;
    if side.flow.transport == Transport::Udp {
        let mut line = Datagrams {
            socket: datagram::connect(host, side, destination)?,
            again_after: side.waits().again_after().as_std(),
            patience: side.patience(),
            message,
            answer: vec![0; LARGEST_BYTES],
        };
        begin = Instant::now();
        measure_all(&mut line, sweep, &mut figures)?;
        figures.active = begin.elapsed();
        figures.weight = line.socket.weight();
    } else {
        let made = Connection::carry(host, side, destination, &mut figures)?;
        let mut line = Stream { made, message };
        begin = Instant::now();
        measure_all(&mut line, sweep, &mut figures)?;
        figures.active = begin.elapsed();
        line.made.finish();
        close(line.made, samples);
    }
    figures.began = Some(begin);
    Ok(figures)
}

/// A connection with requests and their answers.
struct Stream<S: Stack> {
    made: Connection<S>,
    message: Vec<u8>,
}

impl<S: Stack> Line for Stream<S> {
    fn request(&mut self, number: u64, size: usize, answer: usize) -> Result<Reply> {
        let begin = Instant::now();
        Header { number, sent_ns: 0, third: size as u64 }.put(&mut self.message);
        self.made.write_all(&self.message[..size]).context("sending a request")?;
        self.made.read_exact(&mut self.message[..answer]).context("waiting for an answer")?;
        let rtt_ns = u64::try_from(begin.elapsed().as_nanos())?;
        match Header::get(&self.message[..answer]) {
            Some(header) if header.number == number => Ok(Reply { rtt_ns, resent: 0 }),
            _ => Err(Error::Peer("an answer to another request came".into())),
        }
    }
}

/// A UDP socket with requests and their answers, which may be lost, and are fragmented if they exceed the path MTU.
struct Datagrams<S: Stack> {
    socket: Socket<S>,
    again_after: Duration,
    patience: Duration,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl<S: Stack> Line for Datagrams<S> {
    fn request(&mut self, number: u64, size: usize, answer: usize) -> Result<Reply> {
        let begin = Instant::now();
        Header { number, sent_ns: 0, third: size as u64 }.put(&mut self.message);
        let mut resent = 0;
        loop {
            let sent = Instant::now();
            self.socket.send(&self.message[..size]).context("sending a request")?;
            // Answers to other requests are late or duplicates.
            while let Some(left) = self.again_after.checked_sub(sent.elapsed()) {
                let Some(count) = self.socket.receive(&mut self.answer, left) else { break };
                let header = Header::get(&self.answer[..count]);
                if count == answer && header.is_some_and(|header| header.number == number) {
                    return Ok(Reply { rtt_ns: u64::try_from(begin.elapsed().as_nanos())?, resent });
                }
            }
            resent += 1;
            if begin.elapsed() >= self.patience {
                return Err(Error::TimedOut(format!(
                    "a request of {size} bytes was sent {resent} times and never answered"
                )));
            }
        }
    }
}

/// Answers the requests of a connection until it is closed.
pub fn respond<S: Stack>(made: &Connection<S>, sweep: &Sweep) -> Result<()> {
    let largest = usize::try_from(sweep.last.0)?.max(HEADER_BYTES);
    let mut message = vec![0; largest];
    loop {
        let mut filled = 0;
        while filled < HEADER_BYTES {
            match made.read(&mut message[filled..HEADER_BYTES]) {
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
        made.read_exact(&mut message[HEADER_BYTES..size]).context("reading a request")?;
        let answer = if sweep.answer == Answer::Echo { size } else { HEADER_BYTES };
        made.write_all(&message[..answer]).context("sending an answer")?;
    }
}

/// Answers the requests of one sender until none arrives any more.
pub fn respond_to_datagrams<S: Stack>(socket: &Socket<S>, side: &Side, sweep: &Sweep) -> Result<()> {
    let mut message = vec![0; LARGEST_BYTES];
    while let Some(length) = socket.receive(&mut message, side.patience()) {
        if Header::get(&message[..length]).is_some_and(|header| header.third == length as u64) {
            let answer = if sweep.answer == Answer::Echo { length } else { HEADER_BYTES };
            // An answer that is lost here counts as one that is lost on the path.
            let _ = socket.send(&message[..answer]);
        }
    }
    Ok(())
}
