//! Offloads of an interface, by the ethtool ioctl (include/uapi/linux/ethtool.h).

use anyhow::{Context, Result};
use nettrial_scenario::Offloads;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::os::fd::{AsRawFd, OwnedFd};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Sets and reads offloads in the namespace it was opened in.
pub struct Ethtool(OwnedFd);

impl Ethtool {
    /// Opens a socket in the calling thread's namespace.
    pub fn open() -> Result<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
        socket.map(Self).context("opening a socket for ethtool")
    }

    /// Sets the offloads of `interface`.
    pub fn set(&self, interface: &str, offloads: Offloads) -> Result<()> {
        // In this order: the kernel keeps TSO off while GSO is.
        for (command, name, on) in [
            (ETHTOOL_SGSO, "gso", offloads.gso),
            (ETHTOOL_STSO, "tso", offloads.tso),
            (ETHTOOL_SGRO, "gro", offloads.gro),
        ] {
            self.call(interface, command, u32::from(on))
                .with_context(|| format!("setting {name} of {interface} to {on}"))?;
        }
        Ok(())
    }

    /// The offloads in force on `interface`.
    pub fn get(&self, interface: &str) -> Result<Offloads> {
        let read = |command| {
            let value =
                self.call(interface, command, 0).with_context(|| format!("reading offloads of {interface}"));
            value.map(|data| data != 0)
        };
        Ok(Offloads { tso: read(ETHTOOL_GTSO)?, gso: read(ETHTOOL_GGSO)?, gro: read(ETHTOOL_GGRO)? })
    }

    fn call(&self, interface: &str, command: u32, data: u32) -> Result<u32> {
        let mut value = Value { command, data };
        // SAFETY: an all-zero `ifreq` is a valid value of that plain structure.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, byte) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
            *slot = byte.cast_signed();
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the descriptor is open, and `request` and the `value` it points to outlive the call;
        // each command used here reads or writes one `struct ethtool_value`.
        let status = unsafe { libc::ioctl(self.0.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        if status != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        Ok(value.data)
    }
}
