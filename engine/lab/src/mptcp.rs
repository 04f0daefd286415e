//! Configures the addresses that an MPTCP connection may use in the kernel's path manager (RFC 8684 section 3.4;
//! generic netlink family `mptcp_pm`, the kernel's include/uapi/linux/mptcp_pm.h).
//!
//! The host that accepts announces all its further addresses. The host that connects opens a subflow to each
//! announced address, from the address that its routes prefer, which is the one that is paired with that of the
//! other host (`nettrial_routing::Paths::pairs`). Two hosts with several addresses each thus get a subflow from
//! the first to the first, from the second to the second, and so on.

use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use crate::namespace::Home;
use crate::network::Network;
use crate::settings;
use netlink_sys::{Socket, protocols::NETLINK_GENERIC};
use nettrial_netlink::attribute;
use nettrial_scenario::{Flow, IpVersion, Transport};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The sysctl that every kernel with MPTCP has.
const ENABLED: &str = "net.mptcp.enabled";
/// The number of subflows and announced addresses that a connection may have beyond its first, which is the most
/// that the kernel allows.
const MOST: u32 = 8;

// include/uapi/linux/netlink.h and genetlink.h
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLA_F_NESTED: u16 = 1 << 15;
const HEADER_BYTES: usize = 16 + 4;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
// include/uapi/linux/mptcp_pm.h
const FAMILY: &[u8] = b"mptcp_pm\0";
const CMD_ADD_ADDR: u8 = 1;
const CMD_SET_LIMITS: u8 = 5;
const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;
const ADDR_FAMILY: u16 = 1;
const ADDR_ADDR4: u16 = 3;
const ADDR_ADDR6: u16 = 4;
const ADDR_FLAGS: u16 = 6;
const FLAG_SIGNAL: u32 = 1;

/// Returns true if this kernel has MPTCP.
pub fn is_there() -> bool {
    settings::is_there(ENABLED)
}

/// Prepares both hosts of every MPTCP flow.
pub fn prepare(home: &Home, network: &Network, layout: &Layout) -> Result<()> {
    let flows = layout.scenario.workload.iter().filter(|flow| flow.transport == Transport::Mptcp);
    for Flow { from, to, ip, .. } in flows {
        for host in [from, to] {
            home.visit(&network.node(host)?.namespace, || {
                settings::write(ENABLED, "1")?;
                let mut manager = PathManager::open()?;
                manager.set_limits()?;
                if host == to {
                    further_addresses(layout, to, *ip).try_for_each(|address| manager.announce(address))?;
                }
                Ok(())
            })
            .with_context(|| format!("configuring the MPTCP addresses of {host}"))?;
        }
    }
    Ok(())
}

/// Lets subflows of `flow` reach the further addresses of the host that accepts, at the flow's own `port`, because
/// the agent listens at its first address only. (Announcing another port does not fit beside timestamps in an IPv6
/// segment.) The kernel assigns subflows by their connection's token and does not pass them to a listener, so
/// other connections here are never served. The port stays open as long as the returned sockets are held.
pub fn accept_subflows(
    home: &Home,
    network: &Network,
    layout: &Layout,
    flow: &Flow,
    port: u16,
) -> Result<Vec<socket2::Socket>> {
    if flow.transport != Transport::Mptcp {
        return Ok(Vec::new());
    }
    let listen = |address: IpAddr| -> Result<socket2::Socket> {
        let address = SocketAddr::new(address, port);
        let open = || -> io::Result<socket2::Socket> {
            let kind = socket2::Type::STREAM;
            let protocol = socket2::Protocol::from(libc::IPPROTO_MPTCP);
            let socket = socket2::Socket::new(socket2::Domain::for_address(address), kind, Some(protocol))?;
            socket.bind(&address.into())?;
            socket.listen(1)?;
            Ok(socket)
        };
        open().with_context(|| format!("listening for MPTCP subflows at {address} on {}", flow.to))
    };
    home.visit(&network.node(&flow.to)?.namespace, || {
        further_addresses(layout, &flow.to, flow.ip).map(listen).collect()
    })
}

/// Returns the addresses of `host` other than the one to which its flows are opened.
fn further_addresses(layout: &Layout, host: &str, version: IpVersion) -> impl Iterator<Item = IpAddr> {
    layout.directory.addresses(host, version).skip(1)
}

/// The path manager of the calling thread's namespace.
struct PathManager {
    socket: Socket,
    family: u16,
}

impl PathManager {
    fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC).context("opening a generic netlink socket")?;
        socket.bind_auto().context("binding a generic netlink socket")?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0)).context("connecting a generic netlink socket")?;
        let mut manager = Self { socket, family: GENL_ID_CTRL };
        let name = attribute(CTRL_ATTR_FAMILY_NAME, FAMILY);
        let answer = manager.request(CTRL_CMD_GETFAMILY, &name).context("looking up the family mptcp_pm")?;
        let value = find(answer.get(HEADER_BYTES..).unwrap_or_default(), CTRL_ATTR_FAMILY_ID);
        let number = value.and_then(|value| value.first_chunk().copied());
        manager.family = u16::from_ne_bytes(
            number.ok_or_else(|| Error::Kernel("the family mptcp_pm has no number".into()))?,
        );
        Ok(manager)
    }

    fn set_limits(&mut self) -> Result<()> {
        let limits = [ATTR_RCV_ADD_ADDRS, ATTR_SUBFLOWS].map(|kind| attribute(kind, &MOST.to_ne_bytes()));
        self.request(CMD_SET_LIMITS, &limits.concat()).context("setting MPTCP's limits")?;
        Ok(())
    }

    fn announce(&mut self, address: IpAddr) -> Result<()> {
        let (family, value) = match address {
            IpAddr::V4(address) => (libc::AF_INET, attribute(ADDR_ADDR4, &address.octets())),
            IpAddr::V6(address) => (libc::AF_INET6, attribute(ADDR_ADDR6, &address.octets())),
        };
        let endpoint = [
            attribute(ADDR_FAMILY, &u16::try_from(family)?.to_ne_bytes()),
            value,
            attribute(ADDR_FLAGS, &FLAG_SIGNAL.to_ne_bytes()),
        ];
        let message = attribute(ATTR_ADDR | NLA_F_NESTED, &endpoint.concat());
        match self.request(CMD_ADD_ADDR, &message) {
            // Another flow has announced the address already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result.map(|_| ()).with_context(|| format!("announcing {address} to MPTCP")),
        }
    }

    /// Sends a request, and returns the kernel's answer: an object, or an acknowledgement.
    fn request(&mut self, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
        let length = u32::try_from(HEADER_BYTES + attributes.len()).map_err(io::Error::other)?;
        let mut message = length.to_ne_bytes().to_vec();
        let flags = if self.family == GENL_ID_CTRL { NLM_F_REQUEST } else { NLM_F_REQUEST | NLM_F_ACK };
        message.extend([self.family, flags].map(u16::to_ne_bytes).concat());
        // Sequence number and port are not needed with one request at a time. The version is 1.
        message.extend([0; 8]);
        message.extend([command, 1, 0, 0]);
        message.extend(attributes);
        self.socket.send(&message, 0)?;
        let mut answer = Vec::with_capacity(16 << 10);
        self.socket.recv(&mut answer, 0)?;
        let word = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.first_chunk().copied());
        let kind = answer.get(4..6).and_then(|bytes| bytes.first_chunk().copied()).map(u16::from_ne_bytes);
        match (kind, word(16).map(i32::from_ne_bytes)) {
            (Some(NLMSG_ERROR), Some(0)) => Ok(answer),
            (Some(NLMSG_ERROR), Some(code)) => Err(io::Error::from_raw_os_error(-code)),
            (Some(_), Some(_)) => Ok(answer),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    }
}

/// Returns the value of the first attribute of this kind.
fn find(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let (length, rest) =
            attributes.split_first_chunk().map(|(bytes, rest)| (u16::from_ne_bytes(*bytes), rest))?;
        let attribute_kind = rest.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))?;
        let value = attributes.get(4..usize::from(length))?;
        if attribute_kind == kind {
            return Some(value);
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_found_behind_others_and_broken_ones_end_the_search() {
        let both = [attribute(2, b"abc"), attribute(1, &7u32.to_ne_bytes())].concat();
        assert_eq!(find(&both, 1), Some(7u32.to_ne_bytes().as_slice()));
        assert_eq!(find(&both, 2), Some(b"abc".as_slice()));
        assert_eq!(find(&both, 3), None);
        for length in 0..both.len() {
            assert!(find(&both[..length], 1).is_none());
        }
        assert_eq!(find(&[0; 8], 1), None);
        assert_eq!(find(&[1, 0, 1, 0, 9, 9], 1), None);
    }
}
