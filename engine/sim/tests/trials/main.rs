//! Whole trials: scenarios in, records out.

mod checks;
mod connections;
mod datagrams;
mod scenarios;
mod series;
