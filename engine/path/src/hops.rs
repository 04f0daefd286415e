//! Finds the routers on the path, the largest packet that reaches each of them, and the places of limits.

use crate::error::Result;
use crate::probe::{Outcome, Probe, Prober};
use crate::report::{Direction, Hop, Limit, TooBig};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The largest number of hops to look for (the bound of traceroute and of most systems).
const MOST_HOPS: u8 = 30;
/// The number of hops probed at once. It is small because the far host answers every probe whose hop limit is
/// beyond its own distance, and Linux sends one such answer a second, with bursts of at most six
/// (net/ipv4/route.c, XRLIM_BURST_FACTOR).
const TOGETHER: u8 = 4;
/// The number of sizes tried on each router at once: routers, too, answer in bursts of at most six.
const SIZES_TOGETHER: usize = 3;
/// The number of consecutive silent hops after which the trace gives up on a far host that does not answer.
const MOST_SILENT: usize = 8;

/// The findings of a trace.
pub struct Traced {
    /// The hops; the last one is the far host, if it answers.
    pub hops: Vec<Hop>,
    /// The host that reported that the far host can't be reached.
    pub refused_by: Option<IpAddr>,
}

/// Finds the hops on the path to `target` with packets of `size` bytes; `answers` is true if `target` is known to
/// answer.
///
/// # Errors
/// Fails if this machine can't send.
pub fn trace(prober: &mut dyn Prober, target: IpAddr, size: u64, answers: bool) -> Result<Traced> {
    let mut hops: Vec<Hop> = Vec::new();
    for first in (1..=MOST_HOPS).step_by(usize::from(TOGETHER)) {
        let numbers: Vec<u8> = (first..first + TOGETHER).take_while(|&number| number <= MOST_HOPS).collect();
        let probes: Vec<Probe> = numbers.iter().map(|&number| Probe { size, hops: Some(number) }).collect();
        for (number, outcome) in numbers.into_iter().zip(prober.insist(&probes)?) {
            let (address, rtt) = match outcome {
                Outcome::Arrived { rtt, .. } => (Some(target), Some(rtt)),
                Outcome::Expired { by, rtt } => (Some(by), Some(rtt)),
                Outcome::Refused { by } => return Ok(Traced { hops: heard(hops), refused_by: Some(by) }),
                Outcome::TooBig { .. } | Outcome::Lost => (None, None),
            };
            hops.push(Hop {
                number,
                address: address.map(|address| address.to_string()),
                rtt_us: rtt.map(|rtt| rtt.as_secs_f64() * 1e6),
                reached_bytes: address.map(|_| size),
                not_reached_bytes: None,
                claimed_mtu_bytes: None,
                lie: None,
            });
            if outcome.arrived() {
                return Ok(Traced { hops, refused_by: None });
            }
        }
        let silent = hops.iter().rev().take_while(|hop| hop.address.is_none()).count();
        if !answers && silent >= MOST_SILENT {
            break;
        }
    }
    Ok(Traced { hops: heard(hops), refused_by: None })
}

/// Returns the hops up to the last one that answered.
fn heard(mut hops: Vec<Hop>) -> Vec<Hop> {
    let last = hops.iter().rposition(|hop| hop.address.is_some());
    hops.truncate(last.map_or(0, |last| last + 1));
    hops
}

/// Returns the sizes to try on each hop, up to `largest`: those that show whether the hop's limit is the path MTU
/// that was found, or one that a message claims.
pub fn telling_sizes(forward: Option<&Direction>, messages: &[TooBig], largest: u64) -> BTreeSet<u64> {
    let claimed = messages.iter().map(|message| message.mtu_bytes);
    let limits = claimed.chain(forward.map(|forward| forward.mtu_bytes));
    let either_side = limits.flat_map(|size| [size, size.saturating_add(1)]);
    either_side.chain([largest]).filter(|&size| size <= largest).collect()
}

/// Finds which packets of `sizes` reach each router of `hops`, which [`trace`] found. If the last hop is the far
/// host, `forward` is the path MTU to it.
///
/// # Errors
/// Fails if this machine can't send.
pub fn measure(
    prober: &mut dyn Prober,
    hops: &mut [Hop],
    sizes: &BTreeSet<u64>,
    forward: Option<&Direction>,
) -> Result<()> {
    let (routers, far) = hops.split_at_mut(hops.len() - usize::from(forward.is_some() && !hops.is_empty()));
    let sizes: Vec<u64> = sizes.iter().rev().copied().collect();
    for sizes in sizes.chunks(SIZES_TOGETHER) {
        let asked: Vec<(usize, u64)> = (0..routers.len())
            .filter(|&at| routers[at].address.is_some())
            .flat_map(|at| sizes.iter().map(move |&size| (at, size)))
            .filter(|&(at, size)| unsettled(&routers[at], size))
            .collect();
        let probe = |&(at, size): &(usize, u64)| Probe { size, hops: Some(routers[at].number) };
        let outcomes = prober.insist(&asked.iter().map(probe).collect::<Vec<_>>())?;
        for ((at, size), outcome) in asked.into_iter().zip(outcomes) {
            let hop = &mut routers[at];
            if matches!(outcome, Outcome::Expired { .. }) {
                hop.reached_bytes = hop.reached_bytes.max(Some(size));
            } else {
                hop.not_reached_bytes = Some(hop.not_reached_bytes.map_or(size, |known| known.min(size)));
            }
        }
    }
    if let (Some(host), Some(forward)) = (far.first_mut(), forward) {
        host.reached_bytes = Some(forward.mtu_bytes);
        host.not_reached_bytes = forward.limited.then_some(forward.mtu_bytes + 1);
    }
    // A packet that reached a hop passed all hops before it, including those whose answers were lost.
    let mut beyond = far.first().and_then(|host| host.reached_bytes);
    for hop in routers.iter_mut().rev() {
        hop.reached_bytes = hop.reached_bytes.max(beyond);
        beyond = hop.reached_bytes;
        if hop.not_reached_bytes <= hop.reached_bytes {
            hop.not_reached_bytes = None;
        }
    }
    Ok(())
}

fn unsettled(hop: &Hop, size: u64) -> bool {
    hop.reached_bytes.is_none_or(|reached| size > reached)
        && hop.not_reached_bytes.is_none_or(|not| size < not)
}

/// Notes the hop that sent each of `messages`, and the claims that the findings of [`measure`] contradict.
pub fn hear(hops: &mut [Hop], messages: &[TooBig]) {
    for message in messages {
        let Some(at) = hops.iter().position(|hop| hop.address.as_ref() == Some(&message.by)) else {
            continue;
        };
        let claim = message.mtu_bytes;
        let next = hops[at + 1..].iter().find(|hop| hop.address.is_some());
        let passed = next.and_then(|hop| hop.reached_bytes);
        let died = next.and_then(|hop| hop.not_reached_bytes);
        let lie = if claim >= message.size_bytes {
            Some(format!("claims an MTU of {claim} about a packet of {} bytes", message.size_bytes))
        } else if let Some(passed) = passed.filter(|&passed| passed > claim) {
            Some(format!("claims an MTU of {claim}, but packets of {passed} bytes pass it"))
        } else {
            // Only the limit at the next hop shows a false claim: beyond it, other hops may be at fault.
            died.filter(|&died| died <= claim && next.is_some_and(|hop| hop.number == hops[at].number + 1))
                .map(|died| format!("claims an MTU of {claim}, but packets of {died} bytes do not pass it"))
        };
        hops[at].claimed_mtu_bytes = Some(claim);
        hops[at].lie = lie;
    }
}

/// Returns the places where the path gets narrower, in order from this host, for packets of `largest` bytes and
/// less.
pub fn limits(hops: &[Hop], largest: u64, interface: &str, messages: &[TooBig]) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut size = largest;
    while let Some(before) = hops.iter().find(|hop| hop.not_reached_bytes.is_some_and(|below| below <= size))
        && let (Some(mtu), Some(below)) = (before.reached_bytes, before.not_reached_bytes)
    {
        limits.push(limit(hops, before, (mtu, below), interface, messages));
        size = mtu;
    }
    limits
}

/// Returns the limit before hop `before`: packets of the first size pass it, those of the second size don't.
fn limit(
    hops: &[Hop],
    before: &Hop,
    (mtu, below): (u64, u64),
    interface: &str,
    messages: &[TooBig],
) -> Limit {
    let passed =
        |hop: &&Hop| hop.number < before.number && hop.reached_bytes.is_some_and(|size| size >= below);
    let after = hops.iter().rev().find(passed);
    let after_hop = after.map_or(0, |hop| hop.number);
    let announced_by =
        messages.iter().find(|message| message.mtu_bytes == mtu).map(|message| message.by.clone());
    let silent: Vec<u8> = (after_hop + 1..before.number).collect();
    let here = match after {
        None => format!("this host's {interface}"),
        Some(hop) => describe(hop),
    };
    let at_fault = match (silent.as_slice(), &announced_by) {
        ([], _) => format!("the link from {here} to {}", describe(before)),
        ([only], Some(sender)) => {
            format!("hop {only}, which announces this MTU ({sender}), or the link to it from {here}")
        }
        ([only], None) => format!("hop {only}, which is silent, or the link to it from {here}"),
        ([first, .., last], _) => {
            format!("one of hops {first} to {last}, which are silent, or the link to them from {here}")
        }
    };
    let before_hop = before.number;
    Limit { mtu_bytes: mtu, below_bytes: below, after_hop, before_hop, announced_by, at_fault }
}

fn describe(hop: &Hop) -> String {
    match &hop.address {
        Some(address) => format!("hop {} ({address})", hop.number),
        None => format!("hop {}", hop.number),
    }
}
