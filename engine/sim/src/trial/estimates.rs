//! Estimates of the time that a trial will take, before it begins.

use crate::Network;
use crate::transport::wiring::{Wiring, wire};
use nettrial_routing::Paths;
use nettrial_scenario::ethernet::FRAMING_BYTES;
use nettrial_scenario::{Estimate, Flow, Scenario, Sweep, Traffic, Transport, Variate};

/// The approximate number of packet-hops that one CPU simulates in a second: it is 1 to 2 million in a fabric of
/// 1000 nodes, 7 million in a dumbbell with 100 flows, and 16 million with a single flow.
const HOPS_PER_SECOND: f64 = 2e6;
/// The bytes of a data segment in addition to its payload: headers with timestamps over IPv4, and Ethernet's
/// framing.
const HEADERS_BYTES: u64 = 52 + FRAMING_BYTES;
/// The number of acknowledgments for each data packet (RFC 9293 section 3.8.6.3: one for every second segment).
const ACKNOWLEDGMENTS: f64 = 0.5;

/// A flow's share of the work: the number of links that its packets cross, their largest size, and the rate on the
/// wire in bits per second at which it can send if it shares its links evenly.
struct Share {
    hops: f64,
    mtu_bytes: u64,
    rate_bps: Option<f64>,
}

/// Returns the estimated work of `scenario`, which has passed its check, over its paths without losses: a flow
/// that sends as fast as it can gets an equal share of the narrowest link on its path.
pub fn estimate(scenario: &Scenario, paths: &Paths<'_>) -> Estimate {
    let mut network = Network::new(scenario);
    // A flow without paths makes the trial fail before it begins, so there is no work.
    let wirings = wire(scenario, paths, &mut network).unwrap_or_default();
    let links = |wiring: &Wiring<'_>| -> Vec<Vec<u32>> {
        wiring.subflows[0].iter().map(|subflow| network.links_of(subflow.paths[0]).to_vec()).collect()
    };
    let all: Vec<Vec<Vec<u32>>> = wirings.iter().map(links).collect();
    let users_before = paths.interfaces().all().len();
    let mut users = vec![0.0; users_before + scenario.links.len()];
    // All interfaces of a radio channel share its rate.
    let shared =
        |direction: u32| network.air.channel(direction).map_or(direction as usize, |at| users_before + at);
    all.iter().flatten().flatten().for_each(|direction| users[shared(*direction)] += 1.0);
    let rate_bps = |path: &Vec<u32>| {
        let part = |direction: &u32| {
            let of_link = network.links[*direction as usize].rate_bps();
            let rate_bps = of_link.or_else(|| network.air.rate_bps(*direction))?;
            Some(rate_bps as f64 / users[shared(*direction)])
        };
        path.iter().filter_map(part).reduce(f64::min)
    };
    let work = |(wiring, paths): (&Wiring<'_>, &Vec<Vec<u32>>)| {
        let share = Share {
            hops: paths.iter().map(Vec::len).sum::<usize>() as f64 / paths.len() as f64,
            mtu_bytes: wiring.datagrams(0).1,
            rate_bps: paths.iter().map(rate_bps).sum(),
        };
        packets(wiring.flow, &share) * share.hops
    };
    let hops: f64 = wirings.iter().zip(&all).map(work).sum();
    Estimate { packet_hops: hops as u64, seconds: hops / HOPS_PER_SECOND }
}

/// Returns the number of packets of a flow in both directions.
fn packets(flow: &Flow, share: &Share) -> f64 {
    let payload = share.mtu_bytes.saturating_sub(52).max(1) as f64;
    let frame_bits = (share.mtu_bytes + HEADERS_BYTES - 52) as f64 * 8.0;
    // A path without any rate is as fast as windows allow, which is unknown beforehand.
    let a_second = share.rate_bps.map_or(0.0, |rate| rate / frame_bits);
    let segments = |bytes: f64| (bytes / payload).ceil().max(1.0);
    let acknowledgments = if flow.transport == Transport::Udp { 0.0 } else { ACKNOWLEDGMENTS };
    let seconds = flow.traffic.duration().map_or(f64::INFINITY, |duration| duration.0 as f64 / 1e9);
    let most = if seconds.is_finite() { seconds * a_second } else { f64::INFINITY };
    let forward = match &flow.traffic {
        Traffic::Transfer(transfer) => match (transfer.size, transfer.duration) {
            (Some(size), None) => segments(size.0 as f64),
            _ => most,
        },
        Traffic::RequestResponse(exchange) => {
            let pair = segments(exchange.request.0 as f64) + segments(exchange.response.0 as f64);
            let count = exchange.count.map_or(f64::INFINITY, |count| count as f64);
            let paced = exchange.interval.map_or(f64::INFINITY, |interval| seconds * 1e9 / interval.0 as f64);
            (count.min(paced) * pair).min(most)
        }
        Traffic::Packets(packets) => {
            let size = typical(&packets.size).unwrap_or(payload);
            let count = packets.count.map_or(f64::INFINITY, |count| count as f64);
            let rate = packets.rate.map(|rate| rate.0 as f64 / 8.0 / size);
            let gaps = packets.gap.as_ref().and_then(typical).map(|gap| 1e9 / gap);
            let paced = rate.or(gaps).map_or(f64::INFINITY, |a_second| seconds * a_second);
            let each = segments(size);
            (count.min(paced) * each).min(if rate.or(gaps).is_some() { f64::INFINITY } else { most })
        }
        Traffic::Sweep(sweep) => sweep_packets(sweep, segments),
        Traffic::FileTransfer(_) | Traffic::Tool(_) => 0.0,
    };
    let forward = if forward.is_finite() { forward } else { 0.0 };
    forward * (1.0 + acknowledgments)
}

fn sweep_packets(sweep: &Sweep, segments: impl Fn(f64) -> f64) -> f64 {
    let sizes = (sweep.last.0.saturating_sub(sweep.first.0) / sweep.step.0.max(1) + 1) as f64;
    let middle = (sweep.first.0 + sweep.last.0) as f64 / 2.0;
    let requests = (sweep.bytes.0 as f64 / middle).ceil();
    sizes * f64::from(sweep.repeats) * requests * (segments(middle) + 1.0)
}

/// Returns the approximate mean of a random quantity in base units, if it is easily known.
fn typical<T: nettrial_flows::variate::Quantity>(variate: &Variate<T>) -> Option<f64> {
    let base = |value: &T| value.base() as f64;
    match variate {
        Variate::Constant { value } => Some(base(value)),
        Variate::Uniform { minimum, maximum } => Some((base(minimum) + base(maximum)) / 2.0),
        Variate::Exponential { mean, .. } | Variate::Normal { mean, .. } => Some(base(mean)),
        Variate::Cauchy { location, .. } => Some(base(location)),
        Variate::Pareto { scale, shape, .. } => Some(base(scale) * shape / (shape - 1.0).max(0.1)),
        Variate::Gamma { shape, scale, .. } => Some(base(scale) * shape),
        Variate::Weibull { scale, .. } => Some(base(scale)),
        Variate::Mix { shares } => {
            let sum: f64 = shares.iter().map(|share| share.share).sum();
            Some(shares.iter().map(|share| base(&share.value) * share.share).sum::<f64>() / sum)
        }
        Variate::Listed { values } => Some(values.iter().map(base).sum::<f64>() / values.len().max(1) as f64),
    }
    .filter(|mean| *mean > 0.0)
}
