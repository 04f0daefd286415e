//! Chooses which of several equal paths a flow takes: by a hash of what names the flow, which no two nodes share.
//!
//! The lab's kernels have a hash of their own; this is the simulator's. Both are seeded by [`node_seed`]: were
//! the hash the same on each node, flows that one node sent over the same link would all be sent over the same link
//! by the next, and part of the paths would stay empty.

use nettrial_scenario::random::spread;
use std::net::IpAddr;

/// The fields that name a flow to a router (`fib_multipath_hash_policy` 1 of Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// The source of its packets.
    pub source: IpAddr,
    /// The destination of its packets.
    pub destination: IpAddr,
    /// The transport protocol's number (RFC 5237).
    pub protocol: u8,
    /// The transport's port at the source, or 0.
    pub source_port: u16,
    /// The transport's port at the destination, or 0.
    pub destination_port: u16,
}

/// Returns which of `paths` equal next hops the packets of `flow` take at the node with this seed: a number below
/// `paths`, each as likely as another.
pub fn choose(flow: &FiveTuple, seed: u32, paths: usize) -> usize {
    let words = |address: IpAddr| {
        let bits = match address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address),
        };
        [(bits >> 64) as u64, bits as u64]
    };
    let [a, b] = words(flow.source);
    let [c, d] = words(flow.destination);
    let ports = u64::from(flow.source_port) << 16 | u64::from(flow.destination_port);
    let rest = u64::from(flow.protocol) << 32 | ports;
    let hash = [a, b, c, d, rest].into_iter().fold(spread(u64::from(seed)), |hash, word| spread(hash ^ word));
    // The high half of a product is even over 0..paths (Lemire 2019).
    ((u128::from(hash) * paths as u128) >> 64) as usize
}

/// The seed of the hash of node number `node`, never 0: to Linux that means a random one.
pub fn node_seed(seed: u64, node: usize) -> u32 {
    let mixed = spread(spread(seed) ^ node as u64);
    ((mixed >> 32) as u32).max(1)
}
