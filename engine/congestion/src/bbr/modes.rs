//! BBR's modes, in which it fills the path, drains it, and probes for its bandwidth and round-trip time.

use super::{Bbr, WINDOW_LEAST};
use crate::{Ack, Window};

/// The gain of startup, 2 / ln 2, which doubles the rate each round (bbr_high_gain).
pub const HIGH_GAIN: f64 = 739.0 / 256.0;
/// The gain that drains the queue of startup within a round (bbr_drain_gain).
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// The gain of the window in PROBE_BW (bbr_cwnd_gain).
const CWND_GAIN: f64 = 2.0;
/// The pacing gains of PROBE_BW's cycle (bbr_pacing_gain).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The growth of the bandwidth (bbr_full_bw_thresh), and the number of rounds without such growth after which the
/// path counts as full.
const FULL: (f64, u32) = (1.25, 3);
/// The time for which a least round-trip time is valid (bbr_min_rtt_win_sec).
const MIN_RTT_NS: u64 = 10_000_000_000;
/// The least duration of PROBE_RTT (bbr_probe_rtt_mode_ms).
const PROBE_RTT_NS: u64 = 200_000_000;

/// A mode of BBR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// BBR ramps up its rate until the path is full.
    Startup,
    /// BBR drains the queue that startup has built.
    Drain,
    /// BBR probes for bandwidth in cycles.
    ProbeBandwidth,
    /// BBR empties the path to measure its round-trip time.
    ProbeRtt,
}

/// The state of BBR's modes.
#[derive(Debug)]
pub struct Probing {
    mode: Mode,
    cycle: usize,
    cycle_start_ns: u64,
    /// The bandwidth that must be exceeded for the path not to count as full, in segments per second.
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
    min_rtt_ns: u64,
    min_rtt_at_ns: u64,
    /// The time at which PROBE_RTT may end; `None` until the path is nearly empty.
    probe_rtt_end_ns: Option<u64>,
    has_probed_a_round: bool,
    /// The number of delivered segments up to which samples are limited by the application: samples of segments
    /// that were sent earlier say nothing about the bandwidth.
    app_limited_pkts: u64,
}

impl Probing {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self {
            mode: Mode::Startup,
            cycle: 0,
            cycle_start_ns: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
            min_rtt_ns: u64::MAX,
            min_rtt_at_ns: 0,
            probe_rtt_end_ns: None,
            has_probed_a_round: false,
            app_limited_pkts: 0,
        }
    }

    /// Begins when the connection is established.
    pub fn begin(&mut self, now_ns: u64) {
        self.min_rtt_at_ns = now_ns;
    }

    /// Returns the mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns true if startup has filled the path.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the least round-trip time, if one was measured.
    pub fn min_rtt_ns(&self) -> Option<u64> {
        (self.min_rtt_ns != u64::MAX).then_some(self.min_rtt_ns)
    }

    /// Returns true if BBR sends faster than the bandwidth to find out whether there is more.
    pub fn is_probing_for_bandwidth(&self) -> bool {
        self.mode == Mode::ProbeBandwidth && self.cycle == 0
    }

    /// Returns true if a sample was limited by the application.
    pub fn is_app_limited(&self, ack: &Ack) -> bool {
        ack.rate_is_app_limited || ack.prior_delivered_pkts < self.app_limited_pkts
    }

    /// Returns the pacing rate as a multiple of the bandwidth (bbr_update_gains).
    pub fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth => CYCLE[self.cycle],
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Returns the window as a multiple of the bandwidth-delay product.
    pub fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => CWND_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Forgets the full bandwidth, because the reduction was not a sign of a full path.
    pub fn forget_full_bandwidth(&mut self) {
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
    }

    /// Checks whether the path is full (bbr_check_full_bw_reached).
    fn look_whether_full(&mut self, bandwidth: f64) {
        if bandwidth >= self.full_bandwidth * FULL.0 {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= FULL.1;
        }
    }

    /// Begins PROBE_BW's cycle in any phase but the second, in which it would send less than the bandwidth
    /// (bbr_reset_probe_bw_mode).
    fn probe_bandwidth(&mut self, now_ns: u64) {
        let seven = (now_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % (CYCLE.len() - 1);
        self.mode = Mode::ProbeBandwidth;
        self.cycle = (CYCLE.len() - seven) % CYCLE.len();
        self.cycle_start_ns = now_ns;
    }

    /// Returns to startup or to PROBE_BW (bbr_reset_mode).
    fn resume(&mut self, now_ns: u64) {
        if self.is_full {
            self.probe_bandwidth(now_ns);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Processes a round-trip time. Returns true if the smallest one was too old (bbr_update_min_rtt).
    fn take_rtt(&mut self, ack: &Ack) -> bool {
        let is_old = ack.now_ns > self.min_rtt_at_ns.saturating_add(MIN_RTT_NS);
        if let Some(rtt_ns) = ack.rtt_ns
            && (rtt_ns < self.min_rtt_ns || is_old)
        {
            // Before the first one, SYN may have had a smaller one (bbr_init).
            let least_ns = if self.min_rtt_ns == u64::MAX { rtt_ns.min(ack.min_rtt_ns) } else { rtt_ns };
            self.min_rtt_ns = least_ns.max(1);
            self.min_rtt_at_ns = ack.now_ns;
        }
        is_old
    }
}

impl Bbr {
    /// Changes to the next phase or mode when it is time.
    pub(super) fn update_modes(&mut self, window: &mut Window, ack: &Ack) {
        if self.probing.mode == Mode::ProbeBandwidth && self.is_phase_over(ack) {
            self.probing.cycle = (self.probing.cycle + 1) % CYCLE.len();
            self.probing.cycle_start_ns = ack.now_ns;
        }
        if !self.probing.is_full && self.is_round_start && !self.probing.is_app_limited(ack) {
            self.probing.look_whether_full(self.bandwidth.get());
        }
        self.look_whether_drained(window, ack);
        self.update_min_rtt(window, ack);
    }

    /// Returns true if the phase of PROBE_BW's cycle is over (bbr_is_next_cycle_phase).
    fn is_phase_over(&self, ack: &Ack) -> bool {
        let gain = self.probing.pacing_gain();
        let is_full_length = ack.now_ns - self.probing.cycle_start_ns > self.probing.min_rtt_ns;
        if gain > 1.0 {
            let in_flight = ack.prior_in_flight_pkts + self.burst_pkts();
            is_full_length && (ack.lost_pkts > 0 || in_flight >= self.target_pkts(gain))
        } else if gain < 1.0 {
            is_full_length || ack.prior_in_flight_pkts <= self.target_pkts(1.0)
        } else {
            is_full_length
        }
    }

    /// Begins the drain after startup, and ends it (bbr_check_drain).
    fn look_whether_drained(&mut self, window: &mut Window, ack: &Ack) {
        if self.probing.mode == Mode::Startup && self.probing.is_full {
            self.probing.mode = Mode::Drain;
            window.ssthresh_pkts = self.target_pkts(1.0);
        }
        if self.probing.mode == Mode::Drain && ack.in_flight_pkts <= self.target_pkts(1.0) {
            self.probing.probe_bandwidth(ack.now_ns);
        }
    }

    /// Updates the least round-trip time, and begins and ends PROBE_RTT (bbr_update_min_rtt).
    fn update_min_rtt(&mut self, window: &mut Window, ack: &Ack) {
        let is_old = self.probing.take_rtt(ack);
        if is_old && !self.is_restarting && self.probing.mode != Mode::ProbeRtt {
            self.probing.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probing.probe_rtt_end_ns = None;
        }
        if self.probing.mode == Mode::ProbeRtt {
            self.probe_rtt(window, ack);
        }
        if ack.rate.is_some_and(|(pkts, _)| pkts > 0) {
            self.is_restarting = false;
        }
    }

    fn probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        self.probing.app_limited_pkts = ack.delivered_pkts + u64::from(ack.in_flight_pkts);
        if self.probing.probe_rtt_end_ns.is_some() {
            self.probing.has_probed_a_round |= self.is_round_start;
            if self.probing.has_probed_a_round {
                self.end_probe_rtt(window, ack.now_ns);
            }
        } else if ack.in_flight_pkts <= WINDOW_LEAST {
            self.probing.probe_rtt_end_ns = Some(ack.now_ns + PROBE_RTT_NS);
            self.probing.has_probed_a_round = false;
            self.round_end_pkts = ack.delivered_pkts;
        }
    }

    /// Ends PROBE_RTT if its time is over (bbr_check_probe_rtt_done).
    fn end_probe_rtt(&mut self, window: &mut Window, now_ns: u64) {
        if self.probing.probe_rtt_end_ns.is_some_and(|end_ns| now_ns > end_ns) {
            self.probing.min_rtt_at_ns = now_ns;
            window.cwnd_pkts = window.cwnd_pkts.max(self.prior_cwnd_pkts);
            self.probing.resume(now_ns);
        }
    }

    /// Restarts sending after an idle time at the bandwidth, because a faster rate is not needed (bbr_cwnd_event).
    pub(super) fn restart_modes(&mut self, window: &mut Window, now_ns: u64) {
        match self.probing.mode {
            Mode::ProbeBandwidth if self.bandwidth.get() > 0.0 => {
                let rate = self.bandwidth.get() * f64::from(self.mss_bytes) * super::PACING_MARGIN;
                self.pacing_rate = Some(rate);
            }
            Mode::ProbeRtt => self.end_probe_rtt(window, now_ns),
            _ => {}
        }
    }
}
