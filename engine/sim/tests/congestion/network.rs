//! Small networks of hosts, each with a congestion control, routers, and links between them.

use nettrial_scenario::{FlowRecord, Record};
use serde_json::{Value, json};

/// A network under construction, with its flows.
#[derive(Default)]
pub struct Network {
    nodes: Vec<Value>,
    links: Vec<Value>,
    flows: Vec<Value>,
}

impl Network {
    /// Adds a host with a congestion control and buffers that limit nothing.
    pub fn host(&mut self, name: &str, control: &str) {
        let buffer = json!({"minimum": "4 KiB", "initial": "8 MiB", "maximum": "64 MiB"});
        self.nodes.push(json!({"name": name, "kind": "host", "stack": {
            "name": "linux", "congestion_control": control, "receive_buffer": buffer, "send_buffer": buffer,
            "window_scaling": true, "sack": true, "timestamps": true,
            // Each subflow always has data, as the goals suppose. Linux's scheduler assigns data to subflows by their rates.
            "scheduler": "lowest_rtt",
        }}));
    }

    /// Joins two nodes by a network with these settings: rate, queue, delay, impairment. A node that does not
    /// exist yet becomes a router.
    pub fn link(&mut self, nodes: [&str; 2], settings: &Value) {
        let number = self.links.len();
        let mut link = settings.clone();
        link["ends"] =
            nodes.iter().zip(1..).map(|(node, place)| self.interface(node, number, place)).collect();
        self.links.push(link);
    }

    fn interface(&mut self, node: &str, number: usize, place: u8) -> Value {
        if self.nodes.iter().all(|known| known["name"] != node) {
            self.nodes.push(json!({"name": node, "kind": "router"}));
        }
        json!({"node": node, "interface": format!("eth{number}"), "mtu": "1500 B",
            "addresses": [format!("10.0.{number}.{place}/24")]})
    }

    /// Adds a transfer of `seconds` seconds, which has the name of the sending host.
    pub fn transfer(&mut self, from: &str, to: &str, transport: &str, seconds: u32) {
        self.flows.push(json!({"name": from, "from": from, "to": to, "transport": transport, "ip": 4,
            "traffic": {"kind": "transfer", "duration": format!("{seconds} s")}}));
    }

    /// Runs the network, and samples its flows at every `interval`.
    pub fn run(self, interval: &str) -> Record {
        let scenario = nettrial_scenario::Scenario::try_from(json!({
            "format": 1, "nodes": self.nodes, "links": self.links, "workload": self.flows,
            "routing": {"policy": "shortest_path"},
            "measurement": {"interval": interval, "queue_drops": "allowed", "queue_interval": "10 ms"},
        }));
        nettrial_sim::run(&scenario.unwrap(), None, 1).unwrap()
    }
}

/// Returns the acknowledged bits per second from `skip` seconds after the start.
pub fn settled_bps(flow: &FlowRecord, skip: f64) -> f64 {
    let settled = flow.intervals.iter().filter(|interval| interval.at_ns as f64 >= skip * 1e9);
    let bytes: u64 = settled.clone().skip(1).map(|interval| interval.bytes).sum();
    let span_ns = settled.clone().map(|interval| interval.at_ns).max().unwrap()
        - settled.map(|interval| interval.at_ns).min().unwrap();
    bytes as f64 * 8e9 / span_ns as f64
}
