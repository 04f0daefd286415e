//! The machine and its interfaces.

use super::{WINE, system_name};
use crate::machine::{About, Counts, Interface};
use socket2::SockAddr;
use std::io;
use std::net::IpAddr;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{ERROR_BUFFER_OVERFLOW, NO_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper;
use windows_sys::Win32::NetworkManagement::Ndis::IfOperStatusUp;
use windows_sys::Win32::Networking::WinSock::{AF_UNSPEC, SOCKET_ADDRESS};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;

/// Bytes tried first for the list of interfaces, as the documentation of GetAdaptersAddresses advises.
const LIST_BYTES: u32 = 15_000;
/// A speed that is not known.
const NO_SPEED: u64 = u64::MAX;

/// Describes the machine.
pub fn describe() -> About {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| "unknown".into());
    let (system, kernel, boot) = match &*WINE {
        // Wine's kernel is that of the system it runs on, whose files it shows below the drive Z:.
        Some(_) => {
            let boot = std::fs::read_to_string(r"Z:\proc\sys\kernel\random\boot_id");
            let boot = boot.map_or_else(|_| variable("COMPUTERNAME"), |text| text.trim().to_owned());
            (system_name(), system_name(), boot)
        }
        None => {
            let version = version();
            (format!("Windows {version}"), format!("Windows NT {version}"), variable("COMPUTERNAME"))
        }
    };
    let processor = variable("PROCESSOR_IDENTIFIER");
    About { system, kernel, processor, boot, clock_source: "QueryPerformanceCounter" }
}

/// The system's version, such as "10.0.22631".
fn version() -> String {
    let mut found = OSVERSIONINFOW {
        dwOSVersionInfoSize: u32::try_from(size_of::<OSVERSIONINFOW>()).unwrap_or(0),
        ..Default::default()
    };
    // SAFETY: the structure is writable, and says how large it is. The call does not fail.
    unsafe { RtlGetVersion(&raw mut found) };
    format!("{}.{}.{}", found.dwMajorVersion, found.dwMinorVersion, found.dwBuildNumber)
}

/// The machine's interfaces, by the names that the user sees (GetAdaptersAddresses).
///
/// # Errors
/// Fails if the system does not tell.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let list = adapters()?;
    let (mut found, mut next) = (Vec::new(), list.as_ptr().cast::<IpHelper::IP_ADAPTER_ADDRESSES_LH>());
    if list.is_empty() {
        return Ok(found);
    }
    // SAFETY: the list's memory is aligned for its first element, and the system has linked the elements within it;
    // nothing changes it while they are looked at.
    while let Some(adapter) = unsafe { next.as_ref() } {
        // SAFETY: as above; the name ends with a zero.
        let (name, addresses) =
            unsafe { (text(adapter.FriendlyName), addresses(adapter.FirstUnicastAddress)) };
        let mut row = IpHelper::MIB_IF_ROW2 { InterfaceLuid: adapter.Luid, ..Default::default() };
        // SAFETY: the row is writable and says which interface it is to be of.
        let is_counted = unsafe { IpHelper::GetIfEntry2(&raw mut row) } == NO_ERROR;
        found.push(Interface {
            name,
            addresses,
            is_up: adapter.OperStatus == IfOperStatusUp,
            mtu_bytes: u64::from(adapter.Mtu),
            speed_bps: Some(adapter.TransmitLinkSpeed).filter(|&speed| speed != 0 && speed != NO_SPEED),
            counts: is_counted.then_some(Counts {
                sent_bytes: row.OutOctets,
                sent_pkts: row.OutUcastPkts.saturating_add(row.OutNUcastPkts),
                received_bytes: row.InOctets,
                received_pkts: row.InUcastPkts.saturating_add(row.InNUcastPkts),
            }),
        });
        next = adapter.Next;
    }
    Ok(found)
}

/// The memory of a list of interfaces, aligned for it; empty where there are none.
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
            // It says how many it needs.
            ERROR_BUFFER_OVERFLOW => {}
            ERROR_NO_DATA => return Ok(Vec::new()),
            error => return Err(io::Error::from_raw_os_error(error.cast_signed())),
        }
    }
}

/// GetAdaptersAddresses: there are no interfaces.
const ERROR_NO_DATA: u32 = 232;

/// The text at `start`.
///
/// # Safety
/// It ends with a zero.
unsafe fn text(start: *const u16) -> String {
    // SAFETY: the caller's.
    let letters = (0..).map(|index| unsafe { *start.add(index) }).take_while(|&letter| letter != 0);
    String::from_utf16_lossy(&letters.collect::<Vec<u16>>())
}

/// The addresses of the list that begins at `next`.
///
/// # Safety
/// The list is linked, and whole.
unsafe fn addresses(mut next: *const IpHelper::IP_ADAPTER_UNICAST_ADDRESS_LH) -> Vec<IpAddr> {
    let mut found = Vec::new();
    // SAFETY: the caller's.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: the caller's.
        found.extend(unsafe { address(&entry.Address) });
        next = entry.Next;
    }
    found
}

/// # Safety
/// The address is readable for its length.
unsafe fn address(found: &SOCKET_ADDRESS) -> Option<IpAddr> {
    let length = usize::try_from(found.iSockaddrLength).ok()?;
    // SAFETY: the storage is larger than any address of the families that the system was asked for, and what is copied
    // is one.
    let copied = unsafe {
        SockAddr::try_init(|storage, room| {
            let length = length.min(size_of_val(&*storage));
            std::ptr::copy_nonoverlapping(found.lpSockaddr.cast::<u8>(), storage.cast::<u8>(), length);
            *room = found.iSockaddrLength;
            Ok(())
        })
    };
    copied.ok()?.1.as_socket().map(|address| address.ip())
}
