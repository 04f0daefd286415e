//! Computes the goodput that TCP could reach at most.

use crate::report::{BaseRtt, Buffers, Direction, Goodput};
use crate::sizes::TCP_HEADER_BYTES;
use nettrial_scenario::IpVersion;
use nettrial_scenario::ethernet::FRAMING_BYTES;

/// The number of bytes of TCP options in segments with timestamps (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u64 = 12;
/// The MTUs to compare, in addition to the path's own.
const MTUS: &[u64] = &[1500, 9000];

/// The facts known of a path.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The IP version.
    pub version: IpVersion,
    /// True if segments carry timestamps.
    pub timestamps: bool,
    /// The path MTUs of both directions.
    pub directions: [Option<&'a Direction>; 2],
    /// The rate of the path, and the windows that this host's buffers allow.
    pub buffers: Option<&'a Buffers>,
    /// The round-trip time and the loss of probes.
    pub rtt: Option<&'a BaseRtt>,
}

/// Returns a row for each MTU, by size: 1500, 9000 and those of the path.
pub fn table(known: Known) -> Vec<Goodput> {
    let [forward, reverse] = known.directions;
    let mut mtus = MTUS.to_vec();
    mtus.extend(forward.map(|forward| forward.mtu_bytes));
    mtus.sort_unstable();
    mtus.dedup();
    let headers =
        known.version.header_bytes() + TCP_HEADER_BYTES + if known.timestamps { TIMESTAMP_BYTES } else { 0 };
    let seconds = known.rtt.map(|rtt| rtt.minimum_us / 1e6).filter(|&seconds| seconds > 0.0);
    let window = known.buffers.map(|buffers| buffers.receive_window_bytes.min(buffers.send_window_bytes));
    let row = |mtu: u64| {
        let payload = mtu.saturating_sub(headers) as f64;
        let efficiency = payload / (mtu + FRAMING_BYTES) as f64;
        let passes = [forward, reverse].map(|direction| carries(direction, mtu));
        Goodput {
            mtu_bytes: mtu,
            passes: match passes {
                [Some(false), _] | [_, Some(false)] => Some(false),
                [Some(true), Some(true)] => Some(true),
                _ => None,
            },
            efficiency,
            line_bps: known.buffers.map(|buffers| buffers.rate_bps as f64 * efficiency),
            window_bps: window.zip(seconds).map(|(window, seconds)| window as f64 * 8.0 / seconds),
            loss_bps: known.rtt.zip(seconds).and_then(|(rtt, seconds)| mathis(rtt, payload, seconds)),
        }
    };
    mtus.into_iter().map(row).collect()
}

/// Returns true if packets of `size` bytes pass in a direction, false if not; `None` if that is not known.
pub fn carries(direction: Option<&Direction>, size: u64) -> Option<bool> {
    let direction = direction?;
    if size <= direction.mtu_bytes { Some(true) } else { direction.limited.then_some(false) }
}

fn mathis(rtt: &BaseRtt, payload: f64, seconds: f64) -> Option<f64> {
    let lost = rtt.sent_pkts - rtt.received_pkts;
    // Hosts limit the rate of their answers to UDP, so a missing one does not mean loss on the path.
    let limited_answers = rtt.means == crate::report::Means::Udp;
    let probability = f64::from(lost) / f64::from(rtt.sent_pkts);
    (lost > 0 && !limited_answers).then(|| payload * 8.0 / seconds * (1.5 / probability).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Means;
    use std::collections::BTreeMap;

    fn rtt(received_pkts: u32, minimum_us: f64) -> BaseRtt {
        BaseRtt { means: Means::Echo, sent_pkts: 10, received_pkts, minimum_us, median_us: minimum_us }
    }

    fn direction(mtu_bytes: u64, limited: bool) -> Direction {
        Direction { mtu_bytes, limited, how: String::new() }
    }

    fn buffers(window: u64) -> Buffers {
        Buffers {
            rate_bps: 1_000_000_000,
            rate_from: "given".into(),
            bdp_bytes: 0,
            receive_window_bytes: window,
            send_window_bytes: window,
            sysctls: BTreeMap::new(),
            fixes: Vec::new(),
        }
    }

    #[test]
    fn a_gigabit_line_gives_what_ethernet_gives() {
        for (version, expected) in [(IpVersion::V4, [941.5, 990.0]), (IpVersion::V6, [928.5, 987.8])] {
            let buffers = buffers(1 << 20);
            let known = Known {
                version,
                timestamps: true,
                directions: [None, None],
                buffers: Some(&buffers),
                rtt: None,
            };
            let rows = table(known);
            for (row, expected) in rows.iter().zip(expected) {
                assert!((row.line_bps.unwrap() / 1e6 - expected).abs() < 0.05, "{row:?}");
                assert_eq!((row.passes, row.window_bps, row.loss_bps), (None, None, None));
            }
        }
    }

    #[test]
    fn a_window_bounds_a_long_path_and_loss_shows_only_where_there_was_some() {
        let (buffers, clean, lossy) = (buffers(65_535), rtt(10, 11_000.0), rtt(9, 11_000.0));
        let (forward, reverse) = (direction(9000, false), direction(1500, true));
        let mut known = Known {
            version: IpVersion::V4,
            timestamps: false,
            directions: [Some(&forward), Some(&reverse)],
            buffers: Some(&buffers),
            rtt: Some(&clean),
        };
        let rows = table(known);
        assert!((rows[0].window_bps.unwrap() / 1e6 - 47.66).abs() < 0.01);
        assert_eq!((rows[0].passes, rows[1].passes), (Some(true), Some(false)));
        assert_eq!(rows[0].loss_bps, None);
        known.rtt = Some(&lossy);
        let bound = table(known)[0].loss_bps.unwrap();
        assert!((bound - 1460.0 * 8.0 / 0.011 * 15f64.sqrt()).abs() < 1.0);
    }
}
