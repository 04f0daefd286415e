//! The host of the agent and its interfaces.

use super::control::text;
use super::system_name;
use crate::host::{Counts, Description, Interface};
use socket2::SockAddr;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// Describes the machine, from values of the kernel.
pub fn describe() -> Description {
    let value = |name| text(name).unwrap_or_else(|| "unknown".into());
    let macos = cfg!(target_os = "macos");
    let version = value(if macos { c"kern.osproductversion" } else { c"kern.osrelease" });
    Description {
        system: format!("{} {version}", system_name()),
        kernel: value(c"kern.version").lines().next().unwrap_or("unknown").to_owned(),
        processor: value(if macos { c"machdep.cpu.brand_string" } else { c"hw.model" }),
        boot: value(if macos { c"kern.bootsessionuuid" } else { c"kern.hostuuid" }),
        clock_source: "CLOCK_MONOTONIC",
        // SAFETY: the call reads a number of this process.
        may_change: unsafe { libc::geteuid() } == 0,
    }
}

/// Sets the MTU of the interface called `name` (SIOCSIFMTU, netintro(4)).
///
/// # Errors
/// Fails if there is no interface of that name, or if the system refuses the MTU.
pub fn set_mtu(name: &str, bytes: u64) -> io::Result<()> {
    /// The request _IOW('i', 52, struct ifreq) of sys/sockio.h, which is the same on both systems.
    const SIOCSIFMTU: libc::c_ulong = 0x8020_6934;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    // SAFETY: the structure is plain bytes and integers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let longest = request.ifr_name.len() - 1;
    if name.len() > longest {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such interface"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_mtu = libc::c_int::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the kernel reads the name and the MTU in `request`; the descriptor is open.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCSIFMTU, &raw mut request) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the machine's interfaces (getifaddrs(3)).
///
/// # Errors
/// Fails if the kernel does not report them.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the list is writable; the library allocates its memory.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut interfaces: BTreeMap<String, Interface> = BTreeMap::new();
    let mut next = list;
    // SAFETY: the library has linked the entries, and nothing changes them until they are freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an entry's name ends with a zero.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let interface = interfaces.entry(name.clone()).or_insert(Interface {
            name,
            addresses: Vec::new(),
            is_up: entry.ifa_flags & RUNNING == RUNNING,
            mtu_bytes: 0,
            has_one_mtu: true,
            largest_mtu_bytes: None,
            speed_bps: None,
            counts: None,
        });
        // SAFETY: an entry's address is null, or one of its family with that family's length.
        interface.addresses.extend(unsafe { address(entry) });
        // SAFETY: as above; the data of an entry of the link layer is this structure (net/if.h).
        if let Some(data) = unsafe { link_data(entry) } {
            interface.mtu_bytes = u64::from(data.ifi_mtu);
            interface.speed_bps = Some(u64::from(data.ifi_baudrate)).filter(|&speed| speed > 0);
            interface.counts = counts(entry, &data);
        }
        next = entry.ifa_next;
    }
    // SAFETY: the library allocated the list, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(interfaces.into_values().collect())
}

/// The flags of an interface that carries packets (net/if.h).
const RUNNING: libc::c_uint = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_uint;

/// # Safety
/// The entry is whole.
unsafe fn family(entry: &libc::ifaddrs) -> Option<libc::c_int> {
    // SAFETY: the caller's.
    Some(libc::c_int::from(unsafe { entry.ifa_addr.as_ref() }?.sa_family))
}

/// # Safety
/// The entry is whole.
unsafe fn link_data(entry: &libc::ifaddrs) -> Option<libc::if_data> {
    // SAFETY: the caller's; the structure may lie at any address.
    unsafe {
        (family(entry)? == libc::AF_LINK && !entry.ifa_data.is_null())
            .then(|| entry.ifa_data.cast::<libc::if_data>().read_unaligned())
    }
}

/// Returns the counts of an interface's packets (net/if.h).
#[cfg(target_os = "freebsd")]
#[expect(clippy::unnecessary_wraps, reason = "macOS may not report them")]
fn counts(_entry: &libc::ifaddrs, data: &libc::if_data) -> Option<Counts> {
    Some(Counts {
        sent_bytes: data.ifi_obytes,
        sent_pkts: data.ifi_opackets,
        received_bytes: data.ifi_ibytes,
        received_pkts: data.ifi_ipackets,
    })
}

/// Returns the counts of an interface's packets (net/if_mib.h), because those in `data` wrap after 4 GiB.
#[cfg(target_os = "macos")]
fn counts(entry: &libc::ifaddrs, _data: &libc::if_data) -> Option<Counts> {
    // SAFETY: an entry's name ends with a zero.
    let index = unsafe { libc::if_nametoindex(entry.ifa_name) };
    let mut name = [
        libc::CTL_NET,
        libc::PF_LINK,
        libc::NETLINK_GENERIC,
        libc::IFMIB_IFDATA,
        libc::c_int::try_from(index).ok()?,
        libc::IFDATA_GENERAL,
    ];
    // SAFETY: the structure is plain bytes and integers, for which zero is a value.
    let mut report: libc::ifmibdata = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&report);
    // SAFETY: the name has that many numbers, and the structure is writable for `length` bytes.
    let status = unsafe {
        let at = (&raw mut report).cast();
        libc::sysctl(
            name.as_mut_ptr(),
            libc::c_uint::try_from(name.len()).ok()?,
            at,
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    let data = report.ifmd_data;
    (status == 0 && length == size_of_val(&report)).then_some(Counts {
        sent_bytes: data.ifi_obytes,
        sent_pkts: data.ifi_opackets,
        received_bytes: data.ifi_ibytes,
        received_pkts: data.ifi_ipackets,
    })
}

/// # Safety
/// The entry is whole.
unsafe fn address(entry: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: the caller's.
    let length = match unsafe { family(entry) }? {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    // SAFETY: the address has the length of its family, which is less than the storage's.
    let copied = unsafe {
        SockAddr::try_init(|storage, room| {
            std::ptr::copy_nonoverlapping(entry.ifa_addr.cast::<u8>(), storage.cast::<u8>(), length);
            *room = libc::socklen_t::try_from(length).map_err(io::Error::other)?;
            Ok(())
        })
    };
    copied.ok()?.1.as_socket().map(|address| address.ip())
}
