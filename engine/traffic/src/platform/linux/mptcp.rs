//! The kernel's view of an MPTCP connection (include/uapi/linux/mptcp.h, Linux 5.16 and later).

use super::options::{self, Plain};
use super::tcp_info::TcpInfo;
use crate::error::{Context, Result};
use crate::platform::Subflow;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

const SOL_MPTCP: i32 = 284;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// The largest number of subflows that are read; Linux creates fewer.
const MOST_SUBFLOWS: usize = 64;

/// The kernel's `struct mptcp_subflow_data` and the elements that follow it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct List<T> {
    size_subflow_data: u32,
    num_subflows: u32,
    size_kernel: u32,
    size_user: u32,
    elements: [T; MOST_SUBFLOWS],
}

/// The kernel's `struct mptcp_subflow_addrs`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Addresses {
    local: [u8; 128],
    remote: [u8; 128],
}

// SAFETY: the type consists of bytes.
unsafe impl Plain for Addresses {}
// SAFETY: the type consists of integers, and of elements that may have any value.
unsafe impl<T: Plain> Plain for List<T> {}

/// Returns the subflows of `stream`, an MPTCP connection, in the order in which they were opened; `None` if it has
/// fallen back to TCP, in which case it has no MPTCP options.
pub fn subflows(stream: &TcpStream) -> Result<Option<Vec<Subflow>>> {
    loop {
        let addresses = list(stream, MPTCP_SUBFLOW_ADDRS, Addresses { local: [0; 128], remote: [0; 128] })?;
        let infos = list(stream, MPTCP_TCPINFO, TcpInfo::default())?;
        let (Some(addresses), Some(infos)) = (addresses, infos) else { return Ok(None) };
        // The two lists are read one after the other, and a subflow may have been added or removed in between.
        if addresses.num_subflows == infos.num_subflows {
            let count = usize::try_from(infos.num_subflows)?.min(MOST_SUBFLOWS);
            let pairs = addresses.elements.iter().zip(&infos.elements).take(count);
            let known = pairs.filter_map(|(addresses, info)| {
                let (local, remote) = (address(&addresses.local)?, address(&addresses.remote)?);
                Some(Subflow { local, remote, state: (*info).into() })
            });
            return Ok(Some(known.collect()));
        }
    }
}

fn list<T: Plain>(stream: &TcpStream, option: i32, empty: T) -> Result<Option<Box<List<T>>>> {
    let mut list = Box::new(List {
        size_subflow_data: 16,
        num_subflows: 0,
        size_kernel: 0,
        size_user: u32::try_from(size_of::<T>())?,
        elements: [empty; MOST_SUBFLOWS],
    });
    match options::get(stream, SOL_MPTCP, option, &mut *list) {
        Ok(()) => Ok(Some(list)),
        Err(error) if is_fallback(&error) => Ok(None),
        Err(error) => Err(error).context("reading the subflows of an MPTCP connection"),
    }
}

fn is_fallback(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT))
}

/// Returns the address in a `struct sockaddr_in` or `sockaddr_in6`.
fn address(bytes: &[u8; 128]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ip = match family {
        libc::AF_INET => IpAddr::from(<[u8; 4]>::try_from(&bytes[4..8]).ok()?),
        libc::AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(&bytes[8..24]).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}
