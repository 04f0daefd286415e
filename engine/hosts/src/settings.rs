//! The settings of a machine that a study may change. Each is read, written and read back as text.

#[cfg(target_os = "linux")]
use crate::addressing;
#[cfg(not(target_os = "linux"))]
use crate::elsewhere::{Ethtool, addressing, netlink as nettrial_netlink};
use crate::error::{Context, Error, Result};
use crate::inventory::Permission;
#[cfg(target_os = "linux")]
use nettrial_netlink::Ethtool;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

/// The sysctls that a stack sets (Linux Documentation/networking/ip-sysctl.rst).
#[cfg(target_os = "linux")]
pub const SYSCTLS: &[&str] = &[
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];
/// The sysctl with the default congestion control, which programs have that choose none.
pub const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";
/// The smallest MTU that nettrial sets. Below it the kernel removes an interface's IPv6 addresses (RFC 8200
/// section 5), and restoring the MTU does not bring them back.
pub const SMALLEST_MTU: u64 = 1280;
/// The time that a link may take to come up again after its interface was changed.
const LINK_RETURNS: Duration = Duration::from_secs(20);
/// The interval at which the link is checked during that time.
const LOOK: Duration = Duration::from_millis(20);

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Setting {
    /// The MTU of an interface, in bytes.
    Mtu {
        /// Its name.
        interface: String,
    },
    /// The features of an interface that TSO, GSO and GRO stand for: the names of the requested ones, separated by
    /// spaces.
    Offloads {
        /// Its name.
        interface: String,
    },
    /// The handling of ICMP messages that the machine originates, as routers do about packets that they can't
    /// forward: `answered` or `filtered`.
    Icmp,
    /// The addresses of an interface with the lengths of their prefixes, without link-local ones: in order, separated
    /// by spaces.
    Addresses {
        /// The interface's name.
        interface: String,
    },
    /// The routes through an interface that somebody has added, such as `192.0.2.0/24>198.51.100.1`, or without a
    /// gateway: in order, separated by spaces.
    Routes {
        /// The interface's name.
        interface: String,
    },
    /// A sysctl: its words, separated by single spaces.
    Sysctl {
        /// The sysctl's name, such as `net.ipv4.tcp_sack`.
        name: String,
    },
}

/// A setting, and the value to which it is to be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The setting.
    pub setting: Setting,
    /// The setting's value.
    pub value: String,
}

/// Returns a scenario's offloads as a value of [`Setting::Offloads`], which names those that are on.
pub fn offloads_value(offloads: nettrial_scenario::Offloads) -> String {
    let named = [("tso", offloads.tso), ("gso", offloads.gso), ("gro", offloads.gro)];
    let on: Vec<&str> = named.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect();
    format!("offloads {}", on.join(" ")).trim_end().to_owned()
}

/// Returns the value of [`Setting::Icmp`].
pub fn icmp_value(filters: bool) -> &'static str {
    if filters { "filtered" } else { "answered" }
}

impl Setting {
    /// Returns the permission that changing the setting needs.
    pub fn permission(&self) -> Permission {
        match self {
            Self::Mtu { .. } => Permission::Mtu,
            Self::Offloads { .. } => Permission::Offloads,
            Self::Icmp => Permission::Icmp,
            Self::Addresses { .. } | Self::Routes { .. } => Permission::Addresses,
            Self::Sysctl { name } if name == CONGESTION_CONTROL => Permission::CongestionControl,
            Self::Sysctl { .. } => Permission::Sysctls,
        }
    }

    /// Returns the setting in words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Mtu { interface } => format!("the MTU of {interface}"),
            Self::Offloads { interface } => format!("the offloads of {interface}"),
            Self::Icmp => "the ICMP messages of the machine".into(),
            Self::Addresses { interface } => format!("the addresses of {interface}"),
            Self::Routes { interface } => format!("the routes through {interface}"),
            Self::Sysctl { name } => name.clone(),
        }
    }

    /// Returns true if the setting belongs to an interface that does not exist.
    pub fn is_absent(&self) -> bool {
        match self {
            Self::Mtu { interface }
            | Self::Offloads { interface }
            | Self::Addresses { interface }
            | Self::Routes { interface } => {
                nettrial_netlink::interfaces().is_ok_and(|all| all.iter().all(|one| one.name != *interface))
            }
            Self::Icmp | Self::Sysctl { .. } => false,
        }
    }

    /// Reads the setting's value.
    ///
    /// # Errors
    /// Fails if there is no such setting.
    pub fn read(&self) -> Result<String> {
        match self {
            Self::Mtu { interface } => {
                let link = link(interface)?;
                // The journal keeps a single value of a setting.
                #[cfg(not(target_os = "linux"))]
                if !link.has_one_mtu {
                    return Err(Error::Setting(format!(
                        "the MTUs of {interface} for IPv4 and IPv6 differ: set both to one value first"
                    )));
                }
                Ok(link.mtu.to_string())
            }
            Self::Offloads { interface } => Ok(Ethtool::open()?.asked_for(interface)?.join(" ")),
            Self::Icmp => Ok(icmp_value(nettrial_netlink::originates_no_icmp()?).to_owned()),
            Self::Addresses { interface } => addressing::addresses(interface),
            Self::Routes { interface } => addressing::routes(interface),
            Self::Sysctl { name } => {
                let text = fs::read_to_string(file(name)?).with_context(|| format!("reading {name}"))?;
                Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// Sets the value. If an interface was changed, waits until its link is up again.
    ///
    /// # Errors
    /// Fails if the kernel refuses the value, or if the link does not come up again.
    pub fn write(&self, value: &str) -> Result<()> {
        match self {
            Self::Mtu { interface } => {
                let mtu: u64 = value
                    .parse()
                    .map_err(|error| Error::Setting(format!("{value:?} is not an MTU: {error}")))?;
                let was_up = link(interface)?.is_up;
                nettrial_netlink::set_mtu(interface, mtu)?;
                if was_up { await_link(interface) } else { Ok(()) }
            }
            Self::Offloads { interface } => {
                let was_up = link(interface)?.is_up;
                let ethtool = Ethtool::open()?;
                match value.strip_prefix("offloads") {
                    Some(names) => {
                        let is_on = |name| names.split_whitespace().any(|named| named == name);
                        let (tso, gso, gro) = (is_on("tso"), is_on("gso"), is_on("gro"));
                        ethtool.set(interface, nettrial_scenario::Offloads { tso, gso, gro })?;
                    }
                    None => {
                        let wanted: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
                        ethtool.ask_for(interface, &wanted)?;
                    }
                }
                if was_up { await_link(interface) } else { Ok(()) }
            }
            Self::Icmp => Ok(nettrial_netlink::originate_no_icmp(value == icmp_value(true))?),
            Self::Addresses { interface } => {
                addressing::set_addresses(interface, value)?;
                await_link(interface)
            }
            Self::Routes { interface } => addressing::set_routes(interface, value),
            Self::Sysctl { name } => {
                fs::write(file(name)?, value).with_context(|| format!("setting {name} to {value:?}"))
            }
        }
    }

    /// Returns true if `value` is in force.
    ///
    /// # Errors
    /// Fails if there is no such setting.
    pub fn has(&self, value: &str) -> Result<bool> {
        match (self, value.strip_prefix("offloads")) {
            (Self::Offloads { interface }, Some(_)) => {
                Ok(offloads_value(Ethtool::open()?.get(interface)?) == value)
            }
            _ => Ok(self.read()? == value),
        }
    }
}

/// Returns the file of a sysctl that may be changed: one of the network.
fn file(name: &str) -> Result<String> {
    if !nettrial_scenario::is_sysctl(name) {
        return Err(Error::Setting(format!("{name} is not one of the sysctls that may be changed")));
    }
    Ok(format!("/proc/sys/{}", name.replace('.', "/")))
}

/// Returns the interface called `name`.
///
/// # Errors
/// Fails if there is no such interface.
pub fn link(name: &str) -> Result<nettrial_netlink::Interface> {
    let interface = nettrial_netlink::interfaces()?.into_iter().find(|interface| interface.name == name);
    interface.ok_or_else(|| Error::Setting(format!("there is no interface {name}")))
}

fn await_link(interface: &str) -> Result<()> {
    let deadline = Instant::now() + LINK_RETURNS;
    while !link(interface)?.is_up {
        if Instant::now() > deadline {
            return Err(Error::Setting(format!(
                "the link of {interface} did not come up again within {} s",
                LINK_RETURNS.as_secs()
            )));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Offloads;

    #[test]
    fn no_other_sysctl_is_touched() {
        let other = Setting::Sysctl { name: "kernel.panic".into() };
        assert!(other.write("1").unwrap_err().to_string().contains("not one of the sysctls"));
        assert!(other.read().is_err());
        assert!(Setting::Sysctl { name: "net.ipv4.tcp_sack/../../../kernel/panic".into() }.read().is_err());
    }

    #[test]
    fn a_sysctls_words_have_single_spaces_between() {
        let value = Setting::Sysctl { name: "net.ipv4.tcp_rmem".into() }.read().unwrap();
        assert_eq!(value.split(' ').count(), 3);
        assert!(Setting::Sysctl { name: "net.ipv4.tcp_rmem".into() }.has(&value).unwrap());
    }

    #[test]
    fn offloads_have_one_form() {
        assert_eq!(offloads_value(Offloads { tso: true, gso: false, gro: true }), "offloads tso gro");
        assert_eq!(offloads_value(Offloads::default()), "offloads");
    }
}
