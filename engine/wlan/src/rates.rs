//! The rates at which the stations of a channel send.

mod minstrel;

use crate::timing::Timing;
use minstrel::Minstrel;
use nettrial_scenario::{RateControl, Wlan, WlanMode, WlanStation};

/// The rates of a channel, each with its times and sizes: the channel's own rate, and those of stations with other
/// rates, or all among which rate control chooses.
#[derive(Debug)]
pub struct Rates {
    timings: Vec<Timing>,
    /// The streams and the MCS of each rate.
    names: Vec<(u32, u32)>,
    /// The index of each station's rate.
    of_station: Vec<usize>,
    has_control: bool,
    is_ad_hoc: bool,
}

impl Rates {
    /// Returns the rates of these stations, for settings that have passed their scenario's checks.
    pub fn new(wlan: &Wlan, stations: &[WlanStation]) -> Self {
        let mut new = Self {
            timings: vec![Timing::new(wlan)],
            names: vec![(wlan.streams, wlan.mcs)],
            of_station: Vec::new(),
            has_control: wlan.rate_control == RateControl::MinstrelHt,
            is_ad_hoc: wlan.mode == WlanMode::AdHoc,
        };
        new.of_station = stations.iter().map(|own| new.place(&wlan.of_station(own))).collect();
        if new.has_control {
            for streams in 1..=wlan.streams {
                for mcs in 0..=wlan.highest_mcs() {
                    let rate = Wlan { streams, mcs, ..wlan.clone() };
                    if rate.symbol_bits().is_some() {
                        new.add(&rate);
                    }
                }
            }
        }
        new
    }

    /// Returns the index of a rate, which is added if it is new.
    fn place(&mut self, wlan: &Wlan) -> usize {
        let rate = (wlan.streams, wlan.mcs);
        self.names.iter().position(|other| *other == rate).unwrap_or_else(|| self.add(wlan))
    }

    /// Adds a rate and returns its index.
    fn add(&mut self, wlan: &Wlan) -> usize {
        self.timings.push(Timing::new(wlan));
        self.names.push((wlan.streams, wlan.mcs));
        self.names.len() - 1
    }

    /// Returns the channel's own rate.
    pub fn usual(&self) -> &Timing {
        &self.timings[0]
    }

    /// Returns all rates to be changed.
    #[cfg(test)]
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Timing> {
        self.timings.iter_mut()
    }

    /// Returns the rate of an index.
    pub fn get(&self, place: usize) -> &Timing {
        &self.timings[place]
    }

    /// Returns the streams and the MCS of the rate of an index.
    pub fn name(&self, place: usize) -> (u32, u32) {
        self.names[place]
    }

    /// Returns whether rate control chooses rates.
    pub fn has_control(&self) -> bool {
        self.has_control
    }

    /// Returns the choice among rates from one station to another: with an access point, the rates of the other
    /// station; in ad hoc mode, those of the sender.
    pub fn choice(&self, from: usize, to: usize) -> Choice {
        if self.has_control {
            return Choice::Minstrel(Box::new(Minstrel::new(self, 1..self.timings.len())));
        }
        let station = if from == 0 && !self.is_ad_hoc { to } else { from };
        Choice::Fixed(self.of_station[station])
    }
}

/// The way in which a rate is chosen.
#[derive(Debug)]
pub enum Choice {
    /// One rate, by its index.
    Fixed(usize),
    /// Minstrel-HT chooses.
    Minstrel(Box<Minstrel>),
}

impl Choice {
    /// Returns the index of the rate of the next PPDU, and whether the PPDU is a sample, which has a single MPDU.
    pub fn pick(&mut self, now_ps: u64) -> (usize, bool) {
        match self {
            Self::Fixed(rate) => (*rate, false),
            Self::Minstrel(minstrel) => minstrel.pick(now_ps),
        }
    }

    /// Records the number of MPDUs of a PPDU that arrived.
    pub fn learn(&mut self, rate: usize, sent: usize, arrived: usize) {
        if let Self::Minstrel(minstrel) = self {
            minstrel.learn(rate, sent, arrived);
        }
    }
}
