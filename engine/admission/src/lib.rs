//! Protection of a listening port that anyone can reach: a bounded number of callers, none of whom
//! keeps others out ([`receive`]), a bounded number of places for work ([`Seats`]), reads that
//! end whatever the caller does ([`read_exact_by`], [`read_line_by`]), lines of bounded length
//! ([`read_line`]), outputs of programs that end ([`output`]), texts that cannot write to a terminal
//! ([`one_line`], [`document`]), and a log in which a flood of one kind hides no other ([`Log`]).
//!
//! It knows nothing of the protocols spoken behind it.

#![forbid(unsafe_code)]

mod deadline;
mod kernel;
mod lines;
mod log;
mod output;
mod pending;
mod port;
mod seats;
mod text;

pub use deadline::{read_exact_by, read_line_by};
pub use kernel::{loaded_congestion_controls, raise_descriptor_limit};
pub use lines::{lines, pieces, read_line, read_text};
pub use log::{Kind, Log};
pub use output::output;
pub use pending::Limits;
pub use port::{Visitor, bind, receive};
pub use seats::{Seat, Seats, network};
pub use text::{document, one_line, plain_text};
