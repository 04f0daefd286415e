//! The 802.11 medium: an access point and its stations on one channel. The crate has no input or output and no
//! clock; its caller supplies the time.
//!
//! ```text
//! offer (a packet) ──> outbox of a receiver ──> contender (EDCA) ──> medium: exchange or collision ──> outcomes
//! ```
//!
//! [`Medium::next`] returns the time of the next event, and [`Medium::advance`] handles it. Times are integers of
//! picoseconds in 64 bits. Random quantities follow from a seed. The standard is IEEE 802.11-2020; clause numbers
//! refer to it.
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
//! docs/explanation/radio.md lists the differences between the model and the standard. In short: slots after EIFS
//! or a missing response begin together with those of other stations; carrier sense takes no time and depends on
//! the strongest frame; a bystander can read any frame that it hears alone; receivers can begin to read at any
//! time, whatever they were receiving when a stronger frame began; channels do not fade. The model is not valid
//! where these matter: below the duration of a slot, at the limit of a station's range, and for moving stations.

#![forbid(unsafe_code)]

mod airspace;
mod category;
mod contender;
mod counters;
mod errors;
mod medium;
mod outbox;
mod phy;
mod propagation;
mod rates;
mod record;
mod sniffer;
mod timing;

pub use category::Category;
pub use counters::{Counters, Delay, DelaySeries, RateCounts};
pub use medium::{Medium, Outcome, Packet, Sent};
pub use phy::Phy;
pub use sniffer::Sniffer;
pub use timing::Timing;

use nettrial_scenario::random::Random;

/// The purpose of the channels' random numbers.
const PURPOSE: u64 = 0x776c_616e_0000_0000;

/// Returns the random numbers of a channel, from the scenario's seed and the number of the channel's link in the
/// scenario.
pub fn random(seed: u64, link: usize) -> Random {
    Random::new(seed, PURPOSE | link as u64)
}
