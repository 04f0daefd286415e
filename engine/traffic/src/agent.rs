//! The agent's loop: orders in, reports out.

use crate::error::{Context, Result};
use crate::protocol::{Command, Order, Reply, Report};
use crate::{flow, listener, path_mtu};
use nettrial_admission::lines;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

/// The largest length of an order, in bytes.
const MOST_ORDER_BYTES: u64 = 64 << 20;

/// Serves orders from `input` until it ends, answering on standard output.
///
/// # Errors
/// Fails if the input cannot be read, or one of its lines is not an order.
pub fn run(input: impl BufRead) -> Result<()> {
    serve(input, |command| execute(command).unwrap_or_else(|error| Reply::failed(&error)))
}

/// Serves orders from `input` until it ends, answering on standard output what `execute` returns.
///
/// # Errors
/// Fails if the input cannot be read, or one of its lines is not an order.
pub fn serve(input: impl BufRead, execute: impl Fn(Command) -> Reply + Send + Sync + 'static) -> Result<()> {
    let execute = Arc::new(execute);
    for line in lines(input, MOST_ORDER_BYTES) {
        let order: Order = serde_json::from_str(&line?)?;
        match order.command {
            Command::Inspect { .. } | Command::ProbePathMtu { .. } | Command::Start { .. } => {
                let execute = Arc::clone(&execute);
                std::thread::spawn(move || answer(order.number, order.command, &*execute));
            }
            quick => answer(order.number, quick, &*execute),
        }
    }
    Ok(())
}

fn answer(number: u64, command: Command, execute: &impl Fn(Command) -> Reply) {
    let span = tracing::info_span!("order", number, command = command.name());
    let _entered = span.enter();
    tracing::debug!("carrying it out");
    let reply = execute(command);
    match &reply {
        Reply::Failed { message, .. } => tracing::warn!("failed: {message}"),
        _ => tracing::debug!("done"),
    }
    let line = serde_json::to_string(&Report { number, reply }).expect("a report is always representable");
    let mut output = std::io::stdout().lock();
    // If this fails, the sender of the order is gone, and the end of the input ends the agent.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn execute(command: Command) -> Result<Reply> {
    Ok(match command {
        Command::Listen(side) => Reply::Listening { port: listener::listen(side)? },
        Command::Respond { cookie, address } => {
            Reply::Listening { port: path_mtu::respond(cookie, address)? }
        }
        Command::ProbePathMtu { cookie, address, destination, expected, round_trip } => {
            let destination = address.towards(destination);
            Reply::PathMtu(path_mtu::probe(cookie, address, destination, expected, round_trip)?)
        }
        Command::Inspect { side, destination } => {
            Reply::Inspected(listener::inspect(&side, side.address.towards(destination))?)
        }
        Command::Start { side, destination, sample_ns } => {
            let destination = side.address.towards(destination);
            let (record, warnings) = flow::run(&side, destination, Duration::from_nanos(sample_ns))
                .with_context(|| format!("flow {} to {destination}", side.flow.name))?;
            Reply::Finished(Box::new(record), warnings)
        }
    })
}
