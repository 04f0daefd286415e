//! A tool's figures as a flow's record.

use nettrial_scenario::{Distribution, Flow, FlowRecord};

/// The record of `flow` with every figure absent, zero or empty.
pub fn blank(flow: &Flow) -> FlowRecord {
    FlowRecord {
        name: flow.name.clone(),
        transport: flow.transport,
        ip: flow.ip,
        congestion_control: String::new(),
        mss_bytes: 0,
        connections: 0,
        bytes: 0,
        active_ns: 0,
        ip_bytes: None,
        wire_bytes: None,
        goodput_bps: None,
        connect_us: Distribution::default(),
        completion_us: None,
        retransmissions_pkts: 0,
        srtt_us: Distribution::default(),
        min_rtt_us: 0,
        rtt_us: None,
        rtt_histogram: None,
        transactions_per_second: None,
        owd_us: None,
        owd_histogram: None,
        owd_error_us: None,
        delay_variation_us: None,
        jitter_rfc3550_us: None,
        delay_difference_mean_us: None,
        packets: None,
        pacing: None,
        subflows: Vec::new(),
        sizes: Vec::new(),
        tool: None,
        intervals: Vec::new(),
    }
}

/// Seconds as whole nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    super::text::whole(seconds * 1e9).unwrap_or(0)
}

/// The congestion control of a program that chooses none: this network namespace's default.
pub fn default_congestion_control() -> String {
    let found = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    found.unwrap_or_default().trim().to_owned()
}
