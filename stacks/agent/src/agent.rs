//! The orders of the agent (`engine/traffic/src/protocol.rs`), carried out on a host.

use crate::host::Host;
use crate::stack::Stack;
use crate::{Context, datagram, exchange, listener, packets, path_mtu, sweep, transfer};
use nettrial_scenario::{FlowRecord, Traffic, Transport};
use nettrial_traffic::parts::{Figures, Samples};
use nettrial_traffic::{Command, Error, Reply, Result, Side};
use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// Serves orders from `input` until it ends. Without a host, each fails for the reason why there is none.
///
/// # Errors
/// Fails if the input can't be read, or one of its lines is not an order.
pub fn run<S: Stack>(input: impl BufRead, host: Result<Arc<Host<S>>>) -> Result<()> {
    nettrial_traffic::serve_orders(input, move |command| match &host {
        Ok(host) => execute(host, command).unwrap_or_else(|error| Reply::failed(&error)),
        Err(error) => Reply::failed(error),
    })
}

fn execute<S: Stack>(host: &Arc<Host<S>>, command: Command) -> Result<Reply> {
    Ok(match command {
        Command::Listen(side)
            if side.flow.transport == Transport::Udp && !matches!(side.flow.traffic, Traffic::Packets(_)) =>
        {
            Reply::Listening { port: datagram::listen(host, side, listener::serve_datagrams)? }
        }
        Command::Listen(side) => Reply::Listening { port: listener::listen(host, side)? },
        Command::Respond { cookie, address } => {
            Reply::Listening { port: path_mtu::respond(host, cookie, address)? }
        }
        Command::ProbePathMtu { cookie, address, destination, expected, round_trip } => {
            Reply::PathMtu(path_mtu::probe(host, cookie, address, destination, expected, round_trip)?)
        }
        Command::Inspect { side, destination } => {
            Reply::Inspected(listener::inspect(host, &side, destination)?)
        }
        Command::Start { side, destination, sample_ns } => {
            let doing = format!("flow {} to {destination}", side.flow.name);
            let record = flow(host, &side, destination, sample_ns).context(&doing)?;
            Reply::Finished(Box::new(record), Vec::new())
        }
    })
}

/// Runs the flow of `side` to its end, after the flow's start time, and returns its record. Its intervals, if it has any, are
/// of `sample_ns`.
fn flow<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    destination: SocketAddr,
    sample_ns: u64,
) -> Result<FlowRecord> {
    let origin = Instant::now();
    std::thread::sleep(side.flow.start.as_std());
    let mut samples = Samples::default();
    let figures: Figures = match &side.flow.traffic {
        Traffic::Transfer(settings) => transfer::send(host, side, settings, destination, &mut samples)?,
        Traffic::RequestResponse(settings) => {
            exchange::request(host, side, settings, destination, &mut samples)?
        }
        Traffic::Sweep(settings) => sweep::run(host, side, settings, destination, &mut samples)?,
        Traffic::Packets(settings) => {
            return packets::send(host, side, settings, destination, origin, sample_ns);
        }
        other => {
            return Err(Error::Unsupported(format!("traffic of the kind {} is not carried", other.kind())));
        }
    };
    Ok(figures.record(&side.flow, samples, origin))
}
