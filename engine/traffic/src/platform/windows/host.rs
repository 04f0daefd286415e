//! The host of the agent and its interfaces.

use super::{WINE, system_name};
use crate::host::{Counts, Description, Interface};
use socket2::SockAddr;
use std::io;
use std::net::IpAddr;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{CloseHandle, ERROR_BUFFER_OVERFLOW, NO_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper;
use windows_sys::Win32::NetworkManagement::Ndis::{IfOperStatusUp, NET_LUID_LH};
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_INET6, AF_UNSPEC, SOCKET_ADDRESS};
use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOEXW;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// The number of bytes tried first for the list of interfaces, as the documentation of GetAdaptersAddresses
/// advises.
const LIST_BYTES: u32 = 15_000;
/// The product type of systems that are not for servers (VER_NT_WORKSTATION).
const WORKSTATION: u8 = 1;
/// The value that stands for an unknown speed.
const NO_SPEED: u64 = u64::MAX;

/// Describes the machine.
pub fn describe() -> Description {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| "unknown".into());
    let (system, kernel, boot) = match &*WINE {
        // Wine's kernel is that of the system on which it runs, whose files it shows on drive Z:.
        Some(_) => {
            let boot = std::fs::read_to_string(r"Z:\proc\sys\kernel\random\boot_id");
            let boot = boot.map_or_else(|_| variable("COMPUTERNAME"), |text| text.trim().to_owned());
            (system_name(), system_name(), boot)
        }
        None => {
            let (edition, version) = version();
            (format!("{edition} {version}"), format!("Windows NT {version}"), variable("COMPUTERNAME"))
        }
    };
    let processor = variable("PROCESSOR_IDENTIFIER");
    Description {
        system,
        kernel,
        processor,
        boot,
        clock_source: "QueryPerformanceCounter",
        // Wine has no function to change an interface.
        may_change: WINE.is_none() && is_elevated().unwrap_or(false),
    }
}

/// Returns true if this process has an administrator's privileges (TokenElevation).
fn is_elevated() -> Option<bool> {
    let (mut token, mut elevation, mut length) = (std::ptr::null_mut(), TOKEN_ELEVATION::default(), 0);
    let room = u32::try_from(size_of_val(&elevation)).ok()?;
    // SAFETY: the handle stands for this process; the token, the structure and its length are writable, and the
    // token is closed once, after it was opened.
    let succeeded = unsafe {
        if OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) == 0 {
            return None;
        }
        let succeeded =
            GetTokenInformation(token, TokenElevation, (&raw mut elevation).cast(), room, &raw mut length);
        CloseHandle(token);
        succeeded
    };
    (succeeded != 0).then_some(elevation.TokenIsElevated != 0)
}

/// Sets the MTU of the interface called `name` for both versions of IP (SetIpInterfaceEntry), until the machine
/// restarts.
///
/// # Errors
/// Fails if there is no interface of that name, if the system refuses the MTU, or under Wine.
pub fn set_mtu(name: &str, bytes: u64) -> io::Result<()> {
    if WINE.is_some() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{} can't change an MTU", system_name()),
        ));
    }
    let bytes = u32::try_from(bytes).map_err(io::Error::other)?;
    let list = adapters()?;
    let adapter = all(&list).find(|adapter| {
        // SAFETY: the name ends with a zero.
        unsafe { text(adapter.FriendlyName) == name }
    });
    let luid =
        adapter.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such interface"))?.Luid;
    for mut row in entries(luid) {
        row.NlMtu = bytes;
        // The system refuses a value of IPv4 that was read before (the documentation of SetIpInterfaceEntry).
        if row.Family == AF_INET {
            row.SitePrefixLength = 0;
        }
        // SAFETY: the row is the system's own with a changed value, and writable.
        let status = unsafe { IpHelper::SetIpInterfaceEntry(&raw mut row) };
        if status != NO_ERROR {
            return Err(io::Error::from_raw_os_error(status.cast_signed()));
        }
    }
    Ok(())
}

/// Returns the settings of each version of IP that an interface has (GetIpInterfaceEntry, which Wine does not
/// have).
fn entries(luid: NET_LUID_LH) -> impl Iterator<Item = IpHelper::MIB_IPINTERFACE_ROW> {
    let families: &[u16] = if WINE.is_some() { &[] } else { &[AF_INET, AF_INET6] };
    families.iter().filter_map(move |&family| {
        let mut row =
            IpHelper::MIB_IPINTERFACE_ROW { Family: family, InterfaceLuid: luid, ..Default::default() };
        // SAFETY: the row is writable and names the interface and the version of IP.
        (unsafe { IpHelper::GetIpInterfaceEntry(&raw mut row) } == NO_ERROR).then_some(row)
    })
}

/// Returns the system's edition, for servers or for workstations, and its version, such as "10.0.22631".
fn version() -> (&'static str, String) {
    let mut system = OSVERSIONINFOEXW {
        dwOSVersionInfoSize: u32::try_from(size_of::<OSVERSIONINFOEXW>()).unwrap_or(0),
        ..Default::default()
    };
    // SAFETY: the structure is writable, and contains its size. The call does not fail.
    unsafe { RtlGetVersion((&raw mut system).cast()) };
    let is_server = system.wProductType != WORKSTATION;
    let version = format!("{}.{}.{}", system.dwMajorVersion, system.dwMinorVersion, system.dwBuildNumber);
    (if is_server { "Windows Server" } else { "Windows" }, version)
}

/// Returns the machine's interfaces, with the names that the user sees (GetAdaptersAddresses).
///
/// # Errors
/// Fails if the system does not report them.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let list = adapters()?;
    let mut interfaces = Vec::new();
    for adapter in all(&list) {
        // SAFETY: as above; the name ends with a zero.
        let (name, addresses) =
            unsafe { (text(adapter.FriendlyName), addresses(adapter.FirstUnicastAddress)) };
        let mut row = IpHelper::MIB_IF_ROW2 { InterfaceLuid: adapter.Luid, ..Default::default() };
        // SAFETY: the row is writable and names the interface.
        let is_counted = unsafe { IpHelper::GetIfEntry2(&raw mut row) } == NO_ERROR;
        let mtus: Vec<u64> = entries(adapter.Luid).map(|row| u64::from(row.NlMtu)).collect();
        interfaces.push(Interface {
            name,
            addresses,
            is_up: adapter.OperStatus == IfOperStatusUp,
            mtu_bytes: mtus.first().copied().unwrap_or(u64::from(adapter.Mtu)),
            has_one_mtu: mtus.iter().all(|mtu| *mtu == mtus[0]),
            largest_mtu_bytes: (is_counted && row.Mtu > 0).then_some(u64::from(row.Mtu)),
            speed_bps: Some(adapter.TransmitLinkSpeed).filter(|&speed| speed != 0 && speed != NO_SPEED),
            counts: is_counted.then_some(Counts {
                sent_bytes: row.OutOctets,
                sent_pkts: row.OutUcastPkts.saturating_add(row.OutNUcastPkts),
                received_bytes: row.InOctets,
                received_pkts: row.InUcastPkts.saturating_add(row.InNUcastPkts),
            }),
        });
    }
    Ok(interfaces)
}

/// Returns the interfaces of a list that [`adapters`] returned.
fn all(list: &[u64]) -> impl Iterator<Item = &IpHelper::IP_ADAPTER_ADDRESSES_LH> {
    let mut next = list.as_ptr().cast::<IpHelper::IP_ADAPTER_ADDRESSES_LH>();
    if list.is_empty() {
        next = std::ptr::null();
    }
    std::iter::from_fn(move || {
        // SAFETY: the list's memory is aligned for its first element, and the system has linked the elements within it;
        // nothing changes it while it is borrowed.
        let adapter = unsafe { next.as_ref() }?;
        next = adapter.Next;
        Some(adapter)
    })
}

/// Returns the memory of a list of interfaces, aligned for it; empty if there are none.
fn adapters() -> io::Result<Vec<u64>> {
    let flags = IpHelper::GAA_FLAG_SKIP_ANYCAST
        | IpHelper::GAA_FLAG_SKIP_MULTICAST
        | IpHelper::GAA_FLAG_SKIP_DNS_SERVER;
    let mut bytes = LIST_BYTES;
    loop {
        let mut memory = vec![0u64; (bytes as usize).div_ceil(8)];
        // SAFETY: the memory is writable for `bytes`, and aligned for the list's elements.
        let status = unsafe {
            let at = memory.as_mut_ptr().cast();
            IpHelper::GetAdaptersAddresses(u32::from(AF_UNSPEC), flags, std::ptr::null(), at, &raw mut bytes)
        };
        match status {
            NO_ERROR => return Ok(memory),
            // The system has reported how many bytes it needs.
            ERROR_BUFFER_OVERFLOW => {}
            ERROR_NO_DATA => return Ok(Vec::new()),
            error => return Err(io::Error::from_raw_os_error(error.cast_signed())),
        }
    }
}

/// The error of GetAdaptersAddresses if there are no interfaces.
const ERROR_NO_DATA: u32 = 232;

/// Returns the text at `start`.
///
/// # Safety
/// The text ends with a zero.
unsafe fn text(start: *const u16) -> String {
    // SAFETY: the caller's.
    let letters = (0..).map(|index| unsafe { *start.add(index) }).take_while(|&letter| letter != 0);
    String::from_utf16_lossy(&letters.collect::<Vec<u16>>())
}

/// Returns the addresses of the list that begins at `next`.
///
/// # Safety
/// The list is linked, and all its entries are valid.
unsafe fn addresses(mut next: *const IpHelper::IP_ADAPTER_UNICAST_ADDRESS_LH) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    // SAFETY: the caller's.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: the caller's.
        addresses.extend(unsafe { address(&entry.Address) });
        next = entry.Next;
    }
    addresses
}

/// # Safety
/// The address is readable for its length.
unsafe fn address(socket_address: &SOCKET_ADDRESS) -> Option<IpAddr> {
    let length = usize::try_from(socket_address.iSockaddrLength).ok()?;
    // SAFETY: the storage is larger than any address of the requested families, and the copied bytes are such an
    // address.
    let copied = unsafe {
        SockAddr::try_init(|storage, room| {
            let length = length.min(size_of_val(&*storage));
            std::ptr::copy_nonoverlapping(
                socket_address.lpSockaddr.cast::<u8>(),
                storage.cast::<u8>(),
                length,
            );
            *room = socket_address.iSockaddrLength;
            Ok(())
        })
    };
    copied.ok()?.1.as_socket().map(|address| address.ip())
}
