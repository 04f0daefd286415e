//! The lab as a backend.

use super::hosts::inventory;
use super::station::joining;
use crate::serve::{failed, refused, serve as serve_with};
use anyhow::Result;
use clap::Args;
use nettrial_lab::{Clock, Lab};
use nettrial_scenario::{Event, Preflight, Request};

#[derive(Args)]
pub struct Options {
    /// The inventory of the machines that may be on the lab's links, a JSON document
    inventory: Option<String>,
}

/// Serves requests with the lab until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn serve(options: Options) -> Result<()> {
    let machines = options.inventory.map_or_else(Vec::new, |text| joining(inventory(&text)));
    // This happens before any thread is started, because a process with several threads can't enter a user
    // namespace.
    let lab = Lab::enter(Clock::Real).map(|lab| lab.with_machines(machines));
    serve_with(|request| answer(&lab, request))
}

/// Returns the answer of a lab, or of what it lacks.
pub fn answer(lab: &Result<Lab, Box<Preflight>>, request: Request) -> Event {
    let lab = match lab {
        Ok(lab) => lab,
        Err(refusal) => return refused(refusal, request),
    };
    match request {
        Request::Preflight { thorough } => Event::Preflight { preflight: Box::new(lab.preflight(thorough)) },
        Request::Check { scenario } => Event::Checked { problems: lab.check(&scenario), estimate: None },
        Request::Run { trial, scenario, capture, .. } => match lab.run(&scenario, capture.as_ref()) {
            Ok(record) => Event::Record { trial, record: Box::new(record) },
            Err(error) => failed(trial, &error),
        },
    }
}
