//! Finds the facts about this machine that a measurement needs.

use nettrial_scenario::HostAddress;

/// Returns the name and the MTU in bytes of the interface that has `address`; of several interfaces with the same
/// link-local address, of that of its zone.
#[cfg(target_os = "linux")]
fn of(address: HostAddress) -> Option<(String, u64)> {
    let mut all = nettrial_netlink::interfaces().ok()?.into_iter();
    let is_of_zone = |index: u32| address.zone == 0 || address.zone == index;
    let interface = all.find(|one| is_of_zone(one.index) && one.addresses.contains(&address.ip))?;
    Some((interface.name, interface.mtu))
}

/// Returns the name and the MTU in bytes of the interface that has `address`.
#[cfg(not(target_os = "linux"))]
fn of(address: HostAddress) -> Option<(String, u64)> {
    let mut all = nettrial_traffic::host::interfaces().ok()?.into_iter();
    let interface = all.find(|interface| interface.addresses.contains(&address.ip))?;
    Some((interface.name, interface.mtu_bytes))
}

/// Returns the MTU of the interface that has `address`, in bytes.
pub fn mtu(address: HostAddress) -> Option<u64> {
    Some(of(address)?.1)
}

/// Returns the name of the interface that has `address`.
pub fn name(address: HostAddress) -> Option<String> {
    Some(of(address)?.0)
}

/// Returns the congestion control of connections that do not choose one; empty if the system has no names for
/// them.
pub fn congestion_control() -> String {
    if !cfg!(target_os = "linux") {
        return String::new();
    }
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    read.map_or_else(|_| "cubic".into(), |name| name.trim().to_owned())
}

/// Returns the congestion controls that a client may choose: those that the kernel has loaded, or the system's
/// own.
pub fn congestion_controls() -> Vec<String> {
    if cfg!(target_os = "linux") {
        nettrial_admission::loaded_congestion_controls()
    } else {
        vec![congestion_control()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_by_its_address() {
        assert!(mtu("127.0.0.1".parse().unwrap()).is_some_and(|mtu| mtu >= 1280));
        assert_eq!(mtu("192.0.2.77".parse().unwrap()), None);
    }

    #[test]
    fn the_default_congestion_control_is_one_of_those_there_are() {
        assert!(congestion_controls().contains(&congestion_control()));
    }
}
