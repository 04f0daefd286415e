//! Congestion controls without input and output: how a sender's window follows from what its acknowledgments
//! say.
//!
//! The division of work is that of Linux (struct tcp_congestion_ops, include/net/tcp.h): the sender finds
//! losses, keeps the window during recovery (RFC 6937) and counts what is in flight; a control says how the
//! window grows, where it goes after a loss, and at what rate to send. One file for each control; [`new`]
//! knows them by name. All of it is integer or IEEE double arithmetic in a fixed order, so that a result does
//! not depend on the machine.

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

/// The window and the rate that a control sets, in segments, as Linux keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The congestion window.
    pub cwnd_pkts: u32,
    /// The slow start threshold; `u32::MAX` before the first loss.
    pub ssthresh_pkts: u32,
    /// Acknowledged segments that have not yet grown the window (snd_cwnd_cnt).
    pub credit_pkts: u32,
}

impl Window {
    /// Returns true if the window is below its slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd_pkts < self.ssthresh_pkts
    }

    /// Slow start (RFC 5681 section 3.1, one segment for each acknowledged one: tcp_slow_start): gives how
    /// many of `acked_pkts` are left once the threshold is reached.
    pub fn slow_start(&mut self, acked_pkts: u32) -> u32 {
        let cwnd = self.cwnd_pkts.saturating_add(acked_pkts).min(self.ssthresh_pkts);
        let left = acked_pkts - (cwnd - self.cwnd_pkts);
        self.cwnd_pkts = cwnd;
        left
    }

    /// Additive increase: one segment for each `per_pkts` acknowledged (tcp_cong_avoid_ai).
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
    /// Nothing is known to be lost.
    Open,
    /// Some data arrived out of order; nothing is taken for lost yet.
    Disorder,
    /// The window is being reduced because of a mark (CWR).
    Reducing,
    /// A loss is being repaired.
    Recovery,
    /// A timeout is being repaired.
    Loss,
}

/// An acknowledgment, after the sender's own bookkeeping. Times are nanoseconds of the sender's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// The time of its arrival.
    pub now_ns: u64,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked_pkts: u32,
    /// The same in bytes.
    pub acked_bytes: u64,
    /// Segments taken for lost by this acknowledgment.
    pub lost_pkts: u32,
    /// The round-trip time of the newest segment it acknowledges that was sent once.
    pub rtt_ns: Option<u64>,
    /// The smoothed round-trip time (RFC 6298); 0 before the first.
    pub srtt_ns: u64,
    /// The smallest round-trip time in Linux's window of 300 s (tcp_min_rtt).
    pub min_rtt_ns: u64,
    /// Segments in flight after it.
    pub in_flight_pkts: u32,
    /// Segments in flight before it.
    pub prior_in_flight_pkts: u32,
    /// Segments delivered since the connection began.
    pub delivered_pkts: u64,
    /// Segments among them whose acknowledgments bore an echo of a mark (ECE).
    pub delivered_marked_pkts: u64,
    /// `delivered_pkts` when the acknowledged segment was sent (for rounds: BBR).
    pub prior_delivered_pkts: u64,
    /// The delivery rate that this acknowledgment shows (tcp_rate.c), segments over nanoseconds.
    pub rate: Option<(u32, u64)>,
    /// True if that rate was limited by the application.
    pub rate_is_app_limited: bool,
    /// True if the window, not the application, limited what was in flight (tcp_is_cwnd_limited).
    pub is_cwnd_limited: bool,
    /// The segment size, bytes of payload.
    pub mss_bytes: u32,
    /// The sequence number below which all is acknowledged (snd_una), bytes from 0.
    pub una_bytes: u64,
    /// The next sequence number to be sent (snd_nxt), bytes from 0.
    pub next_bytes: u64,
    /// The sender's state after it.
    pub phase: Phase,
}

impl Ack {
    /// Returns true if a control that does not drive may grow the window: it is what limits the sender, and the
    /// sender is not reducing it (tcp_may_raise_cwnd, tcp_in_cwnd_reduction).
    pub fn may_grow_window(&self) -> bool {
        self.is_cwnd_limited && !matches!(self.phase, Phase::Recovery | Phase::Reducing)
    }
}

/// An event at a sender beside acknowledgments. The threshold is asked for right after `EnterRecovery`
/// and `Marked`, and right before `Timeout`, as in Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The connection (or subflow) is established.
    Established,
    /// Sending starts again with nothing in flight (CA_EVENT_TX_START).
    Restart,
    /// The window was validated after idling: RFC 2861, CA_EVENT_CWND_RESTART.
    IdleReset,
    /// Recovery from a loss begins; the window has yet to be reduced.
    EnterRecovery,
    /// A retransmission timeout.
    Timeout,
    /// A reduction because of a mark begins (CWR).
    Marked,
    /// Recovery or reduction is over, and the window is the control's again.
    Recovered,
    /// The reduction was for no loss and is taken back (undo_cwnd).
    Undone,
}

/// A subflow as a control sees each of its connection; one with no other subflow sees
/// itself alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subflow {
    /// Its window.
    pub window: Window,
    /// Its smoothed round-trip time, nanoseconds; 0 before the first.
    pub srtt_ns: u64,
    /// Its segment size.
    pub mss_bytes: u32,
    /// Its phase.
    pub phase: Phase,
    /// The values that its control tells the others ([`Control::shared`]).
    pub shared: Shared,
}

/// The values that the controls of a connection's subflows tell each other beside the window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shared {
    /// OLIA: max of the bytes acknowledged since the last loss and between the last two.
    pub interval_bytes: u64,
    /// wvegas-kernel: the rate when alpha segments were last queued, 2⁻¹⁶ segments a microsecond; 0: none.
    pub rate_pkts: f64,
    /// lia-kernel: the alpha that this subflow computed last, 2⁻¹².
    pub alpha: u64,
    /// lia-kernel: when it did.
    pub alpha_ns: u64,
}

/// A congestion control of one connection or subflow.
pub trait Control: Debug + Send {
    /// Its name in scenarios.
    fn name(&self) -> &'static str;

    /// An acknowledgment came. `subflows` are those of the connection that are established, this one at
    /// `own`; `window` is this one's. Called in every phase; a control that does not `drive` leaves the
    /// window alone outside [`Phase::Open`], [`Phase::Disorder`] and [`Phase::Loss`], where the sender
    /// reduces it itself.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize);

    /// The threshold after a loss, a timeout or a mark, in segments (ssthresh); at least 2.
    fn ssthresh(&mut self, window: &Window, subflows: &[Subflow], own: usize) -> u32;

    /// Something else happened. The sender has not yet changed the window; a control may.
    fn on_event(&mut self, _event: Event, _window: &mut Window, _now_ns: u64) {}

    /// The window to return to when a reduction is taken back; `prior_cwnd_pkts` is that before it
    /// (tcp_reno_undo_cwnd).
    fn undo(&mut self, window: &Window, prior_cwnd_pkts: u32) -> u32 {
        window.cwnd_pkts.max(prior_cwnd_pkts)
    }

    /// The rate to send at, bits per second of payload (as Linux's own pacing counts, skb->len before
    /// headers); `None` where the sender sends as the window opens.
    fn pacing_rate_bps(&self) -> Option<f64> {
        None
    }

    /// Segments of a burst at the least, where segmentation is offloaded (min_tso_segs; net.ipv4.tcp_min_tso_segs).
    fn least_burst_pkts(&self) -> u32 {
        2
    }

    /// Returns true if the control sets the window in every phase itself (Linux's cong_control, as BBR).
    fn drives(&self) -> bool {
        false
    }

    /// Returns true if connections with it ask for marks whatever the stack says (DCTCP; TCP_CONG_NEEDS_ECN), and
    /// echo each one exactly (RFC 8257 section 3.2).
    fn needs_ecn(&self) -> bool {
        false
    }

    /// Returns what the connection's other subflows may know.
    fn shared(&self) -> Shared {
        Shared::default()
    }
}

/// The function that begins a control.
type Begin = fn() -> Box<dyn Control>;

/// Every control by its name, in alphabetical order. `NAME-kernel` is a variant with the quirks of the
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

/// The names of all controls.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLS.iter().map(|&(name, _)| name)
}

/// A new control of that name, or `None` if there is none.
pub fn new(name: &str) -> Option<Box<dyn Control>> {
    CONTROLS.iter().find(|(known, _)| *known == name).map(|(_, begin)| begin())
}
