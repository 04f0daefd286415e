//! Measures the path MTU of each direction from the far host's answers.
//!
//! An echo reply is as large as its request. A reply therefore shows that both directions carry this size, and if
//! only the reply is lost, the reverse path is at fault. A small answer shows that a request arrived: the ICMP
//! error that a closed UDP port causes. Linux sends IPv4 replies that may be fragmented on the path
//! (net/ipv4/icmp.c, IP_PMTUDISC_DONT), and fragments IPv6 replies itself once a router has told it to; the size
//! of the fragments (IP_RECVFRAGSIZE) then shows the path MTU of the reverse path. The measurement also works if
//! the far host sends replies that may not be fragmented: those above the path MTU are lost, and the others arrive
//! whole.

use crate::error::Result;
use crate::probe::{Outcome, Probe, Prober};
use crate::report::Direction;
use crate::search;

/// The description of a measurement by echo, which also gives the MTU of the reverse path.
const BY_ECHO: &str = "ICMP echo, whose replies are as large as the requests";
/// The description of a measurement by UDP, which gives only the MTU of the forward path.
const BY_UDP: &str = "UDP to a closed port, and the small ICMP errors that answer it";

/// The path MTUs of both directions.
pub struct Directions {
    /// The path MTU towards the far host.
    pub forward: Option<Direction>,
    /// The path MTU from the far host back.
    pub reverse: Option<Direction>,
    /// True if another packet as large as the path MTU passed (RFC 8899 section 5.3, confirmation).
    pub steady: bool,
}

/// The bounds of a search.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// A size that is known to pass, because small probes are answered.
    pub small: u64,
    /// The size with which the search begins: BASE_PLPMTU.
    pub base: u64,
    /// The largest size to try.
    pub largest: u64,
    /// The path MTU that ICMP messages claim.
    pub hint: Option<u64>,
}

/// Finds the path MTUs of both directions with the probes that the far host answers.
///
/// # Errors
/// Fails if this machine can't send.
pub fn measure(
    echo: Option<&mut dyn Prober>,
    udp: Option<&mut dyn Prober>,
    bounds: Bounds,
) -> Result<Directions> {
    match (echo, udp) {
        (None, None) => Ok(Directions { forward: None, reverse: None, steady: true }),
        (None, Some(udp)) => {
            let (mtu, steady) = search_with(udp, bounds)?;
            Ok(Directions { forward: Some(direction(mtu, bounds, BY_UDP)), reverse: None, steady })
        }
        (Some(echo), udp) => {
            let (echoed, mut steady) = search_with(echo, bounds)?;
            let (mut forward, mut how) = (echoed, BY_ECHO);
            let mut certain = echoed == bounds.largest;
            if let Some(udp) = udp
                && !certain
            {
                if udp.passes(echoed + 1)? {
                    let further = Bounds { small: echoed + 1, base: echoed + 1, hint: None, ..bounds };
                    let (mtu, confirmed) = search_with(udp, further)?;
                    (forward, how) = (mtu, BY_UDP);
                    steady &= confirmed;
                }
                certain = true;
            }
            let mut measured = direction(forward, bounds, how);
            measured.limited &= certain;
            let reverse =
                if echo.hearing().fragments { Some(reverse(echo, echoed, forward, bounds)?) } else { None };
            Ok(Directions { forward: Some(measured), reverse, steady })
        }
    }
}

fn direction(mtu: u64, bounds: Bounds, how: &str) -> Direction {
    Direction { mtu_bytes: mtu, limited: mtu < bounds.largest, how: how.into() }
}

/// Returns the largest size that the far host answers, and whether it answered another packet of that size.
fn search_with(prober: &mut dyn Prober, bounds: Bounds) -> Result<(u64, bool)> {
    let mut passes = |size| prober.passes(size);
    let low = bounds.base.min(bounds.largest);
    let mtu = if low > bounds.small && !passes(low)? {
        search::largest(bounds.small, low - 1, bounds.hint, &mut passes)?
    } else {
        search::largest(low, bounds.largest, bounds.hint, &mut passes)?
    };
    Ok((mtu, passes(mtu)?))
}

/// Finds the path MTU of the reverse path: the size of the largest reply that arrives whole. Requests up to
/// `echoed` bytes are answered, and requests up to `forward` bytes arrive.
fn reverse(echo: &mut dyn Prober, echoed: u64, forward: u64, bounds: Bounds) -> Result<Direction> {
    let Outcome::Arrived { fragment: Some(fragment), .. } = reply(echo, echoed)? else {
        let limited = echoed < forward;
        let how = if limited {
            "ICMP echo replies: larger ones don't arrive, though their requests do"
        } else {
            "ICMP echo replies of that size arrive whole; larger ones can't be requested"
        };
        return Ok(Direction { mtu_bytes: echoed, limited, how: how.into() });
    };
    let mut whole = |size| Ok(matches!(reply(echo, size)?, Outcome::Arrived { fragment: None, .. }));
    // Fragments carry multiples of eight bytes, so the path MTU is up to seven bytes above their size.
    let mtu = if whole(fragment)? {
        search::largest(fragment, (fragment + 7).min(echoed - 1), None, &mut whole)?
    } else {
        search::largest(bounds.small, fragment - 1, None, &mut whole)?
    };
    let how = "ICMP echo replies: larger ones arrive in fragments";
    Ok(Direction { mtu_bytes: mtu, limited: true, how: how.into() })
}

/// Returns the outcome of a request of `size` bytes.
fn reply(echo: &mut dyn Prober, size: u64) -> Result<Outcome> {
    Ok(echo.insist(&[Probe { size, hops: None }])?[0])
}
