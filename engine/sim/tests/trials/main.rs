//! Tests of whole trials, from the scenario to the record.

mod checks;
mod connections;
mod datagrams;
mod mechanisms;
mod offloads;
mod outages;
mod scenarios;
mod series;
mod wlan;
