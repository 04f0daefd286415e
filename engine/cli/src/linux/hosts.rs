//! The user's own machines as a backend.

use crate::lines;
use crate::serve::{failed, serve_lines};
use anyhow::Result;
use clap::Args;
use nettrial_hosts::{Hosts as Backend, Inventory, Leavers};
use nettrial_scenario::{Event, Failure, FailureKind, Request};
use std::sync::PoisonError;

/// The exit status for bad input.
const BAD_INPUT: i32 = 2;

#[derive(Args)]
pub struct Hosts {
    /// The inventory, a JSON document
    inventory: String,
}

/// Serves requests with the machines of an inventory until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn serve(options: &Hosts) -> Result<()> {
    let mut hosts = Backend::new(inventory(&options.inventory));
    let leavers = hosts.leavers();
    serve_lines(lines::input_until(move || leave(&leavers)), |request| answer(&mut hosts, request))
}

/// Returns the inventory that `text` is. Another text ends this process.
pub fn inventory(text: &str) -> Inventory {
    serde_json::from_str(text).unwrap_or_else(|error| {
        eprintln!("error: reading the inventory: {error}");
        std::process::exit(BAD_INPUT)
    })
}

/// Lets all machines restore their settings at the same time, and waits for them.
fn leave(leavers: &Leavers) {
    let leavers = leavers.lock().unwrap_or_else(PoisonError::into_inner);
    leavers.iter().for_each(nettrial_hosts::Leaver::tell);
    leavers.iter().for_each(nettrial_hosts::Leaver::leave);
}

fn answer(hosts: &mut Backend, request: Request) -> Event {
    match request {
        Request::Preflight { thorough } => {
            Event::Preflight { preflight: Box::new(hosts.preflight(thorough)) }
        }
        Request::Check { scenario } => Event::Checked { problems: hosts.check(&scenario), estimate: None },
        Request::Run { trial, capture: Some(_), .. } => failed(
            trial,
            &Failure::new(FailureKind::Other, "packets can't be captured on machines of your own"),
        ),
        Request::Run { trial, scenario, capture: None, .. } => match hosts.run(&scenario) {
            Ok(record) => Event::Record { trial, record: Box::new(record) },
            Err(error) => failed(trial, &error),
        },
    }
}
