//! A link's delay that changes over time.

use nettrial_scenario::DelayTrace;

/// The delay of a link over time. It is constant from one step of its trace to the next.
#[derive(Debug)]
pub struct Delays {
    trace: DelayTrace,
}

impl Delays {
    /// Creates the delay that follows `trace`, which a check has accepted.
    pub fn new(trace: &DelayTrace) -> Self {
        Self { trace: trace.clone() }
    }

    /// Returns the delay of a frame whose last bit leaves at that time, which counts from the beginning of the trace, in
    /// nanoseconds.
    pub fn at_ns(&self, leaves_ns: u64) -> u64 {
        let DelayTrace { from_ns, delays_ns, repeats_after_ns } = &self.trace;
        let at_ns = repeats_after_ns.map_or(leaves_ns, |period_ns| leaves_ns % period_ns);
        delays_ns[from_ns.partition_point(|step_ns| *step_ns <= at_ns) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn delays(from_ns: &[u64], delays_ns: &[u64], repeats_after_ns: Option<u64>) -> Delays {
        let trace = DelayTrace { from_ns: from_ns.to_vec(), delays_ns: delays_ns.to_vec(), repeats_after_ns };
        Delays::new(&trace)
    }

    #[test]
    fn a_delay_applies_from_its_time_until_the_next() {
        let once = delays(&[0, 10, 15], &[7, 3, 9], None);
        assert_eq!([0, 9, 10, 14, 15, 1000].map(|at| once.at_ns(at)), [7, 7, 3, 3, 9, 9]);
    }

    #[test]
    fn a_trace_begins_again_at_its_end() {
        let again = delays(&[0, 10, 15], &[7, 3, 9], Some(20));
        assert_eq!([19, 20, 29, 30, 39, 40].map(|at| again.at_ns(at)), [9, 7, 7, 3, 9, 7]);
    }

    proptest! {
        #[test]
        fn each_delay_is_the_one_of_the_last_step(
            steps in prop::collection::vec((1u64..50, 0u64..100), 1..20),
            at in 0u64..5000,
        ) {
            let ends: Vec<u64> = steps.iter().scan(0, |at, (length, _)| { *at += length; Some(*at) }).collect();
            let from_ns: Vec<u64> = ends.iter().zip(&steps).map(|(end, (length, _))| end - length).collect();
            let delays_ns: Vec<u64> = steps.iter().map(|(_, delay)| *delay).collect();
            let period = ends[ends.len() - 1];
            let place = ends.iter().position(|end| at % period < *end).unwrap();
            prop_assert_eq!(delays(&from_ns, &delays_ns, Some(period)).at_ns(at), delays_ns[place]);
            let place = ends.iter().position(|end| at < *end).unwrap_or(ends.len() - 1);
            prop_assert_eq!(delays(&from_ns, &delays_ns, None).at_ns(at), delays_ns[place]);
        }
    }
}
