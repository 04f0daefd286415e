//! Requests over UDP that wait for their answers. Requests and answers may be lost.

use nettrial_scenario::{Duration, PacketCounts};
use std::collections::{HashSet, VecDeque};

/// The requests that were sent, and their outcomes.
pub struct Unanswered {
    /// The time, in nanoseconds, after which an unanswered request counts as lost.
    lost_after_ns: u64,
    /// The time at which each request was sent, and whether it was answered. The first is the oldest request that
    /// is neither answered nor lost.
    requests: VecDeque<(u64, bool)>,
    /// The number of the first request of these.
    first: u64,
    /// The number of requests that are not answered.
    open: u64,
    /// The numbers of lost requests whose answers may still arrive.
    lost: HashSet<u64>,
    /// The highest number that was answered.
    latest: Option<u64>,
    burst: u64,
    duplicated: u64,
    reordered: u64,
    bursts: u64,
    longest_burst: u64,
    counts: PacketCounts,
}

impl Unanswered {
    /// Begins without a request. A request counts as lost if it has waited `lost_after` for its answer.
    pub fn new(lost_after: Duration) -> Self {
        Self {
            lost_after_ns: lost_after.0,
            requests: VecDeque::new(),
            first: 0,
            open: 0,
            lost: HashSet::new(),
            latest: None,
            burst: 0,
            duplicated: 0,
            reordered: 0,
            bursts: 0,
            longest_burst: 0,
            counts: PacketCounts::default(),
        }
    }

    /// Returns the number of requests that are neither answered nor lost.
    pub fn open(&self) -> u64 {
        self.open
    }

    /// Returns the time at which the oldest open request is lost, unless it is answered before.
    pub fn next_loss_ns(&self) -> Option<u64> {
        self.requests.front().map(|&(sent_ns, _)| sent_ns.saturating_add(self.lost_after_ns))
    }

    /// Returns the counts of requests so far.
    pub fn counts(&self) -> PacketCounts {
        PacketCounts {
            duplicated_pkts: Some(self.duplicated),
            reordered_pkts: Some(self.reordered),
            loss_bursts: Some(self.bursts),
            longest_loss_burst_pkts: Some(self.longest_burst),
            ..self.counts
        }
    }

    /// Notes that the next request is sent at `sent_ns`.
    pub fn sent(&mut self, sent_ns: u64) {
        self.requests.push_back((sent_ns, false));
        self.open += 1;
        self.counts.sent_pkts += 1;
    }

    /// Notes an answer to request `number`. Returns the time at which the request was sent if this is its first
    /// answer and in time.
    pub fn answered(&mut self, number: u64, now_ns: u64) -> Option<u64> {
        self.expire(now_ns);
        let Some(index) = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) else {
            // The first late answer to a lost request changes nothing; further answers are duplicates.
            self.duplicated += u64::from(!self.lost.remove(&number));
            return None;
        };
        let (sent_ns, is_answered) = self.requests.get_mut(index)?;
        let sent_ns = *sent_ns;
        if std::mem::replace(is_answered, true) {
            self.duplicated += 1;
            return None;
        }
        self.open -= 1;
        self.counts.received_pkts += 1;
        self.reordered += u64::from(self.latest.is_some_and(|latest| number < latest));
        self.latest = self.latest.max(Some(number));
        self.expire(now_ns);
        Some(sent_ns)
    }

    /// Forgets requests that are answered, and gives up requests that have waited too long.
    pub fn expire(&mut self, now_ns: u64) {
        while let Some(&(sent_ns, is_answered)) = self.requests.front() {
            if is_answered {
                self.burst = 0;
            } else if self.lost_after_ns <= now_ns.saturating_sub(sent_ns) {
                self.lost.insert(self.first);
                self.open -= 1;
                self.burst += 1;
                self.counts.lost_pkts += 1;
                self.bursts += u64::from(self.burst == 1);
                self.longest_burst = self.longest_burst.max(self.burst);
            } else {
                return;
            }
            self.requests.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn sent(times: &[u64]) -> Unanswered {
        let mut waiting = Unanswered::new(Duration(SECOND));
        times.iter().for_each(|&time| waiting.sent(time));
        waiting
    }

    #[test]
    fn an_answer_counts_once_and_only_to_a_request_that_was_sent() {
        let mut waiting = sent(&[10, 20]);
        assert_eq!(waiting.answered(1, 30), Some(20));
        assert_eq!(waiting.answered(1, 31), None);
        assert_eq!(waiting.answered(2, 32), None);
        assert_eq!(waiting.answered(u64::MAX, 32), None);
        assert_eq!(waiting.answered(0, 33), Some(10));
        assert_eq!(waiting.answered(0, 34), None);
        let expected = PacketCounts {
            sent_pkts: 2,
            received_pkts: 2,
            reordered_pkts: Some(1),
            duplicated_pkts: Some(2),
            loss_bursts: Some(0),
            longest_loss_burst_pkts: Some(0),
            ..Default::default()
        };
        assert_eq!((waiting.counts(), waiting.open), (expected, 0));
    }

    #[test]
    fn a_request_is_lost_after_a_second_and_its_late_answer_changes_nothing() {
        let mut waiting = sent(&[0, 1, 2, SECOND, SECOND + 1]);
        waiting.answered(3, SECOND + 5);
        assert_eq!(waiting.counts.lost_pkts, 3);
        assert_eq!(waiting.answered(0, SECOND + 9), None);
        assert_eq!(waiting.answered(0, SECOND + 9), None);
        assert_eq!(waiting.answered(4, 3 * SECOND), None, "too late, though nothing expired it before");
        let expected = PacketCounts {
            sent_pkts: 5,
            received_pkts: 1,
            lost_pkts: 4,
            reordered_pkts: Some(0),
            duplicated_pkts: Some(1),
            loss_bursts: Some(2),
            longest_loss_burst_pkts: Some(3),
            ..Default::default()
        };
        assert_eq!((waiting.counts(), waiting.open), (expected, 0));
    }
}
