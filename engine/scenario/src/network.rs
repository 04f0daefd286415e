//! Nodes, links and routing policy.

use crate::{Duration, InterfaceAddress, Offloads, QueueLimit, Rate, Size, Stack, Wlan, WlanStation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a node, which decides what it does with packets.
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
    /// The offloads that the node's interfaces use.
    #[serde(default)]
    pub offloads: Offloads,
    /// Originate no ICMP, so that nobody learns why the router drops a packet. Only a router may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filters_icmp: bool,
    /// The cost of packets to the host's one CPU; nothing where absent. Of simulated hosts only: real ones
    /// cost what they cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<HostCost>,
    /// The machine of the user's that stands for the node, by its name in the inventory; where absent, the one that
    /// the inventory gives to a node of this name. On the user's own machines only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// The cost of packets to a simulated host, which has one CPU: work that finds it busy waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCost {
    /// CPU time of a packet sent or received.
    #[serde(default)]
    pub per_packet: Duration,
    /// CPU time of 1000 bytes sent or received, IP headers included.
    #[serde(default)]
    pub per_kilobyte: Duration,
    /// CPU time of an interrupt, which begins the work of all packets that have arrived since the one
    /// before.
    #[serde(default)]
    pub per_interrupt: Duration,
    /// The time from the first packet until the interface interrupts, so that more packets share the interrupt.
    #[serde(default)]
    pub coalescing: Duration,
}

/// An interface of a node, at one end of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The node's name.
    pub node: String,
    /// The interface's name in the node: 1 to 15 letters, digits, `-`, `_`; unique in the node.
    #[serde(rename = "interface")]
    pub name: String,
    /// The largest IP packet the interface sends, in bytes; Ethernet's header is not in it.
    pub mtu: Size,
    /// Addresses of the interface; none on a switch.
    #[serde(default)]
    pub addresses: Vec<InterfaceAddress>,
}

/// The medium that carries a link's frames between its interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// A full-duplex cable between two interfaces. Rate, delay and queue hold in each direction.
    #[default]
    Cable,
    /// A radio channel that an access point and its stations share, by its settings `wlan`.
    Wlan,
}

impl Medium {
    /// The medium's name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cable => "cable",
            Self::Wlan => "wlan",
        }
    }

    fn is_cable(&self) -> bool {
        *self == Self::Cable
    }
}

/// A link between interfaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The link's medium.
    #[serde(default, skip_serializing_if = "Medium::is_cable")]
    pub medium: Medium,
    /// The interfaces that the link joins; a cable joins two, a radio channel the access point's, which is the first, and
    /// one of each station.
    #[serde(rename = "ends")]
    pub interfaces: Vec<Interface>,
    /// The settings of a radio channel, which has neither rate nor delay, queue, discipline and impairment of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wlan: Option<Wlan>,
    /// The line rate on the wire: preamble, frame check sequence and inter-frame gap count, as on
    /// Ethernet. Not shaped where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Duration,
    /// Limit of each interface's transmit queue, beyond which it drops. Absent only where the rate is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// Discipline of each interface's transmit queue: what it does before it is full.
    #[serde(default, skip_serializing_if = "Discipline::is_drop_tail")]
    pub discipline: Discipline,
    /// The changes that the link makes to frames beside carrying them.
    #[serde(default, skip_serializing_if = "Impairment::is_none")]
    pub impairment: Impairment,
}

impl Link {
    /// The two interfaces of a cable; `None` where the link has another medium or does not have two interfaces. What
    /// can deal with cables alone takes a link's interfaces from here.
    pub fn cable(&self) -> Option<[&Interface; 2]> {
        match (self.medium, self.interfaces.as_slice()) {
            (Medium::Cable, [near, far]) => Some([near, far]),
            _ => None,
        }
    }

    /// The settings of each station of a radio channel that are its own, in the order of its interfaces.
    pub fn stations(&self) -> Vec<WlanStation> {
        let own = |end: &Interface| self.wlan.as_ref()?.stations.get(&end.node).copied();
        self.interfaces.iter().map(|end| own(end).unwrap_or_default()).collect()
    }

    /// The link in words, by its nodes: "link sender - router".
    pub fn in_words(&self) -> String {
        let nodes: Vec<&str> = self.interfaces.iter().map(|interface| interface.node.as_str()).collect();
        if nodes.is_empty() { "link".to_owned() } else { format!("link {}", nodes.join(" - ")) }
    }
}

/// The packets that a queue drops, or marks where its packets bear marks (ECN, RFC 3168), before its limit drops
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "discipline", rename_all = "snake_case", deny_unknown_fields)]
pub enum Discipline {
    /// The limit alone drops.
    #[schemars(title = "DropTail")]
    DropTail {},
    /// Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); those that
    /// can't bear a mark pass.
    #[schemars(title = "Mark")]
    Mark {
        /// The queue above which packets are marked.
        threshold: QueueLimit,
    },
    /// Random early detection (Floyd and Jacobson 1993), gentle: the probability of a drop rises with the
    /// average queue.
    #[schemars(title = "Red")]
    Red {
        /// The average queue above which packets are dropped at random.
        minimum: Size,
        /// The average queue at which the probability is `probability`; from there to twice as much it rises
        /// to 1.
        maximum: Size,
        /// The probability at `maximum`.
        #[serde(default = "red_probability")]
        #[schemars(range(min = 0.0, max = 1.0))]
        probability: f64,
        /// The weight of a new queue length in the average.
        #[serde(default = "red_weight")]
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: f64,
        /// Mark packets that can bear a mark instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
    /// Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above the
    /// target.
    #[schemars(title = "CoDel")]
    CoDel {
        /// The delay that may persist.
        #[serde(default = "codel_target")]
        target: Duration,
        /// The time for which the delay may stay above the target.
        #[serde(default = "codel_interval")]
        interval: Duration,
        /// Mark packets that can bear a mark instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
}

/// Floyd, "RED: Discussions of Setting Parameters", 1997.
fn red_probability() -> f64 {
    0.1
}

/// The same.
fn red_weight() -> f64 {
    0.002
}

/// RFC 8289 section 4.
fn codel_target() -> Duration {
    Duration(5_000_000)
}

/// RFC 8289 section 4.
fn codel_interval() -> Duration {
    Duration(100_000_000)
}

fn certain() -> f64 {
    1.0
}

impl Default for Discipline {
    fn default() -> Self {
        Self::DropTail {}
    }
}

impl Discipline {
    /// The names in documents of all disciplines.
    pub const NAMES: [&'static str; 4] = ["drop_tail", "mark", "red", "co_del"];

    /// Its name in documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail {} => "drop_tail",
            Self::Mark { .. } => "mark",
            Self::Red { .. } => "red",
            Self::CoDel { .. } => "co_del",
        }
    }

    /// Returns true if the limit alone drops.
    pub fn is_drop_tail(&self) -> bool {
        *self == Self::DropTail {}
    }
}

/// The changes that a link makes to frames beside carrying them: in each direction, each frame by itself, after the
/// queue.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impairment {
    /// The probability that a frame is lost.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// The probability that a frame arrives twice.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplication: f64,
    /// The probability that a frame is held back by `reordering_delay`, so that later ones overtake it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub reordering: f64,
    /// The time for which such a frame is held back.
    #[serde(default)]
    pub reordering_delay: Duration,
    /// Each frame's delay is drawn evenly from the link's delay to this much more; the order is kept.
    #[serde(default)]
    pub jitter: Duration,
    /// Losses in bursts beside those of `loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<LossBursts>,
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
}

/// Losses in bursts: a good state, in which `loss` of the impairment holds, and a bad one (Gilbert 1960, Elliott
/// 1963). The state may change before each frame; the first is good.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossBursts {
    /// The probability that the bad state begins; with 0 there are no bursts.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub enter: f64,
    /// The probability that it ends.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub leave: f64,
    /// The probability that a frame is lost in it.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
}

impl Impairment {
    /// Returns true if the link only carries frames.
    pub fn is_none(&self) -> bool {
        self.loss == 0.0
            && self.bursts.is_none()
            && self.duplication == 0.0
            && self.reordering == 0.0
            && self.jitter.0 == 0
    }
}

/// The policy by which a path is chosen. Switches forward frames along one spanning tree whatever the policy (IEEE
/// 802.1D).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
pub enum RoutingPolicy {
    /// The path of the fewest links; among equals, the one over the links named first.
    #[schemars(title = "ShortestPath")]
    ShortestPath {},
    /// Each flow takes one of the paths with the fewest links (RFC 2992): every node chooses the next hop by
    /// a hash of addresses, protocol and ports.
    #[schemars(title = "Ecmp")]
    Ecmp {
        /// Seed that makes the hash of each node another.
        #[serde(default)]
        seed: u64,
    },
    /// The i-th pair of addresses of two hosts that exchange a flow takes the i-th shortest path without a
    /// loop (Yen 1971), there and back; where there are fewer paths, it starts over.
    #[schemars(title = "KShortestPaths")]
    KShortestPaths {
        /// The largest number of paths that are used.
        paths: u32,
    },
    /// The one path that is left where every router blocks what would close a loop, as switches do (IEEE
    /// 802.1D): a tree of the shortest paths from the router named first, each link at the same cost.
    #[schemars(title = "SpanningTree")]
    SpanningTree {},
}
