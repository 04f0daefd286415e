//! The 802.11 medium: an access point and its stations on one channel. It does no input or output and has no clock: who
//! drives it says what time it is.
//!
//! ```text
//! offer (a packet) ──> outbox of a receiver ──> contender (EDCA) ──> medium: exchange or collision ──> outcomes
//! ```
//!
//! [`Medium::next`] is the time of its next event, [`Medium::advance`] has it happen. Times are picoseconds in 64 bits,
//! whole and exact. What is random follows from a seed. The standard is IEEE 802.11-2020; clause numbers are its own.
//!
//! | module | has |
//! | --- | --- |
//! | `medium` | who begins to send, each frame of an exchange, what becomes of it |
//! | `airspace` | the frames in the air, what each station senses and each receiver hears beside a frame |
//! | `propagation` | the power of each station at each other one |
//! | `errors` | the probability that noise takes an MPDU |
//! | `contender`, `outbox` | EDCA of a category, aggregation and retries to a receiver |
//! | `rates`, `minstrel` | the rates, and the choice among them |
//! | `phy`, `timing` | durations and sizes |
//! | `sniffer` | what stations send, as the frames of a capture |
//!
//! The model differs from the standard where docs/explanation/radio.md says so. In short: slots that follow EIFS or a missing
//! response begin together with those of others; carrier sense takes no time and goes by the strongest frame; a bystander
//! that hears one frame alone can read it; receivers can read at any time, whatever they received when a stronger frame began;
//! channels do not fade. It stops being valid where these matter: below a slot, at the edge of a station's reach, in
//! motion.

#![forbid(unsafe_code)]

mod airspace;
mod contender;
mod counters;
mod errors;
mod medium;
mod minstrel;
mod outbox;
mod phy;
mod propagation;
mod rates;
mod record;
mod sniffer;
mod timing;

pub use contender::Category;
pub use counters::{Counters, Delay, DelaySeries, RateCounts};
pub use medium::{Medium, Outcome, Packet, Sent};
pub use phy::Phy;
pub use sniffer::Sniffer;
pub use timing::Timing;

use nettrial_scenario::random::Random;

/// The purpose of the channels' random numbers.
const PURPOSE: u64 = 0x776c_616e_0000_0000;

/// The random numbers of the channel that is the link with this number of a scenario with this seed.
pub fn random(seed: u64, link: usize) -> Random {
    Random::new(seed, PURPOSE | link as u64)
}
