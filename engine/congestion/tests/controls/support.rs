//! Helpers: acknowledgments, and connections of several subflows.

use nettrial_congestion::{Ack, Control, Phase, Subflow, Window};

/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;
/// The payload of every segment, in bytes.
pub const MSS: u32 = 1448;

/// Returns an acknowledgment of segments in order, with nothing lost and the window full.
pub fn ack(now_ns: u64, rtt_ns: u64, acked_pkts: u32) -> Ack {
    Ack {
        now_ns,
        acked_pkts,
        acked_bytes: u64::from(acked_pkts * MSS),
        lost_pkts: 0,
        rtt_ns: Some(rtt_ns),
        srtt_ns: rtt_ns,
        min_rtt_ns: rtt_ns,
        in_flight_pkts: 0,
        prior_in_flight_pkts: acked_pkts,
        delivered_pkts: 1,
        delivered_marked_pkts: 0,
        prior_delivered_pkts: 0,
        rate: None,
        rate_is_app_limited: false,
        is_cwnd_limited: true,
        mss_bytes: MSS,
        una_bytes: 0,
        next_bytes: 0,
        phase: Phase::Open,
    }
}

/// Returns a window in congestion avoidance.
pub fn avoiding(cwnd_pkts: u32) -> Window {
    Window { cwnd_pkts, ssthresh_pkts: cwnd_pkts.min(2), credit_pkts: 0 }
}

/// A connection.
pub struct Connection {
    /// The subflows, in congestion avoidance at the beginning: their controls, windows and smoothed round-trip
    /// times.
    pub flows: Vec<(Box<dyn Control>, Window, u64)>,
}

impl Connection {
    /// Creates a connection with a control of that name on each subflow, which is given as its window in segments
    /// and its round-trip time in nanoseconds.
    pub fn of(name: &str, flows: &[(u32, u64)]) -> Self {
        let flow = |&(cwnd_pkts, rtt_ns): &(u32, u64)| {
            (nettrial_congestion::new(name).unwrap(), avoiding(cwnd_pkts), rtt_ns)
        };
        Self { flows: flows.iter().map(flow).collect() }
    }

    /// Returns the subflows as the controls see them.
    pub fn subflows(&self) -> Vec<Subflow> {
        let subflow = |(control, window, rtt_ns): &(Box<dyn Control>, Window, u64)| Subflow {
            window: *window,
            srtt_ns: *rtt_ns,
            mss_bytes: MSS,
            phase: Phase::Open,
            shared: control.shared(),
        };
        self.flows.iter().map(subflow).collect()
    }

    /// Handles an acknowledgment on subflow `own`.
    pub fn on_ack(&mut self, own: usize, ack: &Ack) {
        let subflows = self.subflows();
        let (control, window, _) = &mut self.flows[own];
        control.on_ack(window, ack, &subflows, own);
    }

    /// Returns the window that a loss on subflow `own` would leave, without changing it.
    pub fn after_loss(&mut self, own: usize) -> u32 {
        let subflows = self.subflows();
        let (control, window, _) = &mut self.flows[own];
        control.ssthresh(window, &subflows, own)
    }

    /// Lets subflow `own` compute the values that it keeps between growths, which it does in slow start.
    pub fn settle(&mut self, own: usize) {
        let rtt_ns = self.flows[own].2;
        let kept = std::mem::replace(&mut self.flows[own].1.ssthresh_pkts, u32::MAX);
        self.on_ack(own, &ack(0, rtt_ns, 0));
        self.flows[own].1.ssthresh_pkts = kept;
    }

    /// Returns the average growth of the window of subflow `own` per acknowledged segment, over `acks`
    /// acknowledgments, while all windows are kept as they are.
    pub fn increase(&mut self, own: usize, acks: u32) -> f64 {
        self.increase_by(own, acks, 1)
    }

    /// Returns the average growth per acknowledgment of `acked_pkts` segments, over `acks` acknowledgments.
    pub fn increase_by(&mut self, own: usize, acks: u32, acked_pkts: u32) -> f64 {
        let subflows = self.subflows();
        let (control, window, rtt_ns) = &mut self.flows[own];
        let kept = window.cwnd_pkts;
        let mut grown = 0i64;
        for number in 0..acks {
            control.on_ack(window, &ack(u64::from(number) * 1000, *rtt_ns, acked_pkts), &subflows, own);
            grown += i64::from(window.cwnd_pkts) - i64::from(kept);
            window.cwnd_pkts = kept;
        }
        grown as f64 / f64::from(acks)
    }
}
