//! Traffic with other machines: the commands `serve` and `measure`.

use crate::lines;
use crate::serve::failed;
use crate::system::iperf3;
use anyhow::Result;
use clap::Args;
use nettrial_hosts::OwnMachine;
use nettrial_scenario::{
    Event, Failure, FailureKind, Fault, HostAddress, MeasuredMtu, MtuMeans, Problem, Record,
};
use nettrial_session::{Findings, Reading, Token, VARIABLE};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The exit status for bad input.
const BAD_INPUT: i32 = 2;
/// The exit status for a command that this machine or the network can't run.
const CANNOT: i32 = 3;

#[derive(Args)]
pub struct Serve {
    /// Serve iperf3's clients instead of nettrial's
    #[arg(long)]
    iperf3: bool,
    /// The TCP port, and for iperf3 also the UDP port; 0 for any free port
    #[arg(long)]
    port: Option<u16>,
    /// The address at which to serve [default: all addresses]
    #[arg(long)]
    bind: Option<HostAddress>,
    /// The file that holds the token; else the environment variable NETTRIAL_TOKEN
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// Print the address, the port and a generated token as one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Measure {
    /// The address and port of the machine that serves
    server: SocketAddr,
    /// The server is an iperf3 server
    #[arg(long)]
    iperf3: bool,
    /// The file that holds the token; else the environment variable NETTRIAL_TOKEN
    #[arg(long)]
    token_file: Option<PathBuf>,
}

/// Serves until the process is ended.
pub fn serve(options: Serve) -> Result<()> {
    let port = options.port.unwrap_or(if options.iperf3 { iperf3::PORT } else { nettrial_remote::PORT });
    let served = if options.iperf3 {
        let ready = |at| {
            eprintln!("serving iperf3 clients at {at}; anyone who reaches it can use it");
            announce(options.json, at, None);
        };
        iperf3::serve(options.bind, port, ready)
    } else {
        let given = Token::find(options.token_file.as_deref())
            .unwrap_or_else(|error| end(BAD_INPUT, &error.in_words()));
        let made = given.is_none();
        let token = given.unwrap_or_else(Token::random);
        let text = token.reveal().to_owned();
        nettrial_remote::serve(token, options.bind, port, |at| {
            eprintln!("serving nettrial at {at}");
            announce(options.json, at, made.then_some(text.as_str()));
            if made && !options.json {
                eprintln!(
                    "token: {text}\nIt is valid as long as this program runs. Give it to the other machine \
                     in a file, or in {}.",
                    VARIABLE
                );
            }
        })
    };
    let at = options.bind.map_or("every address".to_owned(), |address| address.to_string());
    served.unwrap_or_else(|error| end(CANNOT, &format!("opening port {port} at {at}: {error}")));
    Ok(())
}

/// Prints the address and port in the document `serve` of nettrial's commands. The server continues even if nobody
/// reads it.
fn announce(wanted: bool, at: SocketAddr, token: Option<&str>) {
    if wanted {
        let document = serde_json::json!({
            "format": 1,
            "nettrial": env!("CARGO_PKG_VERSION"),
            "document": "serve",
            "address": at.to_string(),
            "port": at.port(),
            "token": token,
        });
        let _ = writeln!(std::io::stdout(), "{document}");
    }
}

/// The client that measures.
enum Measurer {
    Iperf3(iperf3::Client),
    Nettrial(Box<nettrial_remote::Client>, Box<OwnMachine>),
}

/// Answers measurements until the input ends. If no session can be opened, this is the answer to each of them.
pub fn measure(options: &Measure) -> Result<()> {
    let lines = lines::input();
    let mut measurer = connect(options);
    for line in lines {
        let event = match (serde_json::from_str::<nettrial_scenario::Measure>(&line), &mut measurer) {
            (Ok(measure), Ok(measurer)) => answer(measurer, measure),
            (Ok(measure), Err(error)) => failed(measure.trial, error),
            (Err(error), _) => Event::Refused { message: format!("not a measurement: {error}") },
        };
        lines::output(&event)?;
    }
    match measurer {
        Ok(Measurer::Nettrial(_, own)) => Ok(own.restore()?),
        _ => Ok(()),
    }
}

fn connect(options: &Measure) -> Result<Measurer, nettrial_remote::Error> {
    if options.iperf3 {
        return Ok(Measurer::Iperf3(iperf3::Client::new(options.server)));
    }
    let token =
        Token::find(options.token_file.as_deref()).unwrap_or_else(|error| end(BAD_INPUT, &error.in_words()));
    let missing = || format!("no token: give it by --token-file or in {VARIABLE}");
    let token = token.unwrap_or_else(|| end(BAD_INPUT, &missing()));
    let client = nettrial_remote::Client::connect(options.server, &token)?;
    Ok(Measurer::Nettrial(Box::new(client), Box::default()))
}

fn answer(measurer: &mut Measurer, measure: nettrial_scenario::Measure) -> Event {
    let mut problems = measure.problems();
    problems.extend(match measurer {
        Measurer::Iperf3(_) => iperf3::problems(&measure),
        Measurer::Nettrial(client, _) => {
            let mut refused = nettrial_traffic::problems(&measure.flow, &measure.flow_place());
            refused.extend(client.mtu_problems(&measure));
            refused
        }
    });
    if !problems.is_empty() {
        return Event::Checked { problems: distinct(problems), estimate: None };
    }
    let made = match measurer {
        Measurer::Iperf3(client) => watched(|| client.run(&measure)).map_err(|error| error.failure()),
        Measurer::Nettrial(client, own) => set_mtu(client, own, &measure)
            .and_then(|()| client.run(&measure).map_err(|error| error.failure())),
    };
    match made {
        Ok(record) => Event::Record { trial: measure.trial, record: Box::new(record) },
        Err(error) => failed(measure.trial, &error),
    }
}

/// Sets the MTU of the interface that reaches the server, if the measurement asks for it.
fn set_mtu(
    client: &nettrial_remote::Client,
    own: &mut OwnMachine,
    measure: &nettrial_scenario::Measure,
) -> Result<(), Failure> {
    let Some(MeasuredMtu { size, by: MtuMeans::Interface }) = measure.mtu else { return Ok(()) };
    let why = "no interface of this machine has the address of the session";
    let interface = client.interface().ok_or_else(|| Failure::new(FailureKind::Other, why))?;
    own.set_mtu(&interface, size.0).map_err(|error| error.failure())
}

/// Returns the problems, but only the first of several with the same setting.
fn distinct(mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut seen = std::collections::HashSet::new();
    problems.retain(|problem| seen.insert(problem.setting.clone()));
    problems
}

/// Returns the record of `run`, with a warning for each CPU of this machine that was saturated during it.
fn watched<E>(run: impl FnOnce() -> Result<Record, E>) -> Result<Record, E> {
    let before = Reading::now();
    let mut record = run()?;
    if let (Ok(before), Ok(after)) = (before, Reading::now()) {
        let mut findings = Findings::default();
        findings.machine(nettrial_scenario::Measure::CLIENT, &before, &after);
        record.warnings.extend(findings.warnings);
    }
    Ok(record)
}

/// Ends this process with a message.
fn end(status: i32, why: &str) -> ! {
    // It may repeat the name of a file.
    eprintln!("error: {}", nettrial_admission::plain_text(why));
    std::process::exit(status)
}
