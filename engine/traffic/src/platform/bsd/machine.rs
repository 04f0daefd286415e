//! The machine and its interfaces.

use super::control::text;
use super::system_name;
use crate::machine::{About, Interface};
use socket2::SockAddr;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::net::IpAddr;

/// Describes the machine, by values of the kernel.
pub fn describe() -> About {
    let told = |name| text(name).unwrap_or_else(|| "unknown".into());
    let macos = cfg!(target_os = "macos");
    let version = told(if macos { c"kern.osproductversion" } else { c"kern.osrelease" });
    About {
        system: format!("{} {version}", system_name()),
        kernel: told(c"kern.version").lines().next().unwrap_or("unknown").to_owned(),
        processor: told(if macos { c"machdep.cpu.brand_string" } else { c"hw.model" }),
        boot: told(if macos { c"kern.bootsessionuuid" } else { c"kern.hostuuid" }),
        clock_source: "CLOCK_MONOTONIC",
    }
}

/// The machine's interfaces (getifaddrs(3)). Their counts are left out: those of macOS wrap after 4 GiB.
///
/// # Errors
/// Fails if the kernel does not tell.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the list is writable; the library gives memory of its own for it.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found: BTreeMap<String, Interface> = BTreeMap::new();
    let mut next = list;
    // SAFETY: the library has linked the entries, which nothing changes until they are given back.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an entry's name ends with a zero.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let interface = found.entry(name.clone()).or_insert(Interface {
            name,
            addresses: Vec::new(),
            is_up: entry.ifa_flags & RUNNING == RUNNING,
            mtu_bytes: 0,
            speed_bps: None,
            counts: None,
        });
        // SAFETY: an entry's address is none, or one of its family, whose length is the family's.
        interface.addresses.extend(unsafe { address(entry) });
        // SAFETY: as above; the data of an entry of the link layer is this structure (net/if.h).
        if let Some(data) = unsafe { link_data(entry) } {
            interface.mtu_bytes = u64::from(data.ifi_mtu);
            interface.speed_bps = Some(u64::from(data.ifi_baudrate)).filter(|&speed| speed > 0);
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list is the library's, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found.into_values().collect())
}

/// An interface that carries packets (net/if.h).
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
