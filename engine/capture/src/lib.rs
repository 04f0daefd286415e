//! Writes the packets of one interface, or of a radio channel, as a pcapng file (draft-ietf-opsawg-pcapng), with nanosecond timestamps.
//!
//! A growing file is called `NAME.pcapng.partial`, so that a file called `NAME.pcapng` is always whole. Packets
//! may be added out of order as long as none is older than the packets already released, because a simulator knows
//! of departures before their time. The file is in order of time.

#![forbid(unsafe_code)]

mod error;

pub use error::{Action, Error, Result};

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The extension of a finished file.
pub const EXTENSION: &str = "pcapng";
/// The end of a file's name while it grows.
pub const PARTIAL: &str = ".partial";

/// The header with which the frames of a file begin (<https://www.tcpdump.org/linktypes.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet = 1,
    /// A radiotap header and an 802.11 header.
    Radiotap = 127,
}

/// Block types: section header, interface description, enhanced packet.
const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Options of an interface description: its name, and the resolution of its timestamps (9: nanoseconds).
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;
/// Option of a section header: the program that wrote it.
const USER_APPLICATION: u16 = 4;

/// A packet that waits for its turn, ordered by time and then by arrival.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    time_ns: u64,
    order: u64,
    length: u32,
    bytes: Vec<u8>,
}

/// The capture file of one interface.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    file: BufWriter<File>,
    snap_bytes: usize,
    waiting: BinaryHeap<Reverse<Waiting>>,
    packets: u64,
}

impl Capture {
    /// Creates `DIRECTORY/NAME.pcapng.partial` for the interface `interface`, whose frames begin with the header
    /// `link_type`. The first `snap_bytes` bytes of each frame are kept, this header included.
    ///
    /// # Errors
    /// Fails if the file can't be created or written.
    pub fn create(
        directory: &Path,
        name: &str,
        interface: &str,
        link_type: LinkType,
        snap_bytes: usize,
    ) -> Result<Self> {
        let path = directory.join(format!("{name}.{EXTENSION}"));
        let partial = partial(&path);
        let file = create(&partial).map_err(Action::Creating.failed(&partial))?;
        let mut new =
            Self { path, file: BufWriter::new(file), snap_bytes, waiting: BinaryHeap::new(), packets: 0 };
        new.begin(interface, link_type).map_err(Action::Writing.failed(&partial))?;
        Ok(new)
    }

    /// Returns the number of bytes that are kept of each packet.
    pub fn snap_bytes(&self) -> usize {
        self.snap_bytes
    }

    /// Returns the number of packets added.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Adds a packet of `length` bytes at `time_ns`, nanoseconds since 1970 or since the trial's start. `bytes`
    /// are its first bytes, of which at most [`Capture::snap_bytes`] are kept.
    pub fn add(&mut self, time_ns: u64, length: usize, bytes: &[u8]) {
        let kept = bytes[..bytes.len().min(self.snap_bytes)].to_vec();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.waiting.push(Reverse(Waiting { time_ns, order: self.packets, length, bytes: kept }));
        self.packets += 1;
    }

    /// Writes every packet whose time is at most `time_ns`. Later calls of [`Capture::add`] must not add older
    /// packets.
    ///
    /// # Errors
    /// Fails if the file can't be written.
    pub fn release(&mut self, time_ns: u64) -> Result<()> {
        while self.waiting.peek().is_some_and(|Reverse(next)| next.time_ns <= time_ns) {
            if let Some(Reverse(packet)) = self.waiting.pop() {
                self.write(&packet).map_err(Action::Writing.failed(&partial(&self.path)))?;
            }
        }
        Ok(())
    }

    /// Writes all waiting packets, renames the file to its final name, and returns that name.
    ///
    /// # Errors
    /// Fails if the file can't be written or renamed.
    pub fn finish(mut self) -> Result<PathBuf> {
        self.release(u64::MAX)?;
        let partial = partial(&self.path);
        self.file.flush().map_err(Action::Writing.failed(&partial))?;
        fs::rename(&partial, &self.path).map_err(Action::Renaming.failed(&partial))?;
        Ok(self.path)
    }

    fn begin(&mut self, interface: &str, link_type: LinkType) -> io::Result<()> {
        let mut section = Vec::new();
        section.extend(0x1A2B_3C4D_u32.to_le_bytes());
        section.extend(1_u16.to_le_bytes());
        section.extend(0_u16.to_le_bytes());
        section.extend(u64::MAX.to_le_bytes()); // length not stated
        option(&mut section, USER_APPLICATION, concat!("nettrial ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(&mut section, 0, &[]);
        block(&mut self.file, SECTION, &section)?;
        let mut description = Vec::new();
        description.extend((link_type as u16).to_le_bytes());
        description.extend(0_u16.to_le_bytes());
        description.extend(u32::try_from(self.snap_bytes).unwrap_or(u32::MAX).to_le_bytes());
        option(&mut description, IF_NAME, interface.as_bytes());
        option(&mut description, IF_TSRESOL, &[NANOSECONDS]);
        option(&mut description, 0, &[]);
        block(&mut self.file, INTERFACE, &description)
    }

    fn write(&mut self, packet: &Waiting) -> io::Result<()> {
        let mut body = Vec::with_capacity(packet.bytes.len() + 24);
        body.extend(0_u32.to_le_bytes()); // the file's only interface
        body.extend(u32::try_from(packet.time_ns >> 32).unwrap_or(u32::MAX).to_le_bytes());
        body.extend((packet.time_ns as u32).to_le_bytes());
        body.extend(u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        body.extend(packet.length.to_le_bytes());
        body.extend(&packet.bytes);
        pad(&mut body);
        block(&mut self.file, PACKET, &body)
    }
}

/// Creates a file in the place of one that an earlier process left. A link of this name, with which the maker of
/// the directory could lead to any file, is removed and not followed.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(path),
    }
}

/// Returns the name of `path` while the file grows.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PARTIAL);
    name.into()
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(&value[..usize::from(length)]);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let total = u32::try_from(body.len() + 12).map_err(io::Error::other)?.to_le_bytes();
    for part in [&kind.to_le_bytes(), &total, body, &total] {
        out.write_all(part)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet_times(file: &[u8]) -> Vec<u64> {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let (mut at, mut times) = (0, Vec::new());
        while at < file.len() {
            if word(at) == PACKET {
                times.push(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
            }
            let length = word(at + 4);
            assert_eq!(length, word(at + length as usize - 4), "a block's two lengths agree");
            at += length as usize;
        }
        times
    }

    #[test]
    fn packets_are_written_in_order_of_time_and_cut_to_the_snap_length() {
        let directory = std::env::temp_dir().join(format!("nettrial-capture-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut capture = Capture::create(&directory, "one", "a-b", LinkType::Ethernet, 60).unwrap();
        for time_ns in [5_000_000_000, 3, 4, 3] {
            capture.add(time_ns, 1514, &[7; 100]);
        }
        capture.release(3).unwrap();
        assert!(!directory.join("one.pcapng").exists(), "a file that grows has another name");
        let path = capture.finish().unwrap();
        let file = fs::read(&path).unwrap();
        assert_eq!(packet_times(&file), [3, 3, 4, 5_000_000_000]);
        assert_eq!(file.windows(60).filter(|bytes| bytes == &[7; 60]).count(), 4);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_replaced_and_not_followed() {
        let directory = std::env::temp_dir().join(format!("nettrial-capture-link-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let other = directory.join("other");
        fs::write(&other, "somebody's").unwrap();
        for name in ["one.pcapng.partial", "one.pcapng"] {
            std::os::unix::fs::symlink(&other, directory.join(name)).unwrap();
        }
        let capture = Capture::create(&directory, "one", "a-b", LinkType::Ethernet, 60).unwrap();
        let path = capture.finish().unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "somebody's");
        assert!(fs::symlink_metadata(path).unwrap().is_file());
        fs::remove_dir_all(&directory).unwrap();
    }
}
