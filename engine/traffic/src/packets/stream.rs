//! Packets over TCP and MPTCP. Each is a message, and all messages follow each other on one connection.
//!
//! A message arrives when the read returns that delivers its last byte. The time for which it waited for earlier
//! bytes, and for this program, is part of its delay, as for any program that reads from a stream.

use super::batch::Batch;
use super::header::{HEADER_BYTES, Header, Tag, tag};
use super::read_received;
use super::sender::Carrier;
use crate::error::{Context, Error, Result};
use crate::platform::{self, Datagrams};
use crate::protocol::Side;
use nettrial_flows::arrivals::{Arrivals, Received};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// Bytes read at a time.
pub const READ_BYTES: usize = 256 << 10;

impl Carrier for &TcpStream {
    fn hand_over(&mut self, batch: &mut Batch) -> Result<u64> {
        self.write_all(batch.bytes()).context("sending messages")?;
        Ok(0)
    }
}

/// Ends the sender's side of a connection and reads the receiver's figures.
pub fn finish(stream: &TcpStream) -> Result<Received> {
    stream.shutdown(Shutdown::Write).context("ending the messages")?;
    read_received(stream)
}

/// Receives the messages of up to `largest` bytes of a connection that was admitted, until its end.
pub fn receive(mut stream: &TcpStream, side: &Side, largest: usize) -> Result<()> {
    let mut parser = Parser::new(tag(&side.cookie), largest);
    let mut arrivals = Arrivals::new(side.ahead_ns());
    let mut bytes = vec![0; READ_BYTES];
    // The sender may be silent for the time of its gaps.
    stream.set_read_timeout(None)?;
    loop {
        let count = stream.read(&mut bytes).context("receiving messages")?;
        if count == 0 {
            break;
        }
        let now_ns = platform::now_ns();
        if side.flow.socket.quick_ack {
            platform::acknowledge_at_once(stream).context("acknowledging at once (TCP_QUICKACK)")?;
        }
        parser.take(&bytes[..count], |header| arrivals.packet(header.packet(), now_ns))?;
    }
    let line = serde_json::to_string(&arrivals.figures(arrivals.received(), 0))?;
    stream.write_all(line.as_bytes()).context("telling the figures")?;
    stream.shutdown(Shutdown::Write).context("ending the figures")
}

/// Finds the ends of messages in a stream.
pub struct Parser {
    tag: Tag,
    largest: usize,
    expected: u64,
    header: [u8; HEADER_BYTES],
    /// The bytes of the current message that have arrived, its header included.
    have: usize,
}

impl Parser {
    /// Creates a parser for messages of up to `largest` bytes with this tag.
    pub fn new(tag: Tag, largest: usize) -> Self {
        Self { tag, largest, expected: 0, header: [0; HEADER_BYTES], have: 0 }
    }

    /// Takes the next bytes, and calls `arrived` for each message that they complete.
    ///
    /// # Errors
    /// Fails unless the next message begins where one ended.
    pub fn take(&mut self, mut bytes: &[u8], mut arrived: impl FnMut(&Header)) -> Result<()> {
        while !bytes.is_empty() {
            if self.have < HEADER_BYTES {
                let count = bytes.len().min(HEADER_BYTES - self.have);
                self.header[self.have..self.have + count].copy_from_slice(&bytes[..count]);
                self.have += count;
                bytes = &bytes[count..];
                if self.have < HEADER_BYTES {
                    return Ok(());
                }
            }
            let header = Header::read(&self.header, self.tag)
                .filter(|header| header.length as usize <= self.largest && header.number == self.expected)
                .ok_or_else(|| Error::Peer("the stream does not go on with the next message".into()))?;
            let count = bytes.len().min(header.length as usize - self.have);
            self.have += count;
            bytes = &bytes[count..];
            if self.have == header.length as usize {
                arrived(&header);
                self.have = 0;
                self.expected += 1;
            }
        }
        Ok(())
    }
}

/// Verifies that the receiver read all bytes that were sent.
///
/// # Errors
/// Fails if it read another number of messages.
pub fn verify(sent: u64, received: &Received) -> Result<()> {
    let read = received.packets.received_pkts;
    if read != sent {
        return Err(Error::Peer(format!("the receiver read {read} messages of the {sent} that were sent")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAG: Tag = [9, 8, 7, 6];

    proptest! {
        #[test]
        fn messages_are_found_however_the_stream_is_cut(
            sizes in prop::collection::vec(24usize..200, 1..20), cut in 1usize..90
        ) {
            let mut batch = Batch::new(20, 200, TAG);
            sizes.iter().for_each(|size| batch.add(*size));
            let (mut parser, mut found) = (Parser::new(TAG, 200), Vec::new());
            for piece in batch.bytes().chunks(cut) {
                parser.take(piece, |header| found.push(header.length as usize)).unwrap();
            }
            prop_assert_eq!(found, sizes);
        }

        #[test]
        fn any_bytes_are_taken_or_refused(pieces: Vec<Vec<u8>>) {
            let mut parser = Parser::new(TAG, 1000);
            for piece in pieces {
                if parser.take(&piece, |_| ()).is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_message_out_of_turn_is_refused() {
        let mut batch = Batch::new(2, 100, TAG);
        batch.add(30);
        batch.clear();
        batch.add(30);
        assert!(Parser::new(TAG, 100).take(batch.bytes(), |_| ()).is_err());
        assert!(Parser::new([0; 4], 100).take(batch.bytes(), |_| ()).is_err());
    }
}
