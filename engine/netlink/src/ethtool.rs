//! Reads and sets the offloads of an interface, and reads its speed, through the ethtool ioctl
//! (include/uapi/linux/ethtool.h).

use crate::error::{Context, Result};
use nettrial_scenario::Offloads;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::cell::OnceCell;
use std::os::fd::{AsRawFd, OwnedFd};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETHTOOL_GDRVINFO: u32 = 0x03;
/// The set of strings that holds the names of an interface's features, by bit.
const ETH_SS_FEATURES: u32 = 4;
/// The size of a feature's name, in bytes.
const NAME_BYTES: usize = 32;
/// The features that TSO stands for (net/ethtool/common.c, netdev_features_strings).
const TSO: &[&str] = &[
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
];
/// The features that GSO stands for, including the segmentation of UDP GSO packets (UDP_SEGMENT).
const GSO: &[&str] = &["tx-generic-segmentation", "tx-udp-segmentation"];
/// The features that GRO stands for.
const GRO: &[&str] = &["rx-gro"];
/// Leaving the checksums of packets to the interface.
const CHECKSUMS: &[&str] =
    &["tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-sctp"];
const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;
/// The speed, in megabits per second, that stands for "unknown".
const SPEED_UNKNOWN: u32 = u32::MAX;
/// The number of words of all link mode masks: three masks of at most 127 words.
const LINK_MODE_WORDS: usize = 3 * 127;

/// The kernel's `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// The kernel's `struct ethtool_link_settings`, with room for every mask.
#[repr(C)]
struct LinkSettings {
    command: u32,
    speed_mbps: u32,
    flags: [u8; 7],
    /// The number of words of a mask; the kernel answers a wrong number with the right one, negated.
    mask_words: i8,
    more_flags: [u8; 4],
    reserved: [u32; 7],
    masks: [u32; LINK_MODE_WORDS],
}

/// A socket through which the offloads of interfaces are set and read, in the namespace in which it was opened.
pub struct Ethtool {
    socket: OwnedFd,
    feature_names: OnceCell<Vec<String>>,
}

impl Ethtool {
    /// Opens a socket in the calling thread's namespace.
    pub fn open() -> Result<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
        let socket = socket.context("opening a socket for ethtool")?;
        Ok(Self { socket, feature_names: OnceCell::new() })
    }

    /// Sets the offloads of `interface` in a single request, because the kernel goes through all features and
    /// announces their changes at each request. Features that the kernel does not have are not set.
    pub fn set(&self, interface: &str, offloads: Offloads) -> Result<()> {
        self.set_features(interface, &[(TSO, offloads.tso), (GSO, offloads.gso), (GRO, offloads.gro)])
            .with_context(|| format!("setting the offloads of {interface} to {offloads:?}"))
    }

    /// Makes the kernel compute the checksums of frames that leave through `interface`, for a reader that does not
    /// compute them itself.
    ///
    /// # Errors
    /// Fails if there is no such interface.
    pub fn compute_checksums(&self, interface: &str) -> Result<()> {
        self.set_features(interface, &[(CHECKSUMS, false)])
            .with_context(|| format!("turning checksum offload of {interface} off"))
    }

    fn set_features(&self, interface: &str, all: &[(&[&str], bool)]) -> Result<()> {
        let names = self.feature_names(interface).context("reading the names of offloads")?;
        // struct ethtool_sfeatures: command, number of blocks, and for each 32 features a mask of those to set and
        // their values.
        let blocks = names.len().div_ceil(32);
        let mut features = vec![0; 2 + blocks * 2];
        features[..2].copy_from_slice(&[ETHTOOL_SFEATURES, u32::try_from(blocks)?]);
        for &(wanted, on) in all {
            for bit in wanted.iter().filter_map(|wanted| names.iter().position(|name| name == wanted)) {
                features[2 + bit / 32 * 2] |= 1 << (bit % 32);
                features[3 + bit / 32 * 2] |= u32::from(on) << (bit % 32);
            }
        }
        self.request(interface, features.as_mut_slice())
    }

    /// Returns the features among those of the offloads that are requested on `interface`, whether they are in
    /// force or not. [`Ethtool::ask_for`] restores them.
    ///
    /// # Errors
    /// Fails if there is no such interface, or if the kernel does not answer.
    pub fn asked_for(&self, interface: &str) -> Result<Vec<String>> {
        let names = self.feature_names(interface).context("reading the names of offloads")?;
        // struct ethtool_gfeatures: command, number of blocks, and for each 32 features masks of those that can be
        // changed, are requested, are in force, and can never be changed.
        let blocks = names.len().div_ceil(32);
        let mut features = vec![0_u32; 2 + blocks * 4];
        features[..2].copy_from_slice(&[ETHTOOL_GFEATURES, u32::try_from(blocks)?]);
        self.request(interface, features.as_mut_slice())
            .with_context(|| format!("reading the offloads of {interface}"))?;
        let is_asked_for = |bit: usize| features[3 + bit / 32 * 4] & (1 << (bit % 32)) != 0;
        let bits = names.iter().enumerate();
        let asked = bits.filter(|(bit, name)| stands_for_an_offload(name) && is_asked_for(*bit));
        Ok(asked.map(|(_, name)| name.clone()).collect())
    }

    /// Requests the features in `wanted`, and turns off all other features of the offloads.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn ask_for(&self, interface: &str, wanted: &[String]) -> Result<()> {
        let names = self.feature_names(interface).context("reading the names of offloads")?;
        let blocks = names.len().div_ceil(32);
        let mut features = vec![0; 2 + blocks * 2];
        features[..2].copy_from_slice(&[ETHTOOL_SFEATURES, u32::try_from(blocks)?]);
        for (bit, name) in names.iter().enumerate().filter(|(_, name)| stands_for_an_offload(name)) {
            features[2 + bit / 32 * 2] |= 1 << (bit % 32);
            features[3 + bit / 32 * 2] |= u32::from(wanted.contains(name)) << (bit % 32);
        }
        self.request(interface, features.as_mut_slice())
            .with_context(|| format!("setting the offloads of {interface} to {wanted:?}"))
    }

    /// Returns the name of the driver of `interface` and the bus address of its device, which may be empty; `None`
    /// if the driver does not report them.
    pub fn driver(&self, interface: &str) -> Option<(String, String)> {
        // struct ethtool_drvinfo: command, driver, version, firmware, bus address, and another 56 bytes.
        let mut info = [0_u32; 49];
        info[0] = ETHTOOL_GDRVINFO;
        self.request(interface, &mut info).ok()?;
        let bytes: Vec<u8> = info[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Some((text(&bytes[..NAME_BYTES]), text(&bytes[3 * NAME_BYTES..4 * NAME_BYTES])))
    }

    /// Returns the names of features by bit. They are the same for every interface, so only the first interface is
    /// asked.
    fn feature_names(&self, interface: &str) -> Result<&[String]> {
        if let Some(known) = self.feature_names.get() {
            return Ok(known);
        }
        // struct ethtool_sset_info: command, reserved, mask of sets (64 bits), length of the set.
        let mut info = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0, 0];
        self.request(interface, &mut info)?;
        // struct ethtool_gstrings: command, set, length, names.
        let mut names = vec![0; 3 + info[4] as usize * NAME_BYTES / 4];
        names[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, info[4]]);
        self.request(interface, names.as_mut_slice())?;
        let bytes: Vec<u8> = names[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(self.feature_names.get_or_init(|| bytes.chunks(NAME_BYTES).map(text).collect()))
    }

    /// Returns the offloads that are in force on `interface`.
    pub fn get(&self, interface: &str) -> Result<Offloads> {
        let read = |command| {
            let value =
                self.call(interface, command, 0).with_context(|| format!("reading offloads of {interface}"));
            value.map(|data| data != 0)
        };
        Ok(Offloads { tso: read(ETHTOOL_GTSO)?, gso: read(ETHTOOL_GGSO)?, gro: read(ETHTOOL_GGRO)? })
    }

    /// Returns the speed of the link of `interface` in bits per second; `None` if the driver does not report it.
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

    /// Passes the kernel `data`, which begins with a command that reads or writes a value of this type.
    fn request<T: ?Sized>(&self, interface: &str, data: &mut T) -> Result<()> {
        // SAFETY: an all-zero `ifreq` is a valid value of that plain structure.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, byte) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
            *slot = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut *data).cast();
        // SAFETY: the descriptor is open, and `request` and the `data` it points to outlive the call;
        // every caller gives the whole structure of its command, with room for what is written.
        let status = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        // SFEATURES returns a positive number if another feature prevents the change.
        if status < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        Ok(())
    }
}

fn stands_for_an_offload(name: &str) -> bool {
    [TSO, GSO, GRO].iter().any(|names| names.contains(&name))
}

/// Returns the text of bytes that are padded with zeros.
fn text(entry: &[u8]) -> String {
    let end = entry.iter().position(|byte| *byte == 0).unwrap_or(entry.len());
    String::from_utf8_lossy(&entry[..end]).into_owned()
}
