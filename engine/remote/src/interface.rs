//! What this machine says of itself.

use nix::ifaddrs::getifaddrs;
use std::net::IpAddr;

/// The MTU of the interface that has `address`, bytes.
pub fn mtu(address: IpAddr) -> Option<u64> {
    let has = |interface: &nix::ifaddrs::InterfaceAddress| {
        let found = interface.address.as_ref()?;
        let version4 = found.as_sockaddr_in().map(|found| IpAddr::V4(found.ip()));
        let version6 = found.as_sockaddr_in6().map(|found| IpAddr::V6(found.ip()));
        Some(version4.or(version6)? == address)
    };
    let interface = getifaddrs().ok()?.find(|interface| has(interface) == Some(true))?;
    let path = format!("/sys/class/net/{}/mtu", interface.interface_name);
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The congestion control that connections have unless they ask for another.
pub fn congestion_control() -> String {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    read.map_or_else(|_| "cubic".into(), |name| name.trim().to_owned())
}

/// The congestion controls that the kernel has.
pub fn congestion_controls() -> Vec<String> {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    read.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The monotonic clock, nanoseconds.
pub fn monotonic_ns() -> i64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    time.map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
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
