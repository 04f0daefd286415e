//! Probes, their outcomes, and the trait of their senders.

use crate::error::Result;
use std::net::IpAddr;
use std::time::Duration;

/// The number of times that an unanswered probe is sent before it counts as lost (RFC 8899 section 5.1.2,
/// MAX_PROBES).
pub const MAX_PROBES: usize = 3;

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probe {
    /// The size of the whole IP packet, in bytes.
    pub size: u64,
    /// The number of links after which the packet expires; if absent, it has the system's usual hop limit.
    pub hops: Option<u8>,
}

/// The outcome of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems do not report all of these"))]
pub enum Outcome {
    /// Nothing was heard of the packet.
    Lost,
    /// The packet was dropped, and `by` claims that it had to be no larger than `mtu`.
    TooBig {
        /// The sender of that message.
        by: IpAddr,
        /// The MTU that it claims.
        mtu: u64,
    },
    /// The far host or a router reports that the packet can't be delivered.
    Refused {
        /// The sender of that message.
        by: IpAddr,
    },
    /// The packet expired at a router that reports so, which shows that the packet got there.
    Expired {
        /// The router's address.
        by: IpAddr,
        /// The time from sending the probe to receiving the message.
        rtt: Duration,
    },
    /// The far host answered the packet.
    Arrived {
        /// The time from sending the probe to receiving the answer.
        rtt: Duration,
        /// The size of the answer's largest fragment; absent if the answer arrived whole.
        fragment: Option<u64>,
    },
}

impl Outcome {
    /// Returns true if the far host answered.
    pub fn arrived(self) -> bool {
        matches!(self, Self::Arrived { .. })
    }

    /// Returns the weight of the outcome: of two outcomes of one probe the one with the greater weight counts, so
    /// that a message that anybody can forge never hides that the packet arrived.
    pub fn weight(self) -> u8 {
        match self {
            Self::Lost => 0,
            Self::TooBig { .. } => 1,
            Self::Refused { .. } => 2,
            Self::Expired { .. } => 3,
            Self::Arrived { .. } => 4,
        }
    }
}

/// The messages that a sender of probes receives beside the answers of the far host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hearing {
    /// True if it receives messages about the place where a packet expired.
    pub expiry: bool,
    /// True if it receives the MTU that a message about a too big packet claims.
    pub claims: bool,
    /// True if it sees whether an answer arrived in fragments.
    pub fragments: bool,
}

/// A sender of probes: sockets, or a model of a path in a test.
pub trait Prober {
    /// Returns the messages that the sender receives: all of them, unless the system hides some from programs.
    fn hearing(&self) -> Hearing {
        Hearing { expiry: true, claims: true, fragments: true }
    }

    /// Sends each of `probes` once and waits for its outcome, at most as long as an answer may take. If `heed` is
    /// set, a claim that a packet is too big ends the wait for its answer; otherwise only an answer that shows how
    /// far the packet got does.
    ///
    /// # Errors
    /// Fails if this machine can't send.
    fn round(&mut self, probes: &[Probe], heed: bool) -> Result<Vec<Outcome>>;

    /// Sends each of `probes` until an answer shows how far it got, at most [`MAX_PROBES`] times.
    ///
    /// # Errors
    /// Fails if this machine can't send.
    fn insist(&mut self, probes: &[Probe]) -> Result<Vec<Outcome>> {
        let mut outcomes = vec![Outcome::Lost; probes.len()];
        for _ in 0..MAX_PROBES {
            let open: Vec<usize> = (0..probes.len()).filter(|&at| outcomes[at].weight() < 3).collect();
            if open.is_empty() {
                break;
            }
            let again: Vec<Probe> = open.iter().map(|&at| probes[at]).collect();
            for (at, outcome) in open.into_iter().zip(self.round(&again, false)?) {
                if outcome.weight() > outcomes[at].weight() {
                    outcomes[at] = outcome;
                }
            }
        }
        Ok(outcomes)
    }

    /// Returns true if the far host answers a packet of `size` bytes, which is sent at most [`MAX_PROBES`] times.
    ///
    /// # Errors
    /// Fails if this machine can't send.
    fn passes(&mut self, size: u64) -> Result<bool> {
        Ok(self.insist(&[Probe { size, hops: None }])?[0].arrived())
    }
}
