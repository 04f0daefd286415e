//! Chooses which of several equal paths a flow takes, by a hash of the flow's five-tuple that differs from node to
//! node.
//!
//! The lab uses the kernel's hash, and the simulator uses this one. Both are seeded by [`node_seed`]. With the
//! same hash on every node, all flows that one node sends over a link would also share a link at the next node,
//! and some paths would stay unused.

use nettrial_scenario::random::spread;
use std::net::IpAddr;

/// The fields that identify a flow to a router (Linux's `fib_multipath_hash_policy` 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// The source address of the flow's packets.
    pub source: IpAddr,
    /// The destination address of the flow's packets.
    pub destination: IpAddr,
    /// The transport protocol's number (RFC 5237).
    pub protocol: u8,
    /// The transport's port at the source, or 0.
    pub source_port: u16,
    /// The transport's port at the destination, or 0.
    pub destination_port: u16,
}

/// Returns the number of the next hop, of `paths` equal ones, that the packets of `flow` take at the node with
/// this seed. All next hops are equally likely.
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
    // The high half of the product is uniform over 0..paths (Lemire 2019).
    ((u128::from(hash) * paths as u128) >> 64) as usize
}

/// Returns the seed of the hash of node number `node`. It is never 0, which means a random seed to Linux.
pub fn node_seed(seed: u64, node: usize) -> u32 {
    let mixed = spread(spread(seed) ^ node as u64);
    ((mixed >> 32) as u32).max(1)
}
