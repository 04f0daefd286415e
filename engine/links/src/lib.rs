//! The parts of links that have no input, output and clock: queue disciplines, which decide the packets of a queue to be
//! sent next, dropped or marked, impairments, which decide the fate of each frame, and rates and delays that follow traces.
//! Times are in picoseconds unless their names say otherwise. The caller chooses the type of packets.

#![forbid(unsafe_code)]

mod codel;
mod delays;
mod fq;
mod impairment;
mod red;
mod trace;

pub use codel::{CoDel, CoDelSettings, Taken};
pub use delays::Delays;
pub use fq::{Backlog, FqCoDel};
pub use impairment::{Fate, Fates};
pub use red::IdleTable;
pub use trace::Trace;
