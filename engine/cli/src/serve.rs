//! Requests in, events out, for a backend.

use crate::lines;
use anyhow::Result;
use nettrial_lab::Lab;
use nettrial_scenario::{Event, Preflight, Request};
use nettrial_sim as sim;

/// Serves requests with the lab until the input ends.
pub fn lab() -> Result<()> {
    // Before any thread: a process with several cannot enter a user namespace.
    let lab = Lab::enter();
    serve(|request| answer(&lab, request))
}

/// Serves requests with the simulator until the input ends.
pub fn simulator() -> Result<()> {
    serve(simulate)
}

fn serve(answer: impl Fn(Request) -> Event) -> Result<()> {
    for line in lines::input() {
        let event = match serde_json::from_str(&line) {
            Ok(request) => answer(request),
            Err(error) => Event::Refused { message: format!("not a request: {error}") },
        };
        lines::output(&event)?;
    }
    Ok(())
}

fn simulate(request: Request) -> Event {
    match request {
        Request::Preflight { .. } => Event::Preflight { preflight: sim::preflight() },
        Request::Check { scenario } => match sim::check(&scenario) {
            Ok(estimate) => Event::Checked { problems: Vec::new(), estimate: Some(estimate) },
            Err(problems) => Event::Checked { problems, estimate: None },
        },
        Request::Run { trial, scenario } => match sim::run(&scenario) {
            Ok(record) => Event::Record { trial, record: Box::new(record) },
            Err(error) => Event::Failed { trial, message: format!("{error:#}") },
        },
    }
}

fn answer(lab: &Result<Lab, Box<Preflight>>, request: Request) -> Event {
    match (request, lab) {
        (Request::Preflight { thorough }, Ok(lab)) => Event::Preflight { preflight: lab.preflight(thorough) },
        (Request::Preflight { .. }, Err(refusal)) => Event::Preflight { preflight: (**refusal).clone() },
        (Request::Check { scenario }, Ok(lab)) => {
            Event::Checked { problems: lab.check(&scenario), estimate: None }
        }
        (Request::Check { scenario }, Err(_)) => {
            Event::Checked { problems: nettrial_scenario::check(&scenario), estimate: None }
        }
        (Request::Run { trial, scenario }, Ok(lab)) => match lab.run(&scenario) {
            Ok(record) => Event::Record { trial, record: Box::new(record) },
            Err(error) => Event::Failed { trial, message: format!("{error:#}") },
        },
        (Request::Run { trial, .. }, Err(refusal)) => {
            let reasons: Vec<String> =
                refusal.missing.iter().map(|missing| format!("{}: {}", missing.what, missing.why)).collect();
            Event::Failed { trial, message: reasons.join("; ") }
        }
    }
}
