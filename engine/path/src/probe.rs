//! A probe, and what may come of it.

use anyhow::Result;
use std::net::IpAddr;
use std::time::Duration;

/// The number of times that a lost probe is sent before it counts as lost (RFC 8899 section 5.1.2, MAX_PROBES).
pub const MAX_PROBES: usize = 3;

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probe {
    /// Bytes of the whole IP packet.
    pub size: u64,
    /// After how many links it expires; as far as it goes where absent.
    pub hops: Option<u8>,
}

/// The outcome of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems do not tell of all of these"))]
pub enum Outcome {
    /// Nothing was heard of it.
    Lost,
    /// It was dropped, and `by` claims it had to be no larger than `mtu`.
    TooBig {
        /// The sender of that message.
        by: IpAddr,
        /// The MTU that it claims.
        mtu: u64,
    },
    /// The far host, or a router, says that it can't be delivered.
    Refused {
        /// The sender of that message.
        by: IpAddr,
    },
    /// It expired at a router, which says so: it came there.
    Expired {
        /// The router.
        by: IpAddr,
        /// Time until the message came.
        rtt: Duration,
    },
    /// The far host answered it.
    Arrived {
        /// Time until the answer came.
        rtt: Duration,
        /// The largest fragment that the answer came in; absent where it came whole.
        fragment: Option<u64>,
    },
}

impl Outcome {
    /// Returns whether the far host answered.
    pub fn arrived(self) -> bool {
        matches!(self, Self::Arrived { .. })
    }

    /// Returns how much `self` tells: of two outcomes of one probe the greater counts, so that a message that
    /// anybody can send never hides that the packet arrived.
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

/// The messages that a sender of probes hears beside answers of the far host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hearing {
    /// The place where a packet expired.
    pub expiry: bool,
    /// The MTU that a message claims of a packet that is too big.
    pub claims: bool,
    /// The fragments that an answer came in.
    pub fragments: bool,
}

/// A sender of probes: sockets, or a model of a path in a test.
pub trait Prober {
    /// Returns what it hears: everything, unless the system keeps it from programs.
    fn hearing(&self) -> Hearing {
        Hearing { expiry: true, claims: true, fragments: true }
    }

    /// Sends each of `probes` once and waits for what comes of it, at most as long as an answer may take.
    /// A claim that the packet is too big ends the wait for it where `heed` is set, else only an answer
    /// that shows that the packet came somewhere.
    ///
    /// # Errors
    /// Fails where this machine can't send.
    fn round(&mut self, probes: &[Probe], heed: bool) -> Result<Vec<Outcome>>;

    /// Sends each of `probes` until something shows where it came, [`MAX_PROBES`] times at most.
    ///
    /// # Errors
    /// Fails where this machine can't send.
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

    /// Returns whether the far host answers a packet of `size` bytes, sent [`MAX_PROBES`] times at most.
    ///
    /// # Errors
    /// Fails where this machine can't send.
    fn passes(&mut self, size: u64) -> Result<bool> {
        Ok(self.insist(&[Probe { size, hops: None }])?[0].arrived())
    }
}
