//! The round-trip time of an idle path.

use crate::probe::{Outcome, Probe, Prober};
use crate::report::{BaseRtt, Means};
use anyhow::Result;

/// Echo requests sent, one after the other.
const ECHOES: u32 = 10;
/// UDP probes sent: Linux answers six at once at most, and others will be needed.
const UDP_PROBES: u32 = 2;

/// Measures it; `None` if nothing is answered.
///
/// # Errors
/// Fails where this machine can't send.
pub fn measure(prober: &mut dyn Prober, means: Means, size: u64) -> Result<Option<BaseRtt>> {
    // The first may wait until addresses of neighbours are known; it does not count.
    if !prober.passes(size)? {
        return Ok(None);
    }
    let wanted = if means == Means::Echo { ECHOES } else { UDP_PROBES };
    let mut times = Vec::new();
    for _ in 0..wanted {
        if let Outcome::Arrived { rtt, .. } = prober.round(&[Probe { size, hops: None }], false)?[0] {
            times.push(rtt.as_secs_f64() * 1e6);
        }
    }
    times.sort_by(f64::total_cmp);
    let (Some(&minimum_us), Some(&median_us)) = (times.first(), times.get(times.len() / 2)) else {
        return Ok(None);
    };
    let received_pkts = u32::try_from(times.len())?;
    Ok(Some(BaseRtt { means, sent_pkts: wanted, received_pkts, minimum_us, median_us }))
}
