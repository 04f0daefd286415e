//! Machines that do not run Linux: they describe themselves and run an agent, but only the MTU of their interfaces
//! can be changed.

pub mod describe;

use crate::error::{Error, Result};
use nettrial_scenario::Offloads;

/// Returns the error of an operation that is available on Linux only.
fn unsupported<T>(what: &str) -> Result<T> {
    Err(Error::NeedsLinux { what: what.to_owned() })
}

/// Access to offloads, which can neither be read nor changed on these systems: the type has no value.
pub enum Ethtool {}

impl Ethtool {
    /// Fails, because these systems do not report offloads.
    pub fn open() -> Result<Self> {
        unsupported("reading the offloads of an interface")
    }

    /// Returns the offloads in force.
    pub fn get(&self, _interface: &str) -> Result<Offloads> {
        match *self {}
    }

    /// Changes the offloads.
    pub fn set(&self, _interface: &str, _offloads: Offloads) -> Result<()> {
        match *self {}
    }

    /// Returns the features that are requested.
    pub fn asked_for(&self, _interface: &str) -> Result<Vec<String>> {
        match *self {}
    }

    /// Requests the features.
    pub fn ask_for(&self, _interface: &str, _features: &[String]) -> Result<()> {
        match *self {}
    }
}

/// The addresses and the routes of interfaces, which nettrial does not set on these systems.
pub mod addressing {
    use super::unsupported;
    use crate::error::Result;

    /// Fails, because nettrial does not set them here.
    pub fn addresses(_interface: &str) -> Result<String> {
        unsupported("reading the addresses of an interface")
    }

    /// Fails, because nettrial does not set them here.
    pub fn set_addresses(_interface: &str, _value: &str) -> Result<()> {
        unsupported("setting the addresses of an interface")
    }

    /// Fails, because nettrial does not set them here.
    pub fn routes(_interface: &str) -> Result<String> {
        unsupported("reading the routes of an interface")
    }

    /// Fails, because nettrial does not set them here.
    pub fn set_routes(_interface: &str, _value: &str) -> Result<()> {
        unsupported("setting the routes of an interface")
    }
}

/// The interfaces of this machine.
pub mod netlink {
    use super::unsupported;
    use crate::error::{Context, Result};

    /// An interface.
    pub struct Interface {
        /// The interface's name.
        pub name: String,
        /// The largest IP packet that the interface sends, in bytes.
        pub mtu: u64,
        /// True unless IPv4 and IPv6 have different MTUs.
        pub has_one_mtu: bool,
        /// True if the interface carries packets.
        pub is_up: bool,
    }

    /// Returns all interfaces of the machine.
    ///
    /// # Errors
    /// Fails if the system does not report them.
    pub fn interfaces() -> Result<Vec<Interface>> {
        let all = nettrial_traffic::host::interfaces()?.into_iter();
        let interface = |reported: nettrial_traffic::host::Interface| Interface {
            name: reported.name,
            mtu: reported.mtu_bytes,
            has_one_mtu: reported.has_one_mtu,
            is_up: reported.is_up,
        };
        Ok(all.map(interface).collect())
    }

    /// Returns false, because nettrial does not change this on these systems.
    pub fn originates_no_icmp() -> Result<bool> {
        Ok(false)
    }

    /// Fails, because these systems can't be kept from originating ICMP messages.
    pub fn originate_no_icmp(_filters: bool) -> Result<()> {
        unsupported("turning ICMP messages on or off")
    }

    /// Changes an interface's MTU.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn set_mtu(interface: &str, bytes: u64) -> Result<()> {
        let setting = || format!("setting the MTU of {interface} to {bytes} B");
        nettrial_traffic::host::set_mtu(interface, bytes).with_context(setting)
    }
}
