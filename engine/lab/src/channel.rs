//! Radio channels: the medium of [`nettrial_wlan`] between real stacks, driven by the monotonic clock.
//!
//! ```text
//! station ─ veth ─> inner end │ ring ─> medium ─> outlet │ inner end ─ veth ─> another station
//!      the node's own           a namespace of the channels' own
//! ```
//!
//! Every interface of a channel is a veth pair, and one thread moves the frames of all of them. A frame comes to the
//! medium at its arrival, by the kernel's time stamp, and waits there: nothing else on its way has a queue. It is
//! handed over when the medium has delivered it. The medium's time is the clock's since the channel was armed, whenever
//! the thread wakes: after a late wake-up all that was due happens at its own time, in its order, and only the frames are
//! handed over late. How many, and how late, is counted and ends up in the record.
//!
//! A frame stays on the account of the socket that sent it for as long as it is at its station ([`held`]), so that
//! senders wait for the radio as for any other interface.
//!
//! Frames to a group (ARP, neighbour discovery, MLD) go to all others at once and take no time on the channel: the medium
//! knows none. Frames that no station of the channel is for go to the access point, as all do in the first place.
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
use crate::packet_socket::{Intake, Outlet, Ring, overflow};
use anyhow::{Context, Result, anyhow};
use driver::Driver;
pub use held::{Held, tap};
use nettrial_scenario::{Capture, ChannelRecord, Link, Wlan, ethernet};
use sniffing::Sniffing;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::{Station, Worker};

/// Frames that the ring of an interface holds.
const SLOTS: usize = 4096;
/// The time in which what is in a channel before the traffic has crossed it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The place of a station in the channels' namespace.
pub struct End {
    /// The inner end of its veth pair.
    pub index: i32,
    /// The Ethernet address of its own end.
    pub address: Vec<u8>,
    /// The queue that holds its sockets' frames.
    pub held: Option<Held>,
}

/// A channel, which moves frames as long as this value lives.
pub struct Channel {
    link: Link,
    switch: Arc<Switch>,
    rings: Vec<OwnedFd>,
    /// Told when the channel counts.
    counting: Receiver<()>,
    thread: Option<JoinHandle<(ChannelRecord, Driven, Result<()>)>>,
    /// The Ethernet addresses of the stations, the access point's first.
    addresses: Vec<[u8; 6]>,
    /// The capture of the channel from when it is armed, until the thread takes it.
    sniffing: Arc<Mutex<Option<Sniffing>>>,
}

/// The work of a channel since it was armed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Driven {
    /// Frames handed over.
    pub passed_pkts: u64,
    /// Frames among them that were handed over more than [`delay_line::LATE_NS`] late.
    pub late_pkts: u64,
    /// The latest of all.
    pub latest_ns: u64,
    /// Frames that the channel's thread could not carry.
    pub lost_pkts: u64,
    /// Frames captured on air, if the channel is captured.
    pub captured_pkts: Option<u64>,
}

impl Channel {
    /// The channel of `link`, the link with this number of a scenario with this seed, between `ends` of the calling
    /// thread's namespace, the access point's first, which keeps its delays over time or not; its thread keeps to
    /// `processor`.
    pub fn start(
        link: &Link,
        (number, seed): (usize, u64),
        ends: Vec<End>,
        keeps_delays: bool,
        processor: usize,
    ) -> Result<Self> {
        let wlan: &Wlan =
            link.wlan.as_ref().with_context(|| format!("{} has no settings", link.in_words()))?;
        let mtu = link.interfaces.iter().map(|interface| interface.mtu.0).max().unwrap_or(0);
        let largest_frame = usize::try_from(mtu + ethernet::HEADER_BYTES)?;
        let switch = Arc::new(Switch::new()?);
        let mut stations = Vec::new();
        let mut rings = Vec::new();
        let mut addresses = Vec::new();
        for End { index, address, held } in ends {
            let ring = Ring::open(index, Intake::Arriving, largest_frame, SLOTS)?;
            rings.push(ring.socket()?);
            addresses.push(address.as_slice().try_into().context("an Ethernet address has 6 bytes")?);
            stations.push(Station { ring, outlet: Outlet::open(index)?, address, held });
        }
        let random = nettrial_wlan::random(seed, number);
        let now_ns = delay_line::monotonic_ns();
        let (counts, counting) = channel();
        let sniffing = Arc::new(Mutex::new(None));
        let worker = Worker {
            driver: Driver::new(wlan.clone(), link.stations(), random, keeps_delays, now_ns),
            stations,
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

    /// Captures the channel from when it is armed, if `settings` ask for it.
    pub fn sniff(&self, settings: &Capture) -> Result<()> {
        let sniffing = Sniffing::new(settings, &self.link, self.addresses.clone())?;
        *self.sniffing.lock().unwrap_or_else(PoisonError::into_inner) = sniffing;
        Ok(())
    }

    /// Begins with counting, once nothing is in the medium.
    pub fn arm(&self) -> Result<()> {
        for ring in &self.rings {
            // What is there so far is forgotten.
            overflow(ring)?;
        }
        self.switch.arm();
        self.switch.call();
        self.counting
            .recv_timeout(PATIENCE)
            .with_context(|| format!("{} is never idle", self.link.in_words()))
    }

    /// Ends the channel; gives the link in words, the record since it was armed, and its work.
    pub fn finish(mut self) -> Result<(String, ChannelRecord, Driven)> {
        self.switch.stop();
        let ended = self.thread.take().map(JoinHandle::join).context("a channel ends once")?;
        let (record, mut driven, captured) =
            ended.map_err(|_| anyhow!("the thread of a radio channel ended early"))?;
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
            // A thread that panicked has told so on standard error.
            let _ = thread.join();
        }
    }
}
