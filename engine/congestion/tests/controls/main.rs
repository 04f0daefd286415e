//! Tests the controls from their users' view: windows after acknowledgments and losses.

mod by_delay;
mod conformance;
mod coupled;
mod kernel;
mod loss_based;
mod marks;
mod path;
mod rate_based;
mod support;
