//! BBR, version 1: Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14 (2016), as in net/ipv4/tcp_bbr.c of Linux. It computes windows and pacing from the largest
//! delivery rate of ten rounds and the least round-trip time of ten seconds.
//!
//! A round-trip time equal to the least one does not postpone PROBE_RTT: tcp_bbr.c compares with `<` since Linux
//! 5.10 (commit 1b9e2a8c99a5, "tcp: only postpone PROBE_RTT if RTT is < current min_rtt estimate"); its authors'
//! draft (draft-cardwell-iccrg-bbr-congestion-control-00, BBRUpdateRTprop) compares with `<=`.
//!
//! Differences from Linux: there is no detection of policers (long-term bandwidth), so a token bucket costs the
//! model more; the initial phase of PROBE_BW's cycle, which is random in Linux, is a multiplicative hash of the
//! time at which the cycle begins; rates are doubles; the data that pacing has already scheduled counts as zero
//! (with Linux's own pacing it is at most a burst); after ten seconds a round-trip time is accepted even if it is
//! that of a delayed acknowledgment; samples of PROBE_RTT count as limited by the application up to the data that
//! was sent before it. As in Linux, windows leave room for three bursts of segmentation offload, whether the
//! sender has it or not. Limits of validity are the known ones of version 1: several flows in a shallow queue lose
//! many segments, because losses do not slow them, and in a deep queue flows of longer round trips get more.

mod filters;
mod modes;

use filters::{Aggregation, MaxFilter};
use modes::{Mode, Probing};

use crate::{Ack, Control, Event, Phase, Subflow, Window};

/// The number of rounds over which the bandwidth is the largest delivery rate (bbr_bw_rtts).
const BANDWIDTH_ROUNDS: u64 = 10;
/// The pacing rate as a share of the bandwidth (bbr_pacing_margin_percent).
const PACING_MARGIN: f64 = 0.99;
/// The smallest window, in segments (bbr_cwnd_min_target).
const WINDOW_LEAST: u32 = 4;
/// The initial window, in segments (TCP_INIT_CWND).
const WINDOW_FIRST: u32 = 10;
/// The longest time, in seconds, over which acknowledgments count as aggregated (bbr_extra_acked_max_us).
const AGGREGATION_SECONDS: f64 = 0.1;
/// The largest burst of segmentation offload, in bytes (GSO_MAX_SIZE - 1 - MAX_TCP_HEADER) and in segments.
const BURST_MOST: (f64, u32) = (65_215.0, 127);
/// The rate below which bursts are one segment, in bits per second (bbr_min_tso_rate).
const SMALL_RATE_BPS: f64 = 1.2e6;

/// BBR.
#[derive(Debug)]
pub struct Bbr {
    /// The bandwidth, in segments per second.
    bandwidth: MaxFilter,
    round: u64,
    /// The number of delivered segments at which the round ends: it ends with a segment sent after they were
    /// delivered.
    round_end_pkts: u64,
    is_round_start: bool,
    probing: Probing,
    aggregation: Aggregation,
    phase: Phase,
    is_conserving: bool,
    is_restarting: bool,
    /// The window before recovery or PROBE_RTT.
    prior_cwnd_pkts: u32,
    /// The pacing rate in bytes of payload per second; `None` before the first acknowledgment.
    pacing_rate: Option<f64>,
    has_seen_rtt: bool,
    mss_bytes: u32,
}

impl Bbr {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self {
            bandwidth: MaxFilter::default(),
            round: 0,
            round_end_pkts: 0,
            is_round_start: false,
            probing: Probing::new(),
            aggregation: Aggregation::default(),
            phase: Phase::Open,
            is_conserving: false,
            is_restarting: false,
            prior_cwnd_pkts: 0,
            pacing_rate: None,
            has_seen_rtt: false,
            mss_bytes: 0,
        }
    }

    /// Processes the delivery rate of an acknowledgment (bbr_update_bw).
    fn update_bandwidth(&mut self, ack: &Ack) {
        self.is_round_start = false;
        let Some((pkts, interval_ns)) = ack.rate.filter(|&(_, interval_ns)| interval_ns > 0) else { return };
        if ack.prior_delivered_pkts >= self.round_end_pkts {
            self.round_end_pkts = ack.delivered_pkts;
            self.round += 1;
            self.is_round_start = true;
            self.is_conserving = false;
        }
        let rate = f64::from(pkts) * 1e9 / interval_ns as f64;
        if !self.probing.is_app_limited(ack) || rate >= self.bandwidth.get() {
            self.bandwidth.take(BANDWIDTH_ROUNDS, self.round, rate);
        }
    }

    /// Returns the number of segments of a burst (bbr_tso_segs_goal).
    fn burst_pkts(&self) -> u32 {
        let bytes = (self.pacing_rate.unwrap_or(0.0) / 1024.0).min(BURST_MOST.0);
        let pkts = (bytes / f64::from(self.mss_bytes.max(1))) as u32;
        pkts.max(self.least_burst_pkts()).min(BURST_MOST.1)
    }

    /// Returns the bandwidth-delay product times a gain (bbr_bdp).
    fn product_pkts(&self, gain: f64) -> u32 {
        match self.probing.min_rtt_ns() {
            None => WINDOW_FIRST,
            Some(rtt_ns) => (self.bandwidth.get() * rtt_ns as f64 / 1e9 * gain).ceil() as u32,
        }
    }

    /// Returns the window with additional room for bursts (bbr_quantization_budget).
    fn with_bursts(&self, cwnd_pkts: u32) -> u32 {
        let cwnd = cwnd_pkts.saturating_add(3 * self.burst_pkts()).saturating_add(1) & !1;
        if self.probing.is_probing_for_bandwidth() { cwnd.saturating_add(2) } else { cwnd }
    }

    /// Returns the number of packets that should be in flight at a gain (bbr_inflight).
    fn target_pkts(&self, gain: f64) -> u32 {
        self.with_bursts(self.product_pkts(gain))
    }

    /// Sets the pacing rate (bbr_set_pacing_rate).
    fn pace(&mut self, window: &Window, ack: &Ack) {
        let paced = |rate: f64| rate * f64::from(ack.mss_bytes) * PACING_MARGIN;
        if self.pacing_rate.is_none() || (!self.has_seen_rtt && ack.srtt_ns > 0) {
            self.has_seen_rtt = ack.srtt_ns > 0;
            let rtt_ns = if self.has_seen_rtt { ack.srtt_ns.max(1000) } else { 1_000_000 };
            let rate = f64::from(window.cwnd_pkts) * 1e9 / rtt_ns as f64;
            self.pacing_rate = Some(paced(rate * modes::HIGH_GAIN));
        }
        let rate = paced(self.bandwidth.get() * self.probing.pacing_gain());
        let present = self.pacing_rate.unwrap_or(0.0);
        if rate > present || (self.probing.is_full() && rate > 0.0) {
            self.pacing_rate = Some(rate);
        }
    }

    /// Returns the window that recovery requires, and true if it must not be changed further
    /// (bbr_set_cwnd_to_recover_or_restore).
    fn recover(&mut self, cwnd_pkts: u32, ack: &Ack) -> (u32, bool) {
        let mut cwnd = cwnd_pkts.saturating_sub(ack.lost_pkts).max(1);
        let conserved = ack.in_flight_pkts + ack.acked_pkts;
        let was_repairing = is_repairing(self.phase);
        if ack.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.is_conserving = true;
            self.round_end_pkts = ack.delivered_pkts;
            cwnd = conserved;
        } else if was_repairing && !is_repairing(ack.phase) {
            cwnd = cwnd.max(self.prior_cwnd_pkts);
            self.is_conserving = false;
        }
        self.phase = ack.phase;
        if self.is_conserving { (cwnd.max(conserved), true) } else { (cwnd, false) }
    }

    /// Sets the window (bbr_set_cwnd).
    fn set_window(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked_pkts > 0 {
            let (cwnd, is_all) = self.recover(window.cwnd_pkts, ack);
            window.cwnd_pkts = if is_all { cwnd.max(1) } else { self.grow(cwnd, ack) };
        }
        if self.probing.mode() == Mode::ProbeRtt {
            window.cwnd_pkts = window.cwnd_pkts.min(WINDOW_LEAST);
        }
    }

    fn grow(&self, cwnd_pkts: u32, ack: &Ack) -> u32 {
        let product = self.product_pkts(self.probing.cwnd_gain());
        let target = self.with_bursts(product.saturating_add(self.aggregated_pkts()));
        let grown = cwnd_pkts.saturating_add(ack.acked_pkts);
        let cwnd = if self.probing.is_full() {
            grown.min(target)
        } else if cwnd_pkts < target || ack.delivered_pkts < u64::from(WINDOW_FIRST) {
            grown
        } else {
            cwnd_pkts
        };
        cwnd.max(WINDOW_LEAST)
    }

    /// Returns the additional window for aggregated acknowledgments (bbr_ack_aggregation_cwnd).
    fn aggregated_pkts(&self) -> u32 {
        let most = (self.bandwidth.get() * AGGREGATION_SECONDS) as u32;
        if self.probing.is_full() { self.aggregation.most_pkts().min(most) } else { 0 }
    }

    /// Saves the window before recovery or PROBE_RTT (bbr_save_cwnd).
    fn save_window(&mut self, window: &Window) {
        let is_cut = is_repairing(self.phase) || self.probing.mode() == Mode::ProbeRtt;
        let kept = if is_cut { self.prior_cwnd_pkts } else { 0 };
        self.prior_cwnd_pkts = window.cwnd_pkts.max(kept);
    }
}

fn is_repairing(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

impl Control for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &[Subflow], _: usize) {
        self.mss_bytes = ack.mss_bytes;
        self.update_bandwidth(ack);
        if ack.rate.is_some() {
            let bandwidth = self.bandwidth.get();
            self.aggregation.take(
                ack.now_ns,
                ack.acked_pkts,
                bandwidth,
                window.cwnd_pkts,
                self.is_round_start,
            );
        }
        self.update_modes(window, ack);
        self.pace(window, ack);
        self.set_window(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        self.save_window(window);
        window.ssthresh_pkts.max(2)
    }

    fn on_event(&mut self, event: Event, window: &mut Window, now_ns: u64) {
        match event {
            Event::Established => self.probing.begin(now_ns),
            Event::Restart => {
                self.is_restarting = true;
                self.aggregation.restart(now_ns);
                self.restart_modes(window, now_ns);
            }
            Event::Timeout | Event::ProbeLost => {
                self.phase = Phase::Loss;
                self.probing.forget_full_bandwidth();
                self.is_round_start = true;
            }
            _ => {}
        }
    }

    fn undo(&mut self, window: &Window, _: u32) -> u32 {
        self.probing.forget_full_bandwidth();
        window.cwnd_pkts
    }

    /// Returns the least number of segments of a burst (bbr_min_tso_segs).
    fn least_burst_pkts(&self) -> u32 {
        if self.pacing_rate.unwrap_or(0.0) * 8.0 < SMALL_RATE_BPS { 1 } else { 2 }
    }

    fn pacing_rate_bps(&self) -> Option<f64> {
        self.pacing_rate.map(|bytes| bytes * 8.0)
    }

    fn buffered_windows(&self) -> u32 {
        3 // bbr_sndbuf_expand
    }

    fn drives(&self) -> bool {
        true
    }
}
