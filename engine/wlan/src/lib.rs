//! The 802.11 medium: an access point and its stations on one channel. It does no input or output and has no clock: who
//! drives it says what time it is.
//!
//! ```text
//! offer (a packet) ──> outbox of a receiver ──> contender (EDCA) ──> medium: exchange or collision ──> outcomes
//! ```
//!
//! [`Medium::next`] is the time of its next event, [`Medium::advance`] has it happen. Times are picoseconds in 64 bits,
//! whole and exact. What is random follows from a seed. All stations hear each other, and a medium is in one state for
//! all of them: nobody sends, or an exchange or a collision goes on. The standard is IEEE 802.11-2020; clause numbers
//! are its own.

#![forbid(unsafe_code)]

mod contender;
mod counters;
mod medium;
mod outbox;
mod phy;
mod record;
mod timing;

pub use contender::Category;
pub use counters::{Counters, Delay};
pub use medium::{Medium, Outcome};
pub use phy::Phy;
pub use timing::Timing;

use nettrial_scenario::random::Random;

/// The purpose of the channels' random numbers.
const PURPOSE: u64 = 0x776c_616e_0000_0000;

/// The random numbers of the channel that is the link with this number of a scenario with this seed.
pub fn random(seed: u64, link: usize) -> Random {
    Random::new(seed, PURPOSE | link as u64)
}
