//! Captures a channel: the transmissions of its stations in the medium, with the frames that the stations received
//! to send.

use super::frames::Frames;
use crate::delay_line::wall_offset_ns;
use crate::error::{Error, Result};
use crate::packet_socket::OFFLOAD_HEADER_BYTES;
use nettrial_capture::{Capture, LinkType};
use nettrial_scenario::{Capture as Settings, Link};
use nettrial_wlan::{Sent, Sniffer};
use std::path::Path;

/// The sniffer of a channel and its file.
pub struct Sniffing {
    sniffer: Sniffer,
    file: Capture,
    /// The time of the wall clock minus that of the monotonic clock when the capture began, in nanoseconds.
    offset_ns: u64,
    failure: Option<Error>,
}

impl Sniffing {
    /// Creates the capture of a channel between stations with these Ethernet addresses, if `settings` request it.
    pub fn new(settings: &Settings, link: &Link, addresses: Vec<[u8; 6]>) -> Result<Option<Self>> {
        let wlan = link
            .wlan
            .as_ref()
            .ok_or_else(|| Error::Missing(format!("{} has no settings", link.in_words())))?;
        let Some(first) = link.interfaces.first() else { return Ok(None) };
        let Some(interface) = settings.channel(&first.node, &first.name) else { return Ok(None) };
        let (directory, name) = (Path::new(&settings.directory), settings.file_name(&first.node, &interface));
        let snap_bytes = settings.snap_bytes as usize;
        let most = snap_bytes + Sniffer::HEADER_BYTES;
        Ok(Some(Self {
            sniffer: Sniffer::new(wlan, addresses, snap_bytes),
            file: Capture::create(directory, &name, &interface, LinkType::Radiotap, most)?,
            offset_ns: wall_offset_ns(),
            failure: None,
        }))
    }

    /// Captures the transmissions of `frames` on a medium whose time is 0 at `began_ns` of the monotonic clock.
    pub fn take(&mut self, began_ns: u64, sent: &[Sent], frames: &Frames) {
        for each in sent {
            let at_ns = began_ns + self.offset_ns + each.at_ps / 1000;
            let ethernet = |tag: u32, out: &mut Vec<u8>| {
                out.extend(frames.get(tag).bytes.get(OFFLOAD_HEADER_BYTES..).unwrap_or_default());
            };
            self.sniffer.write(each, ethernet, |length, bytes| self.file.add(at_ns, length, bytes));
            let written = self.file.release(at_ns);
            self.failure = self.failure.take().or(written.err().map(Error::from));
        }
    }

    /// Completes the file, and returns the number of its frames.
    pub fn finish(self) -> Result<u64> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let frames = self.file.packets();
        Ok(self.file.finish().map(|_| frames)?)
    }
}
