//! The conversion of a tool's figures for a flow's record.

/// Returns seconds as whole nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    super::text::whole(seconds * 1e9).unwrap_or(0)
}
