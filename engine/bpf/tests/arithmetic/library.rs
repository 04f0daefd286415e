//! The functions of tests/arithmetic.c in Rust.

/// The largest number of subflows of a connection: `SUBFLOWS_MAX` of programs/coupling.h.
pub const SUBFLOWS_MAX: usize = 8;
/// The largest window in packets: `WINDOW_MAX` of programs/coupling.h.
pub const WINDOW_MAX: u32 = (1 << 20) - 1;
/// The value 1 in the scale of shares.
pub const SHARE_ONE: u64 = 1 << 31;
/// One packet in the scale of increases.
pub const PACKET: u64 = 1 << 48;

/// `struct subflow`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Subflow {
    /// The congestion window in packets.
    pub window: u32,
    /// The round-trip time in eighths of a microsecond.
    pub rtt: u32,
    /// The share of the connection's rate, as a multiple of `SHARE_ONE`.
    pub share: u64,
    /// OLIA's l in bytes.
    pub run_bytes: u64,
}

/// `struct connection`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub subflows: [Subflow; SUBFLOWS_MAX],
    pub count: u32,
}

impl Connection {
    /// Returns a connection with these subflows; results are for the first one.
    pub fn of(subflows: &[Subflow]) -> Self {
        let mut places = [Subflow::default(); SUBFLOWS_MAX];
        places[..subflows.len()].copy_from_slice(subflows);
        Self { subflows: places, count: subflows.len() as u32 }
    }
}

/// `struct wvegas`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vegas {
    pub base_rtt_us: u32,
    pub least_queueing_us: u32,
    pub alpha: u32,
}

/// `struct windows`, packets.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    pub window: u32,
    pub threshold: u32,
}

/// `struct window`; the fraction by `PACKET`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub packets: u32,
    pub fraction: u64,
}

// SAFETY: the signatures are those of tests/arithmetic.c, which keeps no pointer and only accesses its arguments;
// the structs above are laid out as in programs/coupling.h, programs/repair.h and programs/wvegas/arithmetic.h.
unsafe extern "C" {
    safe fn test_set_shares(connection: &mut Connection);
    safe fn test_lia_increase(connection: &mut Connection) -> u64;
    safe fn test_olia_increase(connection: &mut Connection) -> i64;
    safe fn test_balia_increase(connection: &mut Connection) -> u64;
    safe fn test_balia_window_after_loss(connection: &mut Connection) -> u32;
    safe fn test_wvegas_round(
        state: &mut Vegas,
        now: Windows,
        rtt_us: u32,
        share: u64,
        limited: i32,
    ) -> Windows;
    safe fn test_repaired(now: Windows, largest: u32, before_loss: u32) -> Windows;
    safe fn test_grown(window: Window, increase: i64, acked: u32, least: u32, most: u32) -> Window;
}

/// Returns the share of each subflow in the connection's rate.
pub fn shares(mut connection: Connection) -> Vec<f64> {
    test_set_shares(&mut connection);
    connection.subflows.iter().map(|subflow| subflow.share as f64 / SHARE_ONE as f64).collect()
}

/// Returns LIA's increase in packets per acknowledged packet.
pub fn lia_increase(mut connection: Connection) -> f64 {
    test_lia_increase(&mut connection) as f64 / PACKET as f64
}

/// Returns OLIA's increase in packets per acknowledged packet, which is negative if the window shrinks.
pub fn olia_increase(mut connection: Connection) -> f64 {
    test_olia_increase(&mut connection) as f64 / PACKET as f64
}

/// Returns BALIA's increase in packets per acknowledged packet.
pub fn balia_increase(mut connection: Connection) -> f64 {
    test_balia_increase(&mut connection) as f64 / PACKET as f64
}

/// Returns BALIA's window after a loss in packets.
pub fn balia_window_after_loss(mut connection: Connection) -> u32 {
    test_balia_window_after_loss(&mut connection)
}

/// Returns the state and the windows after a round trip; `share` is a part of 1.
pub fn wvegas_round(
    mut state: Vegas,
    now: Windows,
    rtt_us: u32,
    share: f64,
    limited: bool,
) -> (Vegas, Windows) {
    let share = (share * SHARE_ONE as f64) as u64;
    let windows = test_wvegas_round(&mut state, now, rtt_us, share, limited.into());
    (state, windows)
}

/// Returns the windows after the repair of values that no congestion control set.
pub fn repaired(now: Windows, largest: u32, before_loss: u32) -> Windows {
    test_repaired(now, largest, before_loss)
}

/// Returns the window after acknowledgments.
pub fn grown(window: Window, increase: i64, acked: u32, least: u32, most: u32) -> Window {
    test_grown(window, increase, acked, least, most)
}
