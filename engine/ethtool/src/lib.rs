//! Offloads and speed of an interface, by the ethtool ioctl (include/uapi/linux/ethtool.h).

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
const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;
/// Megabits per second that stand for "not known".
const SPEED_UNKNOWN: u32 = u32::MAX;
/// Words of all link mode masks together: three masks of at most 127 words.
const LINK_MODE_WORDS: usize = 3 * 127;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_link_settings` with room for every mask.
#[repr(C)]
struct LinkSettings {
    command: u32,
    speed_mbps: u32,
    flags: [u8; 7],
    /// Words of one mask; the kernel answers a wrong number with the right one, negative.
    mask_words: i8,
    more_flags: [u8; 4],
    reserved: [u32; 7],
    masks: [u32; LINK_MODE_WORDS],
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

    /// The speed the link of `interface` runs at, bits per second; `None` where the driver does not say.
    pub fn speed_bps(&self, interface: &str) -> Option<u64> {
        let mut settings = LinkSettings {
            command: ETHTOOL_GLINKSETTINGS,
            speed_mbps: 0,
            flags: [0; 7],
            mask_words: 0,
            more_flags: [0; 4],
            reserved: [0; 7],
            masks: [0; LINK_MODE_WORDS],
        };
        self.request(interface, &mut settings).ok()?;
        settings.mask_words = settings.mask_words.checked_neg()?;
        settings.command = ETHTOOL_GLINKSETTINGS;
        self.request(interface, &mut settings).ok()?;
        let known = settings.speed_mbps != 0 && settings.speed_mbps != SPEED_UNKNOWN;
        known.then(|| u64::from(settings.speed_mbps) * 1_000_000)
    }

    fn call(&self, interface: &str, command: u32, data: u32) -> Result<u32> {
        let mut value = Value { command, data };
        self.request(interface, &mut value)?;
        Ok(value.data)
    }

    /// Hands the kernel `data`, which begins with a command that reads or writes a value of its type.
    fn request<T>(&self, interface: &str, data: &mut T) -> Result<()> {
        // SAFETY: an all-zero `ifreq` is a valid value of that plain structure.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, byte) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
            *slot = byte.cast_signed();
        }
        request.ifr_ifru.ifru_data = (&raw mut *data).cast();
        // SAFETY: the descriptor is open, and `request` and the `data` it points to outlive the call;
        // each command used here reads or writes one value of the type of `data`.
        let status = unsafe { libc::ioctl(self.0.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        if status != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        Ok(())
    }
}
