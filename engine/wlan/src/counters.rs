//! The counters of a medium.

use nettrial_scenario::Airtime;

/// Times, by their number, sum and largest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delay {
    count: u64,
    sum_ps: u128,
    max_ps: u64,
}

impl Delay {
    pub(crate) fn add(&mut self, delay_ps: u64) {
        self.count += 1;
        self.sum_ps += u128::from(delay_ps);
        self.max_ps = self.max_ps.max(delay_ps);
    }

    /// The mean, nanoseconds; 0 if there was none.
    pub fn mean_ns(&self) -> u64 {
        (self.sum_ps / u128::from(self.count.max(1)) / 1000) as u64
    }

    /// The largest, nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.max_ps / 1000
    }
}

/// A station's counts as a sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// The time for which it used the medium, by purpose.
    pub airtime: Airtime,
    /// The time of its frames that collided, picoseconds.
    pub collided_ps: u64,
    /// Exchanges that did not collide.
    pub exchanges: u64,
    /// Beacons.
    pub beacons: u64,
    /// Attempts that collided.
    pub collisions: u64,
    /// MPDUs sent.
    pub mpdus_pkts: u64,
    /// MPDUs retransmitted.
    pub retries_pkts: u64,
    /// MPDUs lost to noise.
    pub lost_mpdus_pkts: u64,
    /// Packets that came to it to be sent.
    pub offered_pkts: u64,
    /// Packets that their receiver of the air has.
    pub delivered_pkts: u64,
    /// Packets that found a full queue.
    pub queue_drops_pkts: u64,
    /// Packets given up.
    pub retry_drops_pkts: u64,
    /// Packets there.
    pub queued_pkts: u64,
    /// Bytes of those.
    pub queued_bytes: u64,
    /// PPDUs that did not collide: how many had one MPDU, how many had two, and so on.
    pub aggregates: Vec<u64>,
    /// From a packet's arrival until it is first sent.
    pub queue_delay: Delay,
    /// From when it may contend until it sends.
    pub contention_delay: Delay,
}
