//! Rate control according to Linux's Minstrel-HT (net/mac80211/rc80211_minstrel_ht.c, as of 5.13 and later).
//!
//! A second-order low-pass filter follows the share of MPDUs that arrive at each rate, with an update every 50 ms.
//! A rate that was never used gets the highest share of the faster rates with the same number of streams. The
//! throughput of a rate is its share, at most 0.9, over the time of a packet of 1200 B with its part of the PPDU's
//! overhead; a share below 0.1 counts as zero. The best rate is used first; after two PPDUs in a row of which
//! nothing arrived, the second best; and after two more, the surest. The surest rate is chosen among the rates
//! with fewer streams than the best one, or among all if there are none: the one with the highest throughput whose
//! share is above 0.75, otherwise the one with the highest share. Every 20 ms a PPDU samples another rate. The
//! kinds of samples take turns: the slowest rate with some number of streams that is faster than the best one, for
//! each number of streams in turn; any rate that is faster than all three; and, every sixth time, a rate between
//! the fastest and the slowest of these. A sampling PPDU has a single MPDU: Linux sets
//! IEEE80211_TX_CTL_RATE_CTRL_PROBE, and drivers (ath9k's xmit.c, mt76) do not aggregate packets with this flag.
//!
//! Not modelled: choosing the guard interval and the channel width, which are those of the channel; legacy rates
//! beside those of 802.11n and later; spatial multiplexing power save; switching to fewer streams between two
//! updates when three of four MPDUs are lost; the limit of the retries of each stage by time (6 ms), of which
//! there are always two here. Linux draws the rates to sample from shuffled tables; here they take turns. A PPDU
//! that collided counts as lost, as in Linux.

use super::Rates;
use crate::timing::{SLOT, Timing};

/// The time between two updates of the statistics, in picoseconds.
const UPDATE_PS: u64 = 50_000_000_000;
/// The time between two samples, in picoseconds.
const SAMPLE_PS: u64 = 20_000_000_000;
/// The weight of the previous mean number of MPDUs in its update (EWMA_LEVEL of EWMA_DIV).
const KEPT: f64 = 96.0 / 128.0;
/// The weights of the last share and of the one before it in a new share; the measured share has the rest
/// (MINSTREL_AVG_COEFF2 and 3).
const FILTER: [f64; 2] = [5273.0 / 4096.0, -2350.0 / 4096.0];
/// The smallest share that the filter returns; 0 means that nothing is known.
const LEAST_SHARE: f64 = 1.0 / 4096.0;
/// The bytes of the packet by which rates are compared (AVG_PKT_SIZE).
const PACKET_BYTES: u64 = 1200;
/// The smallest share of MPDUs that does not count as zero, and the largest that counts.
const SHARES: (f64, f64) = (0.1, 0.9);
/// The share above which a rate is sure enough to be chosen for its throughput.
const SURE: f64 = 0.75;
/// The number of PPDUs of which nothing arrives before the next stage.
const TRIES: u32 = 2;
/// The kinds of samples in their order (minstrel_sample_seq).
const SAMPLES: [Sample; 6] =
    [Sample::Next, Sample::Jump, Sample::Next, Sample::Jump, Sample::Next, Sample::Slower];

/// A kind of sample.
#[derive(Debug, Clone, Copy)]
enum Sample {
    Next,
    Jump,
    Slower,
}

/// A rate and its statistics.
#[derive(Debug)]
struct Known {
    /// Its index among the channel's rates.
    rate: usize,
    /// Its number of streams.
    streams: u32,
    /// The time of a packet at this rate, in picoseconds.
    packet_ps: f64,
    /// The time of the rest of an exchange, in picoseconds.
    overhead_ps: f64,
    /// The number of MPDUs sent since the last update.
    sent: usize,
    /// The number of those that arrived.
    arrived: usize,
    /// True if it was used before the last update.
    is_tried: bool,
    /// The share of MPDUs that arrive, and the one before it; 0 before the first update.
    share: f64,
    share_before: f64,
}

impl Known {
    /// Applies the filter to the measured share of an update (minstrel_filter_avg_add).
    fn add_share(&mut self, share: f64) {
        let [of_last, of_before] = FILTER;
        let share = share.max(LEAST_SHARE);
        let (last, new) = if self.share == 0.0 {
            (share, share)
        } else {
            let kept = of_last * self.share + of_before * self.share_before;
            (self.share, (1.0 - of_last - of_before) * share + kept)
        };
        (self.share_before, self.share) = (last, new.clamp(LEAST_SHARE, 1.0));
    }

    /// Returns the throughput in packets per picosecond, with PPDUs of `mpdus` MPDUs, relative to other rates.
    fn throughput(&self, mpdus: f64) -> f64 {
        let used = if self.share < SHARES.0 { 0.0 } else { self.share.min(SHARES.1) };
        used / (self.packet_ps + self.overhead_ps / mpdus)
    }
}

/// The rate control between two stations.
#[derive(Debug)]
pub struct Minstrel {
    /// The rates from the slowest to the fastest.
    known: Vec<Known>,
    /// The indices in `known` of the best, the second best and the surest rate.
    stages: [usize; 3],
    /// The mean number of MPDUs in a PPDU.
    mpdus: f64,
    /// The numbers of PPDUs sent since the last update, and of their MPDUs.
    sent: (usize, usize),
    /// The number of PPDUs in a row of which nothing arrived.
    failures: u32,
    updates_ps: u64,
    samples_ps: u64,
    samples: usize,
    /// The streams of the last sample that was the next faster rate, and of the last one that was any faster rate.
    next_streams: u32,
    jump_streams: u32,
    jumps: usize,
}

impl Minstrel {
    /// Returns a rate control without statistics, which begins with the slowest of these rates.
    pub fn new(rates: &Rates, places: std::ops::Range<usize>) -> Self {
        let known = |rate: usize| {
            let timing: &Timing = rates.get(rate);
            let overhead_ps = timing.aifs_ps(3)
                + 15 * SLOT / 2
                + timing.phy.preamble_ps()
                + timing.sifs_ps
                + timing.block_ack_ps;
            Known {
                rate,
                streams: rates.name(rate).0,
                packet_ps: timing.phy.payload_ps(PACKET_BYTES) as f64,
                overhead_ps: overhead_ps as f64,
                sent: 0,
                arrived: 0,
                is_tried: false,
                share: 0.0,
                share_before: 0.0,
            }
        };
        let mut known: Vec<Known> = places.map(known).collect();
        known.sort_by(|one, other| other.packet_ps.total_cmp(&one.packet_ps));
        Self {
            known,
            stages: [0; 3],
            mpdus: 1.0,
            sent: (0, 0),
            failures: 0,
            updates_ps: UPDATE_PS,
            samples_ps: SAMPLE_PS,
            samples: 0,
            next_streams: 0,
            jump_streams: 0,
            jumps: 0,
        }
    }

    /// Returns the rate of the next PPDU, and whether the PPDU is a sample.
    pub fn pick(&mut self, now_ps: u64) -> (usize, bool) {
        if now_ps >= self.updates_ps {
            self.update();
            self.updates_ps = now_ps + UPDATE_PS;
        }
        let stage = (self.failures / TRIES).min(2) as usize;
        let mut sample = None;
        if self.failures == 0 && now_ps >= self.samples_ps {
            self.samples_ps = now_ps + SAMPLE_PS;
            sample = self.sample();
        }
        (self.known[sample.unwrap_or(self.stages[stage])].rate, sample.is_some())
    }

    /// Records the number of MPDUs of a PPDU that arrived.
    pub fn learn(&mut self, rate: usize, sent: usize, arrived: usize) {
        self.sent = (self.sent.0 + 1, self.sent.1 + sent);
        self.failures = if arrived == 0 { self.failures + 1 } else { 0 };
        if let Some(known) = self.known.iter_mut().find(|known| known.rate == rate) {
            known.sent += sent;
            known.arrived += arrived;
        }
    }

    /// Updates the shares and the three stages.
    fn update(&mut self) {
        let (ppdus, mpdus) = std::mem::take(&mut self.sent);
        if ppdus > 0 {
            self.mpdus = KEPT * self.mpdus + (1.0 - KEPT) * mpdus as f64 / ppdus as f64;
        }
        for streams in 1..=self.most_streams() {
            let mut of_faster = 0.0_f64;
            for known in self.known.iter_mut().rev().filter(|known| known.streams == streams) {
                if known.sent > 0 {
                    known.add_share(known.arrived as f64 / known.sent as f64);
                    (known.sent, known.arrived, known.is_tried) = (0, 0, true);
                }
                if known.is_tried {
                    of_faster = of_faster.max(known.share);
                } else {
                    known.share = of_faster.max(known.share);
                }
            }
        }
        let mut order: Vec<usize> =
            (0..self.known.len()).rev().filter(|place| self.throughput(*place) > 0.0).collect();
        order.sort_by(|one, other| {
            let rank = |place: usize| (self.throughput(place), self.known[place].share);
            let (one, other) = (rank(*one), rank(*other));
            other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        let [best, second] = [0, 1].map(|rank| order.get(rank).copied().unwrap_or(0));
        self.stages = [best, second, self.surest(best)];
    }

    /// Returns the largest number of streams of any rate.
    fn most_streams(&self) -> u32 {
        self.known.iter().map(|known| known.streams).max().unwrap_or(1)
    }

    /// Returns the throughput of a rate by its index in `known`.
    fn throughput(&self, place: usize) -> f64 {
        self.known[place].throughput(self.mpdus)
    }

    /// Returns the surest rate beside the best one (minstrel_ht_set_best_prob_rate,
    /// minstrel_ht_prob_rate_reduce_streams).
    fn surest(&self, best: usize) -> usize {
        let surest_of = |streams: std::ops::RangeInclusive<u32>| {
            let slowest = self.known.iter().position(|known| streams.contains(&known.streams)).unwrap_or(0);
            let places = streams.flat_map(|streams| {
                let has = move |place: &usize| self.known[*place].streams == streams;
                (0..self.known.len()).filter(has)
            });
            places.fold(slowest, |chosen, place| {
                let [rate, chosen_rate, best] = [place, chosen, best].map(|place| &self.known[place]);
                let is_rash = rate.packet_ps < best.packet_ps && rate.share < best.share;
                let is_surer = if rate.share > SURE {
                    self.throughput(place) > self.throughput(chosen)
                } else {
                    rate.share > chosen_rate.share
                };
                if is_surer && !is_rash { place } else { chosen }
            })
        };
        let of_fewer = (1..self.known[best].streams).map(|streams| surest_of(streams..=streams));
        let of_fewer = of_fewer.filter(|place| self.throughput(*place) > 0.0);
        of_fewer
            .reduce(|one, other| if self.throughput(other) > self.throughput(one) { other } else { one })
            .unwrap_or_else(|| surest_of(1..=self.most_streams()))
    }

    /// Returns the next rate to sample, by its index in `known`; `None` if there is none of that kind.
    fn sample(&mut self) -> Option<usize> {
        let kind = SAMPLES[self.samples % SAMPLES.len()];
        let round = self.samples / SAMPLES.len();
        self.samples += 1;
        let times = self.stages.map(|place| self.known[place].packet_ps);
        let fastest_ps = times.into_iter().fold(f64::INFINITY, f64::min);
        let slowest_ps = times.into_iter().fold(0.0, f64::max);
        let most_streams = self.most_streams();
        let after = |streams: u32, faster_than_ps: f64| {
            let slower = |streams: u32| -> Vec<usize> {
                let is_it = |place: &usize| {
                    let known = &self.known[*place];
                    known.streams == streams && known.packet_ps < faster_than_ps
                };
                (0..self.known.len()).filter(is_it).collect()
            };
            let mut turns = (0..most_streams).map(|turn| (streams + turn) % most_streams + 1);
            turns
                .find_map(|streams| Some((streams, slower(streams))).filter(|(_, slower)| !slower.is_empty()))
        };
        match kind {
            Sample::Next => {
                let (streams, faster) = after(self.next_streams, times[0])?;
                self.next_streams = streams;
                Some(faster[0])
            }
            Sample::Jump => {
                let (streams, faster) = after(self.jump_streams, fastest_ps)?;
                self.jump_streams = streams;
                self.jumps += 1;
                Some(faster[self.jumps / most_streams as usize % faster.len()])
            }
            Sample::Slower => {
                let is_between = |known: &Known| {
                    known.packet_ps > fastest_ps && known.packet_ps < slowest_ps && known.share <= 0.95
                };
                let between: Vec<usize> =
                    (0..self.known.len()).filter(|place| is_between(&self.known[*place])).collect();
                (!between.is_empty()).then(|| between[round % between.len()])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::Choice;
    use nettrial_scenario::WlanStation;

    /// Returns the indices of the rates used in two seconds, with a PPDU every millisecond, if only MPDUs at the
    /// first `good` rates arrive.
    fn used(good: usize) -> Vec<usize> {
        let wlan = serde_json::from_str(r#"{"rate_control": "minstrel_ht"}"#).unwrap();
        let rates = Rates::new(&wlan, &[WlanStation::default(); 2]);
        let mut minstrel = Minstrel::new(&rates, 1..9);
        (0..2000_u64)
            .map(|number| {
                let (rate, _) = minstrel.pick(number * 1_000_000_000);
                minstrel.learn(rate, 10, if rate <= good { 10 } else { 0 });
                rate
            })
            .collect()
    }

    #[test]
    fn the_fastest_rate_that_arrives_is_found_and_kept() {
        for good in [1, 4, 8] {
            let used = used(good);
            assert_eq!(used[0], 1);
            let late = &used[1000..];
            let share = late.iter().filter(|rate| **rate == good).count() as f64 / late.len() as f64;
            assert!(share > 0.9, "{good}: {share}");
        }
    }

    #[test]
    fn others_are_sampled() {
        let used = used(4);
        assert!((1..9).all(|rate| used.contains(&rate)));
    }

    fn minstrel(wlan: &str) -> Minstrel {
        let rates = Rates::new(&serde_json::from_str(wlan).unwrap(), &[WlanStation::default(); 2]);
        let Choice::Minstrel(minstrel) = rates.choice(0, 1) else { panic!("no rate control") };
        *minstrel
    }

    /// The values were calculated by hand from the kernel's arithmetic: (1173 found + 5273 last - 2350 before) /
    /// 4096.
    #[test]
    fn a_share_goes_through_the_filter_of_second_order() {
        let mut known = minstrel(r#"{"rate_control": "minstrel_ht"}"#).known.swap_remove(0);
        let mut shares = |found: f64| {
            known.add_share(found);
            (known.share * 1000.0).round() / 1000.0
        };
        assert_eq!([1.0, 0.0, 0.0, 0.0, 0.0].map(&mut shares), [1.0, 0.714, 0.345, 0.035, 0.0]);
        assert_eq!([1.0, 1.0, 1.0, 1.0].map(&mut shares), [0.267, 0.630, 0.944, 1.0]);
    }

    #[test]
    fn slower_rates_that_were_never_used_are_trusted_as_faster_ones_are() {
        let mut minstrel = minstrel(r#"{"rate_control": "minstrel_ht"}"#);
        minstrel.learn(5, 10, 10);
        minstrel.update();
        assert_eq!(minstrel.stages, [4, 3, 4]);
    }

    #[test]
    fn the_surest_rate_has_fewer_streams() {
        let mut minstrel = minstrel(r#"{"rate_control": "minstrel_ht", "streams": 2}"#);
        let place = |minstrel: &Minstrel, streams: u32, rank: usize| {
            let has = |place: &usize| minstrel.known[*place].streams == streams;
            (0..minstrel.known.len()).filter(has).nth(rank).unwrap()
        };
        let [two_streams, one_stream] = [2, 1].map(|streams| place(&minstrel, streams, 5));
        for place in [two_streams, one_stream] {
            minstrel.learn(minstrel.known[place].rate, 10, 9);
        }
        minstrel.update();
        assert_eq!((minstrel.stages[0], minstrel.stages[2]), (two_streams, one_stream));
    }
}
