//! Bulk transfers.

use crate::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bulk transfer over TCP or MPTCP. With a size alone: that many bytes, once. With a duration alone:
/// one connection for that long. With both: transfers of that size, each on a new connection, one
/// after the other; the last one that starts within the duration is completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Bytes of one transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The duration of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

/// A file of the sender's over TCP or MPTCP, once, into a file of the receiver's that has no name and
/// is gone with the trial. The receiver's checksum (CRC-32) must be the sender's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileTransfer {
    /// The file's path on the sender.
    pub file: String,
}
