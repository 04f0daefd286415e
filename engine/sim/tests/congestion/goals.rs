//! Tests the goals of RFC 6356 section 2 for coupled controls; benches/rfc6356.py tests the lab's controls with
//! the same bounds.

use nettrial_scenario::Record;
use serde_json::{Value, json};

use crate::network::{Network, settled_bps};

/// The controls that couple subflows and react to losses.
const BY_LOSS: [&str; 3] = ["balia", "lia", "olia"];

/// Returns the settings of links that are no bottleneck.
fn access() -> Value {
    json!({"rate": "200 Mbit/s", "queue": "100 packets"})
}

fn bps(record: &Record, name: &str) -> f64 {
    settled_bps(record.flows.iter().find(|flow| flow.name == name).unwrap(), 2.0)
}

/// Returns the goodput over two disjoint paths of 20 and 10 Mbit/s, relative to that of TCP on the faster path.
fn over_disjoint_paths(control: &str) -> f64 {
    let mut network = Network::default();
    for (name, control, transport) in [("coupled", control, "mptcp"), ("tcp", "reno", "tcp")] {
        let receiver = format!("{name}-to");
        network.host(name, control);
        network.host(&receiver, control);
        for (path, rate) in [("fast", "20 Mbit/s"), ("slow", "10 Mbit/s")] {
            let router = format!("{name}-{path}");
            network.link([name, &router], &access());
            let bottleneck = json!({"rate": rate, "queue": "60 packets", "delay": "5 ms"});
            network.link([&router, &receiver], &bottleneck);
        }
        network.transfer(name, &receiver, transport, 12);
    }
    let record = network.run("500 ms");
    bps(&record, "coupled") / bps(&record, "tcp")
}

/// Returns the goodput of a connection with two subflows, relative to that of TCP with another control over the
/// same link.
fn beside_tcp(control: &str, of_tcp: &str, shared: &Value) -> f64 {
    let mut network = Network::default();
    for (name, control, paths) in [("coupled", control, 2), ("tcp", of_tcp, 1)] {
        let receiver = format!("{name}-to");
        network.host(name, control);
        network.host(&receiver, control);
        for _ in 0..paths {
            network.link([name, "near"], &access());
            network.link(["far", &receiver], &access());
        }
    }
    network.link(["near", "far"], shared);
    network.transfer("coupled", "coupled-to", "mptcp", 60);
    network.transfer("tcp", "tcp-to", "tcp", 60);
    let record = network.run("500 ms");
    bps(&record, "coupled") / bps(&record, "tcp")
}

/// Returns the same beside Reno over a link with random losses, of which each flow loses the same share, as RFC
/// 6356 assumes.
fn beside_reno(control: &str) -> f64 {
    let lossy = json!({"rate": "100 Mbit/s", "queue": "1000 packets", "delay": "15 ms",
        "impairment": {"loss": 0.002, "seed": 1}});
    beside_tcp(control, "reno", &lossy)
}

/// Returns the share of a connection's bytes that takes the second of two paths. The paths have these links, of
/// which the first is no bottleneck; if `is_shared`, a TCP flow with Reno uses the second.
fn on_the_second(control: &str, links: [Value; 2], is_shared: bool) -> f64 {
    let mut network = Network::default();
    network.host("coupled", control);
    network.host("coupled-to", control);
    for (path, settings) in ["first", "second"].iter().zip(links) {
        let far = format!("{path}-far");
        network.link(["coupled", path], &access());
        network.link([path, &far], &settings);
        network.link([&far, "coupled-to"], &access());
    }
    network.transfer("coupled", "coupled-to", "mptcp", 60);
    if is_shared {
        network.host("tcp", "reno");
        network.host("tcp-to", "reno");
        network.link(["tcp", "second"], &access());
        network.link(["second-far", "tcp-to"], &access());
        network.transfer("tcp", "tcp-to", "tcp", 60);
    }
    let record = network.run("500 ms");
    let bytes: Vec<u64> = record.flows[0].subflows.iter().map(|subflow| subflow.bytes).collect();
    bytes[1] as f64 / (bytes[0] + bytes[1]) as f64
}

/// Returns the share of bytes on the path that loses four times as much.
fn on_the_lossy(control: &str) -> f64 {
    let links = [0.002, 0.008].map(|loss| {
        json!({"rate": "100 Mbit/s", "queue": "1000 packets", "delay": "15 ms",
            "impairment": {"loss": loss, "seed": 1}})
    });
    on_the_second(control, links, false)
}

/// Goal 1, improve throughput: more than on the best path, and more than 90% of both.
#[test]
fn throughput_improves() {
    for control in ["balia", "lia", "olia", "reno", "wvegas"] {
        let of_the_best = over_disjoint_paths(control);
        assert!(of_the_best > 1.0 && of_the_best / 1.5 > 0.9, "{control}: {of_the_best}");
    }
}

/// Goal 2, do no harm: 0.8 to 1.25 times the goodput of a TCP flow; uncoupled subflows would take twice as much.
#[test]
fn no_harm_is_done() {
    for control in BY_LOSS {
        let of_tcp = beside_reno(control);
        assert!((0.8..=1.25).contains(&of_tcp), "{control}: {of_tcp}");
    }
    let of_tcp = beside_reno("reno");
    assert!(of_tcp >= 1.8, "uncoupled: {of_tcp}");
}

/// The out-of-tree kernel's variants count acknowledgments, most of which cover two segments. They therefore grow
/// more slowly, and take a smaller share beside TCP than the algorithms of the RFCs and papers.
#[test]
fn the_kernels_variants_take_less() {
    for control in BY_LOSS {
        let (document, kernel) = (beside_reno(control), beside_reno(&format!("{control}-kernel")));
        assert!(kernel < 0.9 * document, "{control}: {kernel} and {document}");
    }
}

/// Goal 2 for a delay-based control: beside wVegas with a single subflow, over a queue that never overflows. From about 13 ms
/// on, details of the start decide whether the connection takes once or twice as much: what a subflow takes for the path's own
/// delay contains the others' queue.
#[test]
fn no_harm_is_done_by_delay() {
    for delay in ["8 ms", "12 ms"] {
        let roomy = json!({"rate": "20 Mbit/s", "queue": "1000 packets", "delay": delay});
        let of_tcp = beside_tcp("wvegas", "wvegas", &roomy);
        assert!((0.8..=1.25).contains(&of_tcp), "{delay}: {of_tcp}");
    }
}

/// Goal 3, balance congestion: losses alone would leave 1 / (1 + 2) of the bytes on the path that loses four times
/// as much. LIA moves some of them away, and OLIA and BALIA move more.
#[test]
fn congestion_is_balanced() {
    let [lia, olia, balia, uncoupled] = ["lia", "olia", "balia", "reno"].map(on_the_lossy);
    assert!((uncoupled - 1.0 / 3.0).abs() < 0.03, "uncoupled: {uncoupled}");
    assert!(lia < 0.8 * uncoupled, "{lia} of LIA, {uncoupled} uncoupled");
    assert!(olia < lia && balia < lia, "{olia} of OLIA and {balia} of BALIA, {lia} of LIA");
}

/// Goal 3 for a delay-based control: wVegas leaves a path whose queue a TCP flow keeps filled for an equal path
/// that is otherwise unused.
#[test]
fn congestion_is_balanced_by_delay() {
    let like = || json!({"rate": "20 Mbit/s", "queue": "60 packets", "delay": "15 ms"});
    let share = on_the_second("wvegas", [like(), like()], true);
    assert!(share < 0.2, "{share}");
}
