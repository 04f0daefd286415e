//! Decides what a flow sends at what time, and computes its figures, for real and for simulated hosts alike, so
//! that a workload means the same on every backend.
//!
//! This crate reads no clock and does no input or output. The caller passes times in nanoseconds.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod departures;
mod error;
pub mod recovery;
pub mod requests;
pub mod sequence;
pub mod statistics;
pub mod sweep;
pub mod unanswered;
pub mod variate;
pub mod waits;
pub mod wire;

pub use error::{Error, Result};
