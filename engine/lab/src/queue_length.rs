//! Samples how long the queues are while traffic goes.

use crate::namespace::Home;
use crate::netlink::Netlink;
use crate::network::Network;
use crate::processors::{Placement, keep_to};
use crate::queue::{self, Length};
use anyhow::{Context, Result};
use nettrial_figures::statistics::distribution;
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
