//! Whole trials: scenarios in, records out.

mod checks;
mod connections;
mod datagrams;
mod offloads;
mod outages;
mod scenarios;
mod series;
mod wlan;
