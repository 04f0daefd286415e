//! The controls by what their users see: windows after acknowledgments and losses.

mod conformance;
mod coupled;
mod loss_based;
mod support;
