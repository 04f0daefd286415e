//! Whole trials: scenarios in, records out.

mod checks;
mod datagrams;
mod scenarios;
