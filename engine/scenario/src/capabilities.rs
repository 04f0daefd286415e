//! A backend's statement of its capabilities, and the problems that follow for a scenario.

use crate::{Link, Medium, Place, Problem, RoutingPolicy, Scenario, Traffic, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A backend's statement of its capabilities on a machine that lacks nothing. Each preflight contains it,
/// scenarios are checked against it, and planners of trials consult it instead of the backend's name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Several trials may run at the same time on one machine without affecting each other.
    pub parallel: bool,
    /// A trial depends only on its scenario: the same scenario gives the same record.
    pub deterministic: bool,
    /// A check returns an estimate of the work.
    pub estimates: bool,
    /// The first trials of a session differ from later ones and should not be counted.
    pub warm_up: bool,
    /// Trials run in simulated time, so their duration says nothing about how long they take.
    pub simulated_time: bool,
    /// Hosts are models: the scenario states the cost of a packet, and hosts need nothing of the kernel.
    pub modelled_hosts: bool,
    /// All hosts share the kernel of one machine.
    pub shared_kernel: bool,
    /// Links are made as the scenario says. If this is false, their rates and delays are expectations, and a trial
    /// that contradicts them carries a warning.
    pub makes_links: bool,
    /// The packets of interfaces can be captured.
    pub captures: bool,
    /// The largest number of hosts, routers and switches of a trial.
    pub most_nodes: u32,
    /// The largest number of flows of a trial.
    pub most_flows: u32,
    /// Hosts can have every congestion control of the machine's kernel.
    pub kernel_congestion_controls: bool,
    /// The congestion controls that the backend brings.
    pub congestion_controls: Vec<String>,
    /// The transport protocols that flows can have.
    pub transports: Vec<Transport>,
    /// The kinds of traffic that flows can have.
    pub traffic: Vec<String>,
    /// The media that links can have.
    pub media: Vec<Medium>,
    /// The disciplines that transmit queues can have.
    pub disciplines: Vec<String>,
    /// The settings that this backend follows, of those that some backend does not follow.
    pub settings: Vec<Setting>,
    /// The figures that this backend's records can have, of those that not every record has.
    pub figures: Vec<Figure>,
}

/// A part of the record that a backend may not be able to measure, whatever the scenario asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The work of the stations of radio channels: `channels`.
    Channels,
    /// The work of an OpenFlow controller: `controller`.
    Controller,
    /// CPU time of a host: `cpu_percent`, `cpu_busy_ns` and `service_demand_us_per_kb` of `hosts`.
    Cpu,
    /// Queues, drops and packet sizes of a link's interfaces: `ends`.
    Interfaces,
    /// Packets delivered whose acknowledgments echoed a mark: `marks_pkts` of `flows` and their subflows.
    Marks,
    /// The times of the parts of requests' ways: `mechanisms` of `flows`.
    Mechanisms,
    /// The error of one-way delays between two clocks: `owd_error_us` of `flows`.
    OwdError,
    /// The state of a host's Wi-Fi interface: `radio` of `hosts`.
    Radio,
    /// Segments that were retransmitted: `retransmissions_pkts` of `flows` and their subflows.
    Retransmissions,
    /// Round-trip times, and the windows that go with them: `connect_us`, `rtt_us`, `srtt_us`, `min_rtt_us` and
    /// `cwnd_pkts` of `flows` and their subflows. Those of flows are 0 or empty in records without this figure.
    RoundTripTimes,
}

/// A setting that not every backend follows. Its default is followed everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// The bytes handed to the kernel at a time: `socket.block` of a flow.
    Block,
    /// Losses in bursts: `impairment.bursts` of a link.
    Bursts,
    /// Switches under an OpenFlow controller: `controller`.
    Controller,
    /// A cost of packets: `cost` of a node.
    Cost,
    /// A delay that changes over time: `delay_trace` of a link.
    DelayTrace,
    /// Connections that ask for marks: `stack.ecn` of a node.
    Ecn,
    /// Links and nodes that fail while traffic goes: `events`.
    Events,
    /// A router that originates no ICMP: `filters_icmp` of a node.
    FiltersIcmp,
    /// Loss, duplication, reordering and jitter: `impairment` of a link.
    Impairment,
    /// One of the user's machines: `machine` of a node.
    Machine,
    /// Times of the parts of each request's way: `mechanisms` of requests.
    Mechanisms,
    /// The smallest retransmission timeout: `stack.minimum_rto` of a node.
    MinimumRto,
    /// Probing for the path MTU: `stack.mtu_probing` of a node.
    MtuProbing,
    /// Small segments that wait for acknowledgments: `socket.nagle` of a flow.
    Nagle,
    /// The sizes of the packets that each interface sends: `packet_sizes` of the measurement.
    PacketSizes,
    /// The pair of addresses that a flow begins with: its `pair`.
    Pair,
    /// Data that is acknowledged as soon as it is read: `socket.quick_ack` of a flow.
    QuickAck,
    /// The length of queues over time: `queue_interval` of the measurement.
    QueueInterval,
    /// Each reading of a queue's length: `queue_series` of the measurement.
    QueueSeries,
    /// TCP/IP of a program instead of the kernel's: `stack.program` of a node.
    Program,
    /// A rate that changes over time: `rate_trace` of a link.
    RateTrace,
    /// Paths other than the shortest: `policy` of the routing.
    Routing,
    /// The choice among the subflows of a connection: `stack.scheduler` of a node.
    Scheduler,
    /// Connections without TCP small queues: `stack.small_queues` of a node.
    SmallQueues,
    /// Sysctls of a host: `sysctls` of a node.
    Sysctls,
    /// A guest's operating system: `system` of a node.
    System,
    /// A tunnel that carries a link's packets: `tunnel` of a link.
    Tunnel,
    /// UDP packets that arrive coalesced: `socket.udp_gro` of a flow.
    UdpGro,
    /// UDP packets that leave in GSO packets: `socket.udp_gso` of a flow.
    UdpGso,
    /// A TCP window of a size: `socket.window` of a flow.
    Window,
    /// Sending without copying: `socket.zerocopy` of a flow.
    Zerocopy,
}

impl Capabilities {
    /// The largest number of nodes of a trial with packets: more take gigabytes, and a trial hours.
    pub const MOST_NODES_WITH_PACKETS: u32 = 12_000;
    /// The largest number of flows of a trial with packets.
    pub const MOST_FLOWS_WITH_PACKETS: u32 = 20_000;

    /// Returns a problem for everything that `scenario` asks for and the backend does not have. `here` is the
    /// backend in words, such as "in the lab", and `hint` returns the hint of a problem with the setting of that
    /// name.
    pub fn problems(
        &self,
        scenario: &Scenario,
        here: &str,
        hint: impl Fn(&str) -> &'static str,
    ) -> Vec<Problem> {
        let mut refusals = Refusals { can: self, here, hint, problems: Vec::new() };
        refusals.look_at_nodes(scenario);
        refusals.look_at_links(scenario);
        refusals.look_at_flows(scenario);
        let place = Place::new("/routing", "the routing");
        let is_other = scenario.routing != RoutingPolicy::ShortestPath {};
        refusals.setting(Setting::Routing, is_other, &place, "policy", "shortest_path");
        let whole = Place::new("", "the network");
        refusals.setting(Setting::Controller, scenario.controller.is_some(), &whole, "controller", "none");
        refusals.setting(Setting::Events, !scenario.events.is_empty(), &whole, "events", "none");
        let (place, measured) = (Place::new("/measurement", "the measurement"), &scenario.measurement);
        let has_interval = measured.queue_interval.is_some();
        refusals.setting(Setting::PacketSizes, measured.packet_sizes, &place, "packet_sizes", "false");
        refusals.setting(Setting::QueueInterval, has_interval, &place, "queue_interval", "none");
        refusals.setting(Setting::QueueSeries, measured.queue_series, &place, "queue_series", "false");
        refusals.problems
    }
}

/// The problems found in a scenario that a backend with these capabilities can't run.
struct Refusals<'a, H> {
    can: &'a Capabilities,
    here: &'a str,
    hint: H,
    problems: Vec<Problem>,
}

impl<H: Fn(&str) -> &'static str> Refusals<'_, H> {
    fn refuse(&mut self, place: &Place, name: &str, value: &str, expected: &str) {
        let expected = format!("{expected} {}", self.here);
        self.problems.push(place.problem(name, value, expected, (self.hint)(name)));
    }

    /// Refuses `setting`, the field `name` of the object at `place`, if it `is_set` and the backend does not
    /// follow it.
    fn setting(&mut self, setting: Setting, is_set: bool, place: &Place, name: &str, expected: &str) {
        if is_set && !self.can.settings.contains(&setting) {
            let value = match expected {
                "false" => "true",
                "true" => "false",
                _ => "given",
            };
            self.refuse(place, name, value, expected);
        }
    }

    fn look_at_nodes(&mut self, scenario: &Scenario) {
        for (number, node) in scenario.nodes.iter().enumerate() {
            let place = Place::node(number, node);
            self.setting(Setting::Cost, node.cost.is_some(), &place, "cost", "none");
            self.setting(Setting::FiltersIcmp, node.filters_icmp, &place, "filters_icmp", "false");
            self.setting(Setting::Machine, node.machine.is_some(), &place, "machine", "none");
            self.setting(Setting::Sysctls, !node.sysctls.is_empty(), &place, "sysctls", "none");
            self.setting(Setting::System, node.system.is_some(), &place, "system", "none");
            let Some(stack) = &node.stack else { continue };
            let place = place.within("stack");
            self.setting(Setting::Program, stack.program.is_some(), &place, "program", "none");
            let has_scheduler = !stack.scheduler.is_default();
            self.setting(Setting::Ecn, stack.ecn, &place, "ecn", "false");
            self.setting(Setting::MinimumRto, stack.minimum_rto.is_some(), &place, "minimum_rto", "none");
            self.setting(Setting::MtuProbing, stack.mtu_probing, &place, "mtu_probing", "false");
            self.setting(Setting::SmallQueues, !stack.small_queues, &place, "small_queues", "true");
            self.setting(Setting::Scheduler, has_scheduler, &place, "scheduler", "linux");
        }
    }

    fn look_at_links(&mut self, scenario: &Scenario) {
        for (number, link) in scenario.links.iter().enumerate() {
            if !self.can.media.contains(&link.medium) {
                let names: Vec<&str> = self.can.media.iter().map(|medium| medium.name()).collect();
                self.refuse(&Place::link(number, link), "medium", link.medium.name(), &names.join(", "));
            }
            let place = Place::link(number, link);
            self.setting(Setting::Tunnel, link.tunnel.is_some(), &place, "tunnel", "none");
            let before = std::mem::take(&mut self.problems);
            let problems = Place::of_directions(number, link, |direction, place| {
                self.look_at_direction(direction, place);
                std::mem::take(&mut self.problems)
            });
            self.problems = before;
            self.problems.extend(problems);
        }
    }

    fn look_at_direction(&mut self, link: &Link, place: &Place) {
        let discipline = link.discipline.name();
        if !self.can.disciplines.iter().any(|known| known == discipline) {
            self.refuse(place, "discipline", discipline, &self.can.disciplines.join(", "));
        }
        self.setting(Setting::DelayTrace, link.delay_trace.is_some(), place, "delay_trace", "none");
        self.setting(Setting::RateTrace, link.rate_trace.is_some(), place, "rate_trace", "none");
        let (place, impairment) = (place.within("impairment"), &link.impairment);
        let shares = [
            ("loss", impairment.loss > 0.0),
            ("duplication", impairment.duplication > 0.0),
            ("reordering", impairment.reordering > 0.0),
            ("jitter", impairment.jitter.0 > 0),
        ];
        for (name, is_set) in shares {
            self.setting(Setting::Impairment, is_set, &place, name, "0");
        }
        self.setting(Setting::Bursts, link.impairment.bursts.is_some(), &place, "bursts", "none");
    }

    fn look_at_flows(&mut self, scenario: &Scenario) {
        for (number, flow) in scenario.workload.iter().enumerate() {
            let place = Place::flow(number, flow);
            let kind = flow.traffic.kind();
            if !self.can.traffic.iter().any(|known| known == kind) {
                self.refuse(&place.within("traffic"), "kind", kind, &self.can.traffic.join(", "));
            }
            if !self.can.transports.contains(&flow.transport) {
                let names: Vec<&str> = self.can.transports.iter().map(|transport| transport.name()).collect();
                self.refuse(&place, "transport", flow.transport.name(), &names.join(", "));
            }
            if let Traffic::RequestResponse(exchange) = &flow.traffic {
                let place = place.within("traffic");
                self.setting(Setting::Mechanisms, exchange.mechanisms, &place, "mechanisms", "false");
            }
            self.setting(Setting::Pair, flow.pair != 0, &place, "pair", "0");
            let (place, socket) = (place.within("socket"), &flow.socket);
            self.setting(Setting::Block, socket.block.is_some(), &place, "block", "none");
            self.setting(Setting::Window, socket.window.is_some(), &place, "window", "none");
            self.setting(Setting::Nagle, socket.nagle, &place, "nagle", "false");
            self.setting(Setting::QuickAck, socket.quick_ack, &place, "quick_ack", "false");
            self.setting(Setting::Zerocopy, socket.zerocopy, &place, "zerocopy", "false");
            self.setting(Setting::UdpGso, socket.udp_gso, &place, "udp_gso", "false");
            self.setting(Setting::UdpGro, socket.udp_gro, &place, "udp_gro", "false");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Discipline, Traffic};
    use serde_json::{Value, json};

    /// A scenario with every setting that not every backend follows.
    fn everything() -> Value {
        let end = |node: &str| json!({"node": node, "interface": "eth0", "mtu": "1500 B", "addresses": []});
        let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
        let stack = json!({"name": "mine", "program": "gvisor", "congestion_control": "cubic", "receive_buffer": buffer,
            "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true, "ecn": true,
            "minimum_rto": "1 ms", "small_queues": false, "scheduler": "round_robin", "mtu_probing": true});
        let socket = json!({"block": "1 KiB", "nagle": true, "quick_ack": true, "window": "1 MiB", "zerocopy": true, "udp_gso": true, "udp_gro": true});
        json!({
            "format": 1,
            "nodes": [{"name": "a", "kind": "router", "filters_icmp": true},
                {"name": "b", "kind": "host", "stack": stack, "cost": {"per_packet": "1 us"}, "machine": "alpha",
                "system": "linux", "sysctls": {"net.ipv4.tcp_sack": "0"}}],
            "links": [{"medium": "cable", "ends": [end("a"), end("b")], "rate": "1 Gbit/s", "queue": "9 packets", "tunnel": "6in4",
                "rate_trace": {"from_ns": [0], "rates_bps": [1_000_000_000]},
                "delay_trace": {"from_ns": [0], "delays_ns": [0]},
                "discipline": {"discipline": "codel", "target": "5 ms", "interval": "100 ms"},
                "impairment": {"loss": 0.1, "duplication": 0.1, "reordering": 0.1, "jitter": "1 ms", "bursts": {"enter": 0.1, "leave": 0.5, "loss": 1.0}}}],
            "routing": {"policy": "spanning_tree"},
            "events": [{"at": "1 s", "fails": ["a", "b"]}],
            "controller": {"application": "learning"},
            "workload": [{"name": "f", "from": "b", "to": "a", "transport": "icmp", "ip": 4, "start": "0 ns",
                "pair": 1, "socket": socket, "traffic": {"kind": "tool", "tool": "ping", "duration": "1 s"}},
                {"name": "g", "from": "b", "to": "a", "transport": "udp", "ip": 4, "start": "0 ns", "traffic":
                {"kind": "request_response", "request": "72 B", "response": "72 B", "count": 1, "mechanisms": true}}],
            "measurement": {"interval": "100 ms", "cpu": [], "queue_drops": "allowed", "queue_interval": "1 ms",
                "packet_sizes": true, "queue_series": true},
        })
    }

    #[test]
    fn what_is_not_stated_is_refused_where_it_is() {
        let document = everything();
        let scenario = serde_json::from_value(document.clone()).unwrap();
        let problems = Capabilities::default().problems(&scenario, "here", |_| "none");
        for problem in &problems {
            assert!(document.pointer(&problem.pointer).is_some(), "{problem}");
            assert!(problem.pointer.ends_with(&problem.setting), "{problem}");
            assert!(problem.expected.ends_with("here"), "{problem}");
        }
        let mut settings: Vec<&str> = problems.iter().map(|problem| problem.setting.as_str()).collect();
        settings.sort_unstable();
        let all = [
            "block",
            "bursts",
            "controller",
            "cost",
            "delay_trace",
            "discipline",
            "duplication",
            "ecn",
            "events",
            "filters_icmp",
            "jitter",
            "kind",
            "kind",
            "loss",
            "machine",
            "mechanisms",
            "medium",
            "minimum_rto",
            "mtu_probing",
            "nagle",
            "packet_sizes",
            "pair",
            "policy",
            "program",
            "queue_interval",
            "queue_series",
            "quick_ack",
            "rate_trace",
            "reordering",
            "scheduler",
            "small_queues",
            "sysctls",
            "system",
            "transport",
            "transport",
            "tunnel",
            "udp_gro",
            "udp_gso",
            "window",
            "zerocopy",
        ];
        assert_eq!(settings, all);
    }

    #[test]
    fn what_is_stated_is_taken() {
        let names = [
            "block",
            "bursts",
            "controller",
            "cost",
            "delay_trace",
            "ecn",
            "events",
            "filters_icmp",
            "impairment",
            "machine",
            "mechanisms",
            "minimum_rto",
        ];
        let further = [
            "mtu_probing",
            "nagle",
            "packet_sizes",
            "pair",
            "program",
            "queue_interval",
            "queue_series",
            "quick_ack",
            "rate_trace",
        ];
        let last = [
            "routing",
            "scheduler",
            "small_queues",
            "sysctls",
            "system",
            "tunnel",
            "udp_gro",
            "udp_gso",
            "window",
            "zerocopy",
        ];
        let can = Capabilities {
            transports: vec![Transport::Icmp, Transport::Udp],
            traffic: Traffic::KINDS.map(str::to_owned).to_vec(),
            media: vec![Medium::Cable],
            disciplines: Discipline::NAMES.map(str::to_owned).to_vec(),
            settings: serde_json::from_value(json!([&names[..], &further[..], &last[..]].concat())).unwrap(),
            ..Capabilities::default()
        };
        assert_eq!(can.problems(&serde_json::from_value(everything()).unwrap(), "here", |_| "none"), []);
    }
}
