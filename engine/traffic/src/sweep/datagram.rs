//! A sweep over UDP. Requests and answers may be lost, and are fragmented if they exceed the path MTU.

use super::{Line, Reply};
use crate::datagram;
use crate::error::{Context, Error, Result};
use crate::message::{HEADER_BYTES, Header};
use crate::platform;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::waiting::Reader;
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Answer, IpVersion, SocketOptions, Sweep};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The sweep's socket.
pub struct Connected {
    socket: UdpSocket,
    ip: IpVersion,
    /// The path MTU in bytes, if the system reports it.
    mtu: Option<u64>,
    options: SocketOptions,
    /// The time after which an unanswered request is retransmitted.
    again_after: Duration,
    /// The time after which an unanswered request ends the flow.
    patience: Duration,
    bytes_sent: Arc<AtomicU64>,
    weight: Weight,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Connected {
    /// Opens the socket.
    pub fn open(side: &Side, sweep: &Sweep, destination: SocketAddr, sampler: &Sampler) -> Result<Self> {
        let socket = datagram::connect(side, destination)?;
        let again_after = side.waits().again_after().as_std();
        socket.set_read_timeout(Some(again_after))?;
        let ip = side.flow.ip;
        Ok(Self {
            mtu: platform::path_mtu(&socket).context("reading the path MTU")?,
            socket,
            ip,
            options: side.flow.socket,
            again_after,
            patience: side.patience(),
            bytes_sent: sampler.datagram_bytes(),
            weight: Weight::default(),
            message: vec![0; usize::try_from(sweep.last.0)?],
            answer: vec![0; datagram::LARGEST_BYTES],
        })
    }

    /// Returns the bytes of the datagrams sent, by layer.
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// Returns true if the answer of `length` bytes to request `number` arrives in time. Answers to other requests
    /// are late or duplicates.
    fn answered(&mut self, number: u64, length: usize, sent: Instant) -> Result<bool> {
        let reader = Reader::new(&self.socket, &self.options);
        while sent.elapsed() < self.again_after {
            match reader.read(&mut self.answer) {
                Ok(count) if count == length => {
                    if Header::get(&self.answer[..count]).is_some_and(|header| header.number == number) {
                        return Ok(true);
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                Err(error) => return Err(error).context("waiting for an answer"),
            }
        }
        Ok(false)
    }
}

impl Line for Connected {
    fn request(&mut self, number: u64, size: usize, answer: usize) -> Result<Reply> {
        let begin = Instant::now();
        Header { number, sent_ns: 0, third: size as u64 }.put(&mut self.message);
        let mut resent = 0;
        let mut sent = begin;
        loop {
            self.socket.send(&self.message[..size]).context("sending a request")?;
            self.bytes_sent.fetch_add(size as u64, Ordering::Relaxed);
            if let Some(mtu) = self.mtu {
                self.weight.add_datagram(size as u64, mtu, self.ip);
            }
            if self.answered(number, answer, sent)? {
                return Ok(Reply { rtt_ns: u64::try_from(begin.elapsed().as_nanos())?, resent });
            }
            if begin.elapsed() >= self.patience {
                return Err(Error::TimedOut(format!(
                    "a request of {size} bytes was sent {} times and never answered",
                    resent + 1
                )));
            }
            resent += 1;
            sent = Instant::now();
        }
    }
}

/// Answers the requests of one sender until none arrives any more.
pub fn respond(socket: &UdpSocket, side: &Side, sweep: &Sweep) -> Result<()> {
    socket.set_read_timeout(Some(side.patience()))?;
    let reader = Reader::new(socket, &side.flow.socket);
    let mut message = vec![0; datagram::LARGEST_BYTES];
    loop {
        match reader.read(&mut message) {
            Ok(length) => {
                let header = Header::get(&message[..length]);
                if header.is_none_or(|header| header.third != length as u64) {
                    continue;
                }
                let answer = if sweep.answer == Answer::Echo { length } else { HEADER_BYTES };
                // An answer that is lost here counts as one that is lost on the path.
                let _ = socket.send(&message[..answer]);
            }
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::ConnectionRefused) => {
                return Ok(());
            }
            Err(error) => return Err(error).context("waiting for a request"),
        }
    }
}
