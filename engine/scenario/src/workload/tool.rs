//! Other programs as workloads.

use crate::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that nettrial starts on the scenario's hosts, and whose output it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolName {
    /// iperf3: goodput; over UDP also loss and jitter.
    Iperf3,
    /// ping: round-trip time and loss of ICMP echo requests.
    Ping,
    /// netperf's stream and request/response tests.
    Netperf,
    /// D-ITG (ITGSend and ITGRecv): one-way delay, jitter, loss, goodput.
    Ditg,
    /// sockperf's ping-pong test: round-trip time.
    Sockperf,
    /// Any command, which prints its own figures.
    Exec,
}

/// Another program's traffic from the flow's first host to its second. Settings are passed to the program as its
/// own options; a setting that the program does not have is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The program; `ditg` is D-ITG, `exec` any command.
    pub tool: ToolName,
    /// The time for which the program sends; only `exec` may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The payload bytes of a packet, a write or a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The payload rate, bits per second; if absent, the program sends as fast as it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Send requests and responses instead of a stream; netperf only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub request_response: bool,
    /// Further options of the sending program. For `exec`, the command and its arguments, in which
    /// `{destination}`, `{source}` and `{port}` stand for the flow's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Further options of the receiving program. For `exec`, a command for the receiving host, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_arguments: Vec<String>,
}
