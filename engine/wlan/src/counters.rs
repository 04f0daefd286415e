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

/// The time over which rates are averaged, picoseconds.
const WINDOW_PS: u64 = 100_000_000_000;

/// The rates of PPDUs, where they are chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateCounts {
    /// PPDUs by rate, by its place.
    ppdus: Vec<u64>,
    /// In each 100 ms in which there were any: the beginning, PPDUs, and the sum of their rates, bits per second.
    windows: Vec<(u64, u64, u64)>,
}

impl RateCounts {
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

    /// PPDUs by rate, of those rates that were used, by its place.
    pub fn ppdus(&self) -> impl Iterator<Item = (usize, u64)> {
        self.ppdus.iter().copied().enumerate().filter(|(_, ppdus)| *ppdus > 0)
    }

    /// The mean rate of the PPDUs in each 100 ms in which there were any, bits per second, and its beginning, picoseconds.
    pub fn over_time(&self) -> impl Iterator<Item = (u64, u64)> {
        self.windows.iter().map(|(begins_ps, ppdus, sum_bps)| (*begins_ps, sum_bps / ppdus))
    }
}

/// The delays of 100 ms each, by their beginning, picoseconds: of packets in the queue, and of attempts.
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

    /// The beginnings of all 100 ms in which there were any, and the means of both delays, nanoseconds.
    pub fn means(&self) -> impl Iterator<Item = (u64, [Option<u64>; 2])> {
        let mean = |delay: Delay| (delay.count > 0).then(|| delay.mean_ns());
        self.0.iter().map(move |(begins_ps, delays)| (*begins_ps, delays.map(mean)))
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
    /// Packets that CoDel dropped.
    pub codel_drops_pkts: u64,
    /// Packets that CoDel marked.
    pub codel_marks_pkts: u64,
    /// Packets given up.
    pub retry_drops_pkts: u64,
    /// Packets there.
    pub queued_pkts: u64,
    /// Bytes of those.
    pub queued_bytes: u64,
    /// PPDUs that did not collide: how many had one MPDU, how many had two, and so on.
    pub aggregates: Vec<u64>,
    /// The rates of its PPDUs, where they are chosen.
    pub rates: RateCounts,
    /// From a packet's arrival until it is first sent.
    pub queue_delay: Delay,
    /// From when it may contend until it sends.
    pub contention_delay: Delay,
    /// Both over time, where they are kept.
    pub delays: Option<DelaySeries>,
}

impl Counters {
    /// A packet is sent for the first time at `now_ps`, so long after it came.
    pub(crate) fn waited(&mut self, now_ps: u64, delay_ps: u64) {
        self.queue_delay.add(delay_ps);
        if let Some(delays) = &mut self.delays {
            delays.add(now_ps, 0, delay_ps);
        }
    }

    /// The station sends at `now_ps`, so long after it might contend.
    pub(crate) fn contended(&mut self, now_ps: u64, delay_ps: u64) {
        self.contention_delay.add(delay_ps);
        if let Some(delays) = &mut self.delays {
            delays.add(now_ps, 1, delay_ps);
        }
    }
}
