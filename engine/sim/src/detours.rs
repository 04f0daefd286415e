//! The paths that packets take around links that are away.
//!
//! A packet begins on the path that the scenario's routing gives it. The router beside a link that is away sends it by
//! another of its equal next hops, as Linux does with `ignore_routes_with_linkdown`; where it has none the packet is
//! lost. Nobody else hears of the failure: routes are static. So the way around a failure begins with what the packet
//! has behind it, and is found where it meets the link.

use crate::paths::PathTable;
use crate::{PathId, Time};
use nettrial_routing::{Crossing, FiveTuple, Paths};
use nettrial_scenario::Scenario;
use std::collections::HashMap;

/// The ways around links that are away. They are known before the trial, as the events are.
#[derive(Debug, Default)]
pub struct Detours {
    /// The times at which a link fails or returns, in order.
    changes: Vec<Time>,
    /// For each time the path that packets of a path take from then on, where it is another.
    around: Vec<HashMap<PathId, PathId>>,
    /// True for each interface, after each change, that is away.
    away: Vec<Vec<bool>>,
}

impl Detours {
    /// The times at which the links of `scenario` fail and return.
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

    /// Notes the ways that the packets of `flow`, whose path is `path`, take around what is away.
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

    /// The place in the list of paths at which a packet of `path` goes on that is at `place` now, and whose next link is
    /// away; `None` if it can't.
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

/// The links of a path by number, and the interface at which its packets arrive.
pub fn numbers(crossings: &[Crossing]) -> (Vec<u32>, Option<u32>) {
    let links = crossings.iter().map(|crossing| crossing.out as u32).collect();
    (links, crossings.last().map(|crossing| crossing.into as u32))
}
