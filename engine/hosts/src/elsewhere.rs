//! A machine that does not run Linux: it describes itself and runs an agent, and the MTU of its interfaces alone is changed.

pub mod describe;

use anyhow::{Result, bail};
use nettrial_scenario::Offloads;

/// The error of what is done on Linux alone.
fn unsupported<T>(what: &str) -> Result<T> {
    bail!("{what} needs Linux, and this is {}", nettrial_traffic::system_name())
}

/// Offloads, which can neither be told nor changed: there is no value of the type.
pub enum Ethtool {}

impl Ethtool {
    /// Refuses.
    pub fn open() -> Result<Self> {
        unsupported("telling the offloads of an interface")
    }

    /// The offloads in force.
    pub fn get(&self, _interface: &str) -> Result<Offloads> {
        match *self {}
    }

    /// Changes them.
    pub fn set(&self, _interface: &str, _offloads: Offloads) -> Result<()> {
        match *self {}
    }

    /// The features that are asked for.
    pub fn asked_for(&self, _interface: &str) -> Result<Vec<String>> {
        match *self {}
    }

    /// Asks for them.
    pub fn ask_for(&self, _interface: &str, _features: &[String]) -> Result<()> {
        match *self {}
    }
}

/// Interfaces, which can be looked at.
pub mod netlink {
    use super::unsupported;
    use anyhow::{Context, Result};

    /// An interface.
    pub struct Interface {
        /// Its name.
        pub name: String,
        /// The largest IP packet that it sends, bytes.
        pub mtu: u64,
        /// True unless its versions of IP have different ones.
        pub has_one_mtu: bool,
        /// True where it carries packets.
        pub is_up: bool,
    }

    /// All of the machine's.
    ///
    /// # Errors
    /// Fails if the system does not tell.
    pub fn interfaces() -> Result<Vec<Interface>> {
        let all = nettrial_traffic::machine::interfaces()?.into_iter();
        let interface = |found: nettrial_traffic::machine::Interface| Interface {
            name: found.name,
            mtu: found.mtu_bytes,
            has_one_mtu: found.has_one_mtu,
            is_up: found.is_up,
        };
        Ok(all.map(interface).collect())
    }

    /// Returns false: nothing is changed here.
    pub fn originates_no_icmp() -> Result<bool> {
        Ok(false)
    }

    /// Refuses to change whether the machine originates ICMP.
    pub fn originate_no_icmp(_filters: bool) -> Result<()> {
        unsupported("changing whether the machine answers by ICMP")
    }

    /// Changes an interface's MTU.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn set_mtu(interface: &str, bytes: u64) -> Result<()> {
        let setting = || format!("setting the MTU of {interface} to {bytes} B");
        nettrial_traffic::machine::set_mtu(interface, bytes).with_context(setting)
    }
}
