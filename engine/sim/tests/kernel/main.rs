//! The simulator's sender compared with that of the Linux kernel: both get the same acknowledgments at the same
//! times, and must send the same segments in the same order, at times that differ by no more than [`tolerance`].
//! tools/record-kernel-tcp.py recorded the kernel's.

mod recording;
mod replay;

use nettrial_sim::Time;
use recording::{Recording, Sent};

/// Three ticks of the kernel's timers (CONFIG_HZ 250), by which its timeouts, its probes and the end of RACK's
/// reordering window are late.
const TICKS: Time = Time::from_ms(12);

/// The scenarios in which the simulator's segments are known to differ from the kernel's, and the reasons.
const DIFFERENT: [(&str, &str); 2] = [
    (
        "no-sack-random-loss-2",
        "the kernel's timeout is 5 ms later by its ticks, and a duplicate acknowledgment arrives in between",
    ),
    (
        "classic-random-loss-2",
        "upon the second duplicate the simulator sends one segment, for which the kernel waits to send a larger GSO \
         packet (tcp_tso_should_defer); the cause is not known",
    ),
];

/// Returns the largest difference of the time of a segment: that of the ticks, and an eighth of the time since the
/// last acknowledgment, because timers of more than 64 ticks are rounded up to an eighth (kernel/time/timer.c).
fn tolerance(sent: &Sent, recording: &Recording) -> Time {
    let earlier = recording.received.iter().map(|received| received.at).take_while(|at| *at <= sent.at);
    TICKS + Time(sent.at.since(earlier.last().unwrap_or(Time::ZERO)).0 / 8)
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
        if late > tolerance(theirs, recording) {
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
        let found = difference(&replay::segments(&recording), &recording);
        let known = DIFFERENT.iter().find(|(name, _)| *name == recording.name);
        match (found, known) {
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
