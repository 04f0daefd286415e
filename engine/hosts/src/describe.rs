//! Describes this machine, and observes its state at one moment.

use crate::error::{Context, Result};
use crate::message::{Counted, Observation};
use crate::settings::{CONGESTION_CONTROL, SYSCTLS, Setting, link};
use crate::{pci, ports};
use nettrial_netlink::Ethtool;
use nettrial_scenario::{Machine, MachineInterface, Rate, Wireless};
use nettrial_session::Surroundings;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;

/// Describes this machine and those of `interfaces` that exist. The caller fills in the machine's name and the
/// lead of its clock.
///
/// # Errors
/// Fails if the kernel can't be asked.
pub fn describe(interfaces: &[String]) -> Result<Machine> {
    let name = nix::sys::utsname::uname().context("reading the kernel's name")?;
    let words = [name.sysname(), name.release(), name.version()];
    let sysctls = SYSCTLS.iter().chain([&CONGESTION_CONTROL]);
    let value =
        |name: &&str| Some(((*name).to_owned(), Setting::Sysctl { name: (*name).to_owned() }.read().ok()?));
    Ok(Machine {
        name: String::new(),
        system: field("/etc/os-release", '=', "PRETTY_NAME").unwrap_or_else(|| "Linux".into()),
        kernel: words.map(|word| word.to_string_lossy().into_owned()).join(" "),
        architecture: name.machine().to_string_lossy().into_owned(),
        processor: field("/proc/cpuinfo", ':', "model name")
            .or_else(|| field("/proc/cpuinfo", ':', "CPU part"))
            .unwrap_or_else(|| "unknown".into()),
        processors: u32::try_from(usable_processors()).unwrap_or(u32::MAX),
        is_root: nix::unistd::geteuid().is_root(),
        free_ports: ports::free(),
        governor: crate::pace::governor(),
        boot: line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_ahead_ns: 0,
        clock_error_ns: 0,
        interfaces: interfaces.iter().filter_map(|name| interface(name).ok()).collect(),
        congestion_controls: nettrial_admission::loaded_congestion_controls(),
        sysctls: sysctls.filter_map(value).collect(),
        reaches: Vec::new(),
    })
}

fn interface(name: &str) -> Result<MachineInterface> {
    let link_state = link(name)?;
    let ethtool = Ethtool::open()?;
    let driver = ethtool.driver(name);
    Ok(MachineInterface {
        name: name.to_owned(),
        addresses: link_state.addresses,
        is_up: link_state.is_up,
        bus: driver.as_ref().and_then(|(_, place)| bus(place)),
        driver: driver.map(|(name, _)| name).filter(|name| !name.is_empty()),
        speed: ethtool.speed_bps(name).map(Rate),
        wireless: wireless(link_state.index),
        mtu_bytes: link_state.mtu,
        largest_mtu_bytes: link_state.largest_mtu,
        offloads: Some(ethtool.get(name)?),
    })
}

/// Describes a bus in words, from the bus address of a device (Documentation/ABI/testing/sysfs-bus-pci:
/// current_link_speed, current_link_width).
fn bus(place: &str) -> Option<String> {
    let device = Path::new("/sys/bus/pci/devices").join(place);
    if place.is_empty() {
        return None;
    }
    if !device.exists() {
        return Some(place.to_owned());
    }
    let read = |name: &str| line(device.join(name));
    let lanes = |which: &str| {
        let count = read(&format!("{which}_link_width")).filter(|width| width != "0");
        Some(format!("{} lanes of {}", count?, read(&format!("{which}_link_speed"))?))
    };
    Some(match (lanes("current"), lanes("max")) {
        (Some(current), Some(most)) if current != most => format!("PCI {place}, {current}, at most {most}"),
        (Some(current), _) => format!("PCI {place}, {current}"),
        (None, _) => {
            let registers = fs::read(device.join("config")).unwrap_or_default();
            format!("PCI {place}, {}", pci::card(&registers))
        }
    })
}

/// Returns the value of a field in a file whose lines have `sign` between name and value.
fn field(file: &str, sign: char, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| {
        let (key, value) = line.split_once(sign)?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    };
    text.lines().find_map(value)
}

fn line(file: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn usable_processors() -> usize {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::count()).filter(|&processor| set.is_set(processor).unwrap_or(false)).count()
}

/// Observes this machine and those of `interfaces` that exist.
///
/// # Errors
/// Fails if the kernel can't be asked.
pub fn observe(interfaces: &[String], surroundings: Surroundings) -> Result<Observation> {
    let ethtool = Ethtool::open()?;
    let all = nettrial_netlink::interfaces()?;
    let counted = |name: &String| {
        let interface = all.iter().find(|interface| interface.name == *name)?;
        Some(Counted {
            name: name.clone(),
            sent_bytes: interface.counters.sent_bytes,
            sent_pkts: interface.counters.sent_pkts,
            received_bytes: interface.counters.received_bytes,
            received_pkts: interface.counters.received_pkts,
            carrier_changes: interface.carrier_changes,
            speed_bps: ethtool.speed_bps(name),
            wireless: wireless(interface.index),
        })
    };
    Ok(Observation {
        surroundings,
        interfaces: interfaces.iter().filter_map(counted).collect(),
        pace: crate::pace::pace(),
    })
}

/// Returns the state of the radio of the interface numbered `index`, if it has one.
fn wireless(index: u32) -> Option<Wireless> {
    // A kernel that does not answer counts as one without a radio.
    let state = nettrial_netlink::wireless(index).ok()??;
    let address = |bytes: [u8; 6]| bytes.map(|byte| format!("{byte:02x}")).join(":");
    Some(Wireless {
        frequency_mhz: state.frequency_mhz,
        width_mhz: state.width_mhz,
        access_point: state.station.map(address),
        signal_dbm: state.signal_dbm,
        sent_bps: state.sent_bps,
        received_bps: state.received_bps,
        sent_pkts: state.sent_pkts.map(u64::from),
        retries: state.retries.map(u64::from),
        failed_pkts: state.failed_pkts.map(u64::from),
    })
}

/// Returns true if connections of this user can have the congestion control called `name`. The test loads the
/// kernel module if that is necessary and allowed, as a trial does.
pub fn has_control(name: &str) -> bool {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    socket.is_ok_and(|socket| setsockopt(&socket, sockopt::TcpCongestion, &name.into()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let found = describe(&["lo".into(), "nettrial-none".into()]).unwrap();
        assert!(found.kernel.starts_with("Linux ") && !found.boot.is_empty() && found.processors > 0);
        assert_eq!(found.interfaces.len(), 1, "an interface that does not exist is left out");
        assert!(found.sysctls.contains_key("net.ipv4.tcp_rmem"));
    }

    #[test]
    fn a_device_without_a_bus_has_none() {
        assert_eq!(bus(""), None);
        assert_eq!(bus("usb-0000:00:14.0-1").as_deref(), Some("usb-0000:00:14.0-1"));
    }
}
