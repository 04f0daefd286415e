//! The thread that moves a channel's frames.

use super::driver::{Delivery, Driver};
use super::sniffing::Sniffing;
use super::{Driven, Held};
use crate::delay_line::{LATE_NS, Switch, is_to_a_group, monotonic_ns, wall_offset_ns};
use crate::error::Result;
use crate::packet_socket::{BATCH, OFFLOAD_HEADER_BYTES, Outlet, Ring};
use nettrial_scenario::{ChannelRecord, Interface, Link, ethernet};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The number of the station that is the access point.
const ACCESS_POINT: usize = 0;
/// The number of frames taken from each ring before the thread checks again whether one is due.
const INTAKE: usize = 4 * BATCH;

/// An interface of the channel.
pub struct Station {
    pub ring: Ring,
    pub outlet: Outlet,
    pub address: Vec<u8>,
    pub held: Option<Held>,
}

/// The thread's work, which moves frames between the interfaces and the medium.
pub struct Worker {
    pub driver: Driver,
    pub stations: Vec<Station>,
    /// The time before the medium's next event at which a sleep ends.
    pub early_ns: u64,
    pub switch: Arc<Switch>,
    /// Receives a single message when the channel begins to count.
    pub counts: Option<Sender<()>>,
    /// The capture of the channel, which begins at the same time.
    pub sniffing: Arc<Mutex<Option<Sniffing>>>,
    pub due: Vec<Delivery>,
    pub driven: Driven,
}

impl Worker {
    /// Moves frames until the channel is stopped; returns its record, the work since it was armed, and the result
    /// of its capture.
    pub fn run(mut self, link: &Link) -> (ChannelRecord, Driven, Result<()>) {
        while !self.switch.stopped.load(Relaxed) {
            self.take();
            self.driver.advance(monotonic_ns(), &mut self.due);
            // Frames are dropped first, because handing over takes longer than a station contends: so a sender is
            // informed before its station's next PPDU.
            self.let_go();
            self.hand_over();
            if self.counts.is_some() && self.switch.armed.load(Relaxed) && self.driver.restart() {
                self.driven = Driven::default();
                let sniffing = self.sniffing.lock().unwrap_or_else(PoisonError::into_inner).take();
                sniffing.into_iter().for_each(|sniffing| self.driver.sniff(sniffing));
                // Nobody receives the message if the channel is being taken down.
                self.counts.take().map(|counts| counts.send(()));
            }
            self.rest();
        }
        self.driver.advance(monotonic_ns(), &mut self.due);
        let interfaces: Vec<&Interface> = link.interfaces.iter().collect();
        let now_ps = self.driver.medium_ps(self.driver.now_ns());
        let record = self.driver.medium().record(&interfaces, now_ps);
        let captured = self.driver.end_sniffing().map(Sniffing::finish).transpose();
        let written = captured.map(|frames| self.driven.captured_pkts = frames);
        (record, self.driven, written)
    }

    /// Takes the frames that have arrived, each with the time of its arrival.
    fn take(&mut self) {
        if self.stations.iter().all(|station| station.ring.peek().is_none()) {
            return;
        }
        let (begin, offset, earliest) = (monotonic_ns(), wall_offset_ns(), self.driver.now_ns());
        for from in 0..self.stations.len() {
            for _ in 0..INTAKE {
                let Some(slot) = self.stations[from].ring.peek() else { break };
                // The wall clock may have been set in the meantime, so the time is kept within its known bounds.
                let at_ns = slot.arrived_unix_ns.saturating_sub(offset).clamp(earliest, begin.max(earliest));
                let frame = slot.bytes.get(OFFLOAD_HEADER_BYTES..).unwrap_or_default();
                let packet = frame.get(ethernet::HEADER_BYTES as usize..).filter(|_| slot.whole);
                let to = receiver(&self.stations, from, frame);
                match (packet, to) {
                    (None, _) => self.driven.lost_pkts += 1,
                    (Some(_), _) if is_to_a_group(slot.bytes) => {
                        let others = self.stations.iter().enumerate().filter(|(other, _)| *other != from);
                        for (_, other) in others {
                            self.driven.lost_pkts += other.outlet.send(std::iter::once(slot.bytes));
                        }
                    }
                    (Some(packet), Some(to)) => {
                        let bytes = u32::try_from(packet.len()).unwrap_or(u32::MAX);
                        self.driver.arrived(at_ns, [from, to], slot.bytes, bytes);
                    }
                    (Some(_), None) => {}
                }
                let station = &mut self.stations[from];
                station.ring.release();
                station.held.iter_mut().for_each(Held::add);
            }
        }
    }

    /// Hands over the frames that the medium has delivered, consecutive ones for the same station at a time.
    fn hand_over(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        let driver = &self.driver;
        let same = |one: &Delivery, other: &Delivery| driver.frame(*one).to == driver.frame(*other).to;
        for row in due.chunk_by(same).flat_map(|row| row.chunks(BATCH)) {
            let outlet = &self.stations[driver.frame(row[0]).to].outlet;
            let refused = outlet.send(row.iter().map(|delivery| driver.frame(*delivery).bytes.as_slice()));
            let sent_ns = monotonic_ns();
            let Driven { passed_pkts, late_pkts, latest_ns, lost_pkts, .. } = &mut self.driven;
            for Delivery { due_ns, .. } in row {
                *late_pkts += u64::from(sent_ns > due_ns + LATE_NS);
                *latest_ns = (*latest_ns).max(sent_ns.saturating_sub(*due_ns));
            }
            *lost_pkts += refused;
            *passed_pkts += row.len() as u64 - refused;
        }
        due.drain(..).for_each(|delivery| self.driver.forget(delivery));
        self.due = due;
    }

    /// Drops held frames that are no longer at their stations.
    fn let_go(&mut self) {
        for (number, station) in self.stations.iter_mut().enumerate() {
            if let Some(held) = &mut station.held {
                held.keep(self.driver.medium().counters(number).queued_pkts);
            }
        }
    }

    /// Sleeps until shortly before the medium's next event, or until a frame arrives.
    fn rest(&self) {
        let left = self.driver.next_ns().map(|next| next.saturating_sub(monotonic_ns()));
        let sleep = left.map(|left| left.saturating_sub(self.early_ns));
        if sleep == Some(0) {
            std::hint::spin_loop();
            return;
        }
        let mut ends = vec![PollFd::new(self.switch.wake.as_fd(), PollFlags::POLLIN)];
        ends.extend(self.stations.iter().map(|station| PollFd::new(station.ring.as_fd(), PollFlags::POLLIN)));
        // An interrupted sleep only is a shorter one.
        let _ = ppoll(&mut ends, sleep.map(|ns| TimeSpec::from_duration(Duration::from_nanos(ns))), None);
        if ends[0].revents().is_some_and(|events| events.contains(PollFlags::POLLIN)) {
            // The descriptor was written, so this read does not wait.
            let _ = self.switch.wake.read();
        }
        for (station, end) in self.stations.iter().zip(&ends[1..]) {
            if end.revents().is_some_and(|events| events.contains(PollFlags::POLLERR)) {
                station.ring.forget_error();
            }
        }
    }
}

/// Returns the station for which a frame of station `from` is: the one with the frame's destination address, or
/// else the access point, which leads to other hosts; `None` if it is for no station.
fn receiver(stations: &[Station], from: usize, frame: &[u8]) -> Option<usize> {
    let destination = frame.get(..6)?;
    let station = stations.iter().position(|station| station.address == destination);
    station.or(Some(ACCESS_POINT)).filter(|to| *to != from)
}
