//! Tests of the choice among equal paths, which is even, and independent at each node.

use nettrial_routing::{FiveTuple, choose, node_seed};
use proptest::prelude::*;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const FLOWS: usize = 20_000;
/// A bound that χ² of up to 8 classes (7 degrees of freedom) exceeds once in 10¹⁰ times.
const HIGHEST_CHI_SQUARED: f64 = 60.0;

/// Returns flows that differ only in their source port, like those between a pair of hosts, or in the numbers of
/// their hosts.
fn flows(ip: u8, by_port: bool) -> impl Iterator<Item = FiveTuple> {
    (0..FLOWS).map(move |number| {
        let host = |number: usize| -> IpAddr {
            match ip {
                4 => Ipv4Addr::from_bits(0x0a00_0001 + 256 * u32::try_from(number).unwrap()).into(),
                _ => Ipv6Addr::from_bits(0xfd << 120 | (number as u128) << 64 | 1).into(),
            }
        };
        let (a, b) = if by_port { (1, 2) } else { (number, 2 * number + 1) };
        FiveTuple {
            source: host(a),
            destination: host(b),
            protocol: 6,
            source_port: 32_768 + if by_port { u16::try_from(number).unwrap() } else { 0 },
            destination_port: 5001,
        }
    })
}

fn chi_squared(choices: impl Iterator<Item = usize>, paths: usize) -> f64 {
    let mut counts = vec![0f64; paths];
    choices.for_each(|choice| counts[choice] += 1.0);
    let expected = counts.iter().sum::<f64>() / paths as f64;
    counts.iter().map(|count| (count - expected).powi(2) / expected).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn flows_spread_evenly(seed: u32, paths in 2..9usize, ip in prop::sample::select(vec![4, 6]), by_port: bool) {
        let found = chi_squared(flows(ip, by_port).map(|flow| choose(&flow, seed, paths)), paths);
        prop_assert!(found < HIGHEST_CHI_SQUARED, "chi squared {}", found);
    }

    #[test]
    fn flows_that_one_node_sends_the_same_way_are_spread_by_the_next(seed: u64, node in 0..1000usize) {
        let [here, next] = [node_seed(seed, node), node_seed(seed, node + 1)];
        let same = flows(4, true).filter(|flow| choose(flow, here, 4) == 0);
        let found = chi_squared(same.map(|flow| choose(&flow, next, 4)), 4);
        prop_assert!(found < HIGHEST_CHI_SQUARED, "chi squared {}", found);
    }

    #[test]
    fn every_node_has_a_seed_of_its_own(seed: u64) {
        let seeds: HashSet<u32> = (0..1000).map(|node| node_seed(seed, node)).collect();
        prop_assert!(!seeds.contains(&0));
        // Among 1000 numbers of 32 bits, two are equal once in 9000 times, and three hardly ever.
        prop_assert!(seeds.len() >= 998);
    }
}

#[test]
fn a_flow_keeps_to_its_path() {
    for flow in flows(6, true).take(100) {
        assert_eq!(choose(&flow, 7, 4), choose(&flow, 7, 4));
        assert_eq!(choose(&flow, 7, 1), 0);
    }
}
