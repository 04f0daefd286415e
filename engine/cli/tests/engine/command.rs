//! Tests agents behind the standard input and output of a command, such as one that reaches another machine.

use nettrial_session::{Agents, Direction, Process, path_mtus};
use nettrial_traffic::{Command, Cookie, Reply, Side};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command as Program;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const COOKIE: Cookie = Cookie(*b"the trial's own.");
const PATIENCE: Duration = Duration::from_secs(300);

/// Agents of two hosts, each started by a shell.
fn agents() -> Agents {
    let mut agents = Agents::default();
    for host in ["near", "far"] {
        let start = |sink: nettrial_session::Sink| {
            let mut shell = Program::new("sh");
            shell.args(["-c", "echo ready >&2; exec \"$0\" agent", env!("CARGO_BIN_EXE_nettrial-engine")]);
            Process::command(Process::spawn(&mut shell)?, move |event| sink.tell(event))
        };
        agents.start(host, start).unwrap();
    }
    agents
}

#[test]
fn a_flow_goes_between_two_commands() {
    let mut agents = agents();
    assert_eq!(agents.processes().count(), 2);
    let side: Side = serde_json::from_value(json!({
        "flow": {
            "name": "x", "from": "near", "to": "far", "transport": "tcp", "ip": 4,
            "traffic": {"kind": "transfer", "size": "100 kB"},
        },
        "cookie": COOKIE,
        "address": HERE,
        "congestion_control": "reno",
        "clock_offset": null,
        "round_trip": null,
    }))
    .unwrap();
    let Reply::Listening { port } = agents.ask("far", Command::Listen(side.clone()), PATIENCE).unwrap()
    else {
        panic!("no port");
    };
    let destination = SocketAddr::new(HERE, port);
    let start = Command::Start { side, destination, sample_ns: 10_000_000 };
    let Reply::Finished(record, _) = agents.ask("near", start, PATIENCE).unwrap() else {
        panic!("no record")
    };
    assert_eq!(record.bytes, 100_000);
}

#[test]
fn the_path_between_two_commands_is_probed() {
    let direction = |from, to| Direction {
        from: (from, HERE.into()),
        to: (to, HERE.into()),
        reached: HERE,
        expected: 9000,
        round_trip: None,
    };
    let directions = [direction("near", "far"), direction("far", "near")];
    let found = path_mtus(&mut agents(), &directions, COOKIE).unwrap();
    assert_eq!(found.iter().map(|found| found.largest).collect::<Vec<_>>(), [9000, 9000]);
}
