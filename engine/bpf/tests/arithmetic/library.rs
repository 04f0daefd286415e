//! tests/arithmetic.c as functions of Rust.

/// Subflows that a connection has at most; `SUBFLOWS_MAX` of programs/coupling.h.
pub const SUBFLOWS_MAX: usize = 8;
/// `WINDOW_MAX` of programs/coupling.h, packets.
pub const WINDOW_MAX: u32 = (1 << 20) - 1;
/// One in a share's scale.
pub const SHARE_ONE: u64 = 1 << 31;
/// One packet in an increase's scale.
pub const PACKET: u64 = 1 << 48;

/// `struct subflow`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Subflow {
    /// Packets.
    pub window: u32,
    /// Eighths of a microsecond.
    pub rtt: u32,
    /// The share of the connection's rate, by `SHARE_ONE`.
    pub share: u64,
    /// OLIA's l.
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
    /// With these subflows, of which the first is the one that the arithmetic is for.
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

// SAFETY: the signatures are those of tests/arithmetic.c, which keeps no pointer and reads and writes only what it
// is given; the structs above are laid out as in programs/coupling.h, programs/repair.h and
// programs/wvegas/arithmetic.h.
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

/// The share of each subflow of the connection's rate.
pub fn shares(mut connection: Connection) -> Vec<f64> {
    test_set_shares(&mut connection);
    connection.subflows.iter().map(|subflow| subflow.share as f64 / SHARE_ONE as f64).collect()
}

/// Packets per acknowledged packet.
pub fn lia_increase(mut connection: Connection) -> f64 {
    test_lia_increase(&mut connection) as f64 / PACKET as f64
}

/// Packets per acknowledged packet, negative where the window shrinks.
pub fn olia_increase(mut connection: Connection) -> f64 {
    test_olia_increase(&mut connection) as f64 / PACKET as f64
}

/// Packets per acknowledged packet.
pub fn balia_increase(mut connection: Connection) -> f64 {
    test_balia_increase(&mut connection) as f64 / PACKET as f64
}

/// Packets.
pub fn balia_window_after_loss(mut connection: Connection) -> u32 {
    test_balia_window_after_loss(&mut connection)
}

/// The state and the windows after a round trip; `share` of 1.
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

/// The windows after a look for what no congestion control set.
pub fn repaired(now: Windows, largest: u32, before_loss: u32) -> Windows {
    test_repaired(now, largest, before_loss)
}

/// The window after acknowledgements.
pub fn grown(window: Window, increase: i64, acked: u32, least: u32, most: u32) -> Window {
    test_grown(window, increase, acked, least, most)
}
