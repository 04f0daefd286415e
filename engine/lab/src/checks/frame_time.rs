//! Warns of round-trip times that do not include the transmission times of their own frames.
//!
//! A shaper hands a frame over when its transmission may begin, a wire when its last bit has arrived. A delay line
//! adds that time on links of up to 100 Mbit/s. A link that has only a rate has no delay line, because a line for
//! each link would cost more CPU time than a fabric of fast links leaves (`delay_line` has the cost of a frame).

use super::Findings;
use crate::clock::Clock;
use crate::delay_line;
use crate::layout::Layout;
use nettrial_scenario::{Flow, FlowRecord, Traffic, Transport, ethernet};

/// The share of a round-trip time that may be missing.
const SMALL_SHARE: f64 = 0.05;
const TCP_HEADER_BYTES: u64 = 20;
const TIMESTAMPS_BYTES: u64 = 12;
/// The size of a UDP or an ICMP echo header, in bytes.
const DATAGRAM_HEADER_BYTES: u64 = 8;

impl Findings {
    /// Warns of flows whose round-trip times lack a noticeable transmission time of their own frames.
    pub fn frame_time(&mut self, layout: &Layout, flows: &[FlowRecord], clock: Clock) {
        if clock == Clock::Virtual {
            return; // its wires hand over frames that have arrived
        }
        for (flow, record) in layout.scenario.workload.iter().zip(flows) {
            let (there, back) = (Wires::of(layout, flow, true), Wires::of(layout, flow, false));
            let lacks = |request, response| there.us(request) + back.us(response);
            let round_trips: Vec<(f64, f64)> = match &flow.traffic {
                Traffic::RequestResponse(exchange) => {
                    let lacking = lacks(exchange.request.0, exchange.response.0);
                    record.rtt_us.as_ref().map(|rtt| (lacking, rtt.p50)).into_iter().collect()
                }
                Traffic::Sweep(_) => {
                    let least =
                        record.sizes.iter().filter_map(|size| Some((size, size.rtt_minimum_us.first()?)));
                    least.map(|(size, rtt)| (lacks(size.size_bytes, 0), *rtt)).collect()
                }
                _ => continue,
            };
            let share = |(lacking, rtt): &(f64, f64)| lacking / rtt;
            let worst = round_trips.into_iter().max_by(|one, other| share(one).total_cmp(&share(other)));
            if let Some((lacking, rtt)) = worst.filter(|round_trip| share(round_trip) > SMALL_SHARE) {
                self.warn(
                    "frame_time",
                    &flow.name,
                    format!("a round-trip time of {rtt:.1} us lacks {lacking:.1} us: the transmission time of its own \
                         frames on links with a rate"),
                    "round-trip times are shorter than over wires: give links of up to 100 Mbit/s a delay, \
                     of which 1 us is enough",
                );
            }
        }
    }
}

/// The links on a flow's path that hand frames over when their transmission begins, each with its rate in bits per
/// second, its MTU, and the bytes that its tunnel adds.
struct Wires {
    links: Vec<(u64, u64, i64)>,
    header_bytes: u64,
}

impl Wires {
    /// Finds those links on the path from a flow's first host to its second, or on the reverse path.
    fn of(layout: &Layout, flow: &Flow, is_forward: bool) -> Self {
        let (near, far) = if is_forward { (&flow.from, &flow.to) } else { (&flow.to, &flow.from) };
        let path = layout.path(near, far, flow.ip).unwrap_or_default();
        let interfaces = layout.paths.interfaces();
        let rate_and_mtu = |leaving: &&nettrial_scenario::Interface| {
            let place = interfaces.all().iter().position(|one| std::ptr::eq(*one, *leaving))?;
            let number = interfaces.link(place);
            let end = place - interfaces.of_link(number).start;
            let link = layout.scenario.links[number].from_end(end);
            let has_line = delay_line::is_needed(layout.scenario, number, Clock::Real);
            let transmits = delay_line::is_queue(&link, Clock::Real)
                || has_line && delay_line::sending_rate(&link, Clock::Real).is_some();
            let rate = link.rate.filter(|_| !transmits)?;
            Some((rate.0, leaving.mtu.0, link.tunnel_bytes()))
        };
        let transport_bytes = match flow.transport {
            Transport::Tcp | Transport::Mptcp => TCP_HEADER_BYTES + TIMESTAMPS_BYTES,
            Transport::Udp | Transport::Icmp => DATAGRAM_HEADER_BYTES,
        };
        Self {
            links: path.iter().filter_map(rate_and_mtu).collect(),
            header_bytes: flow.ip.header_bytes() + transport_bytes,
        }
    }

    /// Returns the transmission time of the last frame of a message of `payload` bytes on these links together, in
    /// microseconds. For a message of several frames the last one counts as a full frame, because the earlier ones
    /// are in transit at the same time.
    fn us(&self, payload: u64) -> f64 {
        let bits = |mtu: u64, tunnel: i64| {
            let packet = (payload + self.header_bytes).min(mtu).saturating_add_signed(tunnel);
            ethernet::wire_bytes(packet) * 8
        };
        self.links.iter().map(|&(rate, mtu, tunnel)| bits(mtu, tunnel) as f64 * 1e6 / rate as f64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{Distribution, Scenario};
    use serde_json::{Value, json};

    /// Returns the warnings about requests and responses of 1400 bytes over two links, with this round-trip time.
    fn warned(second: &Value, rtt_us: f64) -> Vec<String> {
        let interface = |node: &str, name: &str, address: &str| json!({"node": node, "interface": name, "mtu": "1500 B", "addresses": [address]});
        let mut links = json!([
            {"ends": [interface("x", "eth0", "10.0.0.1/24"), interface("r", "eth0", "10.0.0.2/24")],
             "rate": "10 Mbit/s", "queue": "100 packets"},
            {"ends": [interface("r", "eth1", "10.0.1.2/24"), interface("y", "eth0", "10.0.1.1/24")]},
        ]);
        links[1].as_object_mut().unwrap().extend(second.as_object().unwrap().clone());
        let scenario = Scenario::try_from(json!({
            "format": 1,
            "nodes": [{"name": "x", "kind": "host"}, {"name": "r", "kind": "router"}, {"name": "y", "kind": "host"}],
            "links": links,
            "routing": nettrial_scenario::RoutingPolicy::ShortestPath {},
            "workload": [{"name": "probe", "from": "x", "to": "y", "transport": "udp", "ip": 4, "traffic":
                {"kind": "request_response", "request": "1400 B", "response": "1400 B", "count": 1}}],
            "measurement": {"interval": "10 ms", "queue_drops": "allowed"},
        }))
        .unwrap();
        let record = FlowRecord {
            rtt_us: Some(Distribution { p50: rtt_us, ..Default::default() }),
            ..FlowRecord::blank(&scenario.workload[0])
        };
        let mut findings = Findings::default();
        findings.frame_time(&Layout::new(&scenario), &[record], Clock::Real);
        findings.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.message)).collect()
    }

    #[test]
    fn a_round_trip_that_lacks_its_frames_is_warned_of() {
        // Each link carries 1400 + 8 + 20 + 38 bytes at 10 Mbit/s in both directions.
        let text = |rtt: f64, us: f64| {
            [format!(
                "frame_time: a round-trip time of {rtt:.1} us lacks {us:.1} us: the transmission time of \
                 its own frames on links with a rate"
            )]
        };
        let as_fast = json!({"rate": "10 Mbit/s", "queue": "100 packets"});
        assert_eq!(warned(&as_fast, 220.0), text(220.0, 4.0 * 1172.8));
        assert_eq!(warned(&json!({}), 220.0), text(220.0, 2.0 * 1172.8));
        assert_eq!(warned(&as_fast, 100_000.0), [""; 0]);
    }

    #[test]
    fn a_fast_link_lacks_its_frames_time_with_a_delay_as_well() {
        let fast = json!({"rate": "1 Gbit/s", "queue": "100 packets", "delay": "1 us"});
        assert_eq!(warned(&fast, 46_900.0).len(), 1, "2 times 1172.8 and 11.7 us are more than 5% of it");
        let slower = json!({"rate": "100 Mbit/s", "queue": "100 packets", "delay": "1 us"});
        assert_eq!(warned(&slower, 46_920.0), [""; 0]);
    }

    #[test]
    fn a_delay_line_gives_a_link_its_frames_time() {
        let with_delay = json!({"rate": "10 Mbit/s", "queue": "100 packets", "delay": "1 us"});
        assert_eq!(warned(&with_delay, 47_000.0), [""; 0]);
        assert_eq!(warned(&with_delay, 46_000.0).len(), 1);
    }
}
