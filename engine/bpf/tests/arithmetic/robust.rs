//! Tests that results stay within bounds and nothing overflows, whatever is read from the kernel.

use proptest::prelude::*;

use crate::library::{self, PACKET, Vegas, WINDOW_MAX, Window, Windows};
use crate::states::wild_connections;

/// `THRESHOLD_NONE` of programs/repair.h.
const THRESHOLD_NONE: u32 = 0x7fff_ffff;
/// `WINDOW_FIRST` of programs/repair.h.
const WINDOW_FIRST: u32 = 10;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn increases_stay_within_bounds(connection in wild_connections()) {
        let window = connection.subflows[0].window;
        let reno = 1.0 / f64::from(window.min(WINDOW_MAX));
        prop_assert!((0.0..=reno).contains(&library::lia_increase(connection)));
        prop_assert!((0.0..=reno).contains(&library::balia_increase(connection)));
        prop_assert!((-reno..=2.0 * reno).contains(&library::olia_increase(connection)));
        let after = library::balia_window_after_loss(connection);
        prop_assert!((2..=window.max(2)).contains(&after), "{after}");
    }

    #[test]
    fn a_round_of_wvegas_stays_within_bounds(
        base_rtt_us in 1u32..=u32::MAX,
        longer_us in any::<u32>(),
        window in 1u32..=u32::MAX - 1,
        threshold in any::<u32>(),
        least_queueing_us in any::<u32>(),
        alpha in 2u32..=10,
        share in 0.0..=1.0,
        limited in any::<bool>(),
    ) {
        let state = Vegas { base_rtt_us, least_queueing_us, alpha };
        let rtt_us = base_rtt_us.saturating_add(longer_us);
        let (next, windows) = library::wvegas_round(state, Windows { window, threshold }, rtt_us, share, limited);
        prop_assert!((window.min(2)..=window.max(2) + 1).contains(&windows.window));
        prop_assert!((2..=10).contains(&next.alpha));
    }

    /// The window with its fraction is a number that changes by exactly the given increase.
    #[test]
    fn a_window_grows_exactly(
        packets in 1u32..=WINDOW_MAX,
        fraction in 0..PACKET,
        steps in -2.0..2.0,
        acked in any::<u32>(),
        least in 1u32..=2,
        most in 2..=u32::MAX,
    ) {
        let increase = (steps / f64::from(packets) * PACKET as f64) as i64;
        let one = i128::from(PACKET);
        let before = i128::from(packets) * one + i128::from(fraction);
        let after = before + i128::from(increase) * i128::from(acked.min(packets));
        let window = library::grown(Window { packets, fraction }, increase, acked, least, most);
        let got = i128::from(window.packets) * one + i128::from(window.fraction);
        prop_assert_eq!(got, after.clamp(i128::from(least) * one, i128::from(most) * one));
    }

    /// Whatever a skipped call would have returned, the windows end below the largest one that the connection reached,
    /// and valid windows do not change.
    #[test]
    fn only_windows_that_nobody_can_have_set_are_put_right(
        largest in 1u32..=WINDOW_MAX,
        window in any::<u32>(),
        threshold in any::<u32>(),
        before_loss in 1u32..=u32::MAX,
    ) {
        let right = library::repaired(Windows { window, threshold }, largest, before_loss);
        let bound = 2 * largest.max(WINDOW_FIRST);
        prop_assert!(right.window <= bound);
        prop_assert!(right.threshold <= bound || right.threshold == THRESHOLD_NONE);
        prop_assert!(window == 0 || right.window > 0);
        let in_order = Windows { window: window % (bound + 1), threshold: threshold % (bound + 1) };
        prop_assert_eq!(library::repaired(in_order, largest, before_loss), in_order);
        let no_loss = Windows { window, threshold };
        prop_assert_eq!(library::repaired(no_loss, largest, 0), no_loss);
    }
}
