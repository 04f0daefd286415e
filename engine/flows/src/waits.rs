//! The times for which the hosts of a flow wait for packets.
//!
//! Each is long enough for paths on Earth, and follows the round-trip time where that is longer, so that a packet
//! that is still on its way is never taken for a lost one. Real and simulated hosts wait equally long.

use nettrial_scenario::Duration;

/// The longest round-trip time that waits follow, nanoseconds: a day. No backend carries traffic over a longer one.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// The times for which a flow's hosts wait, for the round-trip time of their path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    round_trip_ns: u64,
}

impl Waits {
    /// Returns the waits on a path with this round-trip time, which is that of the largest packet while no packet
    /// waits in a queue; the shortest waits where it is not known.
    pub fn on(round_trip: Option<Duration>) -> Self {
        Self { round_trip_ns: round_trip.unwrap_or_default().0.min(LONGEST_NS) }
    }

    /// Returns the longer of `least` and `round_trips` round-trip times.
    fn at_least(self, least: Duration, round_trips: u64) -> Duration {
        Duration((self.round_trip_ns * round_trips).max(least.0))
    }

    /// Returns the time after which a request over UDP without a response counts as lost (RFC 7680 section 2.4
    /// requires such a bound): 1 s, and at least four round-trip times.
    pub fn lost_after(self) -> Duration {
        self.at_least(Duration(1_000_000_000), 4)
    }

    /// Returns the time after which a request of a sweep over UDP is retransmitted: 200 ms, and at least two
    /// round-trip times.
    pub fn again_after(self) -> Duration {
        self.at_least(Duration(200_000_000), 2)
    }

    /// Returns the time after the end of a flow of datagrams, and after its latest arrival, after which those that
    /// are missing count as lost: 500 ms, and at least two round-trip times.
    pub fn quiet(self) -> Duration {
        self.at_least(Duration(500_000_000), 2)
    }

    /// Returns the time for which a host may leave a connection, or a repeated request, unanswered before the flow
    /// fails: 20 s, and eight round-trip times, which a lost packet and its retransmissions take.
    pub fn patience(self) -> Duration {
        Duration(20_000_000_000 + self.round_trip_ns * 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn waits_follow_long_round_trips_and_have_a_least_value() {
        let waits = |milliseconds: Option<u64>| {
            let waits = Waits::on(milliseconds.map(|time| Duration(time * MILLISECOND)));
            [waits.again_after(), waits.quiet(), waits.lost_after(), waits.patience()]
                .map(|wait| wait.0 / MILLISECOND)
        };
        assert_eq!(waits(None), [200, 500, 1000, 20_000]);
        assert_eq!(waits(Some(40)), [200, 500, 1000, 20_320]);
        assert_eq!(waits(Some(600)), [1200, 1200, 2400, 24_800]);
        assert_eq!(Waits::on(Some(Duration(u64::MAX))).lost_after(), Duration(4 * LONGEST_NS));
    }
}
