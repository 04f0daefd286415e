//! The state of a server that all its tests share.

use crate::running_tests::RunningTests;
use crate::udp_port::UdpPort;
use nettrial_admission::Log;
use std::sync::Arc;

/// The state of a server that all its tests share.
pub struct Shared {
    /// The running tests, and the limits on their resources.
    pub tests: RunningTests,
    /// The port of UDP streams.
    pub udp: Arc<UdpPort>,
    /// The log of refusals and ends.
    pub log: Arc<Log>,
}
