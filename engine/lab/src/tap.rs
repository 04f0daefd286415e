//! TAP and TUN devices: network devices whose other end is a file (the kernel's Documentation/networking/tuntap.rst).

use crate::error::{Context, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The device file that creates them.
const DEVICE: &str = "/dev/net/tun";
// include/uapi/linux/if_tun.h
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETPERSIST: libc::c_ulong = 0x4004_54cb;
const TUNSETSNDBUF: libc::c_ulong = 0x4004_54d4;
const TUNSETIFINDEX: libc::c_ulong = 0x4004_54da;
const IFF_TUN: libc::c_short = 0x0001;
const IFF_TAP: libc::c_short = 0x0002;
const IFF_NO_PI: libc::c_short = 0x1000;
const IFF_VNET_HDR: libc::c_short = 0x4000;

/// A TAP device, which exists as long as this value, or a copy of its file in another process.
pub struct Tap {
    file: File,
    name: String,
}

impl Tap {
    /// Creates a device of that name in the calling thread's namespace, whose file carries frames with the kernel's
    /// header (`struct virtio_net_hdr`), as QEMU expects it of guests.
    pub fn create(name: &str) -> Result<Self> {
        Self::open(name, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
    }

    /// Creates a device of that name in the calling thread's namespace, whose file carries plain Ethernet frames: no
    /// system behind it can leave segmentation and checksums to its interface.
    pub fn plain(name: &str) -> Result<Self> {
        Self::open(name, IFF_TAP | IFF_NO_PI)
    }

    fn open(name: &str, flags: libc::c_short) -> Result<Self> {
        let file = open()?;
        attach(&file, name, flags)?;
        Ok(Self { file, name: name.to_owned() })
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the device's file.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Limits the bytes, including the kernel's overhead, of frames that were written and are not on the wire yet.
    /// A process that writes more waits.
    pub fn bound(&self, bytes: i32) -> Result<()> {
        // SAFETY: the descriptor is open, and the number outlives the call.
        let status = unsafe { libc::ioctl(self.file.as_raw_fd(), TUNSETSNDBUF as _, &raw const bytes) };
        done(status, || "limiting the frames of a TAP device".to_owned())
    }
}

/// Creates a TUN device with this name and index in the calling thread's namespace, which lasts as long as the namespace.
/// Another program opens it by its name.
pub fn create_tun(name: &str, index: u32) -> Result<()> {
    let file = open()?;
    // SAFETY: the descriptor is open, and the number outlives the call.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFINDEX as _, &raw const index) };
    done(status, || format!("choosing the index of the TUN device {name}"))?;
    attach(&file, name, IFF_TUN)?;
    // SAFETY: the descriptor is open, and the argument is a number.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETPERSIST as _, 1 as libc::c_ulong) };
    done(status, || format!("keeping the TUN device {name}"))
}

fn open() -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
    file.with_context(|| format!("opening {DEVICE}"))
}

/// Makes `file` the other end of a new device of that name.
fn attach(file: &File, name: &str, flags: libc::c_short) -> Result<()> {
    // SAFETY: an all-zero `ifreq` is a valid value of that plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *slot = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags;
    // SAFETY: the descriptor is open, and `request` outlives the call.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &raw mut request) };
    done(status, || format!("creating the device {name}"))
}

/// Returns the last system call's error if its status is one.
fn done(status: libc::c_int, doing: impl FnOnce() -> String) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()).with_context(doing) }
}
