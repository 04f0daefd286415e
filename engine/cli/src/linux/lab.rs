//! The lab as a backend.

use crate::serve::{failed, refused, serve as serve_with};
use anyhow::Result;
use nettrial_lab::{Clock, Lab};
use nettrial_scenario::{Event, Preflight, Request};

/// Serves requests with the lab until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn serve() -> Result<()> {
    // This happens before any thread is started, because a process with several threads can't enter a user
    // namespace.
    let lab = Lab::enter(Clock::Real);
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
