//! Finds what makes a kind of traffic impossible.

use super::messages::{check_end, largest_message};
use super::packets;
use crate::workload::{MESSAGE_HEADER_BYTES, MOST_IN_FLIGHT, TIMED_RESPONSE_BYTES};
use crate::{
    Answer, Connecting, Flow, Place, Problem, RequestResponse, Sweep, Tool, ToolName, Traffic, Transfer,
    Transport,
};

/// The bytes that a block of TFTP may have (RFC 2348).
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 8..=65_464;
/// The bytes of a block where none are given (RFC 1350).
const DEFAULT_BLOCK_BYTES: u64 = 512;
/// The blocks that a window of TFTP may have (RFC 7440).
const WINDOW_BLOCKS: std::ops::RangeInclusive<u32> = 1..=65_535;
/// The largest number of a block of TFTP (RFC 1350).
const MOST_BLOCKS: u64 = 65_535;
/// The largest file of a download, which its server keeps in memory.
const LARGEST_DOWNLOAD_BYTES: u64 = 1 << 30;
/// The largest download by HTTP/3, whose client prints lines about each packet that are read for its times.
const LARGEST_HTTP3_BYTES: u64 = 32 << 20;
/// The most measurements of a sweep.
const MOST_MEASUREMENTS: u64 = 1_000_000;

/// Adds everything that is wrong with the traffic of `flow`, which is at `place`.
pub fn check(flow: &Flow, place: &Place, problems: &mut Vec<Problem>) {
    let carries = carriers(&flow.traffic);
    if !carries.contains(&flow.transport) {
        let names: Vec<&str> = carries.iter().map(|transport| transport.name()).collect();
        problems.push(place.problem(
            "transport",
            flow.transport.name(),
            names.join(", "),
            format!("no other carries traffic of the kind {}", flow.traffic.kind()),
        ));
    }
    let place = &place.within("traffic");
    match &flow.traffic {
        Traffic::Transfer(transfer) => check_transfer(transfer, place, problems),
        Traffic::FileTransfer(transfer) if transfer.file.is_empty() => {
            problems.push(place.problem("file", "none", "a file's path", "there is nothing to send"));
        }
        Traffic::FileTransfer(_) => {}
        Traffic::RequestResponse(exchange) => check_exchange(flow, exchange, place, problems),
        Traffic::Packets(settings) => packets::check(flow, settings, place, problems),
        Traffic::Sweep(sweep) => check_sweep(flow, sweep, place, problems),
        Traffic::Tool(tool) => {
            check_tool(tool, place, problems);
            check_download(tool, place, problems);
        }
    }
    if flow.traffic.duration().is_some_and(|duration| duration.0 == 0) {
        problems.push(place.problem("duration", "0 ns", "above 0", "nothing would be sent"));
    }
}

/// Returns the transports that can carry a kind of traffic.
fn carriers(traffic: &Traffic) -> &'static [Transport] {
    use Transport::{Icmp, Mptcp, Tcp, Udp};
    match traffic {
        Traffic::Transfer(_) | Traffic::FileTransfer(_) => &[Tcp, Mptcp],
        Traffic::RequestResponse(_) | Traffic::Packets(_) | Traffic::Sweep(_) => &[Tcp, Udp, Mptcp],
        Traffic::Tool(tool) => match tool.tool {
            ToolName::Iperf3 => &[Tcp, Udp, Mptcp],
            ToolName::Netperf | ToolName::Ditg | ToolName::Sockperf => &[Tcp, Udp],
            ToolName::Ping => &[Icmp],
            ToolName::Ftp | ToolName::Http1 | ToolName::Http2 => &[Tcp],
            ToolName::Tftp | ToolName::Http3 => &[Udp],
            ToolName::Exec => &[Tcp, Udp, Mptcp, Icmp],
        },
    }
}

fn check_transfer(transfer: &Transfer, place: &Place, problems: &mut Vec<Problem>) {
    if transfer.size.is_none() && transfer.duration.is_none() {
        problems.push(place.problem_here(
            "traffic",
            "neither",
            "a size, a duration, or both",
            "a transfer must end",
        ));
    }
    if transfer.size.is_some_and(|size| size.0 == 0) {
        problems.push(place.problem("size", "0 B", "1 B or more", "nothing would be sent"));
    }
}

fn check_exchange(flow: &Flow, exchange: &RequestResponse, place: &Place, problems: &mut Vec<Problem>) {
    let largest = largest_message(flow);
    for (setting, size) in [("request", exchange.request), ("response", exchange.response)] {
        if !(MESSAGE_HEADER_BYTES..=largest).contains(&size.0) {
            problems.push(place.problem(
                setting,
                size,
                format!("{MESSAGE_HEADER_BYTES} B to {largest} B"),
                "a message carries a number and two times, 8 bytes each; over UDP it is one datagram",
            ));
        }
    }
    check_end(exchange.duration.is_some(), exchange.count, place, problems);
    if exchange.interval.is_some_and(|interval| interval.0 == 0) {
        problems.push(place.problem(
            "interval",
            "0 ns",
            "above 0",
            "leave it out for requests without a pause",
        ));
    }
    if !(1..=MOST_IN_FLIGHT).contains(&exchange.in_flight) {
        problems.push(place.problem(
            "in_flight",
            exchange.in_flight,
            format!("1 to {MOST_IN_FLIGHT}"),
            "so many requests may wait for their responses at a time",
        ));
    }
    if exchange.mechanisms {
        let hint = "the kernel states the times of single datagrams";
        if flow.transport != Transport::Udp || exchange.in_flight > 1 {
            problems.push(place.problem(
                "mechanisms",
                true,
                "false, or one request at a time over UDP",
                hint,
            ));
        }
        if exchange.response.0 < TIMED_RESPONSE_BYTES {
            let expected = format!("{TIMED_RESPONSE_BYTES} B or more with `mechanisms`");
            let hint = "it brings the responder's times";
            problems.push(place.problem("response", exchange.response, expected, hint));
        }
    }
    if exchange.connecting == Connecting::EachRequest {
        if exchange.in_flight > 1 {
            problems.push(place.problem(
                "in_flight",
                exchange.in_flight,
                "1 where each request has a connection of its own",
                "use several flows for connections at the same time",
            ));
        }
        if flow.transport == Transport::Udp {
            problems.push(place.problem("connecting", "each_request", "once", "UDP has no connections"));
        }
    }
}

fn check_sweep(flow: &Flow, sweep: &Sweep, place: &Place, problems: &mut Vec<Problem>) {
    let largest = largest_message(flow);
    for (setting, size) in [("first", sweep.first), ("last", sweep.last)] {
        if !(MESSAGE_HEADER_BYTES..=largest).contains(&size.0) {
            problems.push(place.problem(
                setting,
                size,
                format!("{MESSAGE_HEADER_BYTES} B to {largest} B"),
                "a request carries a number and two times, 8 bytes each; over UDP it is one datagram",
            ));
        }
    }
    if sweep.last.0 < sweep.first.0 {
        problems.push(place.problem(
            "last",
            sweep.last,
            format!("{} or more", sweep.first),
            "sizes go from the first to the last",
        ));
    }
    if sweep.bytes.0 == 0 {
        problems.push(place.problem("bytes", "0 B", "1 B or more", "nothing would be sent"));
    }
    if sweep.step.0 == 0 || sweep.repeats == 0 {
        problems.push(place.problem(
            if sweep.step.0 == 0 { "step" } else { "repeats" },
            0,
            "1 or more",
            "nothing would be sent",
        ));
        return;
    }
    let sizes = sweep.last.0.saturating_sub(sweep.first.0) / sweep.step.0 + 1;
    let measurements = sizes.saturating_mul(sweep.repeats.into());
    if measurements > MOST_MEASUREMENTS {
        problems.push(place.problem(
            "step",
            sweep.step,
            format!("so that sizes × repeats is at most {MOST_MEASUREMENTS}; it is {measurements}"),
            "take a larger step, or fewer repeats",
        ));
    }
    if sweep.answer == Answer::Echo && sweep.last.0 > largest {
        problems.push(place.problem("answer", "echo", "acknowledgment", "the echo would not fit"));
    }
}

fn check_tool(tool: &Tool, place: &Place, problems: &mut Vec<Problem>) {
    let mut refuse = |setting: &str, value: String, expected: &str, hint: &str| {
        problems.push(place.problem(setting, value, expected, hint));
    };
    match tool.tool {
        ToolName::Exec if tool.arguments.is_empty() => {
            refuse("arguments", "none".into(), "a command and its arguments", "there is nothing to run");
        }
        ToolName::Exec => {}
        name if tool.duration.is_none() => {
            let (expected, hint) = match name.downloads() {
                true => ("the time that the download may take", "20 s later it has failed"),
                false => ("how long the tool sends", "without it each tool has its own"),
            };
            refuse("duration", "none".into(), expected, hint);
        }
        _ => {}
    }
    if tool.request_response && tool.tool != ToolName::Netperf {
        let value = format!("{:?}", tool.tool).to_lowercase();
        refuse("request_response", value, "only with netperf", "ping and sockperf always send requests");
    }
    if let Some(rate) = tool.rate
        && (matches!(tool.tool, ToolName::Ping | ToolName::Netperf | ToolName::Exec) || tool.tool.downloads())
    {
        refuse("rate", rate.to_string(), "none with this tool", "it has no rate option");
    }
}

/// Adds what is wrong with the settings that only downloads have.
fn check_download(tool: &Tool, place: &Place, problems: &mut Vec<Problem>) {
    let mut refuse = |setting: &str, value: String, expected: String, hint: &str| {
        problems.push(place.problem(setting, value, expected, hint));
    };
    let (block, window) = (tool.block_size.map(|size| size.0), tool.window_size);
    if tool.tool != ToolName::Tftp {
        let expected = || "none with this tool".to_owned();
        let hint = "only tftp sends blocks and waits for their acknowledgments";
        if let Some(bytes) = block {
            refuse("block_size", format!("{bytes} B"), expected(), hint);
        }
        if let Some(window) = window {
            refuse("window_size", window.to_string(), expected(), hint);
        }
    }
    if !tool.tool.downloads() {
        return;
    }
    let largest = match tool.tool {
        // The last block is shorter than the others.
        ToolName::Tftp => {
            block.filter(|bytes| BLOCK_BYTES.contains(bytes)).unwrap_or(DEFAULT_BLOCK_BYTES) * MOST_BLOCKS - 1
        }
        ToolName::Http3 => LARGEST_HTTP3_BYTES,
        _ => LARGEST_DOWNLOAD_BYTES,
    };
    let largest = largest.min(LARGEST_DOWNLOAD_BYTES);
    let hint = match tool.tool {
        ToolName::Tftp => "TFTP has 65535 numbers for blocks; a larger block_size allows a larger file",
        ToolName::Http3 => "the client prints lines about each packet, which are read for the times",
        _ => "it is the size of the file, which the server keeps in memory",
    };
    let size = tool.size.map_or(0, |size| size.0);
    if !(1..=largest).contains(&size) {
        let value = tool.size.map_or("none".into(), |size| size.to_string());
        refuse("size", value, format!("1 B to {largest} B"), hint);
    }
    if tool.tool == ToolName::Tftp {
        if let Some(bytes) = block.filter(|bytes| !BLOCK_BYTES.contains(bytes)) {
            refuse("block_size", format!("{bytes} B"), "8 B to 65464 B".into(), "RFC 2348 allows no others");
        }
        if let Some(window) = window.filter(|window| !WINDOW_BLOCKS.contains(window)) {
            refuse("window_size", window.to_string(), "1 to 65535".into(), "RFC 7440 allows no others");
        }
    }
}
