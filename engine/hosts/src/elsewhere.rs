//! A machine that does not run Linux: it describes itself and runs an agent, and nothing is changed there. So there is no
//! guard and nothing in the journal; the lock alone is there, which lets one session use the machine at a time.

pub mod describe;
pub mod guard;
pub mod journal;

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
    use anyhow::Result;

    /// An interface.
    pub struct Interface {
        /// Its name.
        pub name: String,
        /// The largest IP packet that it sends, bytes.
        pub mtu: u64,
        /// True where it carries packets.
        pub is_up: bool,
    }

    /// All of the machine's.
    ///
    /// # Errors
    /// Fails if the system does not tell.
    pub fn interfaces() -> Result<Vec<Interface>> {
        let all = nettrial_traffic::machine::interfaces()?.into_iter();
        Ok(all
            .map(|found| Interface { name: found.name, mtu: found.mtu_bytes, is_up: found.is_up })
            .collect())
    }

    /// Returns false: nothing is changed here.
    pub fn originates_no_icmp() -> Result<bool> {
        Ok(false)
    }

    /// Refuses to change whether the machine originates ICMP.
    pub fn originate_no_icmp(_filters: bool) -> Result<()> {
        unsupported("changing whether the machine answers by ICMP")
    }

    /// Refuses to change an MTU.
    pub fn set_mtu(_interface: &str, _bytes: u64) -> Result<()> {
        unsupported("changing the MTU of an interface")
    }
}
