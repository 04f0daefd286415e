//! HyStart (Ha and Rhee, "Taming the Elephants: New TCP Slow Start", 2008), by which CUBIC leaves slow start
//! before it loses: hystart_update in net/ipv4/tcp_cubic.c of Linux 5.6 and later, both its detections on, as
//! by default.
//!
//! The model differs from Linux: the pacing rate, of which the allowance for bursts is computed, is that of
//! tcp_update_pacing_rate at its default ratios (2 in slow start, 1.2 near the threshold), from the window
//! alone. Where it stops being valid: paths with jitter of more than an eighth of the round trip (at least 4
//! ms) make it leave early, as they make Linux; RFC 9406's HyStart++ is not here.

use crate::{Ack, Window};

/// The least window at which it looks, segments (hystart_low_window).
const LEAST_WINDOW_PKTS: u32 = 16;
/// Acknowledgments no further apart belong to one train (hystart_ack_delta_us).
const TRAIN_GAP_US: u64 = 2_000;
/// Samples of a round before its least round-trip time counts (HYSTART_MIN_SAMPLES).
const SAMPLES_LEAST: u32 = 8;
/// Bounds of the delay that ends slow start (HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const DELAY_US: (u64, u64) = (4_000, 16_000);
/// The size of a burst of segmentation offload at most (sk_gso_max_size).
const BURST_BYTES: u64 = 65_536;

/// The state of the present round.
#[derive(Debug)]
pub struct HyStart {
    found: bool,
    end_bytes: u64,
    started_us: u64,
    last_us: u64,
    least_us: u64,
    samples: u32,
}

impl HyStart {
    /// At the beginning of a connection; its first acknowledgment of data begins a round.
    pub fn new() -> Self {
        Self { found: false, end_bytes: 0, started_us: 0, last_us: 0, least_us: u64::MAX, samples: 0 }
    }

    /// Has slow start looked at again, after a timeout, from the next round on.
    pub fn restart(&mut self, ack: &Ack) {
        self.found = false;
        self.start_round(ack);
    }

    /// Looks at an acknowledgment in slow start with a sample `rtt_us` of the round trip, of which
    /// `delay_min_us` is the least so far. Sets the threshold to the window where slow start is to end.
    pub fn look(&mut self, window: &mut Window, ack: &Ack, rtt_us: u64, delay_min_us: u64) {
        if self.found {
            return;
        }
        if ack.una_bytes > self.end_bytes {
            self.start_round(ack);
        }
        if window.cwnd_pkts < LEAST_WINDOW_PKTS {
            return;
        }
        let train = self.train_is_long(window, ack, delay_min_us);
        let queue = self.delay_has_grown(rtt_us, delay_min_us);
        if train || queue {
            self.found = true;
            window.ssthresh_pkts = window.cwnd_pkts;
        }
    }

    fn start_round(&mut self, ack: &Ack) {
        let now_us = ack.now_ns / 1000;
        *self = Self {
            end_bytes: ack.next_bytes,
            started_us: now_us,
            last_us: now_us,
            found: self.found,
            ..Self::new()
        };
    }

    /// Returns true if acknowledgments have come close together for half of the path's round trip: what was sent at
    /// once then fills it one way.
    fn train_is_long(&mut self, window: &Window, ack: &Ack, delay_min_us: u64) -> bool {
        let now_us = ack.now_ns / 1000;
        if now_us - self.last_us > TRAIN_GAP_US {
            return false;
        }
        self.last_us = now_us;
        now_us - self.started_us > (delay_min_us + burst_us(window, ack)) / 2
    }

    /// Returns true if the least of the round's first round-trip times shows a queue.
    fn delay_has_grown(&mut self, rtt_us: u64, delay_min_us: u64) -> bool {
        self.least_us = self.least_us.min(rtt_us);
        if self.samples < SAMPLES_LEAST {
            self.samples += 1;
            return false;
        }
        self.least_us > delay_min_us + (delay_min_us / 8).clamp(DELAY_US.0, DELAY_US.1)
    }
}

/// Returns the time that four bursts take at the pacing rate, at most 1 ms (hystart_ack_delay).
fn burst_us(window: &Window, ack: &Ack) -> u64 {
    let in_window = u64::from(window.cwnd_pkts.max(ack.in_flight_pkts)) * u64::from(ack.mss_bytes);
    let percent = if window.cwnd_pkts < window.ssthresh_pkts / 2 { 200 } else { 120 };
    let paced = in_window * percent / 100;
    if paced == 0 {
        return 0;
    }
    let burst_ns = u128::from(4 * BURST_BYTES) * u128::from(ack.srtt_ns) / u128::from(paced);
    (burst_ns / 1000).min(1000) as u64
}
