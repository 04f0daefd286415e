//! A tool's figures as a flow's record.

/// Seconds as whole nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    super::text::whole(seconds * 1e9).unwrap_or(0)
}
