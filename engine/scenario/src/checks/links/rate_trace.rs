//! Finds what makes the trace of a link's rate impossible.

use crate::{Place, Problem, Rate, RateTrace};

/// The largest number of steps of a trace: a minute with one step a millisecond has 60,000.
const MOST_STEPS: usize = 500_000;
/// The highest rate of a step, bits per second.
const HIGHEST_BPS: u64 = 1_000_000_000_000;
/// The longest time of a trace, nanoseconds: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Adds what is wrong with the trace of the link at `place`.
pub fn check(trace: &RateTrace, place: &Place, problems: &mut Vec<Problem>) {
    let place = place.within("rate_trace");
    let mut wrong = |name: &str, value: &dyn std::fmt::Display, expected: &str| {
        problems.push(place.problem(
            name,
            value,
            expected,
            "a trace's steps are in the order of their times",
        ));
    };
    let steps = trace.from_ns.len();
    if steps == 0 || steps > MOST_STEPS {
        wrong("from_ns", &format!("{steps} times"), &format!("1 to {MOST_STEPS} times"));
    } else if trace.from_ns[0] != 0 {
        wrong("from_ns", &format!("{} first", trace.from_ns[0]), "0 as the first time");
    } else if let Some(pair) = trace.from_ns.windows(2).find(|pair| pair[0] >= pair[1]) {
        wrong("from_ns", &format!("{} after {}", pair[1], pair[0]), "times that rise");
    }
    if trace.rates_bps.len() != steps {
        wrong(
            "rates_bps",
            &format!("{} rates", trace.rates_bps.len()),
            &format!("{steps}, one for each time"),
        );
    } else if let Some(rate) = trace.rates_bps.iter().find(|rate| **rate > HIGHEST_BPS) {
        wrong("rates_bps", rate, &format!("up to {HIGHEST_BPS}"));
    }
    let last_ns = trace.from_ns.last().copied().unwrap_or_default();
    match trace.repeats_after_ns {
        Some(end_ns) if end_ns <= last_ns || end_ns > LONGEST_NS => {
            wrong("repeats_after_ns", &end_ns, &format!("more than {last_ns}, up to {LONGEST_NS}"));
        }
        Some(_) if trace.highest() == Rate(0) => wrong("rates_bps", &"0 everywhere", "a rate above 0"),
        None if trace.rates_bps.last() == Some(&0) => {
            wrong("rates_bps", &"0 at the end", "a last rate above 0, or a trace that repeats");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(from_ns: &[u64], rates_bps: &[u64], repeats_after_ns: Option<u64>) -> RateTrace {
        RateTrace { from_ns: from_ns.to_vec(), rates_bps: rates_bps.to_vec(), repeats_after_ns }
    }

    fn wrong(trace: &RateTrace) -> Vec<String> {
        let mut problems = Vec::new();
        check(trace, &Place::new("/links/0", "link a - b"), &mut problems);
        problems.into_iter().map(|problem| problem.setting).collect()
    }

    #[test]
    fn a_trace_that_is_none_is_refused() {
        assert!(wrong(&trace(&[0, 5], &[10, 0], Some(7))).is_empty());
        assert!(wrong(&trace(&[0, 5], &[0, 10], None)).is_empty());
        for (bad, name) in [
            (trace(&[], &[], None), "from_ns"),
            (trace(&[1], &[10], None), "from_ns"),
            (trace(&[0, 5, 5], &[1, 2, 3], None), "from_ns"),
            (trace(&[0, 5], &[1], None), "rates_bps"),
            (trace(&[0], &[HIGHEST_BPS + 1], None), "rates_bps"),
            (trace(&[0, 5], &[1, 0], None), "rates_bps"),
            (trace(&[0, 5], &[0, 0], Some(9)), "rates_bps"),
            (trace(&[0, 5], &[1, 1], Some(5)), "repeats_after_ns"),
            (trace(&[0, 5], &[1, 1], Some(LONGEST_NS + 1)), "repeats_after_ns"),
        ] {
            assert_eq!(wrong(&bad), [name], "{bad:?}");
        }
    }
}
