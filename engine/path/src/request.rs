//! The request for an examination of a path, and its answer.

use crate::PathReport;
use nettrial_scenario::{IpVersion, Problem, Rate, Shortfall, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The path to examine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRequest {
    /// The name or address of the far host.
    pub host: String,
    /// The IP version; if absent, each version of which the host has an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpVersion>,
    /// The largest IP packet to try; if absent, the largest one that the interface sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mtu: Option<Size>,
    /// The line rate of the path's slowest link; if absent, the speed of the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The TCP ports of the host to which to connect, in this order, until one is open.
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// The outcome of an examination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum PathAnswer {
    /// The path was examined, whatever the findings.
    #[schemars(title = "ReportAnswer")]
    Report {
        /// The findings.
        report: Box<PathReport>,
    },
    /// The request is invalid.
    #[schemars(title = "BadRequestAnswer")]
    BadRequest {
        /// The fault in the request.
        problem: Problem,
    },
    /// This machine can't send probes.
    #[schemars(title = "CannotAnswer")]
    Cannot {
        /// All reasons.
        missing: Vec<Shortfall>,
    },
}
