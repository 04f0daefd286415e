//! Samples how long the queues are while traffic goes.

use crate::namespace::Home;
use crate::netlink::Netlink;
use crate::network::Network;
use crate::processors::{Placement, keep_to};
use crate::queue::{self, Length};
use anyhow::{Context, Result};
use nettrial_scenario::Distribution;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that samples.
pub struct QueueSampler {
    /// Dropped to end it.
    stop: Sender<()>,
    thread: JoinHandle<Result<Vec<Probe>>>,
}

/// How long a link end's queue was.
pub struct Lengths {
    /// The node that sends.
    pub node: String,
    /// Its interface.
    pub interface: String,
    /// Frames in it.
    pub packets: Distribution,
    /// Bytes in it.
    pub bytes: Distribution,
}

/// A node's queues, by the interface's index.
struct Probe {
    node: String,
    interfaces: Vec<(String, i32)>,
    netlink: Netlink,
    samples: BTreeMap<i32, Vec<Length>>,
}

impl QueueSampler {
    /// Reads every shaped queue each `interval` from now on.
    pub fn start(
        home: &Home,
        network: &Network,
        interval: Duration,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let probe = |node: &crate::network::BuiltNode| -> Result<Probe> {
            Ok(Probe {
                node: node.name.clone(),
                interfaces: node.interfaces().to_vec(),
                netlink: home.visit(&node.namespace, Netlink::open)?,
                samples: BTreeMap::new(),
            })
        };
        let mut probes = network.nodes().map(probe).collect::<Result<Vec<Probe>>>()?;
        let (stop, stopped) = channel();
        let processor = placement.map(Placement::engine_processor);
        let thread = std::thread::Builder::new().name("queue sampler".into()).spawn(move || {
            processor.into_iter().for_each(keep_to);
            let mut next = Instant::now();
            loop {
                // After a late sample the next is an interval later: none are made in a burst.
                next = (next + interval).max(Instant::now());
                match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => probes.iter_mut().try_for_each(Probe::sample)?,
                    _ => return Ok(probes),
                }
            }
        });
        Ok(Self { stop, thread: thread.context("starting a thread to sample queues")? })
    }

    /// Ends, and gives the lengths of every shaped queue.
    pub fn finish(self) -> Result<Vec<Lengths>> {
        drop(self.stop);
        let probes = self.thread.join().map_err(|_| anyhow::anyhow!("the queue sampler ended early"))??;
        Ok(probes.into_iter().flat_map(Probe::lengths).collect())
    }
}

impl Probe {
    fn sample(&mut self) -> Result<()> {
        for (index, length) in queue::lengths(&mut self.netlink)? {
            self.samples.entry(index).or_default().push(length);
        }
        Ok(())
    }

    fn lengths(self) -> Vec<Lengths> {
        let found = self.interfaces.iter().filter_map(|(interface, index)| {
            let samples = self.samples.get(index)?;
            let of = |value: fn(&Length) -> u32| distribution(samples.iter().map(value).collect());
            Some(Lengths {
                node: self.node.clone(),
                interface: interface.clone(),
                packets: of(|length| length.packets),
                bytes: of(|length| length.bytes),
            })
        });
        found.collect()
    }
}

/// The summary of some values; a percentile is the smallest value that so many are not above.
fn distribution(mut values: Vec<u32>) -> Distribution {
    values.sort_unstable();
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return Distribution::default() };
    let count = values.len();
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count as f64;
    let squares: f64 = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum();
    let percentile = |share: f64| f64::from(values[((count as f64 * share).ceil() as usize).max(1) - 1]);
    let tail = |share, least| (count >= least).then(|| percentile(share));
    Distribution {
        count: count as u64,
        mean,
        deviation: if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 },
        minimum: f64::from(*first),
        p50: percentile(0.50),
        p90: percentile(0.90),
        p99: percentile(0.99),
        p99_9: tail(0.999, 1_000),
        p99_99: tail(0.9999, 10_000),
        p99_999: tail(0.99999, 100_000),
        maximum: f64::from(*last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_of_the_values() {
        let found = distribution((1..=100).rev().collect());
        assert_eq!(
            (found.count, found.minimum, found.p50, found.p90, found.p99),
            (100, 1.0, 50.0, 90.0, 99.0)
        );
        assert_eq!((found.mean, found.maximum, found.p99_9), (50.5, 100.0, None));
        // Of the numbers from 1 to n: the square root of n(n + 1)/12.
        assert!((found.deviation - (100.0f64 * 101.0 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(distribution(vec![7]).deviation, 0.0);
        assert_eq!(distribution(Vec::new()), Distribution::default());
    }
}
