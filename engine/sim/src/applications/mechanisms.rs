//! The times of the parts of requests' ways to their answers.

use crate::Time;
use crate::packets::trace::Way;
use nettrial_flows::statistics::Durations;
use std::collections::BTreeMap;

/// The times of the parts of all round trips so far, each part in both directions together. Programs take no time to
/// answer, so these four sum to the round-trip time of each request, to the nanosecond.
#[derive(Default)]
pub struct Parts {
    /// From sending to the interface's queue.
    pub sending: Durations,
    /// In that queue.
    pub queue: Durations,
    /// From the beginning of the transmission to the arrival at the other host's interface.
    pub wire: Durations,
    /// From there to the program.
    pub reading: Durations,
}

/// The ways of a flow's requests and of their responses, one request at a time.
#[derive(Default)]
pub struct Ways {
    /// The ways of requests without a response yet, by the time at which they were read. A duplicated request is read
    /// twice.
    there: BTreeMap<Time, Way>,
}

impl Ways {
    /// Notes that a request has been read that came by that way.
    pub fn arrived(&mut self, read: Time, way: Way) {
        self.there.insert(read, way);
    }

    /// Adds to `parts` the round trip of the request that was sent and read at these times, and whose response came by
    /// the way `back` and is read `now`. Times are counted in whole nanoseconds from `origin`.
    pub fn answered(&mut self, [sent, read, now]: [Time; 3], back: Way, origin: Time, parts: &mut Parts) {
        let Some(there) = self.there.remove(&read) else { return };
        self.there.retain(|&other, _| other > read);
        let ns = |at: Time| at.since(origin).as_ns();
        let both = [(sent, there, read), (read, back, now)];
        let record = |durations: &mut Durations, span: fn(&(Time, Way, Time)) -> [Time; 2]| {
            let spans = both.iter().map(span).map(|[begin, end]| ns(end) - ns(begin));
            durations.record(spans.sum());
        };
        record(&mut parts.sending, |(sent, way, _)| [*sent, way.queued]);
        record(&mut parts.queue, |(_, way, _)| [way.queued, way.left]);
        record(&mut parts.wire, |(_, way, _)| [way.left, way.arrived]);
        record(&mut parts.reading, |(_, way, read)| [way.arrived, *read]);
    }
}
