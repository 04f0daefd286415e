//! The rates of connections with several paths: the fixed points of coupled congestion controls.
//!
//! The *level* of a path is the rate that a TCP flow would have on it: the lowest level of its links. The level of
//! a link is such that the link is just full; a link that does not become full limits nobody. With single paths
//! only, this is max-min fairness. The papers give the rates of an algorithm's subflows if the losses on path `r`
//! have the probability `p_r`, at which TCP has the rate √(2/p_r) / rtt_r: this rate is the level τ_r. Round-trip
//! times count as equal. With X = max_r τ_r:
//!
//! - LIA: x_r = X · τ_r² / Σ τ_k² (Khalili, Gast, Popovic and Le Boudec, "MPTCP is not Pareto-optimal", IEEE/ACM
//!   Transactions on Networking 21, 2013, equation (2); RFC 6356 has the goal Σ x_r = X);
//! - OLIA: x_r is above 0 only where τ_r = X, and Σ x_r = X (the same paper, theorem 1);
//! - BALIA: X² / τ_r² = (4 + α_r) / 5 with α_r = max_k x_k / x_r, and so x_r ∝ 1 / (5 X² / τ_r² − 4) (Peng, Walid, Hwang and
//!   Low, "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM Transactions on Networking 24, 2016: φ_r(x) with
//!   β = 1/5).
//!
//! wVegas has no such fixed point: its paths are full when queues have a certain length, which depends on the
//! round-trip time without queues.
//!
//! The papers add the losses of several full links on a path; here only the link with the lowest level counts, as
//! in max-min fairness.

use crate::maxmin::max_min;

/// The coupling of a connection's subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// Each subflow behaves like a TCP flow.
    Uncoupled,
    /// LIA (RFC 6356).
    Lia,
    /// OLIA (draft-khalili-mptcp-congestion-control).
    Olia,
    /// BALIA (draft-walid-mptcp-congestion-control).
    Balia,
}

impl Coupling {
    /// The congestion controls whose rates can be computed, by name, and the coupling of several subflows of each.
    pub const CONTROLS: [(&str, Self); 5] = [
        ("balia", Self::Balia),
        ("cubic", Self::Uncoupled),
        ("lia", Self::Lia),
        ("olia", Self::Olia),
        ("reno", Self::Uncoupled),
    ];

    /// Returns the coupling of the congestion control of that name; `None` if its rates can't be computed.
    pub fn of(control: &str) -> Option<Self> {
        Self::CONTROLS.iter().find(|(name, _)| *name == control).map(|(_, coupling)| *coupling)
    }

    /// Sets the rates of a connection's subflows, from the levels of their paths and, for OLIA, their shares.
    fn split(self, levels: &[f64], shares: &[f64], rates: &mut [f64]) {
        let best = levels.iter().copied().fold(0.0, f64::max);
        let weight = |level: f64, share: f64| match self {
            Self::Uncoupled => level,
            Self::Lia => level * level,
            Self::Olia => level * share,
            Self::Balia => 1.0 / (5.0 * (best / level) * (best / level) - 4.0),
        };
        for ((rate, level), share) in rates.iter_mut().zip(levels).zip(shares) {
            *rate = weight(*level, *share);
        }
        if matches!(self, Self::Lia | Self::Balia) {
            let scale = best / rates.iter().sum::<f64>();
            rates.iter_mut().for_each(|rate| *rate *= scale);
        }
    }
}

/// A connection: the links on the path of each of its subflows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// The coupling of its subflows.
    pub coupling: Coupling,
    /// The links of each path.
    pub paths: Vec<&'a [u32]>,
}

/// The rates of an equilibrium.
#[derive(Debug, Clone, PartialEq)]
pub struct Equilibrium {
    /// The rate of each path in bits per second, those of the first connection first.
    pub rates: Vec<f64>,
    /// The distance of the last iteration from the equilibrium: the largest share of a link's rate by which the
    /// link is too full, or not full although it limits a path.
    pub error: f64,
}

/// The largest number of iterations.
const MOST_ITERATIONS: usize = 4000;
/// The error at which iterations end.
const TOLERANCE: f64 = 5e-3;
/// The first step of a link's level: the share of its error by which the level changes.
const FIRST_STEP: f64 = 0.2;
/// The largest and the smallest step. A step grows while the error keeps its sign, and is halved when the sign
/// changes.
const STEPS: [f64; 2] = [0.5, 0.01];
/// The highest level of a link, as a multiple of its rate; such a link limits nobody.
const MOST_LEVEL: f64 = 1e3;
/// The share of a path of OLIA that moves in an iteration, relative to the amount by which its level is too low.
const MOVES: f64 = 0.3;
/// The smallest share of a connection's rate on a path of OLIA, on which a segment or two are sent per round trip.
const LEAST_SHARE: f64 = 1e-4;

/// Returns the rates of connections in equilibrium, from the rates of all links.
pub fn equilibrium(capacities: &[f64], groups: &[Group<'_>]) -> Equilibrium {
    let paths: Vec<&[u32]> = groups.iter().flat_map(|group| &group.paths).copied().collect();
    let is_coupled = |group: &Group<'_>| group.coupling != Coupling::Uncoupled && group.paths.len() > 1;
    if !groups.iter().any(is_coupled) {
        return Equilibrium { rates: max_min(capacities, &paths), error: 0.0 };
    }
    let mut levels = Levels::new(capacities, &paths);
    let mut of_paths = vec![0.0; paths.len()];
    let mut rates = vec![0.0; paths.len()];
    let mut shares: Vec<f64> =
        groups.iter().flat_map(|group| group.paths.iter().map(|_| 1.0 / group.paths.len() as f64)).collect();
    let mut error = f64::INFINITY;
    for _ in 0..MOST_ITERATIONS {
        levels.begin();
        let mut first = 0;
        let mut unsettled = 0.0_f64;
        for group in groups {
            let own = first..first + group.paths.len();
            first = own.end;
            for path in own.clone() {
                of_paths[path] = levels.bind(path);
            }
            group.coupling.split(&of_paths[own.clone()], &shares[own.clone()], &mut rates[own.clone()]);
            for path in own.clone() {
                levels.load(path, rates[path]);
            }
            if group.coupling == Coupling::Olia {
                unsettled = unsettled.max(move_shares(&of_paths[own.clone()], &mut shares[own]));
            }
        }
        error = levels.adjust().max(unsettled);
        if error < TOLERANCE {
            break;
        }
    }
    levels.keep_within(&mut rates);
    Equilibrium { rates, error }
}

/// Moves the shares of a connection's paths towards those with the highest level. Returns the share of its rate
/// that is still on others, each weighted by the amount by which its level is too low.
fn move_shares(levels: &[f64], shares: &mut [f64]) -> f64 {
    let best = levels.iter().copied().fold(0.0, f64::max);
    let mut unsettled = 0.0;
    for (share, level) in shares.iter_mut().zip(levels) {
        let lacks = 1.0 - level / best;
        unsettled += *share * lacks;
        *share = (*share * (1.0 - MOVES * lacks)).max(LEAST_SHARE);
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    unsettled
}

/// The links on paths, with their levels. The figures that an iteration looks up for each link of each path are in lists of
/// their own, which fit into a CPU's cache.
struct Levels {
    levels: Vec<f64>,
    loads: Vec<f64>,
    is_binding: Vec<bool>,
    /// The links, numbered in the order in which paths use them.
    links: Vec<Link>,
    /// The links of all paths, one path after the other.
    over: Vec<u32>,
    /// The index of the first link of each path, and after the last path the number of all.
    first: Vec<u32>,
}

/// A link with its level.
#[derive(Debug, Clone, Copy)]
struct Link {
    capacity: f64,
    step: f64,
    error: f64,
}

impl Levels {
    /// Returns the links on these paths, with their first levels.
    fn new(capacities: &[f64], paths: &[&[u32]]) -> Self {
        let mut number = vec![u32::MAX; capacities.len()];
        let (mut links, mut loads) = (Vec::new(), Vec::new());
        let (mut over, mut first) = (Vec::new(), vec![0]);
        for path in paths {
            for &link in *path {
                let own = &mut number[link as usize];
                if *own == u32::MAX {
                    *own = links.len() as u32;
                    links.push(Link { capacity: capacities[link as usize], step: FIRST_STEP, error: 0.0 });
                    loads.push(0.0);
                }
                loads[*own as usize] += 1.0;
                over.push(*own);
            }
            first.push(over.len() as u32);
        }
        let levels = links.iter().zip(&loads).map(|(link, load)| link.capacity / load).collect();
        Self { levels, is_binding: vec![false; links.len()], loads, links, over, first }
    }

    /// Returns the links of a path.
    fn path(&self, path: usize) -> &[u32] {
        &self.over[self.first[path] as usize..self.first[path + 1] as usize]
    }

    /// Begins an iteration: no link has a load.
    fn begin(&mut self) {
        self.loads.fill(0.0);
        self.is_binding.fill(false);
    }

    /// Returns the level of a path, and marks the link that determines it.
    fn bind(&mut self, path: usize) -> f64 {
        let (mut level, mut binding) = (f64::INFINITY, None);
        for &over in self.path(path) {
            if self.levels[over as usize] < level {
                (level, binding) = (self.levels[over as usize], Some(over as usize));
            }
        }
        if let Some(link) = binding {
            self.is_binding[link] = true;
        }
        level
    }

    /// Adds the rate of a path to the loads of its links.
    fn load(&mut self, path: usize, rate: f64) {
        for &over in &self.over[self.first[path] as usize..self.first[path + 1] as usize] {
            self.loads[over as usize] += rate;
        }
    }

    /// Raises the levels of links with free capacity and lowers those of the others. Returns the largest error.
    fn adjust(&mut self) -> f64 {
        let mut worst = 0.0_f64;
        let of_links = self.links.iter_mut().zip(&mut self.levels).zip(&self.loads).zip(&self.is_binding);
        for (((link, level), load), is_binding) in of_links {
            let error = link.capacity / load - 1.0;
            if error < 0.0 || *is_binding {
                worst = worst.max(error.abs());
            }
            let grows = error * link.error > 0.0;
            link.step = if grows { (link.step * 1.2).min(STEPS[0]) } else { (link.step * 0.5).max(STEPS[1]) };
            link.error = error;
            *level = (*level * (1.0 + link.step * error).clamp(0.5, 2.0)).min(link.capacity * MOST_LEVEL);
        }
        worst
    }

    /// Lowers the rates of paths over links that are too full, until none is.
    fn keep_within(&mut self, rates: &mut [f64]) {
        self.loads.fill(0.0);
        for (path, rate) in rates.iter().enumerate() {
            self.load(path, *rate);
        }
        for (path, rate) in rates.iter_mut().enumerate() {
            let room = self.path(path).iter().map(|&over| {
                let link = over as usize;
                self.links[link].capacity / self.loads[link]
            });
            *rate *= room.fold(1.0, f64::min);
        }
    }
}

#[cfg(test)]
mod tests;
