//! Reads a flow's transport state at regular intervals, whichever connection it is on.

use crate::statistics::Durations;
use crate::tcp::{self, TcpInfo};
use anyhow::Result;
use nettrial_scenario::{Distribution, Interval};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is known of the flow's connections so far.
#[derive(Default)]
struct State {
    open: Option<Arc<TcpStream>>,
    /// Totals of the connections that are closed.
    closed_bytes: u64,
    closed_retransmissions: u64,
    /// Totals at the interval before.
    seen_bytes: u64,
    seen_retransmissions: u64,
    mss_bytes: u32,
    min_rtt_us: Option<u32>,
    srtt: Durations,
    intervals: Vec<Interval>,
    finished: bool,
}

/// Samples one flow from a thread of its own.
pub struct Sampler {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: JoinHandle<()>,
}

/// A flow's transport state over its life.
#[derive(Default)]
pub struct Samples {
    /// Smoothed round-trip times of all samples.
    pub srtt_us: Distribution,
    /// The smallest round-trip time of any connection.
    pub min_rtt_us: u32,
    /// Segments sent again on all connections.
    pub retransmissions_pkts: u64,
    /// Maximum segment size last seen.
    pub mss_bytes: u32,
    /// One entry a sample.
    pub intervals: Vec<Interval>,
}

impl Sampler {
    /// Starts sampling every `period`; times count from `origin`.
    pub fn start(origin: Instant, period: Duration) -> Self {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let thread_shared = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let (state, changed) = &*thread_shared;
            let mut state = lock(state);
            let mut due = Instant::now() + period;
            while !state.finished {
                let wait = due.saturating_duration_since(Instant::now());
                if wait.is_zero() {
                    state.sample(origin);
                    due += period;
                } else {
                    state = changed
                        .wait_timeout(state, wait)
                        .map_or_else(|poison| poison.into_inner().0, |pair| pair.0);
                }
            }
        });
        Self { shared, thread }
    }

    /// From now on the flow is on `stream`.
    pub fn opened(&self, stream: Arc<TcpStream>) {
        lock(&self.shared.0).open = Some(stream);
    }

    /// The connection is about to be closed: its totals are kept.
    pub fn closing(&self) -> Result<()> {
        lock(&self.shared.0).close()
    }

    /// Ends sampling.
    pub fn finish(self) -> Samples {
        let mut state = lock(&self.shared.0);
        state.finished = true;
        drop(state);
        self.shared.1.notify_all();
        // A thread that panicked has no more samples to give; those it took are in the state.
        let _ = self.thread.join();
        let mut state = lock(&self.shared.0);
        Samples {
            srtt_us: state.srtt.distribution_us(),
            min_rtt_us: state.min_rtt_us.unwrap_or(0),
            retransmissions_pkts: state.closed_retransmissions,
            mss_bytes: state.mss_bytes,
            intervals: std::mem::take(&mut state.intervals),
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl State {
    fn observe(&mut self, info: &TcpInfo) {
        self.mss_bytes = info.snd_mss;
        // The kernel's "none yet" is the largest number.
        if info.min_rtt_us != u32::MAX {
            let smallest = self.min_rtt_us.unwrap_or(u32::MAX);
            self.min_rtt_us = Some(smallest.min(info.min_rtt_us));
        }
    }

    fn sample(&mut self, origin: Instant) {
        let info = self.open.as_ref().and_then(|stream| tcp::info(stream).ok());
        if let Some(info) = &info {
            self.observe(info);
            self.srtt.record(u64::from(info.rtt_us) * 1000);
        }
        let current = info.unwrap_or_default();
        let bytes = self.closed_bytes + current.bytes_acked;
        let retransmissions = self.closed_retransmissions + u64::from(current.total_retrans);
        self.intervals.push(Interval {
            at_ns: u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX),
            bytes: bytes - self.seen_bytes,
            srtt_us: current.rtt_us,
            min_rtt_us: if current.min_rtt_us == u32::MAX { 0 } else { current.min_rtt_us },
            cwnd_pkts: current.snd_cwnd,
            retransmissions_pkts: retransmissions - self.seen_retransmissions,
            delivery_rate_bps: None,
            subflow_bytes: Vec::new(),
        });
        self.seen_bytes = bytes;
        self.seen_retransmissions = retransmissions;
    }

    fn close(&mut self) -> Result<()> {
        if let Some(stream) = self.open.take() {
            let info = tcp::info(&stream)?;
            self.observe(&info);
            self.closed_bytes += info.bytes_acked;
            self.closed_retransmissions += u64::from(info.total_retrans);
        }
        Ok(())
    }
}
