//! Reads a flow's transport state at regular intervals, on its current connection.

use crate::error::{Context, Result};
use crate::platform::{self, Subflow};
use crate::tcp_state::{TcpState, mptcp_option_bytes};
use nettrial_flows::statistics::Durations;
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Distribution, Flow, Interval, SubflowRecord, Traffic, Transport, nanoseconds};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The flow's state so far.
struct State {
    flow: Flow,
    connection: Option<Connection>,
    /// The bytes sent by a flow without connections.
    datagram_bytes: Arc<AtomicU64>,
    /// The subflows of the open connection; for TCP, the connection itself.
    open: Vec<Open>,
    /// Every pair of the hosts' addresses that was used, over all connections.
    columns: Vec<Column>,
    weight: Weight,
    fell_back: u32,
    seen_datagram_bytes: u64,
    seen_retransmissions: u64,
    mss_bytes: u32,
    peer_window_bytes: Option<u32>,
    min_rtt_us: Option<u32>,
    srtt: Durations,
    intervals: Vec<Interval>,
    /// True if the system does not report the state of connections.
    is_unreported: bool,
    /// True if the system does not report how many bytes of a connection are acknowledged.
    has_unreported_bytes: bool,
    finished: bool,
}

/// The open connection.
#[derive(Clone)]
struct Connection {
    stream: Arc<TcpStream>,
    local: SocketAddr,
    remote: SocketAddr,
}

/// A subflow of the open connection.
struct Open {
    column: usize,
    local: SocketAddr,
    remote: SocketAddr,
}

/// The counters of the subflows between two addresses.
struct Column {
    local: SocketAddr,
    remote: SocketAddr,
    /// The latest state of the subflow that has this column.
    state: TcpState,
    /// Totals of the connections that are closed.
    closed_bytes: u64,
    closed_retransmissions: u64,
    /// `None` if the system does not count the marks of each connection.
    closed_marks: Option<u64>,
    /// The total at the previous interval.
    seen_bytes: u64,
}

/// Samples one flow from a thread of its own, which ends with this value.
pub struct Sampler {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

/// A flow's transport state over its life.
#[derive(Default)]
pub struct Samples {
    /// The smoothed round-trip times of all samples.
    pub srtt_us: Distribution,
    /// The smallest round-trip time of any connection; `None` if none was measured.
    pub min_rtt_us: Option<u32>,
    /// The segments retransmitted on all connections.
    pub retransmissions_pkts: u64,
    /// The packets delivered whose acknowledgments had the flag ECE, on all connections; `None` if there is none, or if
    /// the system does not count them.
    pub marks_pkts: Option<u64>,
    /// The latest maximum segment size.
    pub mss_bytes: u32,
    /// The largest receive window that the other host announced, bytes, if the system reports it.
    pub peer_window_bytes: Option<u64>,
    /// The bytes of the connections' segments, by layer.
    pub weight: Weight,
    /// The number of connections that should be MPTCP and are TCP.
    pub fell_back: u32,
    /// The subflows of all connections, without their congestion control. Subflows between the same addresses are
    /// one entry. MPTCP only.
    pub subflows: Vec<SubflowRecord>,
    /// One entry for each sample; empty if the system does not report the state of the flow's connections, or the
    /// bytes acknowledged.
    pub intervals: Vec<Interval>,
    /// True if the system does not report the state of the flow's connections.
    pub is_unreported: bool,
}

impl Sampler {
    /// Starts to sample `flow` every `period`. Times count from `origin`.
    pub fn start(flow: &Flow, origin: Instant, period: Duration) -> Self {
        let state = State {
            flow: flow.clone(),
            connection: None,
            datagram_bytes: Arc::default(),
            open: Vec::new(),
            columns: Vec::new(),
            weight: Weight::default(),
            fell_back: 0,
            seen_datagram_bytes: 0,
            seen_retransmissions: 0,
            mss_bytes: 0,
            peer_window_bytes: None,
            min_rtt_us: None,
            srtt: Durations::default(),
            intervals: Vec::new(),
            is_unreported: false,
            has_unreported_bytes: false,
            finished: false,
        };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
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
        Self { shared, thread: Some(thread) }
    }

    /// Notes that `stream` carries the flow from now on.
    pub fn opened(&self, stream: Arc<TcpStream>) -> Result<()> {
        let (local, remote) = (stream.local_addr()?, stream.peer_addr()?);
        lock(&self.shared.0).connection = Some(Connection { stream, local, remote });
        Ok(())
    }

    /// Keeps the totals of the connection, which is about to be closed.
    pub fn closing(&self) -> Result<()> {
        lock(&self.shared.0).close()
    }

    /// Returns the counter to which a flow without connections adds the bytes that it sends.
    pub fn datagram_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&lock(&self.shared.0).datagram_bytes)
    }

    fn stop(&mut self) {
        lock(&self.shared.0).finished = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // The samples of a thread that panicked are in the state.
            let _ = thread.join();
        }
    }

    /// Ends sampling, and returns the samples.
    pub fn finish(mut self) -> Samples {
        self.stop();
        let mut state = lock(&self.shared.0);
        let mut intervals = std::mem::take(&mut state.intervals);
        if state.is_unreported || state.has_unreported_bytes {
            intervals.clear();
        }
        let is_mptcp = state.flow.transport == Transport::Mptcp;
        for interval in &mut intervals {
            // Subflows that were not seen before have carried nothing.
            let subflows = if is_mptcp { state.columns.len() } else { 0 };
            interval.subflow_bytes.resize(subflows, 0);
            interval.subflow_cwnd_pkts.resize(subflows, 0);
        }
        Samples {
            srtt_us: state.srtt.distribution_us(),
            min_rtt_us: state.min_rtt_us,
            retransmissions_pkts: state.columns.iter().map(|column| column.closed_retransmissions).sum(),
            marks_pkts: state.columns.iter().map(|column| column.closed_marks).reduce(total).flatten(),
            mss_bytes: state.mss_bytes,
            peer_window_bytes: state.peer_window_bytes.map(u64::from),
            weight: state.weight,
            fell_back: state.fell_back,
            subflows: if is_mptcp { state.subflows() } else { Vec::new() },
            intervals,
            is_unreported: state.is_unreported,
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // A flow that failed has not ended the sampling.
        self.stop();
    }
}

/// Returns the sum of two counts, or `None` if one of them is not known.
fn total(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? + other?)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl State {
    /// Reads the subflows of the open connection. Returns false if the connection should be MPTCP and is not.
    fn read(&mut self) -> Result<bool> {
        let Some(Connection { stream, local, remote }) = self.connection.clone() else { return Ok(true) };
        let is_mptcp = self.flow.transport == Transport::Mptcp;
        let subflows = if is_mptcp { platform::subflows(&stream)? } else { None };
        let as_asked = !is_mptcp || subflows.is_some();
        let seen = match subflows {
            Some(subflows) => subflows,
            None => {
                let state = platform::tcp_state(&stream).context("reading the state of a connection")?;
                self.is_unreported |= state.is_none();
                state.map(|state| Subflow { local, remote, state }).into_iter().collect()
            }
        };
        for subflow in seen {
            self.observe(&subflow);
        }
        Ok(as_asked)
    }

    fn observe(&mut self, subflow: &Subflow) {
        let Subflow { local, remote, state } = *subflow;
        self.mss_bytes = state.mss_bytes;
        self.peer_window_bytes = self.peer_window_bytes.max(state.peer_window_bytes);
        self.has_unreported_bytes |= state.bytes_acked.is_none();
        self.min_rtt_us = self.min_rtt_us.into_iter().chain(state.min_rtt_us).min();
        let same = |open: &&Open| open.local == local && open.remote == remote;
        let known = self.open.iter().find(same).map(|open| open.column);
        let column = known.unwrap_or_else(|| {
            let column = self.column(local, remote);
            self.open.push(Open { column, local, remote });
            column
        });
        self.columns[column].state = state;
    }

    /// Returns the column of a new subflow: that of an earlier connection's subflow between the same addresses,
    /// unless another open subflow has it.
    fn column(&mut self, local: SocketAddr, remote: SocketAddr) -> usize {
        let free = |index: usize| self.open.iter().all(|open| open.column != index);
        let known = self.columns.iter().enumerate().position(|(index, column)| {
            column.local.ip() == local.ip() && column.remote == remote && free(index)
        });
        let index = known.unwrap_or(self.columns.len());
        if index == self.columns.len() {
            self.columns.push(Column {
                local,
                remote,
                state: TcpState::default(),
                closed_bytes: 0,
                closed_retransmissions: 0,
                closed_marks: Some(0),
                seen_bytes: 0,
            });
        }
        self.columns[index].local = local;
        index
    }

    fn sample(&mut self, origin: Instant) {
        // A state that could not be read now is read at the next interval.
        let _ = self.read();
        let states = || self.open.iter().map(|open| &self.columns[open.column].state);
        let srtts = || states().filter_map(|state| state.srtt_us.map(u64::from));
        let srtt_us = srtts().sum::<u64>().checked_div(srtts().count() as u64);
        if let Some(srtt_us) = srtt_us {
            self.srtt.record(srtt_us * 1000);
        }
        let rates: Vec<u64> = states().filter_map(|state| state.delivery_rate).collect();
        let smallest = states().filter_map(|state| state.min_rtt_us).min();
        let retransmissions = self.columns.iter().map(|column| column.closed_retransmissions).sum::<u64>()
            + states().map(|state| state.retransmissions_pkts).sum::<u64>();
        let interval = Interval {
            at_ns: nanoseconds(origin.elapsed()),
            bytes: 0,
            srtt_us: srtt_us.and_then(|srtt_us| u32::try_from(srtt_us).ok()),
            min_rtt_us: smallest,
            cwnd_pkts: states().map(|state| state.cwnd_pkts).sum(),
            retransmissions_pkts: retransmissions - self.seen_retransmissions,
            delivery_rate_bps: (!rates.is_empty()).then(|| rates.iter().sum::<u64>() * 8),
            subflow_bytes: Vec::new(),
            subflow_cwnd_pkts: self.windows(),
        };
        self.seen_retransmissions = retransmissions;
        let mut totals: Vec<u64> = self.columns.iter().map(|column| column.closed_bytes).collect();
        for open in &self.open {
            totals[open.column] += self.columns[open.column].state.bytes_acked.unwrap_or(0);
        }
        let mut bytes_of = Vec::new();
        for (column, total) in self.columns.iter_mut().zip(totals) {
            bytes_of.push(total - std::mem::replace(&mut column.seen_bytes, total));
        }
        let datagrams = self.datagram_bytes.load(Ordering::Relaxed);
        let datagram_bytes = datagrams - std::mem::replace(&mut self.seen_datagram_bytes, datagrams);
        let bytes = bytes_of.iter().sum::<u64>() + datagram_bytes;
        self.intervals.push(Interval { bytes, subflow_bytes: bytes_of, ..interval });
    }

    /// Returns the congestion window of each column, in segments; 0 for a column without an open subflow.
    fn windows(&self) -> Vec<u32> {
        let mut windows = vec![0; self.columns.len()];
        for open in &self.open {
            windows[open.column] = self.columns[open.column].state.cwnd_pkts;
        }
        windows
    }

    fn close(&mut self) -> Result<()> {
        let as_asked = self.read()?;
        self.connection = None;
        self.fell_back += u32::from(!as_asked);
        let is_mptcp = self.flow.transport == Transport::Mptcp && as_asked;
        let one_sends = matches!(
            self.flow.traffic,
            Traffic::Transfer(_) | Traffic::FileTransfer(_) | Traffic::Packets(_)
        );
        let options = if is_mptcp { mptcp_option_bytes(!one_sends) } else { (0, 0) };
        for open in self.open.drain(..) {
            let column = &mut self.columns[open.column];
            self.weight += column.state.weight(self.flow.ip, options);
            column.closed_bytes += column.state.bytes_acked.unwrap_or(0);
            column.closed_retransmissions += column.state.retransmissions_pkts;
            column.closed_marks = total(column.closed_marks, column.state.marks_pkts);
        }
        Ok(())
    }

    fn subflows(&self) -> Vec<SubflowRecord> {
        let record = |column: &Column| SubflowRecord {
            local: column.local.to_string(),
            remote: column.remote.to_string(),
            bytes: column.closed_bytes,
            srtt_us: column.state.srtt_us,
            min_rtt_us: column.state.min_rtt_us,
            cwnd_pkts: Some(column.state.cwnd_pkts),
            retransmissions_pkts: Some(column.closed_retransmissions),
            marks_pkts: column.closed_marks,
            congestion_control: String::new(),
        };
        self.columns.iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampler_that_is_dropped_samples_no_more() {
        let flow = r#"{"name": "x", "from": "a", "to": "b", "transport": "tcp", "ip": 4,
            "traffic": {"kind": "transfer", "size": "1 B"}}"#;
        let flow: Flow = serde_json::from_str(flow).unwrap();
        let sampler = Sampler::start(&flow, Instant::now(), Duration::from_millis(1));
        let kept = Arc::downgrade(&sampler.shared);
        drop(sampler);
        assert!(kept.upgrade().is_none(), "its thread has ended, and what it kept is gone");
    }
}
