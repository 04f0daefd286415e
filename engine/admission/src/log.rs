//! A log of callers on standard error. Its lines are bounded for each kind and caller, so that a flood of one kind
//! hides neither other kinds nor successful calls.

use crate::seats::network;
use crate::text::one_line;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most lines of one kind about one caller in each [`PERIOD`].
const MOST_EACH: u32 = 5;
/// The most lines of one kind in each [`PERIOD`].
const MOST_OF_KIND: u32 = 20;
/// The period after which lines are counted anew.
const PERIOD: Duration = Duration::from_secs(10);
/// The most callers that are counted separately in a period, over all kinds; further callers share
/// [`MOST_OF_KIND`].
const MOST_CALLERS: usize = 4096;

/// The kind of a line. Lines of one kind are counted together. Kinds are a few constants, and never a caller's
/// text.
pub type Kind = &'static str;

/// Writes lines to standard error, and reports how many lines of a flood it suppressed.
pub struct Log {
    state: Mutex<State>,
}

/// The lines written in the current period, by kind and by caller.
struct State {
    since: Instant,
    kinds: HashMap<Kind, Count>,
    callers: HashMap<(Kind, IpAddr), u32>,
}

/// Lines of one kind in this period.
#[derive(Default)]
struct Count {
    written: u32,
    suppressed: u64,
}

impl Default for Log {
    fn default() -> Self {
        let state = State { since: Instant::now(), kinds: HashMap::new(), callers: HashMap::new() };
        Self { state: Mutex::new(state) }
    }
}

impl Log {
    /// Logs that `peer` was refused for the reason `kind`, with `detail` if it is not empty.
    pub fn refused(&self, peer: IpAddr, kind: Kind, detail: &str) {
        let colon = if detail.is_empty() { "" } else { ": " };
        self.line(peer, kind, &format!("refused {peer}: {kind}{colon}{detail}"));
    }

    /// Writes `text`, a line of this `kind` about `peer`, if the bounds allow it.
    pub fn line(&self, peer: IpAddr, kind: Kind, text: &str) {
        let lines = self.state.lock().unwrap_or_else(PoisonError::into_inner).lines(peer, kind, text);
        for line in lines {
            eprintln!("{line}");
        }
    }
}

impl State {
    /// Returns the lines to write now: the counts of a period that is over, and the line itself.
    fn lines(&mut self, peer: IpAddr, kind: Kind, text: &str) -> Vec<String> {
        let mut lines = if self.since.elapsed() >= PERIOD { self.begin_period() } else { Vec::new() };
        let count = self.kinds.entry(kind).or_default();
        let caller = (kind, network(peer));
        let known = self.callers.contains_key(&caller) || self.callers.len() < MOST_CALLERS;
        let of_caller = if known { self.callers.entry(caller).or_default() } else { &mut 0 };
        if *of_caller < MOST_EACH && count.written < MOST_OF_KIND {
            *of_caller += 1;
            count.written += 1;
            lines.push(one_line(text));
        } else {
            count.suppressed += 1;
        }
        lines
    }

    /// Forgets the counts of the previous period, and returns a line for each kind that had suppressed lines.
    fn begin_period(&mut self) -> Vec<String> {
        self.since = Instant::now();
        self.callers.clear();
        let suppressed = self.kinds.drain().filter(|(_, count)| count.suppressed > 0);
        let mut lines: Vec<String> = suppressed
            .map(|(kind, count)| format!("{} more lines were not written: {kind}", count.suppressed))
            .collect();
        lines.sort();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn a_flood_of_one_caller_hides_neither_other_kinds_nor_other_callers() {
        let log = Log::default();
        let mut state = log.state.lock().unwrap();
        let mut written = |last, kind| state.lines(peer(last), kind, "text").len();
        let flood: usize = (0..1000).map(|_| written(1, "silent")).sum();
        assert_eq!(flood, MOST_EACH as usize);
        assert_eq!(written(1, "wrong token"), 1);
        assert_eq!(written(2, "silent"), 1);
        assert_eq!(written(1, "session"), 1);
        state.since -= PERIOD;
        let after = state.lines(peer(3), "session", "again");
        assert_eq!(after, ["995 more lines were not written: silent", "again"]);
    }

    #[test]
    fn a_flood_of_many_callers_is_bounded_and_counted() {
        let log = Log::default();
        let mut state = log.state.lock().unwrap();
        let flood: usize =
            (0..10_000u32).map(|number| state.lines(IpAddr::V4(number.into()), "silent", "text").len()).sum();
        assert_eq!(flood, MOST_OF_KIND as usize);
        assert_eq!(state.callers.len(), MOST_CALLERS);
        assert_eq!(state.lines(peer(1), "session", "began"), ["began"]);
    }
}
