//! The times at which the requests of a request/response flow are due.

use nettrial_scenario::RequestResponse;

/// The requests of a flow. Times are nanoseconds from its start.
pub struct Requests<'a> {
    exchange: &'a RequestResponse,
    due_ns: u64,
    /// The number of the next request.
    number: u64,
}

/// The decision about the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next request is due now.
    Due,
    /// The next request is due after this many nanoseconds.
    In(u64),
    /// There are no more requests.
    Over,
}

impl<'a> Requests<'a> {
    /// Creates the requests that `exchange` describes.
    pub fn new(exchange: &'a RequestResponse) -> Self {
        Self { exchange, due_ns: 0, number: 0 }
    }

    /// Returns the decision about the next request at `now_ns`.
    pub fn next(&self, now_ns: u64) -> Next {
        let end_ns = self.exchange.duration.map_or(u64::MAX, |duration| duration.0);
        if now_ns.max(self.due_ns) >= end_ns || self.exchange.count == Some(self.number) {
            Next::Over
        } else if self.due_ns <= now_ns {
            Next::Due
        } else {
            Next::In(self.due_ns - now_ns)
        }
    }

    /// Notes that a request is sent at `now_ns`, and returns its number.
    pub fn take(&mut self, now_ns: u64) -> u64 {
        if let Some(interval) = self.exchange.interval {
            // A request that is more than an interval late shifts the schedule, so that no burst follows.
            self.due_ns += interval.0;
            if self.due_ns <= now_ns {
                self.due_ns = now_ns + interval.0;
            }
        }
        self.number += 1;
        self.number - 1
    }

    /// Notes that the next request is sent when it is due, or at `now_ns` if that is later, and returns its
    /// number.
    pub fn take_due(&mut self, now_ns: u64) -> u64 {
        self.take(now_ns.max(self.due_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{Connecting, Duration, Size};

    fn exchange(duration: Option<u64>, count: Option<u64>, interval: Option<u64>) -> RequestResponse {
        RequestResponse {
            request: Size(64),
            response: Size(64),
            duration: duration.map(Duration),
            count,
            interval: interval.map(Duration),
            in_flight: 1,
            connecting: Connecting::Once,
            mechanisms: false,
        }
    }

    #[test]
    fn requests_end_with_the_count_or_the_duration() {
        let counted = exchange(Some(1000), Some(2), None);
        let mut requests = Requests::new(&counted);
        assert_eq!((requests.take(1), requests.take(2)), (0, 1));
        assert_eq!(requests.next(3), Next::Over);
        let timed = exchange(Some(1000), None, None);
        assert_eq!(Requests::new(&timed).next(999), Next::Due);
        assert_eq!(Requests::new(&timed).next(1000), Next::Over);
    }

    #[test]
    fn an_interval_keeps_its_beat_and_no_burst_follows_a_late_response() {
        let paced = exchange(Some(10_000), None, Some(100));
        let mut requests = Requests::new(&paced);
        requests.take(0);
        assert_eq!(requests.next(30), Next::In(70));
        requests.take(110); // woken a little late: the next is due at 200 all the same
        assert_eq!(requests.next(110), Next::In(90));
        requests.take(750);
        assert_eq!(requests.next(750), Next::In(100));
        // None is due before the end.
        assert_eq!(requests.next(9_990), Next::Due);
        requests.take(9_950);
        assert_eq!(requests.next(9_950), Next::Over);
    }
}
