//! Wires whose rate or delay follows a trace (kernel/net/wire.c). They get all its steps before the traffic, and then the time
//! at which it begins, so that the kernel knows the rate and the delay of every moment without a timer of the engine.

use super::{SHAPER, Shaping, attributes, message};
use crate::error::Result;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle};
use nettrial_netlink::Netlink;
use nettrial_scenario::{DelayTrace, RateTrace};

/// The number of steps in one request. With the table of sizes, an attribute must stay under 64 KiB.
const STEPS_TOGETHER: usize = 2000;

/// The bit by which a wire knows that the steps of a piece are delays (`WIRE_DELAYS`).
const DELAYS: u64 = 1 << 63;

/// The steps of a trace, as a wire gets them.
pub struct Steps {
    /// The time from which each step applies, in nanoseconds, and its rate in bits per second or its delay in
    /// nanoseconds.
    steps: Vec<(u64, u64)>,
    repeats_after_ns: Option<u64>,
    kind: u64,
}

impl Steps {
    /// Returns the steps of a rate.
    pub fn of_rate(trace: &RateTrace) -> Self {
        Self::new(&trace.from_ns, &trace.rates_bps, trace.repeats_after_ns, 0)
    }

    /// Returns the steps of a delay.
    pub fn of_delay(trace: &DelayTrace) -> Self {
        Self::new(&trace.from_ns, &trace.delays_ns, trace.repeats_after_ns, DELAYS)
    }

    fn new(from_ns: &[u64], values: &[u64], repeats_after_ns: Option<u64>, kind: u64) -> Self {
        let steps = from_ns.iter().copied().zip(values.iter().copied()).collect();
        Self { steps, repeats_after_ns, kind }
    }

    /// Returns the pieces in which a wire gets them, each a `struct wire_piece` and its steps.
    fn pieces(&self) -> impl Iterator<Item = Vec<u8>> {
        let head = [self.steps.len() as u64 | self.kind, self.repeats_after_ns.unwrap_or(0)];
        self.steps.chunks(STEPS_TOGETHER).zip((0..).step_by(STEPS_TOGETHER)).map(move |(piece, before)| {
            let steps = piece.iter().flat_map(|&(from_ns, value)| [from_ns, value]);
            [head[0], before, head[1]].into_iter().chain(steps).flat_map(u64::to_ne_bytes).collect()
        })
    }
}

/// The wire of an interface, which has traces that may begin.
pub struct TracedWire {
    interface: i32,
    object: String,
    /// Each change repeats the table of sizes: the kernel drops it otherwise (net/sched/sch_api.c, qdisc_change).
    size_table: TcAttribute,
}

impl TracedWire {
    /// Queues the requests that give the steps of its `traces` to the wire that `shaping` gave to `interface`, which errors
    /// call `object`. Returns `None` if it has no traces.
    pub fn prepare(
        netlink: &mut Netlink,
        (interface, object): (i32, &str),
        shaping: &Shaping,
        traces: [Option<Steps>; 2],
    ) -> Result<Option<Self>> {
        let wire = Self { interface, object: object.to_owned(), size_table: shaping.size_table.clone() };
        let mut traces = traces.into_iter().flatten().peekable();
        if traces.peek().is_none() {
            return Ok(None);
        }
        for options in traces.flat_map(|steps| steps.pieces().collect::<Vec<_>>()) {
            wire.change(netlink, options)?;
        }
        Ok(Some(wire))
    }

    /// Queues the request that lets the traces begin at that time of the monotonic clock, in nanoseconds.
    pub fn begin(&self, netlink: &mut Netlink, begins_ns: u64) -> Result<()> {
        self.change(netlink, begins_ns.to_ne_bytes().to_vec())
    }

    fn change(&self, netlink: &mut Netlink, options: Vec<u8>) -> Result<()> {
        let mut attributes = attributes("wire", options);
        attributes.push(self.size_table.clone());
        let request = message(self.interface, TcHandle::ROOT, SHAPER, &attributes);
        let purpose = format!("letting {} follow a trace", self.object);
        Ok(netlink.change(RouteNetlinkMessage::NewQueueDiscipline(request), purpose)?)
    }
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
        for piece in Steps::of_rate(&trace).pieces() {
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

    #[test]
    fn a_wire_can_tell_delays_from_rates() {
        let trace = DelayTrace { from_ns: vec![0], delays_ns: vec![9], repeats_after_ns: None };
        let [piece] = Steps::of_delay(&trace).pieces().collect::<Vec<_>>().try_into().unwrap();
        let expected = [1 | 1 << 63, 0, 0, 0, 9_u64].map(u64::to_ne_bytes);
        assert_eq!(piece, expected.concat());
    }
}
