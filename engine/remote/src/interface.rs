//! Finds what this machine says of itself.

use nix::ifaddrs::getifaddrs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// The MTU of the interface that has `address`, bytes.
pub fn mtu(address: IpAddr) -> Option<u64> {
    let has = |interface: &nix::ifaddrs::InterfaceAddress| {
        let found = interface.address.as_ref()?;
        let version4 = found.as_sockaddr_in().map(|found| IpAddr::V4(found.ip()));
        let version6 = found.as_sockaddr_in6().map(|found| IpAddr::V6(found.ip()));
        Some(version4.or(version6)? == address)
    };
    let interface = getifaddrs().ok()?.find(|interface| has(interface) == Some(true))?;
    mtu_of(&interface.interface_name).ok()
}

/// The MTU of the interface called `name` (SIOCGIFMTU, netdevice(7)). /sys shows the interfaces of the
/// network namespace that it was mounted in, which need not be this process's.
fn mtu_of(name: &str) -> std::io::Result<u64> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).or_else(|_| UdpSocket::bind("[::1]:0"))?;
    // SAFETY: the structure is plain bytes and integers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let longest = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..longest].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    // SAFETY: the kernel reads the name in `request` and writes the MTU into it; the descriptor is open.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: it is the union's field that the kernel has just written.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(mtu.try_into().unwrap_or(0))
}

/// The congestion control that connections have unless they ask for another.
pub fn congestion_control() -> String {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    read.map_or_else(|_| "cubic".into(), |name| name.trim().to_owned())
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
        assert!(nettrial_admission::loaded_congestion_controls().contains(&congestion_control()));
    }
}
