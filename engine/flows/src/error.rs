//! The errors of this crate.

/// The error of a distribution that does not allow its parameters. Each distribution has a type of its own.
pub(crate) type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// An error of a random quantity.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The distribution does not allow its parameters.
    #[error("a random quantity's parameters")]
    Parameters(#[source] Refusal),
    /// The truncation keeps hardly any values.
    #[error(
        "a truncation from {from} to {to}: it keeps {kept} of {draws} draws; expected: one that keeps 1% or more; \
         widen it, or choose parameters whose values lie within"
    )]
    Truncation {
        /// The smallest value that is kept, or "no bound".
        from: String,
        /// The largest value that is kept, or "no bound".
        to: String,
        /// The number of draws that are kept.
        kept: u32,
        /// The number of draws that were tried.
        draws: u32,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
