//! Follows numbered packets, and counts loss, reordering and duplication exactly, however late a packet arrives.
//!
//! One bit for each packet says whether the packet arrived. Bits are kept in chunks, and a complete chunk keeps
//! none, so a flow without loss takes next to no memory, and a flow with loss an eighth of a byte for each packet.

use nettrial_scenario::PacketCounts;

/// The number of bits in a word of a chunk.
const WORD_BITS: u64 = u64::BITS as u64;
/// The number of words in a chunk.
const CHUNK_WORDS: usize = 1024;
/// The number of packets whose arrivals a chunk records.
const CHUNK_BITS: u64 = CHUNK_WORDS as u64 * WORD_BITS;
/// A packet whose number is this far beyond all others does not come from the sender, because it would be hours
/// ahead.
const FARTHEST: u64 = 1 << 32;

/// The kind of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The first arrival of the packet.
    First,
    /// A further arrival of the same packet.
    Duplicate,
    /// A packet with a number that the sender cannot have reached.
    Impossible,
}

/// A part of the numbers.
enum Chunk {
    /// No packet of the chunk arrived.
    Empty,
    /// Some packets arrived: the bits, and the number of set bits.
    Partial(Box<[u64; CHUNK_WORDS]>, u64),
    /// All packets of the chunk arrived.
    Full,
}

/// Follows the numbers of a flow's packets, which the sender counts from 0.
#[derive(Default)]
pub struct Sequence {
    chunks: Vec<Chunk>,
    /// The number expected next, which is one above the largest number seen (RFC 4737 section 3.3).
    next: u64,
    received: u64,
    reordered: u64,
    duplicated: u64,
}

impl Sequence {
    /// Notes the arrival of packet `number`.
    pub fn arrived(&mut self, number: u64) -> Arrival {
        if number.saturating_sub(self.next) >= FARTHEST {
            return Arrival::Impossible;
        }
        if !self.mark(number) {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        self.received += 1;
        if number < self.next {
            self.reordered += 1;
        } else {
            self.next = number + 1;
        }
        Arrival::First
    }

    /// Returns the number of different packets that have arrived.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Sets a number's bit, and returns true if it was not set before.
    fn mark(&mut self, number: u64) -> bool {
        let index = usize::try_from(number / CHUNK_BITS).unwrap_or(usize::MAX);
        while self.chunks.len() <= index {
            self.chunks.push(Chunk::Empty);
        }
        let chunk = &mut self.chunks[index];
        if let Chunk::Empty = chunk {
            *chunk = Chunk::Partial(Box::new([0; CHUNK_WORDS]), 0);
        }
        let Chunk::Partial(words, set) = chunk else { return false };
        let bit = number % CHUNK_BITS;
        let word = &mut words[usize::try_from(bit / WORD_BITS).unwrap_or(0)];
        let mask = 1 << (bit % WORD_BITS);
        if *word & mask != 0 {
            return false;
        }
        *word |= mask;
        *set += 1;
        if *set == CHUNK_BITS {
            *chunk = Chunk::Full;
        }
        true
    }

    /// Returns the counts, given that the sender sent `sent` packets and that its kernel refused `send_errors`.
    pub fn counts(&self, sent: u64, send_errors: u64) -> PacketCounts {
        let mut runs = Runs::default();
        let mut words = self.chunks.iter().flat_map(|chunk| {
            (0..CHUNK_WORDS).map(move |index| match chunk {
                Chunk::Empty => 0,
                Chunk::Partial(words, _) => words[index],
                Chunk::Full => u64::MAX,
            })
        });
        let mut left = sent;
        while left > 0 {
            let bits = left.min(WORD_BITS);
            match words.next() {
                Some(word) => runs.word(word, bits),
                None => {
                    runs.lost(left);
                    break;
                }
            }
            left -= bits;
        }
        PacketCounts {
            sent_pkts: sent,
            received_pkts: sent - runs.lost,
            lost_pkts: runs.lost,
            reordered_pkts: Some(self.reordered),
            duplicated_pkts: Some(self.duplicated),
            loss_bursts: Some(runs.bursts),
            longest_loss_burst_pkts: Some(runs.longest),
            send_errors_pkts: send_errors,
        }
    }
}

/// Runs of lost packets, by number.
#[derive(Default)]
struct Runs {
    lost: u64,
    bursts: u64,
    longest: u64,
    current: u64,
}

impl Runs {
    /// Takes the next `bits` packets. The lowest bit is the first packet, and a set bit means that it arrived.
    fn word(&mut self, mut word: u64, mut bits: u64) {
        while bits > 0 {
            let absent = u64::from(word.trailing_zeros()).min(bits);
            self.lost(absent);
            if absent == bits {
                return;
            }
            self.current = 0;
            word = word.unbounded_shr(u32::try_from(absent).unwrap_or(u64::BITS));
            bits -= absent;
            let present = u64::from(word.trailing_ones()).min(bits);
            word = word.unbounded_shr(u32::try_from(present).unwrap_or(u64::BITS));
            bits -= present;
        }
    }

    /// Takes the next `count` packets, which are all lost.
    fn lost(&mut self, count: u64) {
        if count > 0 {
            self.bursts += u64::from(self.current == 0);
            self.current += count;
            self.lost += count;
            self.longest = self.longest.max(self.current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The counts by their definitions, one packet at a time.
    fn counted(arrivals: &[u64], sent: u64) -> PacketCounts {
        let (mut seen, mut next) = (HashSet::new(), 0);
        let (mut duplicated, mut reordered) = (0, 0);
        for number in arrivals {
            if !seen.insert(*number) {
                duplicated += 1;
            } else if *number < next {
                reordered += 1;
            } else {
                next = number + 1;
            }
        }
        let (mut run, mut lost, mut bursts, mut longest) = (0, 0, 0, 0);
        for number in 0..sent {
            run = if seen.contains(&number) { 0 } else { run + 1 };
            lost += u64::from(run > 0);
            bursts += u64::from(run == 1);
            longest = run.max(longest);
        }
        PacketCounts {
            sent_pkts: sent,
            received_pkts: seen.len() as u64,
            lost_pkts: lost,
            reordered_pkts: Some(reordered),
            duplicated_pkts: Some(duplicated),
            loss_bursts: Some(bursts),
            longest_loss_burst_pkts: Some(longest),
            send_errors_pkts: 0,
        }
    }

    fn follow(arrivals: &[u64], sent: u64) -> PacketCounts {
        let mut sequence = Sequence::default();
        for number in arrivals {
            sequence.arrived(*number);
        }
        assert_eq!(sequence.received(), arrivals.iter().collect::<HashSet<_>>().len() as u64);
        sequence.counts(sent, 0)
    }

    /// Strategy for what a network may make of packets 0 to `sent`: each lost or not, again or not, held back or
    /// not.
    fn network() -> impl Strategy<Value = (u64, Vec<u64>)> {
        let fates = (
            prop_oneof![Just(1u64), Just(63), Just(65_536)],
            prop::collection::vec((0..4u8, 0..9u64), 0..400),
        );
        fates.prop_map(|(stride, fates)| {
            // A stride spreads the numbers over words and chunks; those between are lost.
            let mut arrivals = Vec::new();
            for (index, (copies, held)) in fates.iter().enumerate() {
                for copy in 0..u64::from(*copies % 3) {
                    arrivals.push((index as u64 + held * (copy + 1), index as u64 * stride));
                }
            }
            arrivals.sort_by_key(|(at, _)| *at);
            (fates.len() as u64 * stride, arrivals.into_iter().map(|(_, number)| number).collect())
        })
    }

    proptest! {
        #[test]
        fn every_interleaving_is_counted_by_the_definitions((sent, arrivals) in network()) {
            let counts = follow(&arrivals, sent.min(2_000_000));
            prop_assert_eq!(counts.sent_pkts, counts.received_pkts + counts.lost_pkts);
            if sent <= 2_000_000 {
                prop_assert_eq!(counts, counted(&arrivals, sent));
            }
        }

        #[test]
        fn numbers_that_nobody_sent_do_no_harm(numbers: Vec<u64>, sent in 0u64..1000) {
            let mut sequence = Sequence::default();
            for number in numbers {
                // A wild number would take memory for all below it: it is refused.
                let known = number < FARTHEST;
                prop_assert!(known || sequence.arrived(number) == Arrival::Impossible);
            }
            let counts = sequence.counts(sent, 0);
            prop_assert_eq!((counts.received_pkts, counts.lost_pkts), (0, sent));
        }
    }

    #[test]
    fn a_packet_is_told_from_its_copy_however_late_it_comes() {
        let mut sequence = Sequence::default();
        for number in (0..5 * CHUNK_BITS).filter(|number| *number != 10) {
            assert_eq!(sequence.arrived(number), Arrival::First);
        }
        assert!(matches!(sequence.chunks[1], Chunk::Full));
        assert_eq!(sequence.arrived(CHUNK_BITS + 5), Arrival::Duplicate);
        assert_eq!(sequence.arrived(11), Arrival::Duplicate);
        assert_eq!(sequence.arrived(10), Arrival::First);
        assert_eq!(sequence.arrived(10), Arrival::Duplicate);
        let counts = sequence.counts(5 * CHUNK_BITS + 7, 2);
        assert_eq!(
            (counts.lost_pkts, counts.loss_bursts, counts.longest_loss_burst_pkts),
            (7, Some(1), Some(7))
        );
        assert_eq!(
            (counts.reordered_pkts, counts.duplicated_pkts, counts.send_errors_pkts),
            (Some(1), Some(3), 2)
        );
    }

    #[test]
    fn a_run_of_losses_goes_on_from_word_to_word() {
        let arrivals = [0, 1, 200, 201, 203];
        let counts = follow(&arrivals, 1000);
        assert_eq!(
            (counts.lost_pkts, counts.loss_bursts, counts.longest_loss_burst_pkts),
            (995, Some(3), Some(796))
        );
        assert_eq!(follow(&[], 0), counted(&[], 0));
    }
}
