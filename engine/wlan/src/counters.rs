//! The counters of a medium.

use nettrial_scenario::Airtime;

/// The number, the sum and the maximum of delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delay {
    count: u64,
    sum_ps: u128,
    max_ps: u64,
}

impl Delay {
    /// Adds a delay in picoseconds.
    pub(crate) fn add(&mut self, delay_ps: u64) {
        self.count += 1;
        self.sum_ps += u128::from(delay_ps);
        self.max_ps = self.max_ps.max(delay_ps);
    }

    /// Returns the mean in nanoseconds; 0 without delays.
    pub fn mean_ns(&self) -> u64 {
        (self.sum_ps / u128::from(self.count.max(1)) / 1000) as u64
    }

    /// Returns the maximum in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.max_ps / 1000
    }
}

/// The time over which rates are averaged, in picoseconds.
const WINDOW_PS: u64 = 100_000_000_000;

/// The rates of PPDUs, if rate control chooses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateCounts {
    /// The number of PPDUs of each rate, by its index.
    ppdus: Vec<u64>,
    /// For each window of 100 ms with PPDUs: its beginning, the number of PPDUs, and the sum of their rates in
    /// bits per second.
    windows: Vec<(u64, u64, u64)>,
}

impl RateCounts {
    /// Adds a PPDU that is sent at `now_ps` at the rate with this index.
    pub(crate) fn add(&mut self, now_ps: u64, rate: usize, rate_bps: u64) {
        if self.ppdus.len() <= rate {
            self.ppdus.resize(rate + 1, 0);
        }
        self.ppdus[rate] += 1;
        let begins_ps = now_ps - now_ps % WINDOW_PS;
        match self.windows.last_mut() {
            Some((begins, ppdus, sum_bps)) if *begins == begins_ps => {
                *ppdus += 1;
                *sum_bps += rate_bps;
            }
            _ => self.windows.push((begins_ps, 1, rate_bps)),
        }
    }

    /// Returns the index and the number of PPDUs of each rate that was used.
    pub fn ppdus(&self) -> impl Iterator<Item = (usize, u64)> {
        self.ppdus.iter().copied().enumerate().filter(|(_, ppdus)| *ppdus > 0)
    }

    /// Returns the beginning of each window of 100 ms with PPDUs, in picoseconds, and their mean rate in bits per
    /// second.
    pub fn over_time(&self) -> impl Iterator<Item = (u64, u64)> {
        self.windows.iter().map(|(begins_ps, ppdus, sum_bps)| (*begins_ps, sum_bps / ppdus))
    }
}

/// The delays in windows of 100 ms, with the beginning of each in picoseconds: the delays of packets in the queue,
/// and those of attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DelaySeries(Vec<(u64, [Delay; 2])>);

impl DelaySeries {
    fn add(&mut self, now_ps: u64, which: usize, delay_ps: u64) {
        let begins_ps = now_ps - now_ps % WINDOW_PS;
        if self.0.last().is_none_or(|(begins, _)| *begins != begins_ps) {
            self.0.push((begins_ps, [Delay::default(); 2]));
        }
        if let Some((_, delays)) = self.0.last_mut() {
            delays[which].add(delay_ps);
        }
    }

    /// Returns the beginning of each window of 100 ms with delays, and the means of both kinds in nanoseconds.
    pub fn means(&self) -> impl Iterator<Item = (u64, [Option<u64>; 2])> {
        let mean = |delay: Delay| (delay.count > 0).then(|| delay.mean_ns());
        self.0.iter().map(move |(begins_ps, delays)| (*begins_ps, delays.map(mean)))
    }
}

/// The counters of a station as a sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// The time for which it used the medium, by purpose.
    pub airtime: Airtime,
    /// The time of its frames that collided, in picoseconds.
    pub collided_ps: u64,
    /// The number of exchanges that did not collide.
    pub exchanges: u64,
    /// The number of beacons.
    pub beacons: u64,
    /// The number of attempts that collided.
    pub collisions: u64,
    /// The number of MPDUs sent.
    pub mpdus_pkts: u64,
    /// The number of MPDUs retransmitted.
    pub retries_pkts: u64,
    /// The number of MPDUs lost to noise.
    pub lost_mpdus_pkts: u64,
    /// The number of packets that it was to send.
    pub offered_pkts: u64,
    /// The number of packets that reached their receiver on the channel.
    pub delivered_pkts: u64,
    /// The number of packets dropped because the queue was full.
    pub queue_drops_pkts: u64,
    /// The number of packets that CoDel dropped.
    pub codel_drops_pkts: u64,
    /// The number of packets that CoDel marked.
    pub codel_marks_pkts: u64,
    /// The number of packets dropped after their last try.
    pub retry_drops_pkts: u64,
    /// The number of packets in the queue.
    pub queued_pkts: u64,
    /// The bytes of the packets in the queue.
    pub queued_bytes: u64,
    /// The number of PPDUs without a collision that had one MPDU, two MPDUs, and so on.
    pub aggregates: Vec<u64>,
    /// The rates of its PPDUs, if rate control chooses them.
    pub rates: RateCounts,
    /// The delays from a packet's arrival to its first transmission.
    pub queue_delay: Delay,
    /// The delays from the time at which it may contend to the transmission.
    pub contention_delay: Delay,
    /// Both delays over time, if they are kept.
    pub delays: Option<DelaySeries>,
}

impl Counters {
    /// Records that a packet is sent for the first time at `now_ps`, `delay_ps` after its arrival.
    pub(crate) fn waited(&mut self, now_ps: u64, delay_ps: u64) {
        self.queue_delay.add(delay_ps);
        if let Some(delays) = &mut self.delays {
            delays.add(now_ps, 0, delay_ps);
        }
    }

    /// Records that the station sends at `now_ps`, `delay_ps` after it was allowed to contend.
    pub(crate) fn contended(&mut self, now_ps: u64, delay_ps: u64) {
        self.contention_delay.add(delay_ps);
        if let Some(delays) = &mut self.delays {
            delays.add(now_ps, 1, delay_ps);
        }
    }
}
