//! Bursts: segments that leave a host as one GSO packet, which its interface (TSO) or its kernel just before that
//! (GSO) segments. This module determines the size of bursts, and the times at which a sender waits to send a
//! larger one (tcp_tso_autosize, tcp_tso_should_defer and tcp_write_xmit in net/ipv4/tcp_output.c, Linux 6.18).
//! The model differs from Linux as follows: in Linux, TCP makes bursts whatever the interface's capabilities
//!(sk_setup_caps); here, a host with neither offload sends segment by segment. A burst ends where the
//! application's data ends, not at the end of a buffer. Its segments arrive at the first queue one after the other
//! at the same instant, and the queue counts and drops them individually, while a qdisc of Linux sees one large
//! packet. Retransmissions are sent segment by segment.

use super::{Readiness, Scope, Tcp};
use crate::Time;
use nettrial_congestion::Phase;
use nettrial_scenario::Offloads;

/// The largest burst in bytes of payload (GSO_LEGACY_MAX_SIZE minus MAX_TCP_HEADER and 1: sk_dst_gso_max_size).
const LARGEST_BYTES: u64 = 65_215;
/// The round-trip time in microseconds, as a power of two, that halves the additional size of bursts to near peers
/// (net.ipv4.tcp_tso_rtt_log).
const RTT_LOG: u32 = 9;
/// The divisor of the window: a burst of that share is sent without waiting (net.ipv4.tcp_tso_win_divisor).
const WINDOW_DIVISOR: u64 = 3;
/// The longest time after the last segment, and before the next acknowledgment, for which a sender may wait.
const RECENT: Time = Time::from_ms(1);

/// The part of a host that segments bursts into packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cutter {
    /// The interface, which reports a burst once all of it has left.
    Interface,
    /// The kernel, in which case each packet is reported separately.
    Kernel,
}

impl Cutter {
    /// Returns the part that segments bursts on a host with these offloads; `None` if TCP sends segment by
    /// segment.
    pub(crate) fn of(offloads: Offloads) -> Option<Self> {
        let of_kernel = offloads.gso.then_some(Self::Kernel);
        if offloads.tso { Some(Self::Interface) } else { of_kernel }
    }
}

/// The segments and payload of a burst that is being sent.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    pkts: u32,
    bytes: u32,
}

/// The state of a sender's bursts.
#[derive(Debug)]
pub(super) struct Bursts {
    /// The number of segments that the next burst may have.
    pub(super) planned_pkts: u32,
    /// The number of segments of the last burst.
    pub(super) last_pkts: u32,
    open: Option<Open>,
}

impl Default for Bursts {
    fn default() -> Self {
        Self { planned_pkts: 1, last_pkts: 1, open: None }
    }
}

impl Bursts {
    /// Returns whether the next segment belongs to the same burst as the previous one.
    pub(super) fn is_begun(&self) -> bool {
        self.open.is_some_and(|open| open.pkts > 0)
    }

    /// Notes that a segment was sent; returns whether it belongs to a burst, which is paced as a whole.
    pub(super) fn on_sent(&mut self, payload_bytes: u32) -> bool {
        if let Some(open) = &mut self.open {
            open.pkts += 1;
            open.bytes += payload_bytes;
        }
        self.open.is_some()
    }
}

/// Returns the largest number of segments of a burst, at a pacing rate of `paced_bytes` in 1/1024 s
/// (tcp_tso_autosize).
fn most_pkts(paced_bytes: u64, minimum_rtt: Time, mss_bytes: u32, least_pkts: u32) -> u32 {
    let halvings = (minimum_rtt.as_ns() / 1000) >> RTT_LOG;
    let for_near = if halvings < 32 { LARGEST_BYTES >> halvings } else { 0 };
    let bytes = paced_bytes.saturating_add(for_near).min(LARGEST_BYTES);
    ((bytes / u64::from(mss_bytes)) as u32).max(least_pkts)
}

impl Tcp {
    /// Begins a burst; returns the number of segments that it may have, which is one without offloads.
    pub(crate) fn begin_burst(&mut self) -> u32 {
        if self.options.cutter.is_none() {
            return 1;
        }
        self.bursts.open = Some(Open::default());
        self.bursts.planned_pkts
    }

    /// Ends a burst after all available data was sent.
    pub(crate) fn end_burst(&mut self, now: Time) {
        let Some(open) = self.bursts.open.take().filter(|open| open.pkts > 0) else { return };
        self.bursts.last_pkts = open.pkts;
        self.pace(open.bytes, now);
    }

    /// Plans the size of the next burst, which is limited by the available data, by half of the window, so that
    /// two bursts are in flight (tcp_cwnd_test), and by the rate.
    pub(super) fn plan_burst(&mut self, scope: &Scope<'_>) {
        if self.options.cutter.is_some() {
            let cwnd = self.window.cwnd_pkts;
            let room = (cwnd / 2).max(1).min(cwnd.saturating_sub(self.board.in_flight()));
            let data = self.unsent_bytes(scope).div_ceil(u64::from(self.segment_bytes()));
            let data = u32::try_from(data).unwrap_or(u32::MAX);
            self.bursts.planned_pkts = self.most_of_burst().min(room).min(data).max(1);
        }
    }

    fn most_of_burst(&self) -> u32 {
        let least = self.control.least_burst_pkts();
        most_pkts(self.interface_limit_bytes(), self.rtt.minimum, self.segment_bytes(), least)
    }

    /// Returns the reason for not sending, if the sender waits for an acknowledgment in order to send more at once
    /// (tcp_tso_should_defer).
    pub(super) fn defers(&self, scope: &Scope<'_>) -> Option<Readiness> {
        let mss = u64::from(self.segment_bytes());
        let unsent = self.unsent_bytes(scope);
        if self.options.cutter.is_none()
            || unsent <= mss
            || self.is_repairing()
            || !self.has_just_sent(scope.now)
        {
            return None;
        }
        let cwnd = u64::from(self.window.cwnd_pkts);
        let by_congestion = cwnd.saturating_sub(self.board.in_flight().into()) * mss;
        let by_receiver = self.window_left(scope);
        let room = by_congestion.min(by_receiver);
        let enough = scope.stream.send_window().min(cwnd * mss) / WINDOW_DIVISOR;
        if room >= enough.min(u64::from(self.most_of_burst()) * mss) || !self.expects_ack_soon(scope.now) {
            return None;
        }
        let piece = unsent.min(LARGEST_BYTES / mss * mss);
        if by_congestion < by_receiver && by_congestion <= piece {
            Some(Readiness::Window)
        } else if by_receiver <= by_congestion && by_receiver <= piece {
            Some(Readiness::Later)
        } else {
            let ends = scope.stream.is_closing() && piece == unsent;
            (!ends).then_some(Readiness::Later)
        }
    }

    fn is_repairing(&self) -> bool {
        matches!(self.recovery.phase, Phase::Recovery | Phase::Loss)
    }

    fn has_just_sent(&self, now: Time) -> bool {
        now.since(self.interface.last_departure()) <= RECENT
    }

    /// Returns whether the acknowledgment of the oldest segment is expected within a millisecond or half a round
    /// trip.
    fn expects_ack_soon(&self, now: Time) -> bool {
        let Some(oldest) = self.board.front() else { return false };
        let rtt = self.rtt.smoothed;
        (oldest.sent_at + rtt).since(now) <= Time(rtt.0 / 2).min(RECENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values follow the kernel's formula, computed by hand with gso_max_size 65215 and MSS 1448.
    #[test]
    fn a_burst_is_a_millisecond_of_the_rate_and_more_for_near_peers() {
        let far = Time::from_ms(100);
        assert_eq!(most_pkts(0, far, 1448, 2), 2, "two at least");
        assert_eq!(most_pkts(0, far, 1448, 1), 1, "or what the control says");
        // 120 Mbit/s are 14648 bytes in 1/1024 s.
        assert_eq!(most_pkts(14_648, far, 1448, 2), 10);
        assert_eq!(most_pkts(u64::MAX, far, 1448, 2), 45, "64 KB at most");
        assert_eq!(most_pkts(u64::MAX, far, 8948, 2), 7);
        // Within 512 us of round trip, all of 64 KB; half of it with each further 512 us.
        assert_eq!(most_pkts(0, Time::from_us(511), 1448, 2), 45);
        assert_eq!(most_pkts(0, Time::from_us(512), 1448, 2), 22);
        assert_eq!(most_pkts(14_648, Time::from_us(1024), 1448, 2), (14_648 + 16_303) / 1448);
        assert_eq!(most_pkts(0, Time::from_us(512 * 6), 1448, 2), 2);
        assert_eq!(most_pkts(14_648, Time::NEVER, 1448, 2), 10, "before the first round trip");
    }

    #[test]
    fn the_interface_cuts_where_it_can() {
        let offloads = |tso, gso| Offloads { tso, gso, gro: false };
        assert_eq!(Cutter::of(offloads(false, false)), None);
        assert_eq!(Cutter::of(offloads(false, true)), Some(Cutter::Kernel));
        assert_eq!(Cutter::of(offloads(true, true)), Some(Cutter::Interface));
    }
}
