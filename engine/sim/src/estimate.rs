//! How long a trial would take, before it begins.

use crate::wiring::pairs;
use nettrial_routing::Paths;
use nettrial_scenario::{Estimate, Flow, Scenario, Sweep, Traffic, Transport, Variate};
use std::collections::HashMap;

/// Packet-hops that one processor simulates in a second, or more: 7 million of a dumbbell of 100 flows, 16 million
/// of a single flow (2 GHz EPYC).
const HOPS_PER_SECOND: f64 = 5e6;
/// What a data segment carries beside its payload, with timestamps over IPv4, and Ethernet's framing.
const HEADERS_BYTES: u64 = 52 + 38;
/// Acknowledgments for each data packet (RFC 9293 section 3.8.6.3: every second segment).
const ACKNOWLEDGMENTS: f64 = 0.5;

/// A flow's part of the work: what it sends, and over how many links.
struct Share {
    hops: u64,
    /// The directions of links it passes, as the numbers of their ends.
    ends: Vec<usize>,
    mtu_bytes: u64,
}

/// What `scenario`, which has passed its check, would take, were there no losses: a flow that goes as fast as
/// it can gets an equal part of the narrowest link on its way.
pub fn estimate(scenario: &Scenario, paths: &Paths<'_>) -> Estimate {
    let ends = scenario.links.iter().flat_map(|link| &link.ends).zip(0..);
    let numbers: HashMap<(&str, &str), usize> =
        ends.map(|(end, number)| ((end.node.as_str(), end.interface.as_str()), number)).collect();
    let share = |flow: &Flow| {
        let (_, far) = *pairs(paths, flow).first()?;
        let path = paths.path(&flow.from, far)?;
        let ends = path.iter().map(|end| numbers[&(end.node.as_str(), end.interface.as_str())]);
        Some(Share {
            hops: path.len() as u64,
            ends: ends.collect(),
            mtu_bytes: path.iter().map(|end| end.mtu.0).min()?,
        })
    };
    let shares: Vec<Option<Share>> = scenario.workload.iter().map(share).collect();
    let mut users: HashMap<usize, u64> = HashMap::new();
    for share in shares.iter().flatten() {
        share.ends.iter().for_each(|end| *users.entry(*end).or_default() += 1);
    }
    let rate_bps = |share: &Share| -> Option<f64> {
        let rates = share
            .ends
            .iter()
            .filter_map(|end| Some(scenario.links[end / 2].rate?.0 as f64 / users[end] as f64));
        rates.reduce(f64::min)
    };
    let work = |(flow, share): (&Flow, &Option<Share>)| {
        let share = share.as_ref()?;
        Some(packets(flow, share, rate_bps(share)) * share.hops as f64)
    };
    let hops: f64 = scenario.workload.iter().zip(&shares).filter_map(work).sum();
    Estimate { packet_hops: hops as u64, seconds: hops / HOPS_PER_SECOND }
}

/// Packets of a flow, both ways.
fn packets(flow: &Flow, share: &Share, rate_bps: Option<f64>) -> f64 {
    let payload = share.mtu_bytes.saturating_sub(52).max(1) as f64;
    let frame_bits = (share.mtu_bytes + HEADERS_BYTES - 52) as f64 * 8.0;
    // A path without any rate is as fast as windows allow: nobody knows that before.
    let a_second = rate_bps.map_or(0.0, |rate| rate / frame_bits);
    let segments = |bytes: f64| (bytes / payload).ceil().max(1.0);
    let acknowledgments = if flow.transport == Transport::Udp { 0.0 } else { ACKNOWLEDGMENTS };
    let seconds = flow.traffic.duration().map_or(f64::INFINITY, |duration| duration.0 as f64 / 1e9);
    let most = if seconds.is_finite() { seconds * a_second } else { f64::INFINITY };
    let one_way = match &flow.traffic {
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
    let one_way = if one_way.is_finite() { one_way } else { 0.0 };
    one_way * (1.0 + acknowledgments)
}

fn sweep_packets(sweep: &Sweep, segments: impl Fn(f64) -> f64) -> f64 {
    let sizes = (sweep.last.0.saturating_sub(sweep.first.0) / sweep.step.0.max(1) + 1) as f64;
    let middle = (sweep.first.0 + sweep.last.0) as f64 / 2.0;
    let requests = (sweep.bytes.0 as f64 / middle).ceil();
    sizes * f64::from(sweep.repeats) * requests * (segments(middle) + 1.0)
}

/// About the mean of a random quantity, in base units, where it has one that is known at a glance.
fn typical<T: nettrial_figures::variate::Quantity>(variate: &Variate<T>) -> Option<f64> {
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
