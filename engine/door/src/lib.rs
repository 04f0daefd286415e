//! What a listening port needs that anyone can reach: a bounded number of callers ([`Seats`]), reads that
//! end whatever the caller does ([`read_exact_by`], [`read_line_by`]), and a log of refusals that a flood
//! cannot fill a disk with ([`Log`]).
//!
//! It knows nothing of the protocols spoken behind it.

#![forbid(unsafe_code)]

mod deadline;
mod log;
mod port;
mod seats;

pub use deadline::{read_exact_by, read_line_by};
pub use log::Log;
pub use port::{Limits, Visitor, bind, receive};
pub use seats::{Seat, Seats};
