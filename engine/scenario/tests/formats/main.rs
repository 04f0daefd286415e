//! Tests of scenarios and units as texts.

mod documents;
mod units;
