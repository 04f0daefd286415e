//! Random states of connections.

use proptest::prelude::*;

use crate::library::{Connection, SUBFLOWS_MAX, Subflow};

/// Returns integers from 1 to 2^`bits` - 1, with equal probability for each magnitude.
fn magnitudes(bits: u32) -> impl Strategy<Value = u64> {
    (0..bits).prop_flat_map(|bit| (1u64 << bit)..(2u64 << bit))
}

/// Returns subflows with any window, any run, and a round trip of up to 8 s, for which the stated rounding is
/// valid.
fn subflow() -> impl Strategy<Value = Subflow> {
    (magnitudes(20), magnitudes(26).prop_map(|rtt| rtt.max(16)), magnitudes(32)).prop_map(
        |(window, rtt, run_bytes)| Subflow { window: window as u32, rtt: rtt as u32, share: 0, run_bytes },
    )
}

/// Returns subflows with few different values, so that several of a connection have some in common.
fn common_subflow() -> impl Strategy<Value = Subflow> {
    let windows = prop::sample::select(vec![1, 2, 10, 11, 100]);
    let rtts = prop::sample::select(vec![800, 8_000, 8_001, 80_000]);
    let runs = prop::sample::select(vec![0, 1_448, 144_800, 14_480_000]);
    (windows, rtts, runs).prop_map(|(window, rtt, run_bytes)| Subflow { window, rtt, share: 0, run_bytes })
}

/// Returns connections of one to eight subflows.
pub fn connections() -> impl Strategy<Value = Connection> {
    prop_oneof![
        prop::collection::vec(subflow(), 1..=SUBFLOWS_MAX),
        prop::collection::vec(common_subflow(), 1..=SUBFLOWS_MAX),
    ]
    .prop_map(|subflows| Connection::of(&subflows))
}

/// Returns connections of arbitrary bits, as a race with the kernel may produce them.
pub fn wild_connections() -> impl Strategy<Value = Connection> {
    let subflow = (any::<u32>(), any::<u32>(), any::<u64>()).prop_map(|(window, rtt, run_bytes)| Subflow {
        window,
        rtt,
        share: 0,
        run_bytes,
    });
    (1..=u32::MAX, prop::collection::vec(subflow, 1..=SUBFLOWS_MAX)).prop_map(|(window, mut subflows)| {
        subflows[0].window = window;
        Connection::of(&subflows)
    })
}
