//! Decides what a flow sends when and computes its figures, whoever carries it: real hosts or simulated ones. The
//! same workload so means the same everywhere.
//!
//! Nothing here reads a clock or does input or output: times are nanoseconds that the caller gives.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod departures;
pub mod requests;
pub mod sequence;
pub mod statistics;
pub mod sweep;
pub mod unanswered;
pub mod variate;
pub mod wire;
