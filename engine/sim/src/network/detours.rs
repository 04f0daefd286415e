//! The paths of packets around failed links.
//! A packet starts on the path chosen by the scenario's routing. The router next to a failed link sends it to
//! another one of its equal next hops, as Linux does with `ignore_routes_with_linkdown`; if there is none, the
//! packet is lost. No other router learns of the failure, because routes are static. So a path around a failure
//! begins with the links that the packet has already crossed, and is determined where the packet meets the failed
//! link.

use crate::network::paths::PathTable;
use crate::{PathId, Time};
use nettrial_routing::{Crossing, FiveTuple, Paths};
use nettrial_scenario::Scenario;
use std::collections::HashMap;

/// The paths around failed links, which are known before the trial, because the events are.
#[derive(Debug, Default)]
pub struct Detours {
    /// The times at which a link fails or recovers, in order.
    changes: Vec<Time>,
    /// For each of these times, the new paths from then on of those paths that change.
    around: Vec<HashMap<PathId, PathId>>,
    /// For each change and interface, true if the interface is down afterwards.
    away: Vec<Vec<bool>>,
}

impl Detours {
    /// Determines the times at which the links of `scenario` fail and recover.
    pub fn new(scenario: &Scenario) -> Self {
        let interfaces = nettrial_routing::Interfaces::new(scenario);
        let outages: Vec<Vec<(u64, u64)>> = if scenario.events.is_empty() {
            Vec::new()
        } else {
            (0..scenario.links.len()).map(|link| scenario.outages_of(link)).collect()
        };
        let mut times: Vec<u64> = outages.iter().flatten().flat_map(|&(down, up)| [down, up]).collect();
        times.retain(|&time| time != u64::MAX);
        times.sort_unstable();
        times.dedup();
        let away_at = |time: &u64| {
            let mut away = vec![false; interfaces.all().len()];
            for (link, outages) in outages.iter().enumerate() {
                let is_away = outages.iter().any(|&(down, up)| (down..up).contains(time));
                interfaces.of_link(link).for_each(|interface| away[interface] = is_away);
            }
            away
        };
        let away = times.iter().map(away_at).collect();
        let around = times.iter().map(|_| HashMap::new()).collect();
        Self { changes: times.into_iter().map(Time::from_ns).collect(), around, away }
    }

    /// Returns true if nothing fails.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Adds the paths that packets of `flow`, whose path is `path`, take around failed links.
    pub fn add(
        &mut self,
        routing: &Paths<'_>,
        (flow, path, dscp): (&FiveTuple, PathId, u8),
        paths: &mut PathTable,
    ) {
        for (away, around) in self.away.iter().zip(&mut self.around) {
            if !paths.links(path).iter().any(|&link| away[link as usize]) {
                continue;
            }
            if let Some(crossings) = routing.flow_path_around(flow, &|interface| away[interface]) {
                let (links, arrival) = numbers(&crossings);
                around.insert(path, paths.number(&links, arrival, dscp));
            }
        }
    }

    /// Returns the position in the list of paths at which a packet of `path` continues that is at `place` now, and
    /// whose next link is down; `None` if it is lost.
    pub fn around(&self, now: Time, path: PathId, place: u32, paths: &PathTable) -> Option<u32> {
        let change = self.changes.partition_point(|&time| time <= now).checked_sub(1)?;
        let other = *self.around[change].get(&path)?;
        let taken = paths.links(paths.at(place));
        let behind = (place - paths.start(paths.at(place))) as usize;
        let links = paths.links(other);
        let is_new = *links.get(behind)? != taken[behind];
        (is_new && links[..behind] == taken[..behind]).then(|| paths.start(other) + behind as u32)
    }
}

/// Returns the links of a path by number, and the interface at which its packets arrive.
pub fn numbers(crossings: &[Crossing]) -> (Vec<u32>, Option<u32>) {
    let links = crossings.iter().map(|crossing| crossing.out as u32).collect();
    (links, crossings.last().map(|crossing| crossing.into as u32))
}
