//! The round-trip time of an idle path.

use crate::error::Result;
use crate::probe::{Outcome, Probe, Prober};
use crate::report::{BaseRtt, Means};

/// The number of echo requests sent, one after the other.
const ECHOES: u32 = 10;
/// The number of UDP probes sent. Linux answers at most six at once, and later steps need some of these answers.
const UDP_PROBES: u32 = 2;

/// Measures the round-trip time; returns `None` if no probe is answered.
///
/// # Errors
/// Fails if this machine can't send.
pub fn measure(prober: &mut dyn Prober, means: Means, size: u64) -> Result<Option<BaseRtt>> {
    // The first probe does not count, because it may have to wait until addresses of neighbours are resolved.
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
