//! A tool's figures as a flow's record.

/// Seconds as whole nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    super::text::whole(seconds * 1e9).unwrap_or(0)
}

/// The congestion control of a program that chooses none: this network namespace's default.
pub fn default_congestion_control() -> String {
    let found = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    found.unwrap_or_default().trim().to_owned()
}
