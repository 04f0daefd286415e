//! Sends packets when they are due, over any carrier.

use super::batch::Batch;
use super::pacer::Pacer;
use crate::error::Result;
use crate::platform;
use nettrial_flows::departures::Departures;
use nettrial_flows::statistics::Durations;
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Interval, IpVersion, Pacing};
use std::time::Instant;

/// The most paced packets that may depart together if each passes through the kernel by itself.
pub const PACED_TOGETHER: usize = 8;

/// A socket that takes packets to the other host.
pub trait Carrier {
    /// Hands the packets of `batch` to the kernel. Packets that the kernel refuses are removed; returns their
    /// number.
    fn hand_over(&mut self, batch: &mut Batch) -> Result<u64>;

    /// Returns the most paced packets that may depart together. They have one departure time, which for the last
    /// packet is wrong by the time of handing over the others.
    fn paced_together(&self) -> usize {
        PACED_TOGETHER
    }
}

/// The start of a flow's time, and the length of its intervals.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// The instant from which intervals count, by the monotonic clock.
    pub origin_ns: u64,
    /// The length of an interval.
    pub period_ns: u64,
}

impl Sampling {
    /// No intervals.
    pub const NONE: Self = Self { origin_ns: 0, period_ns: u64::MAX };

    /// Returns intervals of `period_ns` that count from `origin`.
    ///
    /// # Errors
    /// Fails if `origin` is further back than a number of nanoseconds can tell.
    pub fn new(origin: Instant, period_ns: u64) -> Result<Self> {
        let since_ns = u64::try_from(origin.elapsed().as_nanos())?;
        Ok(Self { origin_ns: platform::now_ns().saturating_sub(since_ns), period_ns })
    }
}

/// The path of datagrams, which fragments those that exceed its MTU.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// The path's MTU, bytes.
    pub mtu: u64,
    /// The IP version.
    pub version: IpVersion,
}

/// The counts of the packets sent.
pub struct Sent {
    /// The packets handed to the kernel.
    pub packets: u64,
    /// The packets that the kernel refused.
    pub refused: u64,
    /// The time at which the first packet departed, by the monotonic clock.
    pub first_departure_ns: u64,
    /// The time at which the last packet departed, by the same clock.
    pub last_departure_ns: u64,
    /// The bytes of the packets as datagrams, by layer, if the path MTU is known.
    pub weight: Option<Weight>,
    /// The lateness of the departures, if packets are paced.
    pub pacing: Option<Pacing>,
    /// The bytes over time.
    pub intervals: Vec<Interval>,
}

/// Sends the packets of `schedule`. `path` is given if packets are datagrams.
pub fn send(
    schedule: &mut Departures,
    batch: &mut Batch,
    carrier: &mut impl Carrier,
    sampling: Sampling,
    path: Option<Path>,
) -> Result<Sent> {
    let paced = schedule.is_paced();
    let together = if paced { carrier.paced_together() } else { usize::MAX };
    let begin_ns = platform::now_ns();
    let begin_cpu_ns = platform::thread_cpu_ns();
    let mut pacer = Pacer::new(begin_ns);
    let mut progress = Progress::new(sampling);
    let mut lateness = Durations::default();
    let (mut bytes, mut refused, mut weight) = (0, 0, path.map(|_| Weight::default()));
    let (mut first_departure_ns, mut last_departure_ns) = (None, begin_ns);
    let mut now_ns = begin_ns;
    while let Some(due_ns) = schedule.due(now_ns - begin_ns) {
        let due_ns = begin_ns.saturating_add(due_ns);
        if paced || due_ns > now_ns {
            now_ns = pacer.wait(due_ns, now_ns, batch.sent());
        }
        batch.clear();
        while batch.has_room()
            && batch.packets().len() < together
            && let Some(due_ns) = schedule.due(now_ns - begin_ns)
            && begin_ns.saturating_add(due_ns) <= now_ns
        {
            batch.add(usize::try_from(schedule.take())?);
            if paced {
                lateness.record(now_ns - begin_ns - due_ns);
            }
        }
        if batch.packets().is_empty() {
            now_ns = platform::now_ns();
            continue; // a signal ended the wait early
        }
        batch.depart(now_ns);
        refused += carrier.hand_over(batch)?;
        first_departure_ns.get_or_insert(now_ns);
        last_departure_ns = now_ns;
        let handed: u64 = batch.packets().iter().map(|packet| packet.size as u64).sum();
        if let Some((path, weight)) = path.zip(weight.as_mut()) {
            for packet in batch.packets() {
                weight.add_datagram(packet.size as u64, path.mtu, path.version);
            }
        }
        bytes += handed;
        now_ns = platform::now_ns();
        progress.sent(now_ns, handed);
    }
    let end_ns = platform::now_ns();
    let asked_ns = schedule.asked_ns();
    let pacing = (paced && asked_ns > 0).then(|| {
        // A sender on time took the time requested; a late sender took the time until the last departure.
        let sent_ns = asked_ns.max(last_departure_ns - begin_ns);
        Pacing {
            asked_bps: schedule.bytes() as f64 * 8e9 / asked_ns as f64,
            sent_bps: bytes as f64 * 8e9 / sent_ns as f64,
            lateness_us: lateness.distribution_us(),
            cpu_percent: platform::thread_cpu_ns()
                .zip(begin_cpu_ns)
                .map(|(end, begin)| (end - begin) as f64 * 100.0 / (end_ns - begin_ns).max(1) as f64),
        }
    });
    Ok(Sent {
        packets: batch.sent(),
        refused,
        first_departure_ns: first_departure_ns.unwrap_or(begin_ns),
        last_departure_ns,
        weight,
        pacing,
        intervals: progress.finish(end_ns),
    })
}

/// The bytes of each interval.
struct Progress {
    sampling: Sampling,
    due_ns: u64,
    bytes: u64,
    intervals: Vec<Interval>,
}

impl Progress {
    fn new(sampling: Sampling) -> Self {
        let due_ns = sampling.origin_ns + sampling.period_ns;
        Self { sampling, due_ns, bytes: 0, intervals: Vec::new() }
    }

    /// Notes that `bytes` more bytes are sent at `now_ns`.
    fn sent(&mut self, now_ns: u64, bytes: u64) {
        while self.due_ns <= now_ns {
            self.intervals.push(Interval {
                at_ns: self.due_ns - self.sampling.origin_ns,
                bytes: std::mem::take(&mut self.bytes),
                ..Interval::default()
            });
            self.due_ns += self.sampling.period_ns.max(1);
        }
        self.bytes += bytes;
    }

    fn finish(mut self, now_ns: u64) -> Vec<Interval> {
        self.sent(now_ns, 0);
        self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_fall_into_the_interval_they_were_sent_in() {
        let mut progress = Progress::new(Sampling { origin_ns: 1000, period_ns: 100 });
        progress.sent(1050, 7);
        progress.sent(1099, 8);
        progress.sent(1310, 9);
        let found: Vec<(u64, u64)> =
            progress.finish(1450).iter().map(|interval| (interval.at_ns, interval.bytes)).collect();
        assert_eq!(found, [(100, 15), (200, 0), (300, 0), (400, 9)]);
    }
}
