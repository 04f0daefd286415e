//! Bulk transfers.

use crate::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bulk transfer over TCP or MPTCP. With a size alone, so many bytes are sent once. With a duration alone, one
/// connection sends for that long. With both, transfers of that size follow each other, each on a new connection,
/// and the last one that starts within the duration is completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The bytes of one transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The duration of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

/// One transfer of a file of the sender over TCP or MPTCP into a file of the receiver. That file has no name and
/// is removed at the end of the trial. The receiver's checksum (CRC-32) must equal the sender's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileTransfer {
    /// The file's path on the sender.
    pub file: String,
}
