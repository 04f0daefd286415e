//! Finds what makes packets of random sizes and gaps impossible.

use super::messages::{check_end, largest_message};
use super::variate::{Bounds, check as check_variate};
use crate::workload::MESSAGE_HEADER_BYTES;
use crate::{Flow, Packets, Place, Problem};

/// The longest gap or ON/OFF time, nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Adds everything that is wrong with `packets`, the traffic of `flow`, which is at `place`.
pub fn check(flow: &Flow, packets: &Packets, place: &Place, problems: &mut Vec<Problem>) {
    let sizes = Bounds { smallest: MESSAGE_HEADER_BYTES, largest: largest_message(flow), unit: "B" };
    check_variate("size", &packets.size, sizes, place, problems);
    if let Some(gap) = &packets.gap {
        check_variate("gap", gap, Bounds { smallest: 0, largest: LONGEST_NS, unit: "ns" }, place, problems);
    }
    if let Some(on_off) = &packets.on_off {
        let times = |smallest| Bounds { smallest, largest: LONGEST_NS, unit: "ns" };
        let place = place.within("on_off");
        check_variate("on", &on_off.on, times(1), &place, problems);
        check_variate("off", &on_off.off, times(0), &place, problems);
    }
    if packets.gap.is_some() && packets.rate.is_some() {
        problems.push(place.problem(
            "rate",
            "both a gap and a rate",
            "one of them, or neither",
            "each says when the next packet leaves",
        ));
    }
    if packets.rate.is_some_and(|rate| rate.0 == 0) {
        problems.push(place.problem("rate", "0 bit/s", "above 0", "nothing would be sent"));
    }
    check_end(packets.duration.is_some(), packets.count, place, problems);
}
