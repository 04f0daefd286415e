//! The parts that downloads have in common: a server on the flow's first host and a client on its second, each in a directory of its
//! own in memory and without privileges, where a shell script makes the files that the program needs.

use super::record::nanoseconds;
use super::text::between;
use anyhow::{Result, ensure};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Flow, FlowRecord, Tool};

/// The name of the file.
pub const FILE: &str = "file";
/// Bytes that a directory in memory has beside those of the file, for settings, certificates and the like.
const SPARE_BYTES: u64 = 16 << 20;
/// Makes the directory with the file, of which the script's first argument is the size. Its bytes are zeros, which take no
/// memory.
const MAKE_FILE: &str = "mkdir served && truncate -s \"$1\" served/file && chmod 555 served && shift && ";

/// Makes a key and a certificate for a server.
pub const MAKE_CERTIFICATE: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
     -keyout key.pem -out certificate.pem -days 2 -subj /CN=nettrial -batch && ";
/// Prints the size of the file that arrived.
pub const SAY_SIZE: &str = "echo \"bytes that arrived: $(stat -c %s file)\"";
/// The words before that size.
const SIZE: &str = "bytes that arrived: ";

/// The ends of a download's parts, seconds after its begin.
pub struct Times {
    /// The connection's transport was there; `None` without connections.
    pub connected: Option<f64>,
    /// The client could ask for the file: the connection was there, encrypted where it is.
    pub ready: f64,
    /// The file's last byte had arrived.
    pub done: f64,
}

/// The size of the file, bytes.
pub fn file_bytes(tool: &Tool) -> u64 {
    tool.size.map_or(0, |size| size.0)
}

/// The bytes of a directory in memory that has the file.
pub fn shelter_bytes(tool: &Tool) -> u64 {
    file_bytes(tool).saturating_add(SPARE_BYTES)
}

/// The command of a shell that runs `script` with these arguments.
pub fn shell(script: &str, arguments: &[&str], more: &[String]) -> Vec<String> {
    let fixed = ["sh", "-c", script, "sh"].into_iter().chain(arguments.iter().copied());
    fixed.map(str::to_owned).chain(more.iter().cloned()).collect()
}

/// The command of a server: makes the file as `served/file`, and runs `script` with these arguments after it.
pub fn server(tool: &Tool, script: &str, arguments: &[&str]) -> Vec<String> {
    let size = file_bytes(tool).to_string();
    let arguments: Vec<&str> = std::iter::once(size.as_str()).chain(arguments.iter().copied()).collect();
    shell(&format!("{MAKE_FILE}{script}"), &arguments, &tool.server_arguments)
}

/// The size that [`SAY_SIZE`] printed, bytes.
pub fn size_said(printed: &str) -> Option<u64> {
    between(printed, SIZE, "")?.parse().ok()
}

/// The record of a download that got `bytes`.
///
/// # Errors
/// Fails if it is not the whole file.
pub fn record(flow: &Flow, tool: &Tool, bytes: Option<u64>, times: &Times) -> Result<FlowRecord> {
    let asked = file_bytes(tool);
    ensure!(
        bytes == Some(asked),
        "the client has {} of the file's {asked} B",
        bytes.map_or("an unknown part".into(), |bytes| format!("{bytes} B"))
    );
    let distribution = |seconds: f64| {
        let mut durations = Durations::default();
        durations.record(nanoseconds(seconds));
        durations.distribution_us()
    };
    let mut record = FlowRecord::blank(flow);
    record.bytes = asked;
    record.active_ns = nanoseconds(times.done - times.ready);
    if record.active_ns > 0 {
        record.goodput_bps = Some(asked as f64 * 8e9 / record.active_ns as f64);
    }
    if let Some(connected) = times.connected {
        record.connect_us = distribution(connected);
    }
    record.completion_us = Some(distribution(times.done));
    Ok(record)
}
