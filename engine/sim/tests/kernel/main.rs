//! The simulator's sender compared with that of the Linux kernel: both get the same acknowledgments at the same
//! times, and must send the same segments in the same order, at times that differ by at most [`TOLERANCE`].
//! tools/record-kernel-tcp.py recorded the kernel's.
//!
//! The kernel's timers fire at ticks whose numbers were not recorded, so the simulator's segments must be the
//! kernel's for one of their positions ([`wheels`]).

mod recording;
mod replay;

use nettrial_sim::{Time, Wheel};
use recording::{Recording, Sent};

/// The time between two ticks of the recorded kernel (CONFIG_HZ 250).
const TICK: Time = Time::from_ms(4);
/// The largest difference of the time of a segment.
const TOLERANCE: Time = Time::from_ms(4);

/// The scenarios in which the simulator's segments are known to differ from the kernel's, and the reasons.
const DIFFERENT: [(&str, &str); 2] = [
    (
        "reno-random-loss-2",
        "the end of RACK's reordering window is 12.11 ms away, a fourth tick; the kernel, whose segments leave some \
         50 us after the acknowledgments, measures shorter round trips, and waits for three",
    ),
    (
        "classic-random-loss-2",
        "upon the second duplicate the simulator sends one segment, for which the kernel waits to send a larger GSO \
         packet (tcp_tso_should_defer); the cause is not known",
    ),
];

/// Returns the kernel's timer wheel at 64 positions. Its levels of 4 and 32 ms matter here.
fn wheels() -> impl Iterator<Item = Wheel> {
    (0..64).map(|position| Wheel { tick: TICK, before: Time::from_us(500 * position) })
}

/// Returns the first difference between the simulator's segments and the kernel's.
fn difference(simulated: &[Sent], recording: &Recording) -> Option<String> {
    let kernel = &recording.sent;
    let pairs = simulated.iter().zip(kernel).enumerate();
    for (number, (ours, theirs)) in pairs {
        if (ours.sequence, ours.bytes) != (theirs.sequence, theirs.bytes) {
            return Some(format!("segment {number} is {ours}, and Linux's {theirs}"));
        }
        let late = ours.at.since(theirs.at).max(theirs.at.since(ours.at));
        if late > TOLERANCE {
            return Some(format!("segment {number} is sent at another time: {ours}, and Linux's {theirs}"));
        }
    }
    let (ours, theirs) = (simulated.len(), kernel.len());
    let next = |all: &[Sent]| all.get(ours.min(theirs)).map_or("nothing".to_owned(), ToString::to_string);
    (ours != theirs)
        .then(|| format!("{ours} segments, and Linux's {theirs}: {} {}", next(simulated), next(kernel)))
}

#[test]
fn the_senders_segments_are_those_of_linux() {
    let mut unexpected = Vec::new();
    for recording in Recording::read(include_str!("segments.txt")) {
        let mut differences =
            wheels().map(|wheel| difference(&replay::segments(&recording, wheel), &recording));
        let first = differences.next().flatten();
        let remaining = first.filter(|_| differences.all(|difference| difference.is_some()));
        let known = DIFFERENT.iter().find(|(name, _)| *name == recording.name);
        match (remaining, known) {
            (Some(difference), None) => unexpected.push(format!("{}: {difference}", recording.name)),
            (None, Some(_)) => unexpected.push(format!("{}: no longer different", recording.name)),
            _ => {}
        }
    }
    assert!(unexpected.is_empty(), "{} scenarios:\n{}", unexpected.len(), unexpected.join("\n"));
}

#[test]
fn every_scenario_that_differs_is_recorded() {
    let recordings = Recording::read(include_str!("segments.txt"));
    for (name, _) in DIFFERENT {
        assert!(recordings.iter().any(|recording| recording.name == name), "{name}");
    }
}
