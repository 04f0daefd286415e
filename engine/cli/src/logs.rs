//! The engine's log on standard error, whose level the environment variable NETTRIAL_LOG sets.

use std::fmt::Write as _;
use std::io::{self, Write};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The environment variable with the level of the log.
const VARIABLE: &str = "NETTRIAL_LOG";
/// The exit status for bad input.
const BAD_INPUT: i32 = 2;

/// Starts the log. Ends the process if the variable has an invalid value.
pub fn start() {
    let asked = std::env::var_os(VARIABLE).unwrap_or_default();
    let Some(filter) = asked.to_str().and_then(filter) else {
        eprintln!(
            "error: reading the environment variable {VARIABLE}: {asked:?} is not a level; expected error, \
             warn, \
             info, debug, trace or off, or a list of them by part, such as warn,nettrial_lab=debug"
        );
        std::process::exit(BAD_INPUT)
    };
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| OneLine(io::stderr()));
    tracing_subscriber::registry().with(lines).with(filter).init();
}

/// Returns the filter for the variable's value, which is only errors if it is empty; `None` if it is invalid.
fn filter(asked: &str) -> Option<Targets> {
    // The library reads an empty word as `error`.
    let level = |word: &str| Some(word.trim()).filter(|word| !word.is_empty())?.parse::<LevelFilter>().ok();
    let mut filter = Targets::new().with_default(LevelFilter::ERROR);
    for part in asked.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        filter = match part.split_once('=') {
            Some((target, word)) => filter.with_target(target.trim(), level(word)?),
            None => filter.with_default(level(part)?),
        };
    }
    Some(filter)
}

/// A writer of each event as one line, in which control characters are escaped, so that text of a peer or a file
/// can neither control a terminal nor look like another event.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    /// Takes a whole event, as the layer above passes it.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let mut line = String::with_capacity(text.len() + 1);
        for letter in text.trim_end_matches('\n').chars() {
            if letter.is_control() {
                let _ = write!(line, "{}", letter.escape_default());
            } else {
                line.push(letter);
            }
        }
        line.push('\n');
        self.0.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn an_event_is_one_line_without_control_characters() {
        let mut written = Vec::new();
        OneLine(&mut written).write_all("hi\x1b[31m\u{9b}2J\r\nERROR forged\tä\n".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "hi\\u{1b}[31m\\u{9b}2J\\r\\nERROR forged\\tä\n");
    }

    #[test]
    fn levels_are_of_all_parts_or_of_one() {
        let enabled =
            |asked: &str, target: &str, level: Level| filter(asked).unwrap().would_enable(target, &level);
        assert!(enabled("", "nettrial_lab", Level::ERROR) && !enabled("", "nettrial_lab", Level::WARN));
        assert!(
            enabled("debug", "nettrial_sim", Level::DEBUG) && !enabled("debug", "nettrial_sim", Level::TRACE)
        );
        assert!(enabled("warn,nettrial_lab=debug", "nettrial_lab::trial", Level::DEBUG));
        assert!(!enabled("warn,nettrial_lab=debug", "nettrial_sim", Level::INFO));
        assert!(!enabled("off", "nettrial_lab", Level::ERROR));
        for bad in ["loud", "nettrial_lab=", "info;debug", "nettrial_lab=\x1b"] {
            assert!(filter(bad).is_none(), "{bad}");
        }
    }
}
