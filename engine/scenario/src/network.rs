//! Nodes, links and routing policy.

use crate::{
    DelayTrace, Duration, InterfaceAddress, Offloads, QueueLimit, Rate, RateTrace, Size, Stack, Tunnel, Wlan,
    WlanStation,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A host has a stack and sends and receives packets. It does not forward.
    Host,
    /// A router forwards IP packets between its interfaces.
    Router,
    /// A switch forwards Ethernet frames between its interfaces (a learning bridge) and has no addresses.
    Switch,
}

/// A host, router or switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The node's name, which is unique in the scenario: letters, digits, `-` and `_`.
    pub name: String,
    /// The kind of the node: host, router or switch.
    pub kind: NodeKind,
    /// The host's TCP/IP settings. A host must have one; a router and a switch must not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// Sysctls of the host's network namespace by name, such as `net.ipv4.tcp_rmem`, each with its words separated by
    /// single spaces. They override what the stack sets. Only a host whose TCP/IP is its kernel's has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    /// The offloads that the node's interfaces use.
    #[serde(default)]
    pub offloads: Offloads,
    /// Originate no ICMP, so that senders do not learn why the router drops a packet. Only a router may have this
    /// setting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filters_icmp: bool,
    /// The cost of packets to the host's one CPU; if absent, packets cost nothing. For simulated hosts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<HostCost>,
    /// The name in the inventory of the user's machine that stands for the node; if absent, the inventory assigns
    /// a machine by the node's name. With the user's own machines, and on the lab's links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The operating system that the host or router runs as a guest, a virtual machine on this one, by its name in `nettrial
    /// systems list`; where absent, it has this machine's own kernel. In virtual time, the kernel of that name, which is
    /// that of all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The hardware of the guest, where the node is one.
    #[serde(default, skip_serializing_if = "GuestHardware::is_default")]
    pub guest: GuestHardware,
}

/// The hardware of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestHardware {
    /// Virtual CPUs.
    #[serde(default = "one_processor")]
    #[schemars(range(min = 1, max = 64))]
    pub processors: u32,
    /// Memory of the guest, allocated from this machine's memory on demand.
    #[serde(default = "guest_memory")]
    pub memory: Size,
    /// The CPUs of this machine, by number, to which the virtual CPUs are bound, one for each; where empty, the kernel
    /// chooses.
    #[serde(default)]
    pub pinned: Vec<u32>,
    /// The time for which the guest's interface collects outgoing packets into a batch; 0 sends at once.
    #[serde(default)]
    pub coalescing: Duration,
}

fn one_processor() -> u32 {
    1
}

/// Kernel, modules and agent take a third of it.
fn guest_memory() -> Size {
    Size(512 << 20)
}

impl Default for GuestHardware {
    fn default() -> Self {
        Self {
            processors: one_processor(),
            memory: guest_memory(),
            pinned: Vec::new(),
            coalescing: Duration::default(),
        }
    }
}

impl GuestHardware {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The cost of packets to a simulated host. The host has one CPU, and work waits while the CPU is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCost {
    /// The CPU time of a packet sent or received.
    #[serde(default)]
    pub per_packet: Duration,
    /// The CPU time of 1000 bytes sent or received, IP headers included.
    #[serde(default)]
    pub per_kilobyte: Duration,
    /// The CPU time of an interrupt, which starts the work on all packets that have arrived since the previous
    /// interrupt.
    #[serde(default)]
    pub per_interrupt: Duration,
    /// The time from the first packet until the interface interrupts, so that several packets share an interrupt.
    #[serde(default)]
    pub coalescing: Duration,
}

/// An interface of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The node's name.
    pub node: String,
    /// The interface's name in the node: 1 to 15 letters, digits, `-`, `_`; unique in the node.
    #[serde(rename = "interface")]
    pub name: String,
    /// The MTU of the interface: the largest IP packet that it sends, in bytes, without Ethernet's header, and on a link
    /// with a tunnel without the tunnel's header. With `nat64` it is that of the packets before they are translated to IPv4.
    pub mtu: Size,
    /// The addresses of the interface; a switch has none.
    #[serde(default)]
    pub addresses: Vec<InterfaceAddress>,
}

/// The medium that carries a link's frames between its interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// A full-duplex cable between two interfaces. Rate, delay and queue apply to each direction.
    #[default]
    Cable,
    /// A radio channel that an access point and its stations share. Its settings are `wlan`.
    Wlan,
}

impl Medium {
    /// Returns the medium's name in documents.
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
    /// The interfaces that the link joins. A cable joins two; a radio channel joins the access point's interface,
    /// which comes first, and one interface of each station.
    #[serde(rename = "ends")]
    pub interfaces: Vec<Interface>,
    /// The settings of a radio channel, which has no rate, delay, queue, discipline or impairment of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wlan: Option<Wlan>,
    /// The line rate, in which preamble, frame check sequence and inter-frame gap count, as on Ethernet. If
    /// absent, the link is not shaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The changes of the rate over time, the same in both directions. `rate` is then their mean, which stands for the
    /// link where one rate is needed, as for its share that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTrace>,
    /// The propagation delay in one direction.
    #[serde(default)]
    pub delay: Duration,
    /// The changes of the delay over time, the same in both directions. `delay` is then the smallest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_trace: Option<DelayTrace>,
    /// The limit of each interface's transmit queue, beyond which it drops packets. May be absent only if the rate
    /// is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// The discipline of each interface's transmit queue, which decides on drops and marks before the queue is
    /// full.
    #[serde(default, skip_serializing_if = "Discipline::is_drop_tail")]
    pub discipline: Discipline,
    /// Loss, duplication, reordering and jitter of the link's frames.
    #[serde(default, skip_serializing_if = "Impairment::is_none")]
    pub impairment: Impairment,
    /// The tunnel between the two nodes of a cable, which carries all packets of the link, or the translation to the other
    /// version of IP; if absent, they travel as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
    /// The settings of the direction from a cable's second interface to its first one, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

/// The settings of a cable in the direction from its second interface to its first one. Absent settings are those of
/// the other direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// The line rate, which replaces a trace of the other direction, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The changes of the rate over time; `rate` is then their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTrace>,
    /// The propagation delay, which replaces a trace of the other direction, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// The changes of the delay over time; `delay` is then the smallest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_trace: Option<DelayTrace>,
    /// The limit of the transmit queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// The discipline of the transmit queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,
    /// Loss, duplication, reordering and jitter, which replace all those of the other direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impairment: Option<Impairment>,
}

impl Link {
    /// Returns the link as frames from its interface `end`, 0 or 1 of a cable, meet it: without `reverse`, whose
    /// settings replace the others for frames from interface 1. Code that knows the direction of frames asks here.
    pub fn from_end(&self, end: usize) -> Cow<'_, Self> {
        let Some(reverse) = &self.reverse else { return Cow::Borrowed(self) };
        let mut link = Self { reverse: None, ..self.clone() };
        if end > 0 {
            if reverse.rate.is_some() {
                (link.rate, link.rate_trace) = (reverse.rate, reverse.rate_trace.clone());
            }
            if reverse.delay.is_some() || reverse.delay_trace.is_some() {
                link.delay = reverse.delay.unwrap_or(link.delay);
                link.delay_trace = reverse.delay_trace.clone();
            }
            link.queue = reverse.queue.or(link.queue);
            link.discipline = reverse.discipline.unwrap_or(link.discipline);
            link.impairment = reverse.impairment.unwrap_or(link.impairment);
        }
        Cow::Owned(link)
    }

    /// Returns whether a direction has a rate.
    pub fn is_shaped(&self) -> bool {
        self.directions().any(|direction| direction.rate.is_some())
    }

    /// Returns the link as frames meet it: once if both directions have the same settings, and otherwise from each
    /// of its interfaces.
    pub fn directions(&self) -> impl Iterator<Item = Cow<'_, Self>> {
        (0..if self.reverse.is_some() { 2 } else { 1 }).map(|end| self.from_end(end))
    }

    /// Returns the two interfaces of a cable; `None` if the link has another medium or does not have two
    /// interfaces. Code that handles only cables gets a link's interfaces here.
    pub fn cable(&self) -> Option<[&Interface; 2]> {
        match (self.medium, self.interfaces.as_slice()) {
            (Medium::Cable, [near, far]) => Some([near, far]),
            _ => None,
        }
    }

    /// Returns the own settings of each station of a radio channel, in the order of its interfaces.
    pub fn stations(&self) -> Vec<WlanStation> {
        let own = |end: &Interface| self.wlan.as_ref()?.stations.get(&end.node).copied();
        self.interfaces.iter().map(|end| own(end).unwrap_or_default()).collect()
    }

    /// Returns the largest delay of the link in one direction.
    pub fn largest_delay(&self) -> Duration {
        self.delay_trace.as_ref().map_or(self.delay, DelayTrace::largest)
    }

    /// Returns the bytes that the link's tunnel, if it has one, adds to each packet; translation to IPv4 takes some away.
    pub fn tunnel_bytes(&self) -> i64 {
        self.tunnel.map_or(0, Tunnel::added_bytes)
    }

    /// Returns the size of the largest IP packet that `interface` of this link hands over, as its tunnel makes it.
    pub fn largest_packet(&self, interface: &Interface) -> u64 {
        interface.mtu.0.saturating_add_signed(self.tunnel_bytes())
    }

    /// Returns the link in words, by its nodes: "link sender - router".
    pub fn in_words(&self) -> String {
        let nodes: Vec<&str> = self.interfaces.iter().map(|interface| interface.node.as_str()).collect();
        if nodes.is_empty() { "link".to_owned() } else { format!("link {}", nodes.join(" - ")) }
    }
}

/// The rule by which a queue drops packets, or marks them (ECN, RFC 3168), before it reaches its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "discipline", rename_all = "snake_case", deny_unknown_fields)]
pub enum Discipline {
    /// Packets are dropped only at the limit.
    #[schemars(title = "DropTail")]
    DropTail {},
    /// Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); packets that
    /// can't be marked pass.
    #[schemars(title = "Mark")]
    Mark {
        /// The queue above which packets are marked.
        threshold: QueueLimit,
    },
    /// Random early detection (Floyd and Jacobson 1993): the probability of a drop rises with the average queue.
    #[schemars(title = "Red")]
    Red {
        /// The average queue above which packets are dropped at random.
        minimum: Size,
        /// The average queue at which the probability is `probability`.
        maximum: Size,
        /// The probability at `maximum`.
        #[serde(default = "red_probability")]
        #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
        probability: f64,
        /// The weight of a new queue length in the average.
        #[serde(default = "red_weight")]
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: f64,
        /// From the maximum to twice as much, the probability rises to 1 (Floyd 2000). Otherwise every packet is
        /// dropped from the maximum on, as Linux does.
        #[serde(default = "gentle")]
        gentle: bool,
        /// Mark packets that can be marked instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
    /// Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above the
    /// target.
    #[schemars(title = "CoDel")]
    #[serde(rename = "codel")]
    CoDel {
        /// The target: the delay that may persist.
        #[serde(default = "codel_target")]
        target: Duration,
        /// The interval: the time for which the delay may stay above the target.
        #[serde(default = "codel_interval")]
        interval: Duration,
        /// Mark packets that can be marked instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue for each flow, served in turn, without drops before the limit (Linux's fq).
    #[schemars(title = "Fq")]
    Fq {},
    /// A queue with CoDel for each flow, served in turn (RFC 8290).
    #[schemars(title = "FqCodel")]
    #[serde(rename = "fq_codel")]
    FqCodel {
        /// The target: the delay that may persist.
        #[serde(default = "codel_target")]
        target: Duration,
        /// The interval: the time for which the delay may stay above the target.
        #[serde(default = "codel_interval")]
        interval: Duration,
        /// Mark packets that can be marked instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
    /// Common Applications Kept Enhanced (Hoiland-Jorgensen, Taht and Morton 2018), which the link's rate limits: fair
    /// among hosts, then flows, with a variant of CoDel for each. It marks packets that can be marked.
    #[schemars(title = "Cake")]
    Cake {
        /// The round-trip time for which its drops are tuned.
        #[serde(default = "codel_interval")]
        rtt: Duration,
    },
    /// Proportional integral controller enhanced (RFC 8033): the probability of a drop follows the queue's delay.
    #[schemars(title = "Pie")]
    Pie {
        /// The target: the delay that may persist.
        #[serde(default = "pie_time")]
        target: Duration,
        /// The interval between two updates of the probability.
        #[serde(default = "pie_time")]
        update: Duration,
        /// Mark packets that can be marked instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue with PIE for each flow, served in turn (Linux's fq_pie).
    #[schemars(title = "FqPie")]
    FqPie {
        /// The target: the delay that may persist.
        #[serde(default = "pie_time")]
        target: Duration,
        /// The interval between two updates of the probability.
        #[serde(default = "pie_time")]
        update: Duration,
        /// Mark packets that can be marked instead of dropping them.
        #[serde(default)]
        ecn: bool,
    },
}

/// Floyd, "RED: Discussions of Setting Parameters", 1997.
fn red_probability() -> f64 {
    0.1
}

/// Floyd, 1997, as above.
fn red_weight() -> f64 {
    0.002
}

fn gentle() -> bool {
    true
}

/// RFC 8289 section 4.
fn codel_target() -> Duration {
    Duration(5_000_000)
}

/// RFC 8289 section 4.
fn codel_interval() -> Duration {
    Duration(100_000_000)
}

/// RFC 8033 section 4.
fn pie_time() -> Duration {
    Duration(15_000_000)
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
    /// The names of all disciplines in documents.
    pub const NAMES: [&'static str; 9] =
        ["drop_tail", "mark", "red", "codel", "fq", "fq_codel", "cake", "pie", "fq_pie"];

    /// Returns the discipline's name in documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail {} => "drop_tail",
            Self::Mark { .. } => "mark",
            Self::Red { .. } => "red",
            Self::CoDel { .. } => "codel",
            Self::Fq {} => "fq",
            Self::FqCodel { .. } => "fq_codel",
            Self::Cake { .. } => "cake",
            Self::Pie { .. } => "pie",
            Self::FqPie { .. } => "fq_pie",
        }
    }

    /// Returns true if packets are dropped only at the limit.
    pub fn is_drop_tail(&self) -> bool {
        *self == Self::DropTail {}
    }
}

/// Loss, duplication, reordering and jitter on a link. They apply after the queue, to each frame in each direction
/// independently.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impairment {
    /// The probability that a frame is lost.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub loss: f64,
    /// The probability that a frame arrives twice.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub duplication: f64,
    /// The probability that a frame is held back by `reordering_delay`, so that later ones overtake it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub reordering: f64,
    /// The time for which a reordered frame is held back.
    #[serde(default)]
    pub reordering_delay: Duration,
    /// The jitter: each frame's delay is drawn uniformly between the link's delay and this much more. The order of
    /// frames is kept.
    #[serde(default)]
    pub jitter: Duration,
    /// Losses in bursts, in addition to those of `loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<LossBursts>,
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
}

/// Losses in bursts, by a good state, in which the impairment's `loss` applies, and a bad state (Gilbert 1960,
/// Elliott 1963). The state may change before each frame, and the first state is good.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossBursts {
    /// The probability that the bad state begins; 0 means no bursts.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub enter: f64,
    /// The probability that the bad state ends.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub leave: f64,
    /// The probability that a frame is lost in the bad state.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub loss: f64,
}

impl Impairment {
    /// Returns true if the link changes nothing.
    pub fn is_none(&self) -> bool {
        self.loss == 0.0
            && self.bursts.is_none()
            && self.duplication == 0.0
            && self.reordering == 0.0
            && self.jitter.0 == 0
    }
}

/// The policy by which a path is chosen. With every policy, switches forward frames along one spanning tree (IEEE
/// 802.1D).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
pub enum RoutingPolicy {
    /// Packets take the path with the fewest links; of equal paths, the one over the links named first.
    #[schemars(title = "ShortestPath")]
    ShortestPath {},
    /// Each flow takes one of the paths with the fewest links (RFC 2992). Every node chooses the next hop by a
    /// hash of addresses, protocol and ports.
    #[schemars(title = "Ecmp")]
    Ecmp {
        /// The seed from which each node's hash follows.
        #[serde(default)]
        seed: u64,
    },
    /// The i-th pair of addresses of two hosts that exchange a flow takes the i-th shortest path without a loop
    /// (Yen 1971) in both directions. If there are fewer paths, they are used again from the first on.
    #[schemars(title = "KShortestPaths")]
    KShortestPaths {
        /// The largest number of paths that are used.
        paths: u32,
    },
    /// Packets follow a spanning tree of routers, which block the links that would close a loop as switches do
    /// (IEEE 802.1D). The tree consists of the shortest paths from the router named first; all links have the same
    /// cost.
    #[schemars(title = "SpanningTree")]
    SpanningTree {},
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;
    use serde_json::json;

    fn link(settings: serde_json::Value) -> Link {
        let interface = |node: &str| json!({"node": node, "interface": "eth0", "mtu": "1500 B"});
        let mut link =
            json!({"ends": [interface("a"), interface("b")], "rate": "1 Mbit/s", "queue": "9 packets"});
        link.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        serde_json::from_value(link).unwrap()
    }

    #[test]
    fn a_direction_has_its_own_settings_and_otherwise_those_of_the_other() {
        let same = link(json!({"delay": "1 ms"}));
        assert_eq!((same.directions().count(), same.from_end(1)), (1, Cow::Borrowed(&same)));
        let trace = json!({"from_ns": [0], "rates_bps": [1]});
        let apart = link(json!({"delay": "1 ms", "rate_trace": trace,
            "reverse": {"rate": "10 Mbit/s", "discipline": {"discipline": "fq"}, "impairment": {"loss": 0.5}}}));
        let [near, far] = [0, 1].map(|end| apart.from_end(end));
        let of =
            |link: &Link| (link.rate.map(|rate| rate.0), link.rate_trace.is_some(), link.discipline.name());
        assert_eq!(
            (of(&near), of(&far)),
            ((Some(1_000_000), true, "drop_tail"), (Some(10_000_000), false, "fq"))
        );
        assert_eq!((near.impairment.loss, far.impairment.loss), (0.0, 0.5));
        assert_eq!((far.delay, far.queue, far.reverse.is_none()), (near.delay, near.queue, true));
    }

    #[test]
    fn a_problem_of_both_directions_is_reported_once() {
        let slow = |link: &Link, place: &Place| match link.rate {
            Some(rate) if rate.0 < 5_000_000 => vec![place.problem("rate", rate, "more", "it is slow")],
            _ => Vec::new(),
        };
        let pointers = |reverse: serde_json::Value| {
            let problems = Place::of_directions(3, &link(json!({"reverse": reverse})), slow);
            problems.into_iter().map(|problem| problem.pointer).collect::<Vec<_>>()
        };
        assert_eq!(pointers(json!({"delay": "1 ms"})), ["/links/3/rate"]);
        assert_eq!(pointers(json!({"rate": "2 Mbit/s"})), ["/links/3/rate", "/links/3/reverse/rate"]);
    }
}
