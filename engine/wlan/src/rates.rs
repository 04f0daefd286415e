//! The rates by which the stations of a channel send.

use crate::minstrel::Minstrel;
use crate::timing::Timing;
use nettrial_scenario::{RateControl, Wlan, WlanMode, WlanStation};

/// The rates of a channel, each with its times and sizes: the channel's own, and those of stations that have others, or all
/// that rate control chooses among.
#[derive(Debug)]
pub struct Rates {
    timings: Vec<Timing>,
    /// Streams and MCS of each.
    names: Vec<(u32, u32)>,
    /// The rate of each station, by its place.
    of_station: Vec<usize>,
    has_control: bool,
    is_ad_hoc: bool,
}

impl Rates {
    /// The rates of settings that have passed the check of their scenario, of these stations.
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

    /// The place of a rate, which is added where it is new.
    fn place(&mut self, wlan: &Wlan) -> usize {
        let rate = (wlan.streams, wlan.mcs);
        self.names.iter().position(|other| *other == rate).unwrap_or_else(|| self.add(wlan))
    }

    fn add(&mut self, wlan: &Wlan) -> usize {
        self.timings.push(Timing::new(wlan));
        self.names.push((wlan.streams, wlan.mcs));
        self.names.len() - 1
    }

    /// The channel's own rate.
    pub fn usual(&self) -> &Timing {
        &self.timings[0]
    }

    #[cfg(test)]
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Timing> {
        self.timings.iter_mut()
    }

    /// The rate at that place.
    pub fn get(&self, place: usize) -> &Timing {
        &self.timings[place]
    }

    /// Streams and MCS of the rate at that place.
    pub fn name(&self, place: usize) -> (u32, u32) {
        self.names[place]
    }

    /// Returns whether rates are chosen as the channel goes.
    pub fn has_control(&self) -> bool {
        self.has_control
    }

    /// The choice among rates of what goes from one station to another: on the way to and from the access point the
    /// station's own, in ad hoc mode the sender's.
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
    /// One rate, by its place.
    Fixed(usize),
    /// Minstrel-HT's.
    Minstrel(Box<Minstrel>),
}

impl Choice {
    /// The rate of the next PPDU, by its place, and whether that is sent to learn of the rate, with a single MPDU.
    pub fn pick(&mut self, now_ps: u64) -> (usize, bool) {
        match self {
            Self::Fixed(rate) => (*rate, false),
            Self::Minstrel(minstrel) => minstrel.pick(now_ps),
        }
    }

    /// Learns how many MPDUs of a PPDU arrived.
    pub fn learn(&mut self, rate: usize, sent: usize, arrived: usize) {
        if let Self::Minstrel(minstrel) = self {
            minstrel.learn(rate, sent, arrived);
        }
    }
}
