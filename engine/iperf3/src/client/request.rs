//! A flow as iperf3's parameters.

use crate::datagram::HEADER_BYTES;
use crate::parameters::{MOST_BLOCK_BYTES, MOST_DATAGRAM_BYTES, Parameters};
use crate::stream::Direction;
use nettrial_scenario::{Measure, Place, Problem, Size, SocketOptions, Traffic, Transport, Variate};
use std::time::Duration;

/// The version of iperf3 whose protocol the client speaks.
const SPOKEN: &str = "3.12";
/// iperf3's own interval of looking at the rate, microseconds.
const PACING_TIMER_US: u64 = 1000;

/// The request to the server.
pub struct Request {
    /// The parameters of the test.
    pub parameters: Parameters,
    /// The direction of the test.
    pub direction: Direction,
    /// The duration of the test, if it has one.
    pub duration: Option<Duration>,
    /// The bytes to transfer, if they are limited.
    pub bytes: Option<u64>,
}

/// Returns the settings of the flow of `measure` that iperf3 does not have; empty if it has all of them.
pub fn problems(measure: &Measure) -> Vec<Problem> {
    let (flow, place) = (&measure.flow, measure.flow_place());
    let of_traffic = place.within("traffic");
    let mut problems = Vec::new();
    let mut refuse = |place: &Place, setting: &str, value: String, expected: &str| {
        problems.push(place.problem(setting, value, expected, "iperf3 has no other"));
    };
    let block_only =
        SocketOptions { block: flow.socket.block, mss: flow.socket.mss, ..SocketOptions::default() };
    if flow.socket != block_only {
        refuse(&place, "socket", "its options".into(), "block and mss");
    }
    match (&flow.traffic, flow.transport) {
        (Traffic::Transfer(transfer), Transport::Tcp) => {
            if transfer.size.is_some() && transfer.duration.is_some() {
                refuse(&of_traffic, "size", "size and duration".into(), "one of the two");
            }
        }
        (Traffic::Packets(packets), Transport::Tcp | Transport::Udp) => {
            let largest =
                if flow.transport == Transport::Udp { MOST_DATAGRAM_BYTES } else { MOST_BLOCK_BYTES };
            let expected = format!("a constant of {HEADER_BYTES} B to {largest} B");
            match &packets.size {
                Variate::Constant { value } if (HEADER_BYTES as u64..=largest.into()).contains(&value.0) => {}
                Variate::Constant { value } => refuse(&of_traffic, "size", value.to_string(), &expected),
                _ => refuse(&of_traffic, "size", "random".into(), &expected),
            }
            if packets.gap.is_some() || packets.on_off.is_some() {
                refuse(&of_traffic, "gap", "given".into(), "a rate, or none");
            }
        }
        _ => {
            let value = format!("{} over {:?}", flow.traffic.kind(), flow.transport).to_lowercase();
            refuse(&place, "traffic", value, "transfer over tcp, packets over tcp or udp");
        }
    }
    problems
}

impl Request {
    /// Returns the request for `measure`.
    pub fn of(measure: &Measure) -> Self {
        let flow = &measure.flow;
        let mut parameters = Parameters {
            tcp: flow.transport != Transport::Udp,
            udp: flow.transport == Transport::Udp,
            parallel: measure.streams,
            reverse: flow.from == Measure::SERVER,
            pacing_timer: PACING_TIMER_US,
            udp_counters_64bit: flow.transport == Transport::Udp,
            client_version: SPOKEN.into(),
            mss: flow.socket.mss.map_or(0, |mss| mss.0),
            ..Parameters::default()
        };
        let mut bytes = None;
        match &flow.traffic {
            Traffic::Transfer(transfer) => {
                bytes = transfer.size.map(|size| size.0);
                parameters.len = flow.socket.block.map_or(0, small);
            }
            Traffic::Packets(packets) => {
                if let Variate::Constant { value } = packets.size {
                    parameters.len = small(value);
                    bytes = packets.count.map(|count| count.saturating_mul(value.0));
                }
                parameters.bandwidth = packets.rate.map_or(0, |rate| rate.0);
            }
            _ => {}
        }
        // iperf3's server takes 0 literally, and does not replace it by its default.
        parameters.len = small(Size(parameters.block_bytes() as u64));
        let duration = flow.traffic.duration().map(nettrial_scenario::Duration::as_std);
        if bytes.is_none() {
            // This side ends the test; the server's own timer is a fallback.
            let seconds = duration.unwrap_or_default().as_secs_f64().ceil();
            parameters.time = seconds as u32;
        }
        parameters.num = bytes.unwrap_or(0);
        let direction = if parameters.reverse { Direction::Receive } else { Direction::Send };
        Self { parameters, direction, duration, bytes }
    }
}

fn small(size: Size) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}
