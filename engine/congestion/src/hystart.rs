//! HyStart (Ha and Rhee, "Taming the Elephants: New TCP Slow Start", 2008), with which CUBIC leaves slow start
//! before it loses segments: hystart_update in net/ipv4/tcp_cubic.c of Linux 5.6 and later, with both detections
//! on, as by default.
//!
//! The pacing rate from which the allowance for bursts is computed is that of tcp_update_pacing_rate with its default
//! ratios (2 in slow start, 1.2 near the threshold). Limits of validity: paths with jitter of more than an eighth of
//! the round-trip time (at least 4 ms) make it leave slow start early, as in Linux. RFC 9406's HyStart++ is not
//! implemented.

use crate::{Ack, Window};

/// The least window at which HyStart acts, in segments (hystart_low_window).
const LEAST_WINDOW_PKTS: u32 = 16;
/// The largest gap between two acknowledgments of one train, in microseconds (hystart_ack_delta_us).
const TRAIN_GAP_US: u64 = 2_000;
/// The number of samples of a round before its least round-trip time counts (HYSTART_MIN_SAMPLES).
const SAMPLES_LEAST: u32 = 8;
/// The bounds of the increase of the delay that ends slow start, in microseconds (HYSTART_DELAY_MIN,
/// HYSTART_DELAY_MAX).
const DELAY_US: (u64, u64) = (4_000, 16_000);
/// The largest size of a burst of segmentation offload, in bytes (sk_gso_max_size): GSO_LEGACY_MAX_SIZE minus
/// MAX_TCP_HEADER, which is 256 in the kernel in virtual time, and 1 (sk_dst_gso_max_size in net/core/sock.c).
const BURST_BYTES: u64 = 65_279;

/// The state of the current round.
#[derive(Debug)]
pub struct HyStart {
    is_over: bool,
    end_bytes: u64,
    started_us: u64,
    last_us: u64,
    least_us: u64,
    samples: u32,
    /// The allowance for bursts, at the pacing rate after the acknowledgment before.
    burst_us: u64,
}

impl HyStart {
    /// Creates the state at the beginning of a connection, whose first acknowledgment of data begins a round.
    pub fn new() -> Self {
        Self {
            is_over: false,
            end_bytes: 0,
            started_us: 0,
            last_us: 0,
            least_us: u64::MAX,
            samples: 0,
            burst_us: 0,
        }
    }

    /// Restarts the detection after a timeout, beginning with the next round.
    pub fn restart(&mut self, ack: &Ack) {
        self.is_over = false;
        self.start_round(ack);
    }

    /// Evaluates an acknowledgment in slow start with a sample `rtt_us` of the round-trip time, whose least value
    /// so far is `delay_min_us`. Sets the threshold to the window if slow start should end.
    pub fn look(&mut self, window: &mut Window, ack: &Ack, rtt_us: u64, delay_min_us: u64) {
        if self.is_over {
            return;
        }
        if ack.una_bytes > self.end_bytes {
            self.start_round(ack);
        }
        if window.cwnd_pkts < LEAST_WINDOW_PKTS {
            return;
        }
        let train = self.train_is_long(ack, delay_min_us);
        let queue = self.delay_has_grown(rtt_us, delay_min_us);
        if train || queue {
            self.is_over = true;
            window.ssthresh_pkts = window.cwnd_pkts;
        }
    }

    /// Notes the pacing rate at the end of an acknowledgment, which the next one is evaluated with: Linux updates the rate
    /// after the control has seen the sample and grown the window (tcp_cong_control in net/ipv4/tcp_input.c).
    pub fn note_rate(&mut self, window: &Window, ack: &Ack) {
        if !self.is_over {
            self.burst_us = burst_us(window, ack);
        }
    }

    fn start_round(&mut self, ack: &Ack) {
        let now_us = ack.now_ns / 1000;
        *self = Self {
            end_bytes: ack.next_bytes,
            started_us: now_us,
            last_us: now_us,
            is_over: self.is_over,
            burst_us: self.burst_us,
            ..Self::new()
        };
    }

    /// Returns true if acknowledgments have arrived close together for half of the path's round-trip time, because
    /// data that was sent at once then fills the path in one direction.
    fn train_is_long(&mut self, ack: &Ack, delay_min_us: u64) -> bool {
        let now_us = ack.now_ns / 1000;
        if now_us - self.last_us > TRAIN_GAP_US {
            return false;
        }
        self.last_us = now_us;
        now_us - self.started_us > (delay_min_us + self.burst_us) / 2
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
