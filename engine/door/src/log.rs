//! One line on standard error for each refusal, and only so many of them.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Lines that may be written in each [`PERIOD`].
const MOST: u32 = 20;
/// After it, lines are counted anew.
const PERIOD: Duration = Duration::from_secs(10);
/// The most of what a caller sent that is repeated in a line, characters.
const SHOWN: usize = 300;

/// Writes lines on standard error; of a flood it tells only how many there were.
pub struct Log {
    state: Mutex<State>,
}

struct State {
    since: Instant,
    written: u32,
    withheld: u32,
}

impl Default for Log {
    fn default() -> Self {
        Self { state: Mutex::new(State { since: Instant::now(), written: 0, withheld: 0 }) }
    }
}

impl Log {
    /// Says that `peer` was refused, and why.
    pub fn refused(&self, peer: IpAddr, why: &str) {
        self.line(&format!("refused {peer}: {why}"));
    }

    /// A line, if there is room for it.
    pub fn line(&self, text: &str) {
        let lines = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).lines(text);
        for line in lines {
            eprintln!("{line}");
        }
    }
}

impl State {
    /// What is to be written now: nothing, the line, or first how many were withheld.
    fn lines(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.since.elapsed() >= PERIOD {
            if self.withheld > 0 {
                lines.push(format!("{} more lines like these were not written", self.withheld));
            }
            *self = Self { since: Instant::now(), written: 0, withheld: 0 };
        }
        if self.written < MOST {
            self.written += 1;
            lines.push(one_line(text));
        } else {
            self.withheld += 1;
        }
        lines
    }
}

/// `text` without what could move a terminal's cursor, and not too long.
fn one_line(text: &str) -> String {
    text.chars().take(SHOWN).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_not_written() {
        let log = Log::default();
        let mut state = log.state.lock().unwrap();
        let written: usize = (0..1000).map(|_| state.lines("refused").len()).sum();
        assert_eq!(written, MOST as usize);
        state.since -= PERIOD;
        assert_eq!(state.lines("again"), ["980 more lines like these were not written", "again"]);
    }

    #[test]
    fn a_caller_cannot_write_to_the_terminal() {
        assert_eq!(one_line("a\n\u{1b}[2Jb"), "a  [2Jb");
        assert_eq!(one_line(&"x".repeat(1000)).len(), SHOWN);
    }
}
