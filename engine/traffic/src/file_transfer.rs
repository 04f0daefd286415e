//! Transfers of files over TCP and MPTCP, from the sender's disk to a file of the receiver that has no name.

use crate::error::{Context, Error, Result};
use crate::flow_record::Figures;
use crate::platform;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::transfer::{Sender, linger};
use crate::waiting::Reader;
use crc32fast::Hasher;
use nettrial_scenario::FileTransfer;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Instant;

/// The bytes read or written at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// Opens the file of a transfer, and returns it with its size in bytes. Other kinds of files are not opened, because
/// that could take forever: a FIFO waits for its writer.
pub fn open(transfer: &FileTransfer) -> Result<(File, u64)> {
    let path = &transfer.file;
    let about = fs::metadata(path).with_context(|| format!("opening the file {path:?}"))?;
    if !about.is_file() {
        return Err(Error::File(format!("{path:?} is no regular file")));
    }
    let file = File::open(path).with_context(|| format!("opening the file {path:?}"))?;
    let about = file.metadata().with_context(|| format!("looking at the file {path:?}"))?;
    Ok((file, about.len()))
}

/// Sends the flow's file and gathers its figures. The checksum is computed after the transfer's time has been
/// taken.
pub fn send(
    side: &Side,
    transfer: &FileTransfer,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut figures = Figures::default();
    let (mut file, size) = open(transfer)?;
    let begin = Instant::now();
    let sender = Sender::open(side, destination, sampler, &mut figures)?;
    let mut left = size;
    while left > 0 {
        match platform::send_file(&sender.stream, &mut file, left).context("sending the file")? {
            0 => {
                return Err(Error::File(format!(
                    "the file {:?} became shorter while it was sent",
                    transfer.file
                )));
            }
            count => left -= count,
        }
    }
    sender.stream.shutdown(Shutdown::Write).context("ending the transfer")?;
    let received = sender.confirmation()?;
    figures.active = sender.first_write.elapsed();
    figures.began = Some(sender.first_write);
    figures.completion.record(u64::try_from(begin.elapsed().as_nanos())?);
    sampler.closing()?;
    if received != size {
        return Err(Error::Peer(format!(
            "the receiver wrote {received} bytes of the {size} of {:?}",
            transfer.file
        )));
    }

    let theirs = u32::try_from(sender.confirmation()?)?;
    io::Seek::rewind(&mut file)?;
    let ours = checksum(&mut file, size)?;
    if ours != theirs {
        return Err(Error::Peer(format!(
            "the receiver's copy of {:?} has the checksum {theirs:08x}, the sender's {ours:08x}",
            transfer.file
        )));
    }
    figures.bytes = size;
    Ok(figures)
}

/// Writes a file as it arrives, confirms the number of bytes written, and then sends the checksum of the file.
pub fn receive(mut stream: &TcpStream, side: &Side) -> Result<()> {
    let reader = Reader::new(stream, &side.flow.socket);
    let mut file = platform::nameless_file().context("opening a temporary file for what is received")?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut received: u64 = 0;
    loop {
        match reader.read(&mut block).context("receiving a file")? {
            0 => break,
            count => {
                file.write_all(&block[..count]).context("writing what is received to a temporary file")?;
                received += count as u64;
            }
        }
    }
    stream.write_all(&received.to_be_bytes()).context("confirming the transfer")?;
    io::Seek::rewind(&mut file)?;
    let checksum = checksum(&mut file, received)?;
    stream.write_all(&u64::from(checksum).to_be_bytes()).context("confirming the file's contents")?;
    linger(side);
    Ok(())
}

/// Returns the CRC-32 (IEEE 802.3) of the first `size` bytes of `file`.
fn checksum(file: &mut File, size: u64) -> Result<u32> {
    let mut hasher = Hasher::new();
    let mut block = vec![0; BLOCK_BYTES];
    let mut rest = file.take(size);
    loop {
        match rest.read(&mut block).context("reading a file for its checksum")? {
            0 => return Ok(hasher.finalize()),
            count => hasher.update(&block[..count]),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_that_is_none_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("nettrial-fifo-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for file in [path.to_str().unwrap(), "/dev/zero", "/dev"] {
            let transfer = serde_json::from_value(json!({"file": file})).unwrap();
            let error = open(&transfer).unwrap_err().to_string();
            assert_eq!(error, format!("{file:?} is no regular file"));
        }
        fs::remove_file(path).unwrap();
    }
}
