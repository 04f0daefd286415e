//! This machine's own settings, changed by the process that measures on it.

use crate::error::{Context, Error, Result};
use crate::far::State;
use crate::settings::{Change, SMALLEST_MTU, Setting};
use std::io::{self, ErrorKind};

/// Settings of this machine that this process changes. Its guard restores them when [`OwnMachine::restore`] is
/// called, or when this process is gone, however it ends.
#[derive(Default)]
pub struct OwnMachine {
    state: Option<State>,
}

impl OwnMachine {
    /// Creates it without changing anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the MTU of the interface of that name, if it has another one, and waits until its link is up again.
    ///
    /// # Errors
    /// Fails if this user may not change it, if the driver refuses it, or if another session uses this machine.
    pub fn set_mtu(&mut self, interface: &str, bytes: u64) -> Result<()> {
        let setting = Setting::Mtu { interface: interface.to_owned() };
        let change = Change { setting, value: bytes.to_string() };
        let changing = || format!("changing the MTU of {interface}");
        if change.setting.has(&change.value)? {
            return Ok(());
        }
        if bytes < SMALLEST_MTU {
            let why = format!("an MTU of {bytes} B would remove the IPv6 addresses of {interface}");
            return Err(Error::Setting(why));
        }
        if !may_change_settings() {
            return Err(Error::System(io::Error::from(ErrorKind::PermissionDenied))).with_context(changing);
        }
        self.state.get_or_insert_with(State::alone).set(&change).with_context(changing)
    }

    /// Restores the settings, and waits for it.
    ///
    /// # Errors
    /// Fails with what could not be restored.
    pub fn restore(self) -> Result<()> {
        self.state.map_or(Ok(()), State::leave)
    }
}

#[cfg(unix)]
fn may_change_settings() -> bool {
    nix::unistd::geteuid().is_root()
}

#[cfg(not(unix))]
fn may_change_settings() -> bool {
    true // the system refuses the change
}
