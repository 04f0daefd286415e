//! Searches for a path MTU: one search relies on ICMP, the other only on the packets that arrive.

use crate::error::Result;
use crate::probe::{MAX_PROBES, Outcome, Probe, Prober};
use crate::report::{TooBig, Trusting};

/// MTUs of common links (RFC 1191 section 7.1, with those of tunnels, jumbo frames and data centres added). They
/// are tried first, because a limit is most likely one of them.
const COMMON: &[u64] = &[
    576, 1006, 1280, 1400, 1420, 1450, 1472, 1476, 1480, 1492, 1500, 1600, 2000, 2002, 3000, 4000, 4352,
    4464, 8000, 8166, 8192, 8900, 8950, 9000, 9001, 9180, 9192, 9198, 9202, 9216, 16110, 17914, 32000,
];
/// The number of messages that a sender follows before it gives up.
const MOST_MESSAGES: usize = 12;

/// Finds the size that a sender arrives at by following ICMP messages alone (RFC 1191 section 3, RFC 8201 section
/// 4), beginning with `largest` and never below `smallest`.
///
/// # Errors
/// Fails if this machine can't send.
pub fn trusting(prober: &mut dyn Prober, largest: u64, smallest: u64) -> Result<Trusting> {
    let (mut size, mut messages, mut tries) = (largest, Vec::new(), 0);
    while tries < MAX_PROBES && messages.len() < MOST_MESSAGES {
        match prober.round(&[Probe { size, hops: None }], true)?[0] {
            Outcome::Arrived { .. } => return Ok(Trusting { mtu_bytes: size, arrives: true, messages }),
            Outcome::TooBig { by, mtu } => {
                messages.push(TooBig { by: by.to_string(), mtu_bytes: mtu, size_bytes: size });
                if mtu >= size || mtu < smallest {
                    break; // a sender must not follow such a message (RFC 8201 section 4)
                }
                (size, tries) = (mtu, 0);
            }
            _ => tries += 1,
        }
    }
    Ok(Trusting { mtu_bytes: size, arrives: false, messages })
}

/// Finds the largest size that passes, between `low`, which passes, and `high` (RFC 8899 section 5.3). `hint`,
/// such as the MTU that ICMP claims, is tried first and never trusted.
///
/// # Errors
/// Fails if `passes` fails.
pub fn largest(
    low: u64,
    high: u64,
    hint: Option<u64>,
    passes: &mut dyn FnMut(u64) -> Result<bool>,
) -> Result<u64> {
    if high <= low || passes(high)? {
        return Ok(high.max(low));
    }
    let (mut passing, mut failing) = (low, high);
    let mut candidates: Vec<u64> = COMMON.to_vec();
    if let Some(hint) = hint.filter(|&hint| low < hint && hint < high) {
        if passes(hint)? {
            passing = hint
        } else {
            failing = hint
        }
        if passing == hint && failing - passing > 1 && !passes(hint + 1)? {
            return Ok(hint);
        }
    }
    loop {
        candidates.retain(|&size| passing < size && size < failing);
        let Some(&middle) = candidates.get(candidates.len() / 2) else { break };
        if passes(middle)? { passing = middle } else { failing = middle }
    }
    let is_likely = COMMON.contains(&passing) && failing - passing > 1;
    if is_likely {
        if !passes(passing + 1)? {
            return Ok(passing);
        }
        passing += 1;
    }
    while failing - passing > 1 {
        let middle = passing + (failing - passing) / 2;
        if passes(middle)? { passing = middle } else { failing = middle }
    }
    Ok(passing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_limit_is_found_whatever_the_hint(
            limit in 68u64..70_000, high in 1_500u64..65_536, hint in proptest::option::of(0u64..70_000)
        ) {
            let mut probes = 0;
            let found = largest(68, high, hint, &mut |size| { probes += 1; Ok(size <= limit) }).unwrap();
            prop_assert_eq!(found, limit.min(high).max(68));
            prop_assert!(probes <= 26, "{} probes", probes);
        }
    }

    #[test]
    fn a_common_limit_takes_few_probes() {
        for limit in [1280, 1492, 1500, 4352] {
            let mut probes = 0;
            let found = largest(1200, 9000, None, &mut |size| {
                probes += 1;
                Ok(size <= limit)
            });
            assert_eq!(found.unwrap(), limit);
            assert!(probes <= 8, "{limit}: {probes} probes");
        }
    }
}
