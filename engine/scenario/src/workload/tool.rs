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
    /// A download by FTP (RFC 959) of a file that vsftpd serves: goodput and the time that it took, by curl.
    Ftp,
    /// A download by TFTP (RFC 1350) of a file that atftpd serves: goodput and the time that it took, by atftp.
    Tftp,
    /// A download by HTTP/1.1 (RFC 9112) of a file that nginx serves: goodput and the time that it took, by curl.
    Http1,
    /// A download by HTTP/2 (RFC 9113) over TLS of a file that nginx serves: goodput and the time that it took, by curl.
    Http2,
    /// A download by HTTP/3 (RFC 9114) of a file that gtlsserver serves: goodput and the time that it took, by
    /// gtlsclient, both of ngtcp2.
    Http3,
    /// Any command, which prints its own figures.
    Exec,
}

impl ToolName {
    /// Returns true if the program downloads a file: its server is on the flow's first host, and its client on the
    /// second.
    pub fn downloads(self) -> bool {
        matches!(self, Self::Ftp | Self::Tftp | Self::Http1 | Self::Http2 | Self::Http3)
    }
}

/// Another program's traffic from the flow's first host to its second. Settings are passed to the program as its
/// own options; a setting that the program does not have is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The program; `ditg` is D-ITG, `exec` any command.
    pub tool: ToolName,
    /// The time for which the program sends, or within which a download is expected to end; only `exec` may leave it
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The payload bytes of a packet, a write or a request; for downloads, those of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The payload rate, bits per second; if absent, the program sends as fast as it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Send requests and responses instead of a stream; netperf only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub request_response: bool,
    /// The bytes of the file in a block (RFC 2348); 512 if absent. TFTP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_size: Option<Size>,
    /// The number of blocks that are sent before an acknowledgment is awaited (RFC 7440); 1 if absent. TFTP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_size: Option<u32>,
    /// Further options of the sending program. For `exec`, the command and its arguments, in which
    /// `{destination}`, `{source}` and `{port}` stand for the flow's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Further options of the receiving program. For `exec`, a command for the receiving host, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_arguments: Vec<String>,
}

impl From<ToolName> for Tool {
    /// Returns the program without any settings.
    fn from(tool: ToolName) -> Self {
        Self {
            tool,
            duration: None,
            size: None,
            rate: None,
            request_response: false,
            block_size: None,
            window_size: None,
            arguments: Vec::new(),
            server_arguments: Vec::new(),
        }
    }
}
