//! Links and nodes that fail while traffic goes.

use crate::{Duration, Link, Scenario};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link or node that fails while traffic goes, and may return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// The time of the failure, after all flows are ready.
    pub at: Duration,
    /// The names of the two nodes between which every cable fails, or that of a router or switch, with which all of its
    /// cables fail.
    pub fails: Vec<String>,
    /// The time of its return, after all flows are ready; where absent it stays away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<Duration>,
}

impl Outage {
    /// Returns true if `link` fails.
    pub fn cuts(&self, link: &Link) -> bool {
        let joins = |name: &String| link.interfaces.iter().any(|interface| interface.node == *name);
        link.cable().is_some() && self.fails.iter().all(joins)
    }

    /// The numbers of the links of `scenario` that fail.
    pub fn links(&self, scenario: &Scenario) -> Vec<usize> {
        (0..scenario.links.len()).filter(|&link| self.cuts(&scenario.links[link])).collect()
    }
}

impl Scenario {
    /// The times in nanoseconds between which link number `link` is away, in order and apart from each other; one that
    /// does not end ends at `u64::MAX`.
    pub fn outages_of(&self, link: usize) -> Vec<(u64, u64)> {
        let of_link = self.events.iter().filter(|outage| outage.cuts(&self.links[link]));
        let mut times: Vec<(u64, u64)> = of_link
            .map(|outage| (outage.at.0, outage.returns.map_or(u64::MAX, |returns| returns.0)))
            .collect();
        times.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::new();
        for (down, up) in times {
            match apart.last_mut() {
                Some((_, end)) if down <= *end => *end = up.max(*end),
                _ => apart.push((down, up)),
            }
        }
        apart
    }
}
