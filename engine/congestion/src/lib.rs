//! Congestion controls without input and output: they compute a sender's window from its acknowledgments.
//!
//! The division of work is that of Linux (struct tcp_congestion_ops, include/net/tcp.h): the sender finds losses,
//! controls the window during recovery (RFC 6937) and counts the segments in flight; a control decides how the
//! window grows, its size after a loss, and the rate at which to send. Each control has its own file, and [`new`]
//! creates one by its name. All arithmetic is that of integers or IEEE doubles in a fixed order, so that results
//! do not depend on the machine.

#![forbid(unsafe_code)]

mod balia;
mod balia_kernel;
mod bbr;
mod coupled;
mod cubic;
mod dctcp;
mod hystart;
mod lia;
mod lia_kernel;
mod olia;
mod olia_kernel;
mod reno;
mod rounds;
mod vegas;
mod wvegas;
mod wvegas_kernel;

use std::fmt::Debug;

/// The window that a control sets, in segments, as Linux keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The congestion window.
    pub cwnd_pkts: u32,
    /// The slow start threshold; `u32::MAX` before the first loss.
    pub ssthresh_pkts: u32,
    /// The number of acknowledged segments that have not yet grown the window (snd_cwnd_cnt).
    pub credit_pkts: u32,
}

impl Window {
    /// Returns true if the window is below its slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd_pkts < self.ssthresh_pkts
    }

    /// Grows the window in slow start by one segment for each acknowledged one (RFC 5681 section 3.1,
    /// tcp_slow_start). Returns how many of `acked_pkts` are left once the threshold is reached.
    pub fn slow_start(&mut self, acked_pkts: u32) -> u32 {
        let cwnd = self.cwnd_pkts.saturating_add(acked_pkts).min(self.ssthresh_pkts);
        let left = acked_pkts - (cwnd - self.cwnd_pkts);
        self.cwnd_pkts = cwnd;
        left
    }

    /// Grows the window by one segment for each `per_pkts` acknowledged ones (tcp_cong_avoid_ai).
    pub fn additive_increase(&mut self, per_pkts: u32, acked_pkts: u32) {
        let per = per_pkts.max(1);
        if self.credit_pkts >= per {
            self.credit_pkts = 0;
            self.cwnd_pkts += 1;
        }
        self.credit_pkts += acked_pkts;
        if self.credit_pkts >= per {
            let steps = self.credit_pkts / per;
            self.credit_pkts -= steps * per;
            self.cwnd_pkts += steps;
        }
    }
}

/// The phase of a sender's recovery (Linux's ca_state).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No segment is known to be lost.
    Open,
    /// Some data arrived out of order, but no segment counts as lost yet.
    Disorder,
    /// The window is being reduced because of a mark (CWR).
    Reducing,
    /// A loss is being recovered from.
    Recovery,
    /// A timeout is being recovered from.
    Loss,
}

/// An acknowledgment, after the sender's own bookkeeping. Times are in nanoseconds of the sender's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// The time at which the acknowledgment arrived.
    pub now_ns: u64,
    /// The number of newly acknowledged segments, cumulatively or selectively.
    pub acked_pkts: u32,
    /// The number of newly acknowledged bytes.
    pub acked_bytes: u64,
    /// The number of segments that count as lost because of this acknowledgment.
    pub lost_pkts: u32,
    /// The round-trip time of the newest acknowledged segment that was sent only once.
    pub rtt_ns: Option<u64>,
    /// The smoothed round-trip time (RFC 6298); 0 before the first sample.
    pub srtt_ns: u64,
    /// The smallest round-trip time in Linux's window of 300 s (tcp_min_rtt).
    pub min_rtt_ns: u64,
    /// The number of segments in flight after the acknowledgment.
    pub in_flight_pkts: u32,
    /// The number of segments in flight before the acknowledgment.
    pub prior_in_flight_pkts: u32,
    /// The number of segments delivered since the connection began, of which SYN is the first.
    pub delivered_pkts: u64,
    /// The number of segments among them whose acknowledgments carried an echo of a mark (ECE).
    pub delivered_marked_pkts: u64,
    /// The value of `delivered_pkts` when the acknowledged segment was sent, from which BBR derives rounds.
    pub prior_delivered_pkts: u64,
    /// The delivery rate that this acknowledgment shows (tcp_rate.c), as a number of segments and a time in
    /// nanoseconds.
    pub rate: Option<(u32, u64)>,
    /// True if the application limited that rate.
    pub rate_is_app_limited: bool,
    /// True if the window, rather than the application, limited the data in flight (tcp_is_cwnd_limited).
    pub is_cwnd_limited: bool,
    /// The segment size, in bytes of payload.
    pub mss_bytes: u32,
    /// The sequence number below which all data is acknowledged (snd_una), in bytes from 0.
    pub una_bytes: u64,
    /// The next sequence number to be sent (snd_nxt), in bytes from 0.
    pub next_bytes: u64,
    /// The phase of the sender after the acknowledgment.
    pub phase: Phase,
}

impl Ack {
    /// Returns true if a control that does not drive may grow the window, because the window limits the sender and
    /// the sender is not reducing it (tcp_may_raise_cwnd, tcp_in_cwnd_reduction).
    pub fn may_grow_window(&self) -> bool {
        self.is_cwnd_limited && !matches!(self.phase, Phase::Recovery | Phase::Reducing)
    }
}

/// An event at a sender other than an acknowledgment. As in Linux, the sender asks for the threshold right after
/// `EnterRecovery` and `Marked`, and right before `Timeout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The connection (or subflow) is established.
    Established,
    /// Sending starts again with nothing in flight (CA_EVENT_TX_START).
    Restart,
    /// The window was validated after idling: RFC 2861, CA_EVENT_CWND_RESTART.
    IdleReset,
    /// Recovery from a loss begins; the window has not been reduced yet.
    EnterRecovery,
    /// The retransmission timer has expired.
    Timeout,
    /// A larger segment was lost that probed for the path MTU, which is repaired as after a timeout, without a reduction
    /// of the window (set_state with TCP_CA_Loss).
    ProbeLost,
    /// A reduction because of a mark begins (CWR).
    Marked,
    /// Recovery or reduction is over, and the control sets the window again.
    Recovered,
    /// There was no loss, and the reduction is undone (undo_cwnd).
    Undone,
}

/// A subflow of the connection as controls see it; a single subflow sees only itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subflow {
    /// The subflow's window.
    pub window: Window,
    /// The subflow's smoothed round-trip time, in nanoseconds; 0 before the first sample.
    pub srtt_ns: u64,
    /// The subflow's segment size.
    pub mss_bytes: u32,
    /// The phase of the subflow's sender.
    pub phase: Phase,
    /// The values that the subflow's control shares with the others ([`Control::shared`]).
    pub shared: Shared,
}

/// Two words that the control of a subflow shows to those of the connection's other subflows. Only the control gives
/// them a meaning: all subflows of a connection have the same one. A rate in floating point is shared as its bits.
pub type Shared = [u64; 2];

/// A congestion control of one connection or subflow.
pub trait Control: Debug + Send {
    /// Returns the control's name in scenarios.
    fn name(&self) -> &'static str;

    /// Handles an acknowledgment. `subflows` are the established ones of the connection, among them this one at
    /// index `own`, whose window is `window`. The sender calls this in every phase. In phases other than
    /// [`Phase::Open`], [`Phase::Disorder`] and [`Phase::Loss`] the sender reduces the window itself, and a
    /// control that does not `drive` leaves it alone.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize);

    /// Returns the threshold after a loss, a timeout or a mark, in segments (ssthresh), which is at least 2.
    fn ssthresh(&mut self, window: &Window, subflows: &[Subflow], own: usize) -> u32;

    /// Handles another event. The sender has not changed the window yet, and a control may change it.
    fn on_event(&mut self, _event: Event, _window: &mut Window, _now_ns: u64) {}

    /// Returns the window to restore when a reduction is undone; `prior_cwnd_pkts` is the window before the
    /// reduction (tcp_reno_undo_cwnd).
    fn undo(&mut self, window: &Window, prior_cwnd_pkts: u32) -> u32 {
        window.cwnd_pkts.max(prior_cwnd_pkts)
    }

    /// Returns the pacing rate in bits of payload per second (as Linux's own pacing counts, skb->len before
    /// headers); `None` if the sender sends as the window opens.
    fn pacing_rate_bps(&self) -> Option<f64> {
        None
    }

    /// Returns the least number of segments of a burst with segmentation offload (min_tso_segs;
    /// net.ipv4.tcp_min_tso_segs).
    fn least_burst_pkts(&self) -> u32 {
        2
    }

    /// Returns the number of windows for which a send buffer has room (sndbuf_expand).
    fn buffered_windows(&self) -> u32 {
        2
    }

    /// Returns true if the control itself sets the window in every phase, as BBR does (Linux's cong_control).
    fn drives(&self) -> bool {
        false
    }

    /// Returns true if connections with this control negotiate ECN whatever the stack's setting (DCTCP;
    /// TCP_CONG_NEEDS_ECN), and echo each mark exactly (RFC 8257 section 3.2).
    fn needs_ecn(&self) -> bool {
        false
    }

    /// Returns the values that the control shares with the connection's other subflows.
    fn shared(&self) -> Shared {
        Shared::default()
    }
}

/// A function that creates a control.
type Begin = fn() -> Box<dyn Control>;

/// All controls by their names, in alphabetical order. `NAME-kernel` is a variant with the quirks of the
/// out-of-tree MPTCP kernel.
const CONTROLS: &[(&str, Begin)] = &[
    ("balia", || Box::new(balia::Balia::default())),
    ("balia-kernel", || Box::new(balia_kernel::BaliaKernel::default())),
    ("bbr", || Box::new(bbr::Bbr::new())),
    ("cubic", || Box::new(cubic::Cubic::new())),
    ("dctcp", || Box::new(dctcp::Dctcp::new())),
    ("lia", || Box::new(lia::Lia::default())),
    ("lia-kernel", || Box::new(lia_kernel::LiaKernel::new())),
    ("olia", || Box::new(olia::Olia::default())),
    ("olia-kernel", || Box::new(olia_kernel::OliaKernel::default())),
    ("reno", || Box::new(reno::Reno)),
    ("vegas", || Box::new(vegas::Vegas::new())),
    ("wvegas", || Box::new(wvegas::WVegas::new())),
    ("wvegas-kernel", || Box::new(wvegas_kernel::WVegasKernel::new())),
];

/// Returns the names of all controls.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLS.iter().map(|&(name, _)| name)
}

/// Creates a control of that name; returns `None` if there is none.
pub fn new(name: &str) -> Option<Box<dyn Control>> {
    CONTROLS.iter().find(|(known, _)| *known == name).map(|(_, begin)| begin())
}
