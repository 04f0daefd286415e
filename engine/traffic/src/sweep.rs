//! Requests of many sizes in random order on one connection.
//!
//! A request begins with a [`Header`] whose third field is its size, so the receiver needs to know nothing
//! of the order. An answer is a header alone, or as many bytes as came.

mod datagram;
mod stream;

pub use datagram::respond as respond_to_datagrams;
pub use stream::respond as respond_to_stream;

use crate::figures::Figures;
use crate::message::HEADER_BYTES;
use crate::protocol::Side;
use crate::sampler::Sampler;
use anyhow::Result;
use nettrial_scenario::{Answer, SizeRecord, Sweep, Transport};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

/// What became of one request.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// From (first) sending it to reading its answer.
    rtt_ns: u64,
    /// How often it was sent again.
    resent: u64,
}

/// Whatever carries a request of a size and brings the answer.
trait Line {
    /// Sends request `number` of `size` bytes and waits for its answer of `answer` bytes.
    fn ask(&mut self, number: u64, size: usize, answer: usize) -> Result<Asked>;
}

/// Runs the flow's sweep and gathers its figures.
pub fn run(side: &Side, sweep: &Sweep, destination: SocketAddr, sampler: &Sampler) -> Result<Figures> {
    let mut figures = Figures::default();
    let begin;
    if side.flow.transport == Transport::Udp {
        let mut line = datagram::Connected::open(side, sweep, destination, sampler)?;
        begin = Instant::now();
        measure_all(&mut line, sweep, &mut figures)?;
        figures.weight = line.weight();
    } else {
        let mut line = stream::Connected::open(side, sweep, destination, sampler, &mut figures)?;
        begin = Instant::now();
        measure_all(&mut line, sweep, &mut figures)?;
        sampler.closing()?;
    }
    figures.active = begin.elapsed();
    Ok(figures)
}

/// The sizes in the order they are measured, each as often as it is repeated.
fn order(sweep: &Sweep) -> Vec<u64> {
    let step = usize::try_from(sweep.step.0).unwrap_or(usize::MAX);
    let sizes = (sweep.first.0..=sweep.last.0).step_by(step);
    let mut order: Vec<u64> = sizes.flat_map(|size| (0..sweep.repeats).map(move |_| size)).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(sweep.seed));
    order
}

fn measure_all(line: &mut impl Line, sweep: &Sweep, figures: &mut Figures) -> Result<()> {
    let mut records = BTreeMap::new();
    let mut number = 0;
    for size in order(sweep) {
        let record = records.entry(size).or_insert_with(|| SizeRecord {
            size_bytes: size,
            rtt_us: Vec::new(),
            rtt_minimum_us: Vec::new(),
            total_us: Vec::new(),
            resent_pkts: 0,
        });
        measure(line, sweep, record, &mut number, figures)?;
    }
    figures.sizes = records.into_values().collect();
    Ok(())
}

/// Measures a size once. Its round-trip time is that of requests of the full size that were sent once:
/// whether an answer is to the first or the second sending can't be told (Karn's rule, RFC 6298 section
/// 3), and the last request may be shorter. Where there is none of those, it is that of all.
fn measure(
    line: &mut impl Line,
    sweep: &Sweep,
    record: &mut SizeRecord,
    number: &mut u64,
    figures: &mut Figures,
) -> Result<()> {
    let (mut clean, mut all) = (Times::default(), Times::default());
    let begin = Instant::now();
    let mut left = sweep.bytes.0;
    while left > 0 {
        let size = left.min(record.size_bytes).max(HEADER_BYTES as u64);
        let bytes = usize::try_from(size)?;
        let answer = if sweep.answer == Answer::Echo { bytes } else { HEADER_BYTES };
        let asked = line.ask(*number, bytes, answer)?;
        *number += 1;
        left = left.saturating_sub(size);
        figures.bytes += size;
        record.resent_pkts += asked.resent;
        all.add(asked.rtt_ns);
        if asked.resent == 0 && size == record.size_bytes {
            clean.add(asked.rtt_ns);
        }
    }
    record.total_us.push(begin.elapsed().as_nanos() as f64 / 1e3);
    let times = if clean.count > 0 { clean } else { all };
    record.rtt_us.push(times.sum_ns as f64 / times.count as f64 / 1e3);
    record.rtt_minimum_us.push(times.smallest_ns as f64 / 1e3);
    Ok(())
}

struct Times {
    count: u64,
    sum_ns: u64,
    smallest_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { count: 0, sum_ns: 0, smallest_ns: u64::MAX }
    }
}

impl Times {
    fn add(&mut self, time_ns: u64) {
        self.count += 1;
        self.sum_ns += time_ns;
        self.smallest_ns = self.smallest_ns.min(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Size;
    use proptest::prelude::*;

    fn sweep(first: u64, last: u64, step: u64, repeats: u32, bytes: u64) -> Sweep {
        Sweep {
            first: Size(first),
            last: Size(last),
            step: Size(step),
            repeats,
            bytes: Size(bytes),
            answer: Answer::Acknowledgment,
            seed: 1,
        }
    }

    #[test]
    fn the_order_is_random_and_the_seed_s() {
        let one = sweep(1000, 65_500, 10, 5, 1_000_000);
        assert_eq!(order(&one).len(), 6451 * 5);
        assert_eq!(order(&one), order(&one));
        assert_ne!(order(&one), order(&Sweep { seed: 2, ..one.clone() }));
        let mut sorted = order(&one);
        sorted.sort_unstable();
        assert_ne!(sorted, order(&one));
        sorted.dedup();
        assert_eq!(sorted, (1000..=65_500).step_by(10).collect::<Vec<u64>>());
    }

    /// Answers after as many nanoseconds as the request has bytes; every tenth is sent again.
    struct Ideal(Vec<usize>);

    impl Line for Ideal {
        fn ask(&mut self, number: u64, size: usize, _: usize) -> Result<Asked> {
            assert_eq!(number, self.0.len() as u64);
            self.0.push(size);
            let resent = u64::from(self.0.len().is_multiple_of(10));
            Ok(Asked { rtt_ns: size as u64 + resent * 1_000_000, resent })
        }
    }

    proptest! {
        #[test]
        fn all_bytes_are_sent_and_the_mean_is_of_full_requests_sent_once(
            first in 24u64..3000, width in 0u64..2000, step in 1u64..700, repeats in 1u32..4, bytes in 1u64..20_000,
        ) {
            let sweep = sweep(first, first + width, step, repeats, bytes);
            let mut line = Ideal(Vec::new());
            let mut figures = Figures::default();
            measure_all(&mut line, &sweep, &mut figures).unwrap();
            prop_assert_eq!(figures.bytes, line.0.iter().sum::<usize>() as u64);
            prop_assert!(line.0.iter().all(|&size| size >= HEADER_BYTES));
            let most = (bytes + HEADER_BYTES as u64) * u64::from(repeats) * figures.sizes.len() as u64;
            prop_assert!((bytes * u64::from(repeats) * figures.sizes.len() as u64..most).contains(&figures.bytes));
            for record in &figures.sizes {
                prop_assert_eq!(record.rtt_us.len(), repeats as usize);
                prop_assert!(record.rtt_minimum_us.iter().zip(&record.rtt_us).all(|(least, mean)| least <= mean));
                if bytes >= record.size_bytes * 2 && record.resent_pkts == 0 {
                    prop_assert!(record.rtt_us.iter().all(|&rtt| rtt == record.size_bytes as f64 / 1e3));
                }
            }
            prop_assert!(figures.sizes.windows(2).all(|pair| pair[0].size_bytes + step == pair[1].size_bytes));
        }
    }
}
