//! The OpenFlow controller of a scenario's switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The OpenFlow controller of all switches. Where a scenario has one, each switch is a bridge of Open vSwitch that speaks
/// OpenFlow 1.3 with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// The application, which decides on the switches' rules.
    pub application: ControllerApplication,
    /// The time at which rules are installed.
    #[serde(default)]
    pub mode: ControllerMode,
    /// The largest number of paths between two hosts that `k_shortest_paths` uses.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 1000))]
    pub paths: u32,
    /// The seed of the choices that an application makes at random.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub seed: u64,
}

fn eight() -> u32 {
    8
}

/// The application of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControllerApplication {
    /// Each switch learns at which port a host is from the frames that come from it, and floods along a spanning tree
    /// until then.
    Learning,
    /// Each packet takes the path with the fewest links to its destination.
    #[default]
    ShortestPath,
    /// Each flow takes one of the paths with the fewest links. Proactive rules choose by a group of type select,
    /// reactive ones by the controller's hash.
    Ecmp,
    /// The i-th pair of addresses of two hosts takes the i-th shortest path between them.
    KShortestPaths,
}

/// The time at which a controller installs rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControllerMode {
    /// Before the traffic, for every destination.
    #[default]
    Proactive,
    /// For each flow when its first packet comes to the controller.
    Reactive,
}
