//! This host's end of a path: its address, its interface, and the path MTU that the kernel holds.

use crate::error::{Context, Error, Result};
use crate::report::Interface;
use crate::socket;
use nettrial_netlink::Ethtool;
use nettrial_scenario::{Fault, IpVersion};
use nix::ifaddrs::getifaddrs;
use socket2::{Protocol, Type};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

/// The interface that carries what a host sends to itself.
const LOOPBACK: &str = "lo";
const SIOCGIFMTU: libc::c_ulong = 0x8921;

/// The place where packets to a target leave this host.
pub struct Local {
    /// The source address of these packets.
    pub address: IpAddr,
    /// The interface through which they leave.
    pub interface: Interface,
    /// The path MTU that the kernel holds.
    pub kernel_mtu: Option<u64>,
}

/// Asks the kernel how it would send to `target`, without sending anything.
///
/// # Errors
/// Fails if there is no route to it.
pub fn find(target: SocketAddr) -> Result<Local> {
    let version = IpVersion::of(target.ip());
    let socket = socket::open(version, Type::DGRAM, Protocol::UDP)?;
    let port = if target.port() == 0 { 9 } else { target.port() };
    let mut probe = target;
    probe.set_port(port);
    socket.connect(&probe.into()).with_context(|| format!("looking for a route to {}", target.ip()))?;
    let local =
        socket.local_addr()?.as_socket().ok_or(Error::NoAddress("reading the source address of packets"))?;
    let address = local.ip();
    let name = match local {
        _ if address == target.ip() => LOOPBACK.to_owned(),
        // Several interfaces may have the same link-local address.
        SocketAddr::V6(v6) if v6.scope_id() != 0 => name_of(v6.scope_id())?,
        _ => interface_of(address)?,
    };
    let interface = describe(&name, socket.as_raw_fd())?;
    Ok(Local { address, interface, kernel_mtu: Some(socket::kernel_mtu(&socket, version)?) })
}

/// Returns the name of the interface of that number.
fn name_of(zone: u32) -> Result<String> {
    let name = nix::net::if_::if_indextoname(zone)
        .with_context(|| format!("reading the name of interface {zone}"))?;
    Ok(name.to_string_lossy().into_owned())
}

/// Returns the name of the interface that has `address`.
fn interface_of(address: IpAddr) -> Result<String> {
    let mut all = getifaddrs().context("listing interfaces")?;
    let has = |storage: &nix::sys::socket::SockaddrStorage| match address {
        IpAddr::V4(v4) => storage.as_sockaddr_in().is_some_and(|own| own.ip() == v4),
        IpAddr::V6(v6) => storage.as_sockaddr_in6().is_some_and(|own| own.ip() == v6),
    };
    let interface = all.find(|interface| interface.address.as_ref().is_some_and(has));
    Ok(interface.ok_or(Error::NoInterface(address))?.interface_name)
}

fn describe(name: &str, descriptor: i32) -> Result<Interface> {
    // SAFETY: an all-zero `ifreq` is a valid value of that plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *slot = byte as libc::c_char;
    }
    // SAFETY: the descriptor is open, and `request` is a writable `ifreq` that outlives the call.
    let status = unsafe { libc::ioctl(descriptor, SIOCGIFMTU as _, &raw mut request) };
    if status != 0 {
        return Err(std::io::Error::last_os_error()).with_context(|| format!("reading the MTU of {name}"));
    }
    // SAFETY: SIOCGIFMTU has filled in this member of the union.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    let ethtool = Ethtool::open()?;
    Ok(Interface {
        name: name.to_owned(),
        mtu_bytes: u64::try_from(mtu)?,
        offloads: ethtool.get(name).ok(),
        speed_bps: ethtool.speed_bps(name),
    })
}

/// Returns the value of a sysctl of this host's network, with one space between its words; `None` if it can't be
/// read.
pub fn sysctl(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns true if this host's connections request timestamps.
pub fn timestamps() -> bool {
    sysctl("net.ipv4.tcp_timestamps").as_deref() != Some("0")
}

/// Returns the reason why this user can't send ICMP echo; `error` is the system's.
pub fn no_echo(error: &Error) -> String {
    let range = sysctl("net.ipv4.ping_group_range").unwrap_or_default();
    format!(
        "ICMP echo needs a raw socket (CAP_NET_RAW) or a group within net.ipv4.ping_group_range, which is \"{range}\": {}",
        error.root_cause()
    )
}
