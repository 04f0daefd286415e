//! Packetization layer path MTU discovery (RFC 4821), as in Linux 6.12 with net.ipv4.tcp_mtu_probing 1 (tcp_mtup_init,
//! tcp_sync_mss, tcp_mtu_probe and tcp_mtu_check_reprobe in net/ipv4/tcp_output.c, tcp_mtu_probing in tcp_timer.c,
//! tcp_mtup_probe_success, tcp_mtup_probe_failed and tcp_simple_retransmit in tcp_input.c). A sender that has waited
//! for some timeouts in vain suspects a black hole, and sends segments of 1024 bytes, or of half the size if that was
//! not enough. From there it searches for the path MTU by halving: a probe is one larger segment of new data. If it is
//! acknowledged, segments have its size; if it alone is lost, that is no sign of congestion.
//!
//! On slow links the timer for reordering is often the first to find a lost probe (tcp_rack_reo_timeout). Then, as in
//! Linux, the sender repairs it as any loss, and sends one of the same size again.
//!
//! The model differs from Linux as follows: segments that are too large now are divided into all of their parts when the
//! first of them is retransmitted, while Linux cuts off one part at a time, of the size of then. Unsent data is divided
//! anew when the size changes; some segments that Linux had made before stay smaller. The subflows of MPTCP find black
//! holes, but search for no larger size: their data is assigned when it leaves, and a probe needs data that waits.

use super::{Options, Scope, Tcp};
use crate::Time;
use crate::transport::stream::Chunk;
use nettrial_congestion::{Event, Phase};

/// The number of retransmissions after which a black hole is suspected (net.ipv4.tcp_retries1).
pub(super) const RETRIES: u32 = 3;
/// The payload of a segment, before options that not all have, from which the search begins (net.ipv4.tcp_base_mss).
const BASE_BYTES: u32 = 1024;
/// The smallest one (net.ipv4.tcp_mtu_probe_floor).
const FLOOR_BYTES: u32 = 48;
/// The search ends when its bounds are closer than this (net.ipv4.tcp_probe_threshold).
const THRESHOLD_BYTES: u32 = 8;
/// The time after which it begins anew (net.ipv4.tcp_probe_interval).
const INTERVAL: Time = Time::from_ms(600_000);
/// The smallest congestion window with which a probe is sent.
const LEAST_WINDOW_PKTS: u32 = 11;

/// A segment with which a sender probes whether the path carries packets of its size.
#[derive(Debug, Clone, Copy)]
struct Probe {
    packet_bytes: u32,
    start: u64,
    end: u64,
}

/// The state of a sender that probes for the path MTU (icsk_mtup). Sizes are those of IP packets with full segments.
#[derive(Debug)]
pub(super) struct Search {
    /// True once a black hole was suspected.
    is_on: bool,
    /// The size that is known to arrive.
    low_bytes: u32,
    /// The largest size that may arrive.
    high_bytes: u32,
    probe: Option<Probe>,
    /// The time at which the search began.
    began_at: Time,
}

/// The result of an attempt to send a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// None is due.
    NotDue,
    /// One was sent.
    Sent,
    /// One is due, and nothing is sent until the window has room for it.
    Waits,
}

impl Search {
    /// Returns the state before a black hole is suspected (tcp_mtup_init).
    fn new(options: &Options) -> Self {
        Self {
            is_on: false,
            low_bytes: options.packet_bytes(BASE_BYTES, 0),
            high_bytes: options.largest_packet_bytes(),
            probe: None,
            began_at: Time::ZERO,
        }
    }
}

impl Tcp {
    /// Lets the sender probe for the path MTU.
    pub(crate) fn enable_probing(&mut self) {
        self.search = Some(Box::new(Search::new(&self.options)));
    }

    /// Suspects a black hole after timeouts: the segments become smaller (tcp_mtu_probing).
    pub(super) fn suspect_black_hole(&mut self, scope: &mut Scope<'_>) {
        let Some(search) = &mut self.search else { return };
        if search.is_on {
            let half = self.options.segment_of(search.low_bytes) / 2;
            let bytes = half.clamp(FLOOR_BYTES, BASE_BYTES);
            search.low_bytes = self.options.packet_bytes(bytes, 0);
        } else {
            search.is_on = true;
            search.began_at = scope.now;
        }
        self.fit_segments(scope);
    }

    /// Gives segments the size that is known to arrive (tcp_sync_mss).
    fn fit_segments(&mut self, scope: &mut Scope<'_>) {
        let Some(search) = &self.search else { return };
        self.options.mss_bytes = self.options.segment_of(search.low_bytes);
        scope.stream.resize_segments(self.options.mss_bytes, self.pieces());
    }

    /// Sends a probe if one is due (tcp_mtu_probe).
    pub(crate) fn probe_path_mtu(&mut self, scope: &mut Scope<'_>) -> Attempt {
        let Some(search) = self.search.as_ref().filter(|search| search.is_on && search.probe.is_none())
        else {
            return Attempt::NotDue;
        };
        let is_calm = !self.options.is_mptcp
            && self.recovery.phase == Phase::Open
            && self.window.cwnd_pkts >= LEAST_WINDOW_PKTS
            && self.receiver.sack_option_bytes(&self.options) == 0;
        if !is_calm || self.fin_end.is_some() {
            return Attempt::NotDue;
        }
        let (low, high) = (search.low_bytes, search.high_bytes);
        let bytes = self.options.segment_of(u32::midpoint(low, high));
        if bytes > self.options.segment_of(high) || high.saturating_sub(low) < THRESHOLD_BYTES {
            self.search_again(scope.now);
            return Attempt::NotDue;
        }
        let others = (u64::from(self.rack.reordering_pkts) + 1) * u64::from(self.options.mss_bytes);
        let needed = u64::from(bytes) + others;
        if scope.stream.unsent_bytes() < needed || scope.stream.send_window() < needed {
            return Attempt::NotDue;
        }
        if scope.stream.window_left() < needed {
            return Attempt::Waits;
        }
        let in_flight = self.board.in_flight();
        if in_flight + 2 > self.window.cwnd_pkts {
            return if in_flight == 0 { Attempt::NotDue } else { Attempt::Waits };
        }
        self.send_path_mtu_probe(scope.stream.ahead(bytes), scope)
    }

    fn send_path_mtu_probe(&mut self, chunk: Chunk, scope: &mut Scope<'_>) -> Attempt {
        let start = self.next;
        if !self.send_new(chunk, scope) {
            return Attempt::NotDue;
        }
        scope.stream.take(chunk.bytes);
        // The probe is as large as two segments.
        self.window.cwnd_pkts -= 1;
        let packet_bytes = self.options.packet_bytes(chunk.bytes, 0);
        if let Some(search) = &mut self.search {
            search.probe = Some(Probe { packet_bytes, start, end: self.next });
        }
        Attempt::Sent
    }

    /// Begins the search anew if the last one began long ago (tcp_mtu_check_reprobe).
    fn search_again(&mut self, now: Time) {
        let low_bytes = self.options.packet_bytes(self.segment_bytes(), 0);
        let high_bytes = self.options.largest_packet_bytes();
        if let Some(search) = self.search.as_mut().filter(|search| now.since(search.began_at) >= INTERVAL) {
            (search.low_bytes, search.high_bytes) = (low_bytes, high_bytes);
            search.began_at = now;
        }
    }

    /// Returns whether a probe is under way.
    pub(super) fn has_path_mtu_probe(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.probe.is_some())
    }

    /// Forgets the probe that is under way, because a retransmission makes its result doubtful
    /// (__tcp_retransmit_skb).
    pub(super) fn forget_path_mtu_probe(&mut self) {
        if let Some(search) = &mut self.search {
            search.probe = None;
        }
    }

    /// Makes segments as large as a probe that was acknowledged, and the window as many fewer
    /// (tcp_mtup_probe_success).
    pub(super) fn check_path_mtu_probe(&mut self, scope: &mut Scope<'_>) {
        let Some(probe) =
            self.search.as_mut().and_then(|search| search.probe.take_if(|probe| probe.end <= self.una))
        else {
            return;
        };
        self.recovery.prior_ssthresh_pkts = Some(self.current_ssthresh());
        let packet_bytes = self.options.packet_bytes(self.options.mss_bytes, 0);
        let bytes = u64::from(self.window.cwnd_pkts) * u64::from(packet_bytes);
        self.window.cwnd_pkts =
            u32::try_from(bytes / u64::from(probe.packet_bytes)).unwrap_or(u32::MAX).max(1);
        self.window.credit_pkts = 0;
        self.interface.validated_at = scope.now;
        self.window.ssthresh_pkts = self.current_ssthresh();
        if let Some(search) = &mut self.search {
            search.low_bytes = probe.packet_bytes;
        }
        self.fit_segments(scope);
    }

    /// Handles the loss of segments of which the first is a probe: repairs it without a reduction of the window
    /// (tcp_fastretrans_alert, tcp_mtup_probe_failed, tcp_simple_retransmit). Returns whether there is such a probe.
    pub(super) fn give_up_path_mtu_probe(&mut self, scope: &mut Scope<'_>) -> bool {
        if !matches!(self.recovery.phase, Phase::Open | Phase::Disorder) {
            return false;
        }
        let Some(search) = &mut self.search else { return false };
        let Some(probe) = search.probe.take_if(|probe| probe.start == self.una) else { return false };
        search.high_bytes = probe.packet_bytes - 1;
        self.window.cwnd_pkts += 1;
        self.board.mark_larger_lost(self.segment_bytes());
        self.recovery.high_sequence = self.next;
        self.window.ssthresh_pkts = self.current_ssthresh();
        self.recovery.prior_ssthresh_pkts = None;
        self.recovery.undo_una = None;
        self.control.on_event(Event::ProbeLost, &mut self.window, scope.now.as_ns());
        self.recovery.phase = Phase::Loss;
        self.resend_lost(scope);
        true
    }

    /// Divides a segment that is larger than segments are now, before it is retransmitted (tcp_fragment).
    pub(super) fn divide_segment(&mut self, index: u64, scope: &mut Scope<'_>) {
        if self.search.is_some() {
            let added = self.board.divide(index, self.segment_bytes());
            scope.stream.add_pieces(added);
        }
    }
}
