//! The parts of links that have no input, output and clock: queue disciplines, which decide the packets of a queue to be
//! sent next, dropped or marked, and impairments, which decide the fate of each frame. Times are in picoseconds. The
//! caller chooses the type of packets.

#![forbid(unsafe_code)]

mod codel;
mod fq;
mod impairment;

pub use codel::{CoDel, CoDelSettings, Taken};
pub use fq::FqCoDel;
pub use impairment::{Fate, Fates};
