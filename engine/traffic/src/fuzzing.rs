//! The entry points for fuzzing (`fuzz/README.md`).

use crate::message;
use crate::packets::header;
use crate::protocol::{Order, Report};
use nettrial_admission::document;
use nettrial_scenario::{Duration, Flow, ImportRequest, Tool, ToolName, Traffic, Transport};

const SECOND: Duration = Duration(1_000_000_000);
const TOOLS: [ToolName; 11] = [
    ToolName::Iperf3,
    ToolName::Ping,
    ToolName::Netperf,
    ToolName::Ditg,
    ToolName::Sockperf,
    ToolName::Ftp,
    ToolName::Tftp,
    ToolName::Http1,
    ToolName::Http2,
    ToolName::Http3,
    ToolName::Exec,
];

/// Reads `input` as an order to an agent, as its report, and as the header of a packet of each kind of traffic.
pub fn read(input: &[u8]) {
    let _ = document::<Order>(input);
    if let Ok(report) = document::<Report>(input) {
        let _ = serde_json::to_vec(&report);
    }
    let _ = message::Header::get(input);
    if let Some(header) = header::Header::read(input, header::Tag::default()) {
        let _ = header.packet();
    }
}

/// Reads `input` as the output of a program that can be a flow's traffic: its first byte chooses the program and the
/// transport, because one output is never read for several programs.
pub fn read_output(input: &[u8]) {
    let Some((&choice, output)) = input.split_first() else { return };
    let transport = if choice % 2 == 0 { Transport::Tcp } else { Transport::Udp };
    let tool = Tool { duration: Some(SECOND), ..TOOLS[usize::from(choice) / 2 % TOOLS.len()].into() };
    let flow = Flow {
        name: "tool".into(),
        from: "sender".into(),
        to: "receiver".into(),
        transport,
        ip: nettrial_scenario::IpVersion::V4,
        pair: 0,
        start: Duration(0),
        socket: Default::default(),
        traffic: Traffic::Tool(tool.clone()),
    };
    crate::tool::fuzz(&flow, &tool, &String::from_utf8_lossy(output));
}

/// Reads `input` as the text of a file with measurements of iperf3.
pub fn read_imports(input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    let answer = crate::read_imports(&ImportRequest { text });
    let _ = serde_json::to_vec(&answer);
}
