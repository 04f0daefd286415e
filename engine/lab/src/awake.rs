//! Keeps idle CPUs from halting during the traffic, so that timers and interrupts find them awake.
//!
//! A CPU that halts takes time to wake up: tens of microseconds on a virtual machine, where each halt and each
//! wake-up is the hypervisor's work, too, and a deep C-state's exit latency on others. Each timer of a shaper and each
//! hop of a packet pays it, and it counts as the host's CPU time. The kernel's PM QoS interface
//! (Documentation/power/pm_qos_interface.rst) takes a bound on that latency: with 0, idle CPUs poll, which still counts as
//! idle time. The bound ends with the file descriptor, so whatever kills the engine ends it.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// The file that takes the bound, in microseconds as a binary number of 32 bits.
const FILE: &str = "/dev/cpu_dma_latency";

/// The bound, which holds as long as this value.
pub struct Awake(#[expect(dead_code, reason = "held, not read")] Option<File>);

impl Awake {
    /// Sets the bound, if this process may.
    pub fn begin() -> Self {
        let open = OpenOptions::new().write(true).open(FILE);
        let set = |mut file: File| file.write_all(&0_i32.to_ne_bytes()).map(|()| file);
        let held =
            open.and_then(set).inspect_err(|error| tracing::debug!(%error, FILE, "idle CPUs may halt"));
        Self(held.ok())
    }
}

/// Returns the behaviour of idle CPUs during the traffic in words, for the fingerprint of a session.
pub fn description() -> &'static str {
    let may_set = OpenOptions::new().write(true).open(FILE).is_ok();
    if may_set { "idle CPUs poll" } else { "idle CPUs may halt" }
}
