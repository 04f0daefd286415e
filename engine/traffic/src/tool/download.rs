//! The common parts of downloads: a server on the flow's first host and a client on its second. Each runs without
//! privileges in its own directory in memory, where a shell script creates the files that the program needs.

use super::record::nanoseconds;
use super::text::between;
use crate::error::{Error, Result};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Flow, FlowRecord, Tool};

/// The name of the file.
pub const FILE: &str = "file";
/// The bytes of a directory in memory in addition to those of the file, for settings, certificates and so on.
const SPARE_BYTES: u64 = 16 << 20;
/// The most clients that a server serves at a time, if it has an option for that. The flow's client is one, and FTP's
/// may still be leaving when another one comes.
pub const MOST_CLIENTS: u32 = 8;
/// Creates the directory with the file, whose size is the script's first argument. Its bytes are zeros, which
/// occupy no memory.
const MAKE_FILE: &str = "mkdir served && truncate -s \"$1\" served/file && chmod 555 served && shift && ";

/// Creates a key and a certificate for a server.
pub const MAKE_CERTIFICATE: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
     -keyout key.pem -out certificate.pem -days 2 -subj /CN=nettrial -batch && ";
/// Prints the size of the file that arrived.
pub const SAY_SIZE: &str = "echo \"bytes that arrived: $(stat -c %s file)\"";
/// The words before that size in the output.
const SIZE: &str = "bytes that arrived: ";

/// The ends of a download's phases, in seconds since its beginning.
pub struct Times {
    /// The time at which the transport connection was established; `None` without connections.
    pub connected: Option<f64>,
    /// The time at which the client could request the file: the connection was established, and encrypted if it
    /// is.
    pub ready: f64,
    /// The time at which the file's last byte had arrived.
    pub done: f64,
}

/// Returns the size of the file in bytes.
pub fn file_bytes(tool: &Tool) -> u64 {
    tool.size.map_or(0, |size| size.0)
}

/// Returns the bytes of a directory in memory that contains the file.
pub fn shelter_bytes(tool: &Tool) -> u64 {
    file_bytes(tool).saturating_add(SPARE_BYTES)
}

/// Returns the command of a shell that runs `script` with these arguments.
pub fn shell(script: &str, arguments: &[&str], more: &[String]) -> Vec<String> {
    let fixed = ["sh", "-c", script, "sh"].into_iter().chain(arguments.iter().copied());
    fixed.map(str::to_owned).chain(more.iter().cloned()).collect()
}

/// Returns the command of a server, which creates the file as `served/file` and then runs `script` with these
/// arguments.
pub fn server(tool: &Tool, script: &str, arguments: &[&str]) -> Vec<String> {
    let size = file_bytes(tool).to_string();
    let arguments: Vec<&str> = std::iter::once(size.as_str()).chain(arguments.iter().copied()).collect();
    shell(&format!("{MAKE_FILE}{script}"), &arguments, &tool.server_arguments)
}

/// Returns the size in bytes that [`SAY_SIZE`] printed.
pub fn size_said(printed: &str) -> Option<u64> {
    between(printed, SIZE, "")?.parse().ok()
}

/// Returns the record of a download that received `bytes`.
///
/// # Errors
/// Fails if the file is incomplete.
pub fn record(flow: &Flow, tool: &Tool, bytes: Option<u64>, times: &Times) -> Result<FlowRecord> {
    let asked = file_bytes(tool);
    if bytes != Some(asked) {
        return Err(Error::Program(format!(
            "the client has {} of the file's {asked} B",
            bytes.map_or("an unknown part".into(), |bytes| format!("{bytes} B"))
        )));
    }
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
