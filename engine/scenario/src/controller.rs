//! The OpenFlow controller of a scenario's switches.

use crate::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The OpenFlow controller of all switches: one of nettrial's applications, a program of one's own, or one that listens
/// elsewhere. Where a scenario has one, each switch is a bridge of Open vSwitch that speaks OpenFlow 1.3 with it, or
/// OpenFlow 1.0 where a controller of one's own has no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// The application of nettrial's, which decides on the switches' rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ControllerApplication>,
    /// The time at which the application installs rules.
    #[serde(default)]
    pub mode: ControllerMode,
    /// The largest number of paths between two hosts that `k_shortest_paths` uses.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 1000))]
    pub paths: u32,
    /// The seed of the choices that an application makes at random.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub seed: u64,
    /// The program, and its arguments, that is started as the controller of a trial in the switches' namespace. It must
    /// listen at port 6653 of 127.0.0.1, which its arguments can name as `{port}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The address at which a controller listens already, seen from this machine: `tcp:HOST:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The longest time until the controller has all switches, from its start on; with nettrial's applications, until it
    /// is ready.
    #[serde(default = "a_minute")]
    pub connect_limit: Duration,
    /// The time without a change of rules after which a `command` or `address` counts as ready for traffic.
    #[serde(default = "a_second")]
    pub settle: Duration,
}

impl Controller {
    /// Returns the host and the port of the `address`, or `None` if there is none or it is no `tcp:HOST:PORT`.
    pub fn host_and_port(&self) -> Option<(&str, u16)> {
        let (host, port) = self.address.as_ref()?.strip_prefix("tcp:")?.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().ok().filter(|&port| port > 0)?;
        Some((host, port)).filter(|(host, _)| !host.is_empty())
    }
}

fn eight() -> u32 {
    8
}

fn a_minute() -> Duration {
    Duration(60_000_000_000)
}

fn a_second() -> Duration {
    Duration(1_000_000_000)
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
