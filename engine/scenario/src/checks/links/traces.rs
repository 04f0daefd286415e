//! Finds what makes the traces of a link's rate and delay impossible.

use crate::{DelayTrace, Link, Place, Problem, Rate, RateTrace};
use std::fmt::Display;

/// The largest number of steps of a trace: a minute with one step a millisecond has 60,000.
const MOST_STEPS: usize = 500_000;
/// The highest rate of a step, bits per second.
const HIGHEST_BPS: u64 = 1_000_000_000_000;
/// The longest time of a trace, and the longest delay, nanoseconds: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;
/// The hint of each problem.
const HINT: &str = "a trace's steps are in the order of their times";

/// Adds what is wrong with the trace of the rate of the link at `place`.
pub fn check_rate(trace: &RateTrace, place: &Place, problems: &mut Vec<Problem>) {
    let place = place.within("rate_trace");
    let mut wrong = |name: &str, value: &dyn Display, expected: &str| {
        problems.push(place.problem(name, value, expected, HINT));
    };
    check_times(&trace.from_ns, trace.repeats_after_ns, &mut wrong);
    check_values("rates", "rates_bps", &trace.rates_bps, trace.from_ns.len(), HIGHEST_BPS, &mut wrong);
    match trace.repeats_after_ns {
        Some(_) if trace.highest() == Rate(0) => wrong("rates_bps", &"0 everywhere", "a rate above 0"),
        None if trace.rates_bps.last() == Some(&0) => {
            wrong("rates_bps", &"0 at the end", "a last rate above 0, or a trace that repeats");
        }
        _ => {}
    }
}

/// Adds what is wrong with the trace of the delay of `link`, which is at `place`.
pub fn check_delay(link: &Link, trace: &DelayTrace, place: &Place, problems: &mut Vec<Problem>) {
    if link.delay != trace.smallest() {
        let expected = format!("{}, the smallest delay of the trace", trace.smallest());
        problems.push(place.problem("delay", link.delay, expected, "one delay stands for the link"));
    }
    let place = place.within("delay_trace");
    let mut wrong = |name: &str, value: &dyn Display, expected: &str| {
        problems.push(place.problem(name, value, expected, HINT));
    };
    check_times(&trace.from_ns, trace.repeats_after_ns, &mut wrong);
    check_values("delays", "delays_ns", &trace.delays_ns, trace.from_ns.len(), LONGEST_NS, &mut wrong);
}

type Wrong<'a> = dyn FnMut(&str, &dyn Display, &str) + 'a;

/// Reports what is wrong with the times of a trace's steps.
fn check_times(from_ns: &[u64], repeats_after_ns: Option<u64>, wrong: &mut Wrong<'_>) {
    let steps = from_ns.len();
    if steps == 0 || steps > MOST_STEPS {
        wrong("from_ns", &format!("{steps} times"), &format!("1 to {MOST_STEPS} times"));
    } else if from_ns[0] != 0 {
        wrong("from_ns", &format!("{} first", from_ns[0]), "0 as the first time");
    } else if let Some(pair) = from_ns.windows(2).find(|pair| pair[0] >= pair[1]) {
        wrong("from_ns", &format!("{} after {}", pair[1], pair[0]), "times that rise");
    }
    let last_ns = from_ns.last().copied().unwrap_or_default();
    if let Some(end_ns) = repeats_after_ns.filter(|end_ns| *end_ns <= last_ns || *end_ns > LONGEST_NS) {
        wrong("repeats_after_ns", &end_ns, &format!("more than {last_ns}, up to {LONGEST_NS}"));
    }
}

/// Reports what is wrong with the values of a trace's steps, `what` in the field `name`, of which each is at most `most`.
fn check_values(what: &str, name: &str, values: &[u64], steps: usize, most: u64, wrong: &mut Wrong<'_>) {
    if values.len() != steps {
        wrong(name, &format!("{} {what}", values.len()), &format!("{steps}, one for each time"));
    } else if let Some(value) = values.iter().find(|value| **value > most) {
        wrong(name, value, &format!("up to {most}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn trace(from_ns: &[u64], rates_bps: &[u64], repeats_after_ns: Option<u64>) -> RateTrace {
        RateTrace { from_ns: from_ns.to_vec(), rates_bps: rates_bps.to_vec(), repeats_after_ns }
    }

    fn wrong(trace: &RateTrace) -> Vec<String> {
        let mut problems = Vec::new();
        check_rate(trace, &Place::new("/links/0", "link a - b"), &mut problems);
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

    #[test]
    fn a_delay_that_is_none_is_refused() {
        let interface = serde_json::json!({"node": "a", "interface": "eth0", "mtu": "1500 B"});
        let mut link: Link =
            serde_json::from_value(serde_json::json!({"ends": [interface, interface]})).unwrap();
        let mut wrong = |from_ns: &[u64], delays_ns: &[u64], repeats_after_ns, delay_ns| {
            link.delay = Duration(delay_ns);
            let (from_ns, delays_ns) = (from_ns.to_vec(), delays_ns.to_vec());
            let trace = DelayTrace { from_ns, delays_ns, repeats_after_ns };
            let mut problems = Vec::new();
            check_delay(&link, &trace, &Place::link(0, &link), &mut problems);
            problems.into_iter().map(|problem| problem.setting).collect::<Vec<_>>()
        };
        assert!(wrong(&[0, 5], &[10, 0], Some(7), 0).is_empty());
        assert!(wrong(&[0], &[10], None, 10).is_empty());
        assert_eq!(wrong(&[], &[], None, 0), ["from_ns"]);
        assert_eq!(wrong(&[1], &[10], None, 10), ["from_ns"]);
        assert_eq!(wrong(&[0, 5, 4], &[1, 2, 3], None, 1), ["from_ns"]);
        assert_eq!(wrong(&[0, 5], &[1], None, 1), ["delays_ns"]);
        assert_eq!(wrong(&[0, 5], &[1, LONGEST_NS + 1], None, 1), ["delays_ns"]);
        assert_eq!(wrong(&[0, 5], &[1, 2], Some(5), 1), ["repeats_after_ns"]);
        assert_eq!(wrong(&[0, 5], &[2, 1], None, 2), ["delay"]);
    }
}
