//! Wires whose rate follows a trace (kernel/net/wire.c). They get all its steps before the traffic, and then the time at which
//! it begins, so that the kernel knows the rate of every moment without a timer of the engine.

use super::{SHAPER, Shaping, attributes, message};
use crate::error::Result;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle};
use nettrial_netlink::Netlink;
use nettrial_scenario::RateTrace;

/// The number of steps in one request. With the table of sizes, an attribute must stay under 64 KiB.
const STEPS_TOGETHER: usize = 2000;

/// The wire of an interface, which has a trace that may begin.
pub struct TracedWire {
    interface: i32,
    object: String,
    /// Each change repeats the table of sizes: the kernel drops it otherwise (net/sched/sch_api.c, qdisc_change).
    size_table: TcAttribute,
}

impl TracedWire {
    /// Queues the requests that give the steps of `trace` to the wire that `shaping` gave to `interface`, which errors
    /// call `object`.
    pub fn prepare(
        netlink: &mut Netlink,
        (interface, object): (i32, &str),
        shaping: &Shaping,
        trace: &RateTrace,
    ) -> Result<Self> {
        let wire = Self { interface, object: object.to_owned(), size_table: shaping.size_table.clone() };
        for options in pieces(trace) {
            wire.change(netlink, options)?;
        }
        Ok(wire)
    }

    /// Queues the request that lets the trace begin at that time of the monotonic clock, in nanoseconds.
    pub fn begin(&self, netlink: &mut Netlink, begins_ns: u64) -> Result<()> {
        self.change(netlink, begins_ns.to_ne_bytes().to_vec())
    }

    fn change(&self, netlink: &mut Netlink, options: Vec<u8>) -> Result<()> {
        let mut attributes = attributes("wire", options);
        attributes.push(self.size_table.clone());
        let request = message(self.interface, TcHandle::ROOT, SHAPER, &attributes);
        let purpose = format!("giving {} a rate that follows a trace", self.object);
        Ok(netlink.change(RouteNetlinkMessage::NewQueueDiscipline(request), purpose)?)
    }
}

/// Returns the pieces of `trace`, each a `struct wire_piece` and its steps.
fn pieces(trace: &RateTrace) -> impl Iterator<Item = Vec<u8>> {
    let steps: Vec<u64> = trace.steps().flat_map(|(from_ns, _, rate)| [from_ns, rate.0]).collect();
    let head = [trace.from_ns.len() as u64, trace.repeats_after_ns.unwrap_or(0)];
    let pieces: Vec<Vec<u8>> = steps
        .chunks(2 * STEPS_TOGETHER)
        .zip((0..).step_by(STEPS_TOGETHER))
        .map(|(piece, before)| {
            let words = [head[0], before, head[1]].into_iter().chain(piece.iter().copied());
            words.flat_map(u64::to_ne_bytes).collect()
        })
        .collect();
    pieces.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_of_a_trace_are_in_its_pieces() {
        let steps = 2 * STEPS_TOGETHER as u64 + 1;
        let trace = RateTrace {
            from_ns: (0..steps).map(|step| step * 10).collect(),
            rates_bps: (0..steps).map(|step| step + 7).collect(),
            repeats_after_ns: Some(steps * 10),
        };
        let mut next = 0;
        for piece in pieces(&trace) {
            assert!(piece.len() < 40_000);
            let words: Vec<u64> =
                piece.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
            assert_eq!(words[..3], [steps, next, steps * 10]);
            for step in words[3..].chunks(2) {
                assert_eq!(step, [next * 10, next + 7]);
                next += 1;
            }
        }
        assert_eq!(next, steps);
    }
}
