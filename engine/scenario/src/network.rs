//! Nodes, links and routing policy.

use crate::{Duration, InterfaceAddress, Offloads, QueueLimit, Rate, Size, Stack};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a node does with packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Sends and receives; has a stack. It does not forward.
    Host,
    /// Forwards IP packets between its interfaces.
    Router,
    /// Forwards Ethernet frames between its interfaces (a learning bridge); has no addresses.
    Switch,
}

/// A host, router or switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique in the scenario: letters, digits, `-` and `_`.
    pub name: String,
    /// Host, router or switch.
    pub kind: NodeKind,
    /// The host's TCP/IP settings. A host must have one; a router and a switch must not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// Which offloads the node's interfaces use.
    #[serde(default)]
    pub offloads: Offloads,
}

/// One end of a link: an interface of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The node's name.
    pub node: String,
    /// The interface's name in the node: 1 to 15 letters, digits, `-`, `_`; unique in the node.
    pub interface: String,
    /// The largest IP packet the interface sends, in bytes; Ethernet's header is not in it.
    pub mtu: Size,
    /// Addresses of the interface; none on a switch.
    #[serde(default)]
    pub addresses: Vec<InterfaceAddress>,
}

/// A full-duplex link between two interfaces. Rate, delay and queue hold in each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two interfaces it joins.
    pub ends: [End; 2],
    /// The line rate on the wire: preamble, frame check sequence and inter-frame gap count, as on
    /// Ethernet. Not shaped where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Duration,
    /// What each end's transmit queue holds before it drops. Absent only where the rate is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
}

/// How a path is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoutingPolicy {
    /// The path of the fewest links; among equals, the one over the links named first.
    ShortestPath,
}
