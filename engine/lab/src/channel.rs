//! Radio channels: the medium of [`nettrial_wlan`] between real stacks, driven by the monotonic clock.
//!
//! ```text
//! station ─ veth ─> inner end │ ring ─> medium ─> outlet │ inner end ─ veth ─> another station
//!      the node's own           a namespace of the channels' own
//! ```
//!
//! Every interface of a channel is a veth pair, and one thread moves the frames of all of them. A frame enters the
//! medium at its arrival, according to the kernel's time stamp, and waits there: nothing else on its path has a
//! queue. The thread hands the frame over when the medium has delivered it. The medium's time is that of the clock
//! since the channel was armed, whenever the thread wakes: after a late wake-up all events that were due happen at
//! their own times, in their order, and only the frames are handed over late. Their number and their lateness are
//! counted and recorded.
//!
//! A frame is charged to the socket that sent it for as long as it is at its station ([`held`]), so that senders
//! wait for the radio as for any other interface.
//!
//! Frames to a group (ARP, neighbour discovery, MLD) go to all other stations at once and take no time on the
//! channel, because the medium does not model them. Frames that are for no station of the channel go to the access
//! point.
//!
//! Counting begins when the channel is armed, which is when the traffic starts.

mod driver;
mod frames;
mod held;
mod sniffing;
#[cfg(test)]
mod tests;
mod worker;

use crate::delay_line::{self, Switch};
use crate::error::{Context, Error, Result};
use crate::packet_socket::{Intake, Outlet, Ring, overflow};
use driver::Driver;
#[cfg(fuzzing)]
pub use driver::fuzz;
pub use held::{Held, tap};
use nettrial_scenario::{Capture, ChannelRecord, Link, Wlan, ethernet};
use sniffing::Sniffing;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::{Station, Worker};

/// The number of frames that the ring of an interface holds.
const SLOTS: usize = 4096;
/// The time in which frames that are in a channel before the traffic must have crossed it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interface of a station in the channels' namespace.
pub struct StationInterface {
    /// The index of the inner end of the station's veth pair.
    pub index: i32,
    /// The Ethernet address of the station's own end.
    pub address: Vec<u8>,
    /// The queue that holds the frames of the station's sockets.
    pub held: Option<Held>,
}

/// A radio channel, which moves frames as long as this value lives.
pub struct Channel {
    link: Link,
    switch: Arc<Switch>,
    rings: Vec<OwnedFd>,
    /// Receives a message when the channel begins to count.
    counting: Receiver<()>,
    thread: Option<JoinHandle<(ChannelRecord, Driven, Result<()>)>>,
    /// The Ethernet addresses of the stations, beginning with the access point's.
    addresses: Vec<[u8; 6]>,
    /// The capture of the channel, which begins when the channel is armed; `None` once the thread has taken it.
    sniffing: Arc<Mutex<Option<Sniffing>>>,
}

/// The work of a channel since it was armed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Driven {
    /// The number of frames handed over.
    pub passed_pkts: u64,
    /// The number of frames among them that were handed over more than [`delay_line::LATE_NS`] late.
    pub late_pkts: u64,
    /// The largest lateness of a frame, in nanoseconds.
    pub latest_ns: u64,
    /// The number of frames that the channel's thread could not carry.
    pub lost_pkts: u64,
    /// The number of frames captured on air, if the channel is captured.
    pub captured_pkts: Option<u64>,
}

impl Channel {
    /// Starts the channel of `link`, which has this number in a scenario with this seed. The channel connects
    /// `interfaces` in the calling thread's namespace, beginning with the access point's, and keeps its delays over
    /// time or not. Its thread runs on `processor`, and its sleeps end `early_ns` before the medium's next event.
    pub fn start(
        link: &Link,
        (number, seed): (usize, u64),
        interfaces: Vec<StationInterface>,
        keeps_delays: bool,
        processor: usize,
        early_ns: u64,
    ) -> Result<Self> {
        let wlan: &Wlan = link
            .wlan
            .as_ref()
            .ok_or_else(|| Error::Missing(format!("{} has no settings", link.in_words())))?;
        let mtu = link.interfaces.iter().map(|interface| interface.mtu.0).max().unwrap_or(0);
        let largest_frame = usize::try_from(mtu + ethernet::HEADER_BYTES)?;
        let switch = Arc::new(Switch::new()?);
        let mut stations = Vec::new();
        let mut rings = Vec::new();
        let mut addresses = Vec::new();
        for StationInterface { index, address, held } in interfaces {
            let ring = Ring::open(index, Intake::Arriving, largest_frame, SLOTS)?;
            rings.push(ring.socket()?);
            addresses.push(
                address
                    .as_slice()
                    .try_into()
                    .map_err(|_| Error::Kernel("an Ethernet address has 6 bytes".into()))?,
            );
            stations.push(Station { ring, outlet: Outlet::open(index)?, address, held });
        }
        let random = nettrial_wlan::random(seed, number);
        let now_ns = delay_line::monotonic_ns();
        let (counts, counting) = channel();
        let sniffing = Arc::new(Mutex::new(None));
        let worker = Worker {
            driver: Driver::new(wlan.clone(), link.stations(), random, keeps_delays, now_ns),
            stations,
            early_ns,
            switch: switch.clone(),
            counts: Some(counts),
            sniffing: sniffing.clone(),
            due: Vec::new(),
            driven: Driven::default(),
        };
        let (of_thread, thread) = (link.clone(), std::thread::Builder::new().name("radio channel".into()));
        let thread = thread.spawn(move || {
            delay_line::prepare_thread(processor);
            worker.run(&of_thread)
        });
        let thread = Some(thread.context("starting a thread for a radio channel")?);
        Ok(Self { link: link.clone(), switch, rings, counting, thread, addresses, sniffing })
    }

    /// Captures the channel as soon as it is armed, if `settings` request it.
    pub fn sniff(&self, settings: &Capture) -> Result<()> {
        let sniffing = Sniffing::new(settings, &self.link, self.addresses.clone())?;
        *self.sniffing.lock().unwrap_or_else(PoisonError::into_inner) = sniffing;
        Ok(())
    }

    /// Begins counting as soon as the medium is empty.
    pub fn arm(&self) -> Result<()> {
        for ring in &self.rings {
            // The count so far is discarded.
            overflow(ring)?;
        }
        self.switch.arm();
        self.switch.call();
        self.counting
            .recv_timeout(PATIENCE)
            .map_err(|_| Error::Silent(format!("{} is never idle", self.link.in_words())))
    }

    /// Ends the channel; returns the link in words, the record since the channel was armed, and its work.
    pub fn finish(mut self) -> Result<(String, ChannelRecord, Driven)> {
        self.switch.stop();
        let ended =
            self.thread.take().map(JoinHandle::join).ok_or_else(|| Error::Thread("a channel ends once"))?;
        let (record, mut driven, captured) =
            ended.map_err(|_| Error::Thread("the thread of a radio channel ended early"))?;
        captured?;
        for ring in &self.rings {
            driven.lost_pkts += overflow(ring)?;
        }
        Ok((self.link.in_words(), record, driven))
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.switch.stop();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported so on standard error.
            let _ = thread.join();
        }
    }
}
