//! The offset between two machines' clocks.
//!
//! The offset is estimated as in NTP (RFC 5905 section 8). This side notes when it asks (t1) and when the answer
//! arrives (t4); the other side notes when the question arrives (t2) and when it answers (t3). The round trip is
//! (t4 − t1) − (t3 − t2), and the offset ((t2 − t1) + (t3 − t4)) / 2, which is wrong by at most half the round
//! trip. Of several rounds, the one with the shortest round trip counts, because it waited least in queues.

/// The four times of a round in nanoseconds. The first and the last are by this side's clock, the others by the
/// other side's.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// The time at which this side asked.
    pub asked_ns: i64,
    /// The time at which the question arrived at the other side.
    pub heard_ns: i64,
    /// The time at which the other side answered.
    pub answered_ns: i64,
    /// The time at which the answer arrived at this side.
    pub came_ns: i64,
}

impl Round {
    /// Returns the round-trip time, nanoseconds; none if the other side's own time cannot be a part of this side's.
    fn trip_ns(&self) -> Option<i64> {
        let whole = self.came_ns.checked_sub(self.asked_ns)?;
        let own = self.answered_ns.checked_sub(self.heard_ns)?;
        (0..=whole).contains(&own).then_some(whole - own)
    }
}

/// The lead of the other side's clock over this side's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The nanoseconds to subtract from the other side's times.
    pub offset_ns: i64,
    /// The largest possible error of the lead, nanoseconds.
    pub error_ns: i64,
}

impl Offset {
    /// Returns the offset that `rounds` show; none if no round has possible times.
    pub fn of(rounds: &[Round]) -> Option<Self> {
        let possible = rounds.iter().filter_map(|round| round.trip_ns().map(|trip| (trip, round)));
        let (trip, shortest) = possible.min_by_key(|(trip, _)| *trip)?;
        let there = shortest.heard_ns.checked_sub(shortest.asked_ns)?;
        let back = shortest.answered_ns.checked_sub(shortest.came_ns)?;
        Some(Self { offset_ns: there.midpoint(back), error_ns: (trip + 1) / 2 })
    }

    /// Returns the shortest round-trip time of the rounds, in nanoseconds, to one.
    pub fn round_trip_ns(self) -> u64 {
        self.error_ns.unsigned_abs().saturating_mul(2)
    }

    /// Returns the offset halfway between two estimates. Half of the drift between the estimates is added to the
    /// error.
    pub fn between(before: Self, after: Self) -> Self {
        Self {
            offset_ns: before.offset_ns.midpoint(after.offset_ns),
            error_ns: before
                .error_ns
                .max(after.error_ns)
                .saturating_add((after.offset_ns.abs_diff(before.offset_ns) / 2).cast_signed()),
        }
    }

    /// Returns the additional error of `before`, in nanoseconds, up to the time of `after`: the drift of the
    /// clocks, and the amount by which the later estimate is less certain. Clocks are taken to drift evenly
    /// meanwhile.
    pub fn drift_error_ns(before: Self, after: Self) -> u64 {
        let drifted = after.offset_ns.abs_diff(before.offset_ns);
        drifted.saturating_add(after.error_ns.saturating_sub(before.error_ns).max(0).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(offset: i64, there: i64, thinking: i64, back: i64) -> Round {
        let asked_ns = 1_000_000_000;
        let heard_ns = asked_ns + there + offset;
        let answered_ns = heard_ns + thinking;
        Round { asked_ns, heard_ns, answered_ns, came_ns: answered_ns - offset + back }
    }

    #[test]
    fn a_symmetric_path_gives_the_offset_exactly() {
        let found = Offset::of(&[round(-7_000_000_000, 25_000, 400, 25_000)]).unwrap();
        assert_eq!(found, Offset { offset_ns: -7_000_000_000, error_ns: 25_000 });
    }

    #[test]
    fn without_a_round_there_is_none() {
        assert_eq!(Offset::of(&[]), None);
        assert_eq!(Offset::of(&[round(0, 10, 0, -20)]), None);
    }

    #[test]
    fn impossible_times_are_no_round() {
        let times = |heard_ns, answered_ns| Round { asked_ns: 1000, heard_ns, answered_ns, came_ns: 3000 };
        for (heard_ns, answered_ns) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, -1), (0, 2001)] {
            assert_eq!(Offset::of(&[times(heard_ns, answered_ns)]), None, "{heard_ns} {answered_ns}");
        }
        assert_eq!(Offset::of(&[times(i64::MIN, i64::MIN)]), None);
        let far = Offset { offset_ns: i64::MAX, error_ns: i64::MAX };
        assert_eq!(Offset::between(far, Offset { offset_ns: i64::MIN, ..far }).error_ns, i64::MAX);
    }

    #[test]
    fn drift_widens_the_error() {
        let at = |offset_ns| Offset { offset_ns, error_ns: 100 };
        assert_eq!(Offset::between(at(1000), at(1400)), Offset { offset_ns: 1200, error_ns: 300 });
    }

    proptest! {
        #[test]
        fn the_truth_is_within_the_error(
            offset in -1_000_000_000_000_000i64..1_000_000_000_000_000,
            paths in prop::collection::vec((0i64..10_000_000, 0i64..1_000_000, 0i64..10_000_000), 1..20),
        ) {
            let rounds: Vec<Round> = paths.iter().map(|&(there, thinking, back)| round(offset, there, thinking, back)).collect();
            let found = Offset::of(&rounds).unwrap();
            prop_assert!((found.offset_ns - offset).abs() <= found.error_ns);
            let shortest = paths.iter().map(|(there, _, back)| there + back).min().unwrap();
            prop_assert_eq!(found.error_ns, (shortest + 1) / 2);
        }

        /// A clock that drifts evenly between two estimates: both bounds hold at every moment of the time between.
        #[test]
        fn the_truth_is_within_the_error_while_clocks_drift(
            offset in -1_000_000_000_000i64..1_000_000_000_000,
            drifted in -50_000_000i64..50_000_000,
            early in (0i64..10_000_000, 0i64..10_000_000),
            late in (0i64..10_000_000, 0i64..10_000_000),
            part in 0i64..=1000,
        ) {
            let before = Offset::of(&[round(offset, early.0, 400, early.1)]).unwrap();
            let after = Offset::of(&[round(offset + drifted, late.0, 400, late.1)]).unwrap();
            let truth = offset + drifted * part / 1000;
            let between = Offset::between(before, after);
            // Three halves are rounded.
            prop_assert!((between.offset_ns - truth).abs() <= between.error_ns + 2);
            let bound = before.error_ns.unsigned_abs() + Offset::drift_error_ns(before, after);
            prop_assert!(before.offset_ns.abs_diff(truth) <= bound);
        }
    }
}
