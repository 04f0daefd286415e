//! Tests the simulator as a process: every build gives the same record, and no process is left behind.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The engine of the same build as these tests.
const ENGINE: &str = env!("CARGO_BIN_EXE_nettrial-engine");

fn start(engine: &Path) -> Child {
    Command::new(engine).arg("sim").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn order(engine: &mut Child, scenario: &Value) {
    let request = json!({"request": "run", "trial": "1", "scenario": scenario});
    writeln!(engine.stdin.as_mut().unwrap(), "{request}").unwrap();
}

fn record(engine: &Path, scenario: &Value) -> String {
    let mut running = start(engine);
    order(&mut running, scenario);
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
    assert!(line.starts_with(r#"{"event":"record""#), "{line}");
    line
}

/// Returns a scenario with two hosts and two paths between them, one of which loses, reorders and marks packets,
/// and with flows of every kind.
fn scenario(duration: &str) -> Value {
    let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
    let host = |name: &str, control: &str| {
        json!({"name": name, "kind": "host", "stack": {
            "name": "linux", "congestion_control": control, "receive_buffer": buffer, "send_buffer": buffer,
            "window_scaling": true, "sack": true, "timestamps": true, "ecn": true,
        }})
    };
    let link = |number: u32, settings: Value| {
        let interface = |node: &str, last: u32| {
            json!({"node": node, "interface": format!("eth{number}"), "mtu": "1500 B",
                "addresses": [format!("10.0.{number}.{last}/24")]})
        };
        let mut link = settings;
        link["ends"] = json!([interface("a", 1), interface("b", 2)]);
        link
    };
    let flow = |name: &str, transport: &str, traffic: Value| json!({"name": name, "from": "a", "to": "b", "transport": transport, "ip": 4, "traffic": traffic});
    let transfer = json!({"kind": "transfer", "duration": duration});
    let packets = json!({"kind": "packets", "duration": duration, "seed": 3,
        "size": {"distribution": "uniform", "minimum": "100 B", "maximum": "1400 B"},
        "gap": {"distribution": "exponential", "mean": "1 ms"}});
    json!({
        "format": 1, "seed": 7, "nodes": [host("a", "lia"), host("b", "cubic")], "routing": {"policy": "shortest_path"},
        "links": [
            link(0, json!({"rate": "20 Mbit/s", "delay": "5 ms", "queue": "40 packets"})),
            link(1, json!({"rate": "10 Mbit/s", "delay": "9 ms", "queue": "60 packets",
                "discipline": {"discipline": "red", "minimum": "10 kB", "maximum": "40 kB", "probability": 0.1,
                    "weight": 0.002, "ecn": true},
                "impairment": {"loss": 0.002, "jitter": "1 ms", "reordering": 0.001, "reordering_delay": "3 ms",
                    "bursts": {"enter": 0.0005, "leave": 0.3, "loss": 0.5}, "seed": 5}})),
        ],
        "workload": [flow("multipath", "mptcp", transfer.clone()), flow("single", "tcp", transfer), flow("datagrams", "udp", packets)],
        "measurement": {"interval": "20 ms", "queue_drops": "allowed", "queue_interval": "10 ms", "queue_series": true},
    })
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let scenario = scenario("1 s");
    assert_eq!(record(Path::new(ENGINE), &scenario), record(Path::new(ENGINE), &scenario));
}

#[test]
#[ignore = "it needs a release build, which `make test-all` has made"]
fn debug_and_release_builds_give_the_same_bytes() {
    let release = Path::new(ENGINE).parent().and_then(Path::parent).unwrap().join("release/nettrial-engine");
    let scenario = scenario("1 s");
    assert_eq!(record(Path::new(ENGINE), &scenario), record(&release, &scenario));
}

#[test]
fn another_seed_gives_other_bytes() {
    let (first, mut second) = (scenario("200 ms"), scenario("200 ms"));
    second["seed"] = json!(8);
    assert_ne!(record(Path::new(ENGINE), &first), record(Path::new(ENGINE), &second));
}

#[test]
fn the_end_of_the_input_ends_a_trial_that_runs() {
    let mut running = start(Path::new(ENGINE));
    order(&mut running, &scenario("100000 s"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(running.try_wait().unwrap().is_none(), "the trial was to go on");
    drop(running.stdin.take());
    // If the process did not end, the test would not end.
    running.wait().unwrap();
}
