//! Reads requests and writes events for a backend.

use crate::lines;
use anyhow::Result;
use nettrial_fluid as fluid_model;
use nettrial_scenario::{Event, FailureKind, Fault, Preflight, Request};
use nettrial_sim as sim;
use std::sync::mpsc::Receiver;

/// Serves requests with the simulator until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn simulator() -> Result<()> {
    serve(simulate)
}

/// Serves requests with the fluid model until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn fluid() -> Result<()> {
    serve(compute)
}

/// Answers requests until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn serve(answer: impl FnMut(Request) -> Event) -> Result<()> {
    serve_lines(lines::input(), answer)
}

/// Answers the requests in `lines`.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn serve_lines(lines: Receiver<String>, mut answer: impl FnMut(Request) -> Event) -> Result<()> {
    for line in lines {
        let event = match serde_json::from_str(&line) {
            Ok(request) => span_of(&request).in_scope(|| {
                let event = answer(request);
                log(&event);
                event
            }),
            Err(error) => Event::Refused { message: format!("not a request: {error}") },
        };
        lines::output(&event)?;
    }
    Ok(())
}

/// The span of a request's answer in the log.
fn span_of(request: &Request) -> tracing::Span {
    match request {
        Request::Preflight { thorough } => tracing::debug_span!("preflight", thorough),
        Request::Check { .. } => tracing::debug_span!("check"),
        Request::Run { trial, scenario, .. } => {
            tracing::error_span!(
                "trial",
                number = trial,
                nodes = scenario.nodes.len(),
                flows = scenario.workload.len()
            )
        }
    }
}

/// Logs the outcome of a request.
fn log(event: &Event) {
    match event {
        Event::Record { record, .. } => {
            for warning in &record.warnings {
                tracing::warn!(code = warning.code, object = warning.object, "{}", warning.message);
            }
            tracing::info!(
                warnings = record.warnings.len(),
                checks = record.checks.len(),
                "the trial is over"
            );
        }
        Event::Failed { message, .. } => tracing::error!("the trial failed: {message}"),
        Event::Checked { problems, .. } => tracing::info!(problems = problems.len(), "checked"),
        Event::Preflight { preflight } => {
            tracing::info!(missing = preflight.missing.len(), "examined the machine")
        }
        Event::Refused { message } => tracing::error!("refused: {message}"),
    }
}

fn simulate(request: Request) -> Event {
    match request {
        Request::Preflight { .. } => Event::Preflight { preflight: Box::new(sim::preflight()) },
        Request::Check { scenario } => match sim::check(&scenario) {
            Ok(estimate) => Event::Checked { problems: Vec::new(), estimate: Some(estimate) },
            Err(problems) => Event::Checked { problems, estimate: None },
        },
        Request::Run { trial, scenario, capture, threads } => {
            match sim::run(&scenario, capture.as_ref(), threads as usize) {
                Ok(record) => Event::Record { trial, record: Box::new(record) },
                Err(error) => failed(trial, &error),
            }
        }
    }
}

fn compute(request: Request) -> Event {
    match request {
        Request::Preflight { .. } => {
            let mut preflight = sim::preflight();
            let capabilities = fluid_model::capabilities();
            preflight.environment.kernel = "computed".to_owned();
            preflight.environment.congestion_controls.clone_from(&capabilities.congestion_controls);
            preflight.capabilities = Some(Box::new(capabilities));
            Event::Preflight { preflight: Box::new(preflight) }
        }
        Request::Check { scenario } => {
            Event::Checked { problems: fluid_model::check(&scenario), estimate: None }
        }
        Request::Run { trial, scenario, .. } => match fluid_model::run(&scenario) {
            Ok(record) => Event::Record { trial, record: Box::new(record) },
            Err(error) => failed(trial, &error),
        },
    }
}

/// Returns the answer to a request whose trial, of this name, failed.
pub fn failed(trial: String, error: &impl Fault) -> Event {
    Event::Failed { trial, kind: error.kind(), message: error.in_words() }
}

/// Returns the answer of a backend that can't run here, with the missing features. Faults of a scenario are still
/// reported.
pub fn refused(refusal: &Preflight, request: Request) -> Event {
    match request {
        Request::Preflight { .. } => Event::Preflight { preflight: Box::new(refusal.clone()) },
        Request::Check { scenario } => {
            Event::Checked { problems: nettrial_scenario::check(&scenario), estimate: None }
        }
        Request::Run { trial, .. } => {
            let reasons: Vec<String> =
                refusal.missing.iter().map(|missing| format!("{}: {}", missing.what, missing.why)).collect();
            Event::Failed { trial, kind: FailureKind::Other, message: reasons.join("; ") }
        }
    }
}
