//! Queue disciplines without input, output and clock, which decide the packets of a queue to be sent next, dropped
//! or marked. Times are in picoseconds. The caller chooses the type of packets.

#![forbid(unsafe_code)]

mod codel;
mod fq;

pub use codel::{CoDel, CoDelSettings, Taken};
pub use fq::FqCoDel;
