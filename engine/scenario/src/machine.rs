//! A machine of the user's, as it was found.

use crate::{IpVersion, Offloads, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A machine of the user's, as it was found when the session began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name in the inventory.
    pub name: String,
    /// The operating system and its version as it names itself, such as "Debian GNU/Linux 12 (bookworm)".
    pub system: String,
    /// The kernel's name, release and version.
    pub kernel: String,
    /// The instruction set, such as "x86_64".
    pub architecture: String,
    /// The CPU's model.
    pub processor: String,
    /// CPUs that a process may use.
    pub processors: u32,
    /// True where the user there is root, and so may change settings; false on other systems than Linux, where nettrial
    /// changes none.
    pub is_root: bool,
    /// The identifier of the running kernel: machines that share it are one machine (random/boot_id, random(4); the host's
    /// name where the system has no such thing).
    pub boot: String,
    /// The kernel's clock source; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// The lead of its wall clock over this machine's, nanoseconds.
    pub clock_ahead_ns: i64,
    /// The largest possible error of that lead, nanoseconds.
    pub clock_error_ns: u64,
    /// The interfaces of the inventory, in its order.
    pub interfaces: Vec<MachineInterface>,
    /// Ports that the kernel can give to a program that asks for any (ip_local_port_range, ip(7)) and that nobody has;
    /// absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_ports: Option<u32>,
    /// The setting of the pace of its CPUs, such as "performance" (Documentation/admin-guide/pm/cpufreq.rst, scaling
    /// governors); absent where the kernel does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Congestion controls that the kernel has loaded.
    pub congestion_controls: Vec<String>,
    /// Settings that a study may change, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
    /// The sizes in which packets reach the other machines, where that was examined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reaches: Vec<MachineReach>,
}

impl Machine {
    /// Returns whether it runs Linux: the settings that a study may change are Linux's.
    pub fn is_linux(&self) -> bool {
        self.kernel.starts_with("Linux ")
    }
}

/// The size in which packets reach another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineReach {
    /// The other machine's name.
    pub to: String,
    /// The IP version of the machines' addresses that were used.
    pub ip: IpVersion,
    /// The largest IP packet that was tried: what both interfaces admit, bytes.
    pub tried_bytes: u64,
    /// The largest that passed without being fragmented, bytes; 0 where none did.
    pub passed_bytes: u64,
}

/// An interface of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineInterface {
    /// Its name there.
    pub name: String,
    /// Its addresses, also those that the inventory does not give to traffic.
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<IpAddr>,
    /// True where it carries packets.
    pub is_up: bool,
    /// Its driver; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The speed of its link; absent where the driver does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Rate>,
    /// The largest IP packet that it sends, bytes.
    pub mtu_bytes: u64,
    /// The largest MTU that it can be given, bytes; absent where the driver does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_mtu_bytes: Option<u64>,
    /// The offloads in force; absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads: Option<Offloads>,
    /// Its bus, that one's width and speed, such as "PCI 0000:03:00.0, 4 lanes of 8.0 GT/s PCIe"; absent for an
    /// interface without one, such as a virtual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
    /// Its radio; absent for an interface that is not Wi-Fi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wireless: Option<Wireless>,
}

/// The radio of a Wi-Fi interface at one moment, as its driver says (nl80211): what it does not say is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wireless {
    /// The middle of the primary channel, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<u32>,
    /// The width of the channel, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width_mhz: Option<u32>,
    /// The hardware address of the access point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_point: Option<String>,
    /// The strength with which that one is heard, dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<i8>,
    /// The rate at which packets are sent to it, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bps: Option<u64>,
    /// The rate at which packets come from it, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bps: Option<u64>,
}

impl Wireless {
    /// The number of the channel (IEEE 802.11-2020 annex E); `None` for one that has none.
    pub fn channel(&self) -> Option<u32> {
        match self.frequency_mhz? {
            2484 => Some(14),
            mhz @ 2412..2484 => Some((mhz - 2407) / 5),
            5935 => Some(2), // of the 6 GHz band, whose others are counted from 5950 MHz
            mhz @ 5955..=7115 => Some((mhz - 5950) / 5),
            mhz @ 5160..5955 => Some((mhz - 5000) / 5),
            _ => None,
        }
    }
}
