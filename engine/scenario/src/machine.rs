//! The description of one of the user's machines.

use crate::{IpVersion, Offloads, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// One of the user's machines, as it was found at the start of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The machine's name in the inventory.
    pub name: String,
    /// The operating system and its version as it names itself, such as "Debian GNU/Linux 12 (bookworm)".
    pub system: String,
    /// The kernel's name, release and version.
    pub kernel: String,
    /// The instruction set, such as "x86_64".
    pub architecture: String,
    /// The CPU's model.
    pub processor: String,
    /// The number of CPUs that a process may use.
    pub processors: u32,
    /// True if the user on the machine is root and so may change settings; false on systems other than Linux,
    /// where nettrial changes no settings.
    pub is_root: bool,
    /// The identifier of the running kernel (random/boot_id, random(4); on systems without one, the host's name).
    /// Machines with the same identifier are one machine.
    pub boot: String,
    /// The kernel's clock source; absent if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// The lead of the machine's wall clock over that of this machine, nanoseconds.
    pub clock_ahead_ns: i64,
    /// The largest possible error of that lead, nanoseconds.
    pub clock_error_ns: u64,
    /// The interfaces of the inventory, in its order.
    pub interfaces: Vec<MachineInterface>,
    /// The number of free ports that the kernel can give to a program that asks for any port (ip_local_port_range,
    /// ip(7)); absent if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_ports: Option<u32>,
    /// The scaling governor of the CPUs, such as "performance" (Documentation/admin-guide/pm/cpufreq.rst); absent
    /// if the kernel does not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Congestion controls that the kernel has loaded.
    pub congestion_controls: Vec<String>,
    /// Settings that a study may change, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
    /// The largest packets that reach the other machines, if this was examined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reaches: Vec<MachineReach>,
}

impl Machine {
    /// Returns true if the machine runs Linux, whose settings a study may change.
    pub fn is_linux(&self) -> bool {
        self.kernel.starts_with("Linux ")
    }
}

/// The largest packets that reach another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineReach {
    /// The other machine's name.
    pub to: String,
    /// The IP version of the addresses that were used.
    pub ip: IpVersion,
    /// The largest IP packet that was tried, bytes: the largest that both interfaces can send.
    pub tried_bytes: u64,
    /// The largest IP packet that passed without being fragmented, bytes; 0 if none did.
    pub passed_bytes: u64,
}

/// An interface of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineInterface {
    /// The interface's name on the machine.
    pub name: String,
    /// The interface's addresses, including those that the inventory does not use for traffic.
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<IpAddr>,
    /// True if the interface is up and carries packets.
    pub is_up: bool,
    /// The interface's driver; absent if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The speed of the interface's link; absent if the driver does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Rate>,
    /// The interface's MTU, bytes.
    pub mtu_bytes: u64,
    /// The largest MTU that the interface can be given, bytes; absent if the driver does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_mtu_bytes: Option<u64>,
    /// The offloads in force; absent if the system does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads: Option<Offloads>,
    /// The interface's bus with its width and speed, such as "PCI 0000:03:00.0, 4 lanes of 8.0 GT/s PCIe"; absent
    /// for an interface without a bus, such as a virtual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
    /// The interface's radio; absent for an interface that is not Wi-Fi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wireless: Option<Wireless>,
}

/// The radio of a Wi-Fi interface at one moment, as its driver reports it (nl80211). Values that the driver does
/// not report are absent.
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
    /// The signal strength of the access point at this interface, dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<i8>,
    /// The bit rate of frames sent to the access point, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bps: Option<u64>,
    /// The bit rate of frames received from the access point, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bps: Option<u64>,
    /// The packets sent to the access point since the interface joined it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_pkts: Option<u64>,
    /// The number of times that the interface retransmitted a packet to the access point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// The number of these packets that the interface gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_pkts: Option<u64>,
}

impl Wireless {
    /// Returns the number of the channel (IEEE 802.11-2020 annex E); `None` for a frequency without one.
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
