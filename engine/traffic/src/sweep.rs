//! Requests of many sizes in random order on one connection.
//!
//! A request begins with a [`Header`] whose third field is its size, so the receiver need not know the order. An
//! answer is a header alone, or has as many bytes as the request.

mod datagram;
mod stream;

pub use datagram::respond as respond_to_datagrams;
pub use stream::respond as respond_to_stream;

use crate::error::Result;
use crate::flow_record::Figures;
use crate::protocol::Side;
use crate::sampler::Sampler;
use nettrial_flows::sweep::{Measurement, Reply, Sizes, answer_bytes, order};
use nettrial_scenario::{Sweep, Transport};
use std::net::SocketAddr;
use std::time::Instant;

/// A carrier of requests and their answers.
pub trait Line {
    /// Sends the request `number` of `size` bytes, and waits for its answer of `answer` bytes.
    fn request(&mut self, number: u64, size: usize, answer: usize) -> Result<Reply>;
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
    figures.began = Some(begin);
    Ok(figures)
}

/// Measures each size of `sweep` as often as it asks for, over `line`.
pub fn measure_all(line: &mut impl Line, sweep: &Sweep, figures: &mut Figures) -> Result<()> {
    let mut sizes = Sizes::default();
    let mut number = 0;
    for size in order(sweep) {
        let mut measurement = Measurement::new(sweep, size);
        let begin = Instant::now();
        while let Some(bytes) = measurement.next() {
            let answer = answer_bytes(sweep, bytes);
            let reply = line.request(number, usize::try_from(bytes)?, usize::try_from(answer)?)?;
            number += 1;
            figures.bytes += bytes;
            measurement.answered(reply);
        }
        sizes.add(&measurement, u64::try_from(begin.elapsed().as_nanos())?);
    }
    figures.sizes = sizes.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_BYTES;
    use nettrial_scenario::{Answer, Size};
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

    /// Answers after as many nanoseconds as the request has bytes; every tenth is retransmitted.
    struct Ideal(Vec<usize>);

    impl Line for Ideal {
        fn request(&mut self, number: u64, size: usize, _: usize) -> Result<Reply> {
            assert_eq!(number, self.0.len() as u64);
            self.0.push(size);
            let resent = u64::from(self.0.len().is_multiple_of(10));
            Ok(Reply { rtt_ns: size as u64 + resent * 1_000_000, resent })
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
