//! This host's end of a path: its address, its interface, and the path MTU that the system holds, if the system
//! reports it.

use crate::error::{Context, Error, Result};
use crate::report::Interface;
use nettrial_traffic::host;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The port for which the route is looked up: discard (RFC 863).
const DISCARD: u16 = 9;

/// The place where packets to a target leave this host.
pub struct Local {
    /// The source address of these packets.
    pub address: std::net::IpAddr,
    /// The interface through which they leave.
    pub interface: Interface,
    /// The path MTU that the system holds.
    pub kernel_mtu: Option<u64>,
}

/// Asks the system how it would send to `target`, without sending anything.
///
/// # Errors
/// Fails if there is no route to it.
pub fn find(target: SocketAddr) -> Result<Local> {
    let socket = socket_to(target, DISCARD)?;
    let address = socket.local_addr().context("reading the source address of packets")?.ip();
    let all = host::interfaces().context("listing interfaces")?;
    let interface = all.into_iter().find(|interface| interface.addresses.contains(&address));
    let interface = interface.ok_or(Error::NoInterface(address))?;
    Ok(Local {
        address,
        interface: Interface {
            name: interface.name,
            mtu_bytes: interface.mtu_bytes,
            offloads: None,
            speed_bps: interface.speed_bps,
        },
        kernel_mtu: nettrial_traffic::path_mtu(&socket)?,
    })
}

/// Returns a UDP socket that is connected to the address of `target` and the port `port`.
///
/// # Errors
/// Fails if there is no route to it.
pub fn socket_to(target: SocketAddr, port: u16) -> Result<UdpSocket> {
    let any: SocketAddr = match target {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let mut destination = target;
    destination.set_port(port);
    let socket = UdpSocket::bind(any).context("opening a socket")?;
    socket.connect(destination).with_context(|| format!("looking for a route to {}", target.ip()))?;
    Ok(socket)
}

/// Returns `None`, because these systems do not have Linux's sysctls.
pub fn sysctl(_name: &str) -> Option<String> {
    None
}

/// Returns true if this host's connections request timestamps by default; those of Windows do not.
pub fn timestamps() -> bool {
    !cfg!(windows)
}

/// Returns the reason why this user can't send ICMP echo.
pub fn no_echo(error: &Error) -> String {
    nettrial_scenario::chain(error)
}
