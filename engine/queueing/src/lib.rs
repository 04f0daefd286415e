//! Queue disciplines without input, output and clock: which packets of a queue are sent next, and which are dropped or
//! marked. Times are picoseconds. A packet is whatever its user makes of it.

#![forbid(unsafe_code)]

mod codel;
mod fq;

pub use codel::{CoDel, CoDelSettings, Taken};
pub use fq::FqCoDel;
