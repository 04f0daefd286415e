//! The request for an examination, and its answer.

use crate::PathReport;
use nettrial_scenario::{IpVersion, Problem, Rate, Shortfall, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The path to examine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRequest {
    /// The far host: a name or an address.
    pub host: String,
    /// The IP version; each one that the host has an address of where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpVersion>,
    /// The largest IP packet to try; where absent, the largest that the interface sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mtu: Option<Size>,
    /// The line rate of the path's slowest link; where absent, the speed of the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// TCP ports of the host to connect to, in this order, until one is open.
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// The outcome of an examination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum PathAnswer {
    /// The path was examined, whatever came of it.
    #[schemars(title = "ReportAnswer")]
    Report {
        /// The findings.
        report: Box<PathReport>,
    },
    /// The request can't be followed.
    #[schemars(title = "BadRequestAnswer")]
    BadRequest {
        /// The fault in the request.
        problem: Problem,
    },
    /// This machine can't probe.
    #[schemars(title = "CannotAnswer")]
    Cannot {
        /// Every reason.
        missing: Vec<Shortfall>,
    },
}
